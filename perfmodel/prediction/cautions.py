"""What a prediction warns of: what its models leave out, and where they do not hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from perfmodel.kernels.l2_control import L2Control
from perfmodel.models.ranges import outside, ranges
from perfmodel.prediction.details import Details
from perfmodel.prediction.wider import wider_warnings

_SAID_FIRST: Final = (
    *("l2_size", "l2_read_bandwidth", "l2_write_bandwidth", "l2_latency"),
    *("dram_bandwidth", "dram_read_efficiency", "dram_latency"),
    *("reached_bf16_tensor", "tensor16_lanes", "launch_floor"),
)
"""Inherited figures that a warning names; the others it counts."""


def cautions(details: Details, method: str, cache: str) -> Iterator[str]:
    """Yield what a reader of a prediction should know, a sentence each."""
    yield from details.instance.kernel.doubt.reasons
    yield from details.setting.warnings
    yield from details.instance.kernel.notes
    yield from details.notes
    yield from _inherited(details)
    yield from wider_warnings(details)
    yield from _counted(details)
    yield from _atomics_and_weights(details)
    yield from _copying_ahead(details)
    if method == "closed-form":
        yield from _outside_the_range(details, cache == "cold")
    if details.device.figures["launch_floor"].kind == "assumed":
        yield f"launch floor of {details.device.name} is assumed, not measured"


def _inherited(details: Details) -> Iterator[str]:
    """Yield whose figures and coefficients a GPU has that nobody measured."""
    device = details.device
    fitted_on = device.coefficients.compute_capability
    if fitted_on != device.compute_capability:
        yield (
            f"{device.name}: coefficients of the mechanisms are inherited from compute capability "
            f"{fitted_on}: not measured on this GPU ({device.compute_capability})"
        )
    found = device.inherited
    if found is None:
        return
    first = [name for name in _SAID_FIRST if name in found.figures]
    more = len(found.figures) - len(first)
    yield (
        f"{device.name}: {', '.join(first)} and {more} more figures are inherited from "
        f"{found.device}: not measured on this GPU"
    )
    if found.compute_capability != device.compute_capability:
        yield (
            f"{device.name}: compute capability {device.compute_capability}, but rates of "
            f"instructions and tensor cores, clocks of wgmma among them, are inherited from "
            f"{found.device} ({found.compute_capability}): not measured on this GPU"
        )


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


def _outside_the_range(details: Details, cold: bool) -> Iterator[str]:
    """Yield where the closed forms and the simulator are known to part."""
    found = outside(
        details.instance,
        details.requests,
        details.traffic,
        details.device,
        details.occupied,
        details.setting.control,
        cold,
    )
    for what, difference, why in found:
        limit = ranges().limits.of(what)
        by = f"about {difference:.0%}" if difference < 10 else "ten times and more"
        yield (
            f"outside the closed form's range: {why}, and its {what} may differ from the "
            f"simulator's by {by} (over {limit:.0%}); --traffic simulated counts them"
        )


def _atomics_and_weights(details: Details) -> Iterator[str]:
    """Yield what L2's models leave out of atomics, and of places that are not equally likely."""
    asked = details.setting.control
    for r, access in zip(details.requests, details.traffic.accesses, strict=True):
        if r.access.kind == "load" and r.access.weights is not None:
            yield f"access {access.name}: L2 is modelled as if its places were equally likely"
        outgrown = float(np.max(access.dram_bytes)) > details.device.l2_size
        if r.sharing is not None and outgrown and asked != L2Control(compression=asked.compression):
            yield (
                f"access {access.name}: atomics past L2 are modelled with the driver's fetch "
                "granularity and no set-aside"
            )


def _copying_ahead(details: Details) -> Iterator[str]:
    """Yield what is not known of blocks that copy ahead, and how long their clock lasts."""
    if details.instance.pipeline is None:
        return
    device, precision = details.device, details.instance.precision
    reached = device.figures.get(f"reached_{precision}")
    if reached is None or reached.kind not in ("measured", "fitted"):
        yield (
            f"how blocks that copy ahead run on {device.name} is inherited from h200-sxm: not "
            "measured on this GPU"
        )
    long, short = device.sustained_bf16_tensor, device.reached_bf16_tensor
    busy = float(np.max(details.time.terms_s.get(precision, np.zeros(1)))) > 0.5 * float(
        details.time.time_s[0]
    )
    if busy and long is not None and short is not None:
        yield (
            "this is the time in the first 25 ms of such work: run on and on, the power limit "
            f"lowers the clock, and it takes up to {short / long:.2f} times as long"
        )
