"""What a prediction warns of: what its models leave out, and where they do not hold."""

from collections.abc import Iterator, Mapping
from typing import Final

from perfmodel.hardware import Device
from perfmodel.models.ranges import Differences, outside, ranges
from perfmodel.prediction.circumstances import Circumstances
from perfmodel.prediction.interval import wider_warnings

_SAID_FIRST: Final = (
    *("l2_size", "l2_read_bandwidth", "l2_write_bandwidth", "l2_latency"),
    *("dram_bandwidth", "dram_read_efficiency", "dram_latency"),
    *("reached_bf16_tensor", "tensor16_lanes", "launch_floor"),
)
"""Inherited figures that a warning names; the others it counts."""


def cautions(
    of: Circumstances, differences: Differences | None, terms_s: Mapping[str, float], time_s: float
) -> Iterator[str]:
    """Yield what a reader of a prediction should know, a sentence each.

    `differences`: of the closed form and the simulator; None where that has counted the traffic.
    `terms_s` and `time_s`: as predicted.
    """
    yield from of.kernel.doubt.reasons
    yield from of.setting.warnings
    yield from of.kernel.notes
    yield from of.notes
    yield from _inherited(of.device)
    yield from wider_warnings(of)
    yield from of.of_accesses
    if of.copies_ahead:
        yield from _copying_ahead(of, terms_s.get(of.precision, 0.0) > 0.5 * time_s)
    if differences is not None:
        yield from _outside_the_range(differences, float(of.device.l2_size))
    if of.device.figures["launch_floor"].kind == "assumed":
        yield f"launch floor of {of.device.name} is assumed, not measured"


def _inherited(device: Device) -> Iterator[str]:
    """Yield whose figures and coefficients a GPU has that nobody measured."""
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


def _outside_the_range(found: Differences, l2_size: float) -> Iterator[str]:
    """Yield where the closed forms and the simulator are known to part."""
    for what, difference, why in outside(found, l2_size):
        limit = ranges().limits.of(what)
        by = f"about {difference:.0%}" if difference < 10 else "ten times and more"
        yield (
            f"outside the closed form's range: {why}, and its {what} may differ from the "
            f"simulator's by {by} (over {limit:.0%}); --traffic simulated counts them"
        )


def _copying_ahead(of: Circumstances, busy: bool) -> Iterator[str]:
    """Yield what is not known of blocks that copy ahead, and how long their clock lasts.

    `busy`: whether the tensor cores are, most of the time.
    """
    device = of.device
    reached = device.figures.get(f"reached_{of.precision}")
    if reached is None or reached.kind not in ("measured", "fitted"):
        yield (
            f"how blocks that copy ahead run on {device.name} is inherited from h200-sxm: not "
            "measured on this GPU"
        )
    long, short = device.sustained_bf16_tensor, device.reached_bf16_tensor
    if busy and long is not None and short is not None:
        yield (
            "this is the time in the first 25 ms of such work: run on and on, the power limit "
            f"lowers the clock, and it takes up to {short / long:.2f} times as long"
        )
