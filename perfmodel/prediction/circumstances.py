"""Circumstances of a launch: what its interval and its warnings depend on besides numbers."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from perfmodel.hardware import Device
from perfmodel.kernels import Kernel
from perfmodel.kernels.access import RETRYING
from perfmodel.kernels.l2_control import L2Control
from perfmodel.models.agreement import agreed
from perfmodel.prediction.details import Details
from perfmodel.prediction.l2_rules import L2Setting
from perfmodel.records import record

_WHOLE: Final = 16
"""Bytes of a copy that needs no registers (TMA, cp.async past L1)."""


@record
class Circumstances:
    """What launches of a kernel that are predicted alike have in common."""

    kernel: Kernel
    device: Device
    setting: L2Setting
    precision: str  # of its operations
    counted: bool  # whether an access has no closed form
    copies_ahead: bool
    narrow: bool  # whether it copies ahead in pieces of less than 16 bytes
    batched: bool  # whether it is of several products
    retries: bool  # whether lanes try again until they succeed
    notes: tuple[str, ...]  # on how the traffic was counted
    of_accesses: tuple[str, ...]  # what is to be said of its accesses

    @classmethod
    def of(cls, details: Details) -> "Circumstances":
        """Return the circumstances of an evaluated launch."""
        instance, requests = details.instance, details.requests
        loads = (r for r in requests if r.access.kind == "load")
        ahead = instance.pipeline is not None
        return cls(
            kernel=instance.kernel,
            device=details.device,
            setting=details.setting,
            precision=instance.precision,
            counted=any(access.sampled is not None for access in details.traffic.accesses),
            copies_ahead=ahead,
            narrow=ahead and any(float(np.min(r.width)) < _WHOLE for r in loads),
            batched=agreed(np.asanyarray(instance.known.get("batch", 1)) > 1),
            retries=any(r.access.operation in RETRYING for r in requests),
            notes=details.notes,
            of_accesses=tuple(access_cautions(details)),
        )


def access_cautions(details: Details) -> Iterator[str]:
    """Yield what a reader should know of a launch's accesses, a sentence each."""
    yield from _counted(details)
    yield from _atomics_and_weights(details)


def _counted(details: Details) -> Iterator[str]:
    """Yield which accesses have no closed form, those with a sample of equal size together."""
    names: dict[str, list[str]] = {}
    for access in details.traffic.accesses:
        if access.sampled is not None:
            share = "all" if access.sampled >= 1 else f"a sample of {access.sampled:.1%}"
            names.setdefault(share, []).append(access.name)
    for share, alike in names.items():
        what, whose = ("access", "its index") if len(alike) == 1 else ("accesses", "their indices")
        yield (
            f"{what} {', '.join(alike)}: no closed form for {whose}, so {share} of the warps "
            "were counted"
        )


def _atomics_and_weights(details: Details) -> Iterator[str]:
    """Yield what L2's models leave out of atomics, and of places that are not equally likely."""
    asked = details.setting.control
    controlled = asked != L2Control(compression=asked.compression)
    for r, access in zip(details.requests, details.traffic.accesses, strict=True):
        if r.access.kind == "load" and r.access.weights is not None:
            yield f"access {access.name}: L2 is modelled as if its places were equally likely"
        if not controlled or r.sharing is None:
            continue
        if float(np.max(access.dram_bytes)) > details.device.l2_size:
            yield (
                f"access {access.name}: atomics past L2 are modelled with the driver's fetch "
                "granularity and no set-aside"
            )
