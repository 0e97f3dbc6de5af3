"""What CUDA allows of L2 control, checked before a prediction, and what has no effect, explained.

Rules are those of NVIDIA's CUDA Programming Guide, section "L2 Cache Control".
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from math import inf
from typing import Any, Final, get_args

import numpy as np

from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.hardware import Device
from perfmodel.kernels import Instance
from perfmodel.kernels.l2_control import DRIVERS_L2, AccessPolicyWindow, AccessProperty, L2Control
from perfmodel.models.l2.residency import WAYS, granted, granted_ways
from perfmodel.prediction.cuda_lines import MPS_VARIABLE
from perfmodel.records import record
from perfmodel.sizes import SUFFIXES

LEAST_CAPABILITY: Final = (8, 0)
"""First compute capability with L2 residency control."""
MOST_COMPRESSED: Final = 4
"""Largest compression that was measured (measurements/l2/h200-sxm/set-aside/compression.csv)."""
GRANULARITIES: Final = (32, 64, 128)
"""Fetch granularities of L2 [B]."""


@record
class L2Setting:
    """L2 control as it takes effect."""

    control: L2Control = DRIVERS_L2  # without what the platform switches off
    claimed: float = 0.0  # bytes that windows of concurrent kernels mark as persisting
    warnings: tuple[str, ...] = ()  # what was asked for and has no effect, or another one

    def to_json(self) -> dict[str, Any]:
        """Return it as the object ``l2_control`` of a prediction."""
        return {**asdict(self.control), "claimed": self.claimed}


AS_THE_DRIVER: Final = L2Setting()
"""No L2 control at all."""


def l2_setting(
    control: L2Control,
    instance: Instance,
    device: Device,
    *,
    mig: bool = False,
    mps: bool = False,
    concurrent: Sequence[AccessPolicyWindow] = (),
) -> L2Setting:
    """Check L2 control against a device and a kernel; arguments are those of `predict`.

    Raises `PerfmodelError` if CUDA would refuse it.
    """
    _check_numbers(control, device, any(window.num_bytes for window in concurrent))
    for window in filter(None, (control.window, *concurrent)):
        _check_window(window, device)
    if control.window is not None:
        _check_buffer(control.window, instance)
    warnings = []
    if control.window is not None and control.window.num_bytes == 0:
        control = replace(control, window=None)  # num_bytes = 0 closes a window
    claimed = sum(w.hit_ratio * w.num_bytes for w in concurrent if w.hit_prop == "persisting")
    if not (mig and control.set_aside):
        warnings += _without_effect(control, instance, claimed)
    else:
        warnings.append(
            "in MIG mode L2 set-aside is switched off: nothing is set aside here, and persisting "
            "accesses count as normal ones"
        )
        control = replace(control, set_aside=0)
    warnings += _taken_as_given(control, device, mig=mig, mps=mps)
    warnings += _over_set_aside(control, instance, claimed, device)
    return L2Setting(control, claimed, tuple(warnings))


def has_residency(device: Device) -> bool:
    """Say whether a device has L2 residency control."""
    return device.capability >= LEAST_CAPABILITY


def percent_of_l2(set_aside: int, device: Device) -> int:
    """Return the percentage with which an MPS server sets aside the ways of so many bytes.

    Found: 10, 25 and 50 percent are 2, 4 and 8 of the 16 ways of an H200, so of all of L2 and
    rounded up (measurements/l2/h200-sxm/after-use).
    """
    return int(100 * float(granted_ways(set_aside, device.l2_size)) / WAYS)


def _check_numbers(control: L2Control, device: Device, shared: bool) -> None:
    granularity = control.fetch_granularity
    if granularity not in GRANULARITIES:
        raise PerfmodelError(f"fetch_granularity must be 32, 64 or 128 bytes, not {granularity}")
    if not 1 <= control.compression < inf:
        raise PerfmodelError(
            f"compression must be 1 or more and finite (bytes over compressed bytes), not "
            f"{control.compression}"
        )
    if control.set_aside < 0:
        raise PerfmodelError(f"set_aside must not be negative, not {control.set_aside}")
    opened = shared or (control.window is not None and control.window.num_bytes)
    if (control.set_aside or opened) and not has_residency(device):
        raise PerfmodelError(
            f"L2 set-aside and access policy windows need compute capability 8.0 or later; "
            f"{device.name} has {device.compute_capability}: take them out"
        )
    most = device.l2_persisting_max
    if most is not None and control.set_aside > most:
        raise PerfmodelError(
            f"set_aside of {_sized(control.set_aside)} is over the {_sized(most)} that "
            f"{device.name} can set aside (persistingL2CacheMaxSize): set less aside"
        )
    if most is None and control.set_aside > device.l2_size:
        raise PerfmodelError(
            f"set_aside of {_sized(control.set_aside)} is over the {_sized(device.l2_size)} of "
            f"L2 that {device.name} has: set less aside"
        )


def _sized(size: int) -> str:
    """Return a size as it is given and as it is typed: ``"41943040 bytes (40 MiB)"``."""
    unit = next((u for u in ("TiB", "GiB", "MiB", "KiB") if size >= SUFFIXES[u]), "B")
    typed = f"{size / SUFFIXES[unit]:,.3f}".rstrip("0").rstrip(".")
    return f"{size} bytes ({typed} {unit})"


def _check_window(window: AccessPolicyWindow, device: Device) -> None:
    most = device.l2_window_max
    if window.num_bytes < 0 or window.offset < 0:
        raise PerfmodelError("a window's num_bytes and offset must not be negative")
    if most is not None and window.num_bytes > most:
        raise PerfmodelError(
            f"window of {_sized(window.num_bytes)} is over the {_sized(most)} of {device.name}'s "
            "accessPolicyMaxWindowSize: make it shorter"
        )
    if not 0 <= window.hit_ratio <= 1:
        raise PerfmodelError(f"hit_ratio must be from 0 to 1, not {window.hit_ratio}")
    if window.hit_prop not in get_args(AccessProperty):
        raise PerfmodelError(
            f"hit_prop {shown(window.hit_prop)} is unknown; choose normal, streaming or persisting"
        )
    if window.miss_prop not in ("normal", "streaming"):
        raise PerfmodelError(
            f"miss_prop must be normal or streaming, not {shown(window.miss_prop)}: CUDA refuses "
            "persisting there"
        )


def _check_buffer(window: AccessPolicyWindow, instance: Instance) -> None:
    known = [b.name for b in instance.kernel.buffers if b.space == "global"]
    if window.buffer not in known:
        hint = nearest(window.buffer, known) or f"; there are {', '.join(known)}"
        raise PerfmodelError(
            f"window buffer {shown(window.buffer)} is no global buffer of kernel "
            f"{instance.kernel.name!r}{hint}"
        )


def _taken_as_given(control: L2Control, device: Device, *, mig: bool, mps: bool) -> list[str]:
    """Say what the platform and the memory have to be for a prediction to hold."""
    found = []
    if mig:
        found.append(
            "a MIG instance has a part of the SMs, of L2 and of DRAM: describe it in "
            "a device file, for here the whole GPU is predicted"
        )
    if mps and control.set_aside:
        found.append(
            "under MPS cudaDeviceSetLimit cannot set L2 aside: start the server with "
            f"{MPS_VARIABLE}={percent_of_l2(control.set_aside, device)} (percent of L2) to get "
            "this prediction"
        )
    if control.compression > 1:
        found.append(
            f"compression of {control.compression:g} is taken as given, for all that DRAM reads "
            "and writes: only memory made compressible has any (cuMemCreate with "
            "CU_MEM_ALLOCATION_COMP_GENERIC), and then its content decides"
            + f"; {MOST_COMPRESSED} is the most that was seen, of zeros"
            * (control.compression > MOST_COMPRESSED)
        )
    return found


def _without_effect(control: L2Control, instance: Instance, claimed: float) -> list[str]:
    found = []
    window = control.window
    persists = window is not None and window.hit_prop == "persisting"
    if persists and not control.set_aside:
        found.append(
            "nothing is set aside, so persisting accesses count as normal ones; a program that "
            "never sets the limit may start with some (an H200 with 11.25 MiB: cudaDeviceGetLimit "
            "tells, --set-aside takes it)"
        )
    if claimed and not control.set_aside:
        found.append("nothing is set aside, so windows of concurrent kernels have no effect here")
    if control.set_aside and not claimed and not (persists and window and window.hit_ratio):
        found.append("nobody persists in the set-aside: it only takes L2 from everyone else")
    if window is not None and window.offset + window.num_bytes > _bytes(window.buffer, instance):
        found.append(
            f"the window reaches past buffer {window.buffer!r}: what lies there is not counted"
        )
    return found


def _bytes(buffer: str, instance: Instance) -> int:
    """Return the bytes of a buffer: of several launches, of the smallest."""
    return int(np.min(instance.lengths[buffer] * instance.element_bytes[buffer]))


def _over_set_aside(
    control: L2Control, instance: Instance, claimed: float, device: Device
) -> list[str]:
    """Say when windows mark more than is set aside: whether it evicts, the ways granted decide."""
    window = control.window
    marked = claimed
    if window is not None and window.hit_prop == "persisting":
        # Lines beyond the buffer are never read, so never marked.
        within = _bytes(window.buffer, instance) - window.offset
        marked += window.hit_ratio * max(0, min(window.num_bytes, within))
    if not control.set_aside or marked <= control.set_aside:
        return []
    aside = _sized(control.set_aside)
    said = f"{_sized(round(marked))} are marked persisting, and {aside} set aside"
    ways = float(granted(control.set_aside, device.l2_size))
    if marked <= ways:
        return [
            f"{said}: too much as asked for, but {device.name} grants whole ways, "
            f"{_sized(round(ways))} here, in which they fit"
        ]
    return [
        f"{said}: they evict each other; hitRatios that add up to the set-aside, or a larger "
        "set-aside, avoid it (`perfmodel advise`)"
    ]
