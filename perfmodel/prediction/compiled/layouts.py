"""Layouts: which numbers of launches a program has as outputs, and what is made of them again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from perfmodel.models.derivation import figure, is_recording
from perfmodel.models.global_accesses import CacheState
from perfmodel.models.ranges import Differences
from perfmodel.models.time.stage import Timing
from perfmodel.prediction.circumstances import Circumstances
from perfmodel.prediction.compiled.array_functions import NoProgramError
from perfmodel.prediction.compiled.lowering import Moved
from perfmodel.prediction.details import Details
from perfmodel.prediction.launch_numbers import LaunchNumbers
from perfmodel.prediction.reliability import Reliability, differences_of
from perfmodel.prediction.time_of_traffic import moved_figures, moved_times, spread_of, time_on
from perfmodel.records import record

Found_co = TypeVar("Found_co", covariant=True)


class Layout(Protocol[Found_co]):
    """What the outputs of a program are."""

    @property
    def rest(self) -> int:
        """How many of them, the last, may be what is left of a difference of large numbers."""

    def record(self, outputs: tuple[Any, ...]) -> Found_co:
        """Return outputs, plain ones or arrays, as the record that they were taken from."""


Read = Callable[[Any], tuple[Layout[Found_co], tuple[Any, ...]]]
"""Takes the outputs of a program from evaluated launches."""


@record
class NumbersLayout:
    """Outputs that are `LaunchNumbers`."""

    terms: tuple[str, ...]
    traffic: tuple[str, ...]
    params: tuple[str, ...]
    loads: tuple[str, ...]

    @property
    def rest(self) -> int:
        """How many are traffic."""
        return len(self.traffic) + 2 * len(self.loads)

    def record(self, outputs: tuple[Any, ...]) -> LaunchNumbers:
        """Return outputs as the numbers of launches."""
        time, flop, per_sm, warps, fraction, limiter, *left = outputs
        sizes, left = left[: 6 + len(self.params)], left[6 + len(self.params) :]
        loads = iter(left[len(self.terms) + len(self.traffic) :])
        return LaunchNumbers(
            time_s=time,
            terms_s=dict(zip(self.terms, left, strict=False)),
            traffic=dict(zip(self.traffic, left[len(self.terms) :], strict=False)),
            params=dict(zip(self.params, sizes[6:], strict=True)),
            grid=tuple(sizes[:3]),
            block=tuple(sizes[3:6]),
            flop=flop * 1.0,
            blocks_per_sm=per_sm,
            warps_per_sm=warps,
            fraction=fraction,
            limiter=limiter,
            loads=dict(zip(self.loads, zip(loads, loads, strict=True), strict=True)),
        )


def read_numbers(details: Details) -> tuple[NumbersLayout, tuple[Any, ...]]:
    """Return the numbers of launches, and their layout."""
    found = LaunchNumbers.of(details)
    outputs = (
        *(found.time_s, found.flop, found.blocks_per_sm, found.warps_per_sm),
        *(found.fraction, found.limiter),
        *(*found.grid, *found.block, *found.params.values()),
        *(*found.terms_s.values(), *found.traffic.values()),
        *(number for load in found.loads.values() for number in load),
    )
    names = tuple(found.terms_s), tuple(found.traffic), tuple(found.params), tuple(found.loads)
    return NumbersLayout(*names), outputs


@record
class ReliabilityLayout:
    """Outputs that make a `Reliability`: times, with the figures moved, and differences."""

    circumstances: Circumstances
    rest: int

    def record(self, outputs: tuple[Any, ...]) -> Reliability:
        """Return plain outputs of one launch as its reliability."""
        times, differences = outputs[: -self.rest], outputs[-self.rest :]
        return Reliability(self.circumstances, Differences.of(differences), spread_of(times))


def read_reliability(
    details: Details, timing: Timing, cache: CacheState
) -> tuple[ReliabilityLayout, tuple[Any, ...]]:
    """Return what the reliability of launches is made of, and its layout.

    Raises `NoProgramError` if warps were counted: how many of them, a warning says, and no program.
    """
    of = Circumstances.of(details)
    if of.counted:
        raise NoProgramError("accesses without a closed form")
    differences = differences_of(details, cache).numbers()
    times = _recorded_times(details, timing) if is_recording() else moved_times(details, timing)
    return ReliabilityLayout(of, len(differences)), (*times, *differences)


def _recorded_times(details: Details, timing: Timing) -> list[Any]:
    """Return what `moved_times` does, of one recorded time."""
    moved = moved_figures(details.device)
    figures: dict[str, Any] = {n: figure(n, getattr(details.device, n)) for n in moved}
    time: Any = time_on(replace(details.device, **figures), details, timing)
    return [time, *(Moved(time.node, figures[n].node, value) for n, value in moved.items())]
