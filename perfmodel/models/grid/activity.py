"""Which threads take part: warps in full, warps in part, and how many of each.

A guard such as ``i < n``, ``1 <= row < M - 1 and col < N`` or ``threadIdx.x == 0`` bounds a count
of threads, written in mixed radix over lanes, warps and blocks. Then the warps fall into a few
classes of equal shape, and their numbers are exact.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.expressions import Node, Number, Operation
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.models.agreement import check_alike
from perfmodel.models.derivation import skippable
from perfmodel.models.grid.affine import Variable
from perfmodel.models.grid.bounded_numbers import BoundedNumber, bounded_numbers
from perfmodel.records import record

RARE: Final = 0.05
"""Share of the requests under which what cut warps ask for is scaled, not worked out."""
# A comparison as "this is above zero", for integers.
_POSITIVE: Final = {
    "<": lambda a, b: Operation("-", (b, a)),
    "<=": lambda a, b: Operation("+", (Operation("-", (b, a)), Number(1))),
    ">": lambda a, b: Operation("-", (a, b)),
    ">=": lambda a, b: Operation("+", (Operation("-", (a, b)), Number(1))),
}


@record
class Activity:
    """Who takes part in an access."""

    classes: tuple[WarpClass, ...]
    # Share of a guard's range that passes, under the slowest variable that it cuts short: the
    # footprint of an access that moves with that variable shrinks by it.
    shares: Mapping[str, Array]
    warp_shares: Mapping[str, Array]  # the same of warps: one that passes in part is whole
    bounded: Mapping[str, Array]  # where a guard keeps a variable from some of its values

    @property
    def requests(self) -> Array:
        """Requests of the whole launch."""
        return summed(c.requests for c in self.classes)

    @property
    def active_lanes(self) -> Array:
        """Lanes that take part in the whole launch."""
        return summed(c.requests * c.active for c in self.classes)

    @property
    def passing(self) -> dict[str, Any]:
        """What guards let through, by the names that requests have it under."""
        return {"shares": self.shares, "warp_shares": self.warp_shares, "bounded": self.bounded}


@record
class Span:
    """Values of some variables: mixed-radix numbers from `start` up to ``start + count`` - 1.

    The variables, with so many values each, are the number's digits, the fastest first.
    """

    names: tuple[str, ...]
    extents: tuple[Array, ...]
    start: Array
    count: Array


# Times, lanes that take part, those before them, and the warps that these are.
_Choice = tuple[Array, Array, Array, tuple[Span, ...]]


@record
class WarpClass:
    """Executions of an access by warps of one shape."""

    requests: Array  # how often such a warp executes the access in the whole launch
    lanes: Mapping[str, Array]  # that take part along each lane digit
    skipped: Mapping[str, Array]  # before the first of these
    spans: tuple[Span, ...]  # warps, blocks and iterations: every combination of these

    @property
    def active(self) -> Array:
        """Lanes that take part in all."""
        return np.asanyarray(math.prod(self.lanes.values()))


def conditions(guards: Sequence[Node]) -> list[Node] | None:
    """Return the guards as expressions that must be above zero, or None if one is no comparison."""
    found: list[Node] = []
    for guard in guards:
        if not isinstance(guard, Operation):
            return None
        if guard.operator == "and":
            parts = conditions(guard.operands)
            if parts is None:
                return None
            found += parts
        elif guard.operator in _POSITIVE:
            found.append(_POSITIVE[guard.operator](*guard.operands))
        elif guard.operator == "==":
            found += [_POSITIVE[sign](*guard.operands) for sign in ("<=", ">=")]
        else:
            return None
    return found


def warp_classes(
    guards: Sequence[Node], values: Mapping[str, Any], variables: Sequence[Variable]
) -> Activity | None:
    """Split the executions of an access into classes of equal warps.

    All guards must hold; without any every thread takes part. None where one is not an interval of
    a mixed-radix count of the lane and warp digits, block indices and loops: count threads instead.
    """
    tests = conditions(guards)
    if tests is None:
        return None
    facts: list[Array] = []  # what a configuration alone would have gone by
    numbers = bounded_numbers(tests, values, variables, facts)
    if numbers is None:
        return None
    found = _activity(numbers, variables)
    if found is None:
        check_alike(facts)  # others may be solved alone
    return found


def let_in(
    guards: Sequence[Node], values: Mapping[str, Any], variables: Sequence[Variable]
) -> Activity | None:
    """Return what guards leave of the variables of irregular blocks: no classes.

    Warps that pass in part are whole: threads are in warps by their numbers in the block.
    """
    tests = conditions(guards)
    numbers = None if tests is None else bounded_numbers(tests, values, variables, [])
    if numbers is None:
        return None
    shares: dict[str, Array] = {}
    whole: dict[str, Array] = {}
    bounded: dict[str, Array] = {}
    for number in numbers:
        count = np.maximum(number.stop - number.start, 0.0)
        every = math.prod(np.asanyarray(v.extent, dtype=float) for v in number.digits)
        shares |= _shares(number.digits, count)
        whole |= _shares(
            number.digits, np.minimum(_in_whole_warps(number, count, variables), every)
        )
        bounded |= number.bounded
    return Activity((), shares, whole, bounded)


def _in_whole_warps(number: BoundedNumber, count: Array, variables: Sequence[Variable]) -> Array:
    """Return so many of a number's values with those of the rest of their warps."""
    at = next((i for i, v in enumerate(variables) if v.is_thread and v in number.digits), None)
    if at is None:
        return count
    each = math.prod(v.extent for v in variables[:at])  # threads of the axes before it
    return np.asanyarray(np.ceil(count * each / WARP_SIZE) * WARP_SIZE / each)


def _activity(numbers: Sequence[BoundedNumber], variables: Sequence[Variable]) -> Activity | None:
    """Return who takes part where each number is bounded; None where they are no whole warps."""
    used: set[str] = set()
    warps: Array = np.asanyarray(1.0)
    spans: list[Span] = []
    lane_choices: dict[str, list[_Choice]] = {}
    shares: dict[str, Array] = {}
    warp_shares: dict[str, Array] = {}
    bounded: dict[str, Array] = {}
    for number in numbers:
        digits, start = number.digits, number.start
        count = np.maximum(number.stop - start, 0.0)
        if used & {v.name for v in digits}:
            return None
        used |= {v.name for v in digits}
        shares |= _shares(digits, count)
        bounded |= number.bounded
        lanes = [v for v in digits if v.in_lane]
        if len(lanes) > 1:
            return None
        parts = _parts(digits, start, count) if lanes else []
        whole = summed(part.in_whole_warps for part in parts) if lanes else count
        warp_shares |= _shares(digits, np.where(count > 0, whole, 0.0))
        if lanes:
            lane_choices[lanes[0].name] = [choice for part in parts for choice in part.choices]
        else:
            warps = warps * count
            spans += _spans(digits, start, count)
    for v in variables:
        if v.name in used:
            continue
        if v.in_lane:
            lane_choices[v.name] = [(np.asanyarray(1.0), v.extent, np.zeros(1), ())]
        else:
            warps = warps * v.extent
            spans += _spans([v], np.zeros(1), v.extent)
    names = [v.name for v in variables if v.in_lane]
    return Activity(_classes(names, lane_choices, warps, spans), shares, warp_shares, bounded)


def _classes(
    names: Sequence[str],
    lane_choices: Mapping[str, Sequence[_Choice]],
    warps: Array,
    spans: Sequence[Span],
) -> tuple[WarpClass, ...]:
    """Return every combination of the choices along each lane digit that some warp makes."""
    return tuple(
        WarpClass(
            requests=np.asanyarray(warps * math.prod(times for times, *_ in choice)),
            lanes={
                name: np.asanyarray(n) for name, (_, n, _, _) in zip(names, choice, strict=True)
            },
            skipped={
                name: np.asanyarray(n) for name, (*_, n, _) in zip(names, choice, strict=True)
            },
            spans=(*spans, *(span for *_, own in choice for span in own)),
        )
        for choice in itertools.product(*(lane_choices[name] for name in names))
        if not skippable(math.prod(times for times, *_ in choice) <= 0)
    )


@record
class _Part:
    """Numbers that are alike in the digits faster than the lane: `times` values of these.

    `slower` are the lane's digit and those slower, which run from `start` up to ``start + count``.
    """

    faster: tuple[Span, ...]
    times: Array
    slower: Sequence[Variable]
    start: Array
    count: Array

    @property
    def in_whole_warps(self) -> Array:
        """Threads of the warps that take part, whole."""
        width, stop = self.slower[0].extent, self.start + self.count
        whole = np.ceil(stop / width) - np.floor(self.start / width)
        return np.asanyarray(self.times * np.where(self.count > 0, whole * width, 0.0))

    @property
    def choices(self) -> list[_Choice]:
        """Warps in full and in part."""
        found = _lane_choices(self.slower, self.start, self.count)
        return [(self.times * n, own, off, (*self.faster, *spans)) for n, own, off, spans in found]


def _parts(digits: Sequence[Variable], start: Array, count: Array) -> list[_Part]:
    """Return a bounded number by parts: those below where it starts or stops end one later."""
    at = next(i for i, v in enumerate(digits) if v.in_lane)
    if at == 0:
        return [_Part((), np.ones(1), digits, start, count)]
    faster, slower = digits[:at], digits[at:]
    size = np.asanyarray(math.prod(v.extent for v in faster), dtype=float)
    stop = start + count
    first, last = np.floor(start / size), np.floor(stop / size)
    begins, ends = start - first * size, stop - last * size
    cuts = (np.zeros(1), np.minimum(begins, ends), np.maximum(begins, ends), size)
    found = []
    for low, high in itertools.pairwise(cuts):
        if skippable(high <= low):
            continue
        own = first + (low < begins)
        runs = np.maximum(last + (low < ends) - own, 0.0) * (high > low)
        found.append(_Part(_spans(faster, low, high - low), high - low, slower, own, runs))
    return found


def _lane_choices(digits: Sequence[Variable], start: Array, count: Array) -> list[_Choice]:
    """Return full warps, a last one in part, and a first one in part; the last may be the first."""
    width = digits[0].extent
    stop = start + count
    # Floats' own // takes many times as long.
    begins, ends = np.floor(start / width), np.floor(stop / width)
    skipped = start - begins * width
    one_warp = (begins == ends) & (count > 0)
    head = ((skipped > 0) & (count > 0) & ~one_warp) | (one_warp & (skipped > 0))
    first = np.where(skipped > 0, begins + 1, begins)
    full = np.maximum(ends - first, 0.0) * (count > 0)
    tail = (stop - ends * width > 0) & (count > 0) & ~(one_warp & (skipped > 0))
    slower = digits[1:]
    whole = width + 0.0 * count
    return [
        (full, whole, 0.0 * count, _spans(slower, first, full)),
        (
            tail * 1.0,
            np.where(tail, stop - ends * width, whole),
            0.0 * count,
            _spans(slower, ends, tail * 1.0),
        ),
        (
            head * 1.0,
            np.where(one_warp, count, whole - skipped),
            skipped,
            _spans(slower, begins, head * 1.0),
        ),
    ]


def _shares(digits: Sequence[Variable], count: Array) -> dict[str, Array]:
    """Return the share of all numbers below `count`, under the slowest digit that moves."""
    # A loop that some configurations never enter has an extent of 0, and nothing is left of it.
    whole = math.prod(np.asanyarray(v.extent, dtype=float) for v in digits)
    left = count / np.maximum(whole, 1.0)
    shares: dict[str, Array] = {}
    for v in reversed(digits):
        shares[v.name] = np.where(v.extent > 1, left, 1.0)
        left = np.where(v.extent > 1, 1.0, left)
    return shares


def _spans(digits: Sequence[Variable], start: Array, count: Array) -> tuple[Span, ...]:
    """Return the span of some digits, or none where there is no digit."""
    names, extents = tuple(v.name for v in digits), tuple(v.extent for v in digits)
    return (Span(names, extents, start, count),) if digits else ()
