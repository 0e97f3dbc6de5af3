"""Reuse: what a cache of a given size has to fetch, by windows of execution whose data it holds.

Threads that run together touch a footprint; each loop around them, and then each wave of blocks,
lengthens the window. Data is fetched once in the longest window that fits the cache and again in
every later one (the layer condition of stencil models, for any affine access).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.models.agreement import agreed, agreed_order
from perfmodel.models.extremes import largest, smallest
from perfmodel.models.formula import Formula
from perfmodel.models.grid.affine import Variable
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.footprint import Extent, footprint
from perfmodel.models.requests.warp_requests import Requests

Array = npt.NDArray[Any]

KNEE: Final = (0.83, 1.07)
"""Footprint over capacity at which reuse starts to fail, and at which none is left.

Fitted: re-reading a private working set on an H200 holds its bandwidth up to 52 MiB of 60 and is
at DRAM speed from 64 MiB (measurements/h200-sxm/working-set.csv); on an H100, 40 and 50 MiB of 50.
"""
WARM_KNEE: Final = (0.6, 0.83)
"""The same from one launch to the next, whose blocks fall on other SMs.

Fitted: warm reads of 33.6 MB (0.53 of an H200's L2) hit throughout, of 50.3 MB (0.80) hardly any;
warm copies the same in the sum of both arrays (measurements/h200-sxm-suite/streams.csv). That lines
are held by both partitions, once each side has read them, is the likely cause. Reads of 16 B a lane
keep all of 42 MB (0.67), copies half of it (measurements/h200-streams/warm.csv).
"""
DIRTY_KNEE: Final = (1.2, 2.0)
"""Data that a warm launch writes, over the room that dirty lines have beside a set-aside, at which
lines start to be written back before the next launch writes them, and at which all are.

Fitted: warm writes of 16.8 and 33.6 MB with 16 and 30 MiB set aside
(measurements/h200-sxm-suite/set-aside-streams.csv, fit rows): 0.76 of the lines stay at 1.33 times
the room, all at 1.19, none at 2.4.
"""
REWRITTEN_KNEE: Final = (0.36, 1.04)
"""Written data over capacity at which lines that are written again start to be written back in
between, and at which all are.

Fitted: DRAM writes of 14 launches that write 16 to 72 MiB again and again on an H200
(measurements/h200-sxm/working-set.csv, kernel working-set-write): 0.04 rms of the share written
back. The simulator's 200 launches ask for 0.37 and 1.08, with 0.03 rms.
"""
HELD = Formula(
    name="share of a footprint's reuse that a cache keeps",
    unit="1",
    text="min(1, max(0, (high - f/c)/(high - low)))",
    symbols={
        "f": "footprint, data that both L2 sides read counted twice [B]",
        "c": "capacity [B]",
        "low": "footprint over capacity at which reuse starts to fail [1]",
        "high": "footprint over capacity at which none is left [1]",
    },
    holds="cyclic reuse",
    source="fitted: working-set sweeps on an H200, ends of the knee",
)


BESIDE: Final = 1 / 24
"""Part of a loop's step by which a load before it still counts as one of it, if there are others
at it: a neighbour's. Loads of iterations that are put together fill the step and end before it."""
_ROUNDED: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Group:
    """Accesses that walk through one buffer with the same strides, some bytes apart.

    Attributes
    ----------
    members : tuple of int
        Positions of the accesses.
    counts : mapping of str to array
        Values of each variable, the spread of the members' offsets, and what that leaves: the
        places that members start at, how far apart these are and where the first lies [B].
    strides : mapping of str to array
    width : int
    period : array or None
        Bytes that the members go through before their addresses start again.
    """

    members: tuple[int, ...]
    counts: Mapping[str, Array]
    strides: Mapping[str, Array]
    width: int
    period: Array | None = None

    def granules(self, window: Mapping[str, Array], granule: int) -> Array:
        """Return the distinct granules over a window: how many values each variable takes in it."""
        extents = [
            Extent(stride, self._spread(name, np.minimum(window.get(name, 1.0), self.counts[name])))
            for name, stride in self.strides.items()
        ]
        extents += [Extent(self.counts["apart"], self.counts["places"])]
        found = footprint(extents, self.width, granule, self.counts["start"])
        return found if self.period is None else np.minimum(found, np.ceil(self.period / granule))

    def moves_with(self, name: str) -> bool:
        """Say whether a variable lengthens the group's footprint in any configuration."""
        stride = self.strides.get(name)
        return stride is not None and bool(np.any((stride != 0) & (self.counts[name] > 1)))

    def _spread(self, name: str, count: Array) -> Array:
        """Return the values that a variable takes for all members together, of `count` for one."""
        if f"spread {name}" not in self.counts:
            return count
        # Members close to each other overlap; those far apart are copies.
        together = count + self.counts[f"spread {name}"]
        return np.asanyarray(np.minimum(together, count * self.counts[f"copies {name}"]))


def loads_by_l1(requests: Sequence[Requests], groups: Iterable[Group]) -> list[Group]:
    """Return the groups of loads that L1 caches."""
    first = ((g, requests[g.members[0]].access) for g in groups)
    return [g for g, access in first if access.kind == "load" and access.cache == "l1"]


def thread_extents(requests: Sequence[Requests], groups: Iterable[Group]) -> dict[str, Array]:
    """Return how many values the variables of a block's threads take."""
    return {
        v.name: v.extent
        for g in groups
        for v in requests[g.members[0]].variables
        if v.target.startswith("threadIdx")
    }


def held(footprint_bytes: Any, capacity: Any, knee: tuple[float, float] = KNEE) -> Array:
    """Return the share of the reuse that survives, 0 to 1."""
    low, high = knee
    return np.asanyarray(
        HELD(
            f=np.asanyarray(footprint_bytes, float),
            c=np.asanyarray(capacity, float),
            low=low,
            high=high,
        )
    )


def atoms_over_sectors(groups: Sequence[Group], granule: int) -> dict[int, Array]:
    """Return the bytes of DRAM atoms over those of the sectors in them, by position of the access.

    A miss brings an atom. Where lone sectors lie in atoms of their own, each that L2 still has
    spares a whole one.
    """
    found: dict[int, Array] = {}
    for g in groups:
        sectors = np.maximum(g.granules(g.counts, SECTOR), 1.0) * SECTOR
        found |= dict.fromkeys(
            g.members, np.maximum(g.granules(g.counts, granule) * granule / sectors, 1.0)
        )
    return found


def grouped(requests: Sequence[Requests]) -> list[Group]:
    """Put affine accesses of one buffer, kind and loop with equal strides together."""
    groups: list[list[int]] = []
    for i, r in enumerate(requests):
        if r.strides is None:
            continue
        for members in groups:
            other = requests[members[0]]
            assert other.strides is not None
            if (
                other.access.buffer == r.access.buffer
                and other.access.kind == r.access.kind
                and other.access.loop == r.access.loop
                and other.access.cache == r.access.cache
                and other.width == r.width
                and _same_period(other, r)
                and other.strides.keys() == r.strides.keys()
                and all(agreed(s == r.strides[n]) for n, s in other.strides.items())
            ):
                members.append(i)
                break
        else:
            groups.append([i])
    return [_group(members, requests) for members in groups]


def _same_period(a: Requests, b: Requests) -> bool:
    """Say whether two accesses have no period, or the same one over ranges that overlap."""
    if a.period is None or b.period is None or a.start is None or b.start is None:
        return a.period is None and b.period is None
    return agreed((a.period == b.period) & (np.abs(a.start - b.start) < a.period))


def _joint_period(members: Sequence[Requests]) -> Array | None:
    """Return the bytes that accesses of one period go through together; None if they have none."""
    starts = [r.start for r in members if r.start is not None]
    if members[0].period is None or not starts:
        return members[0].period
    return np.asanyarray(members[0].period + largest(*starts) - smallest(*starts), dtype=float)


def _group(members: list[int], requests: Sequence[Requests]) -> Group:
    first = requests[members[0]]
    strides = first.strides or {}
    counts = {v.name: v.extent * first.shares.get(v.name, 1.0) for v in first.variables}
    # How far apart the members are, in steps of each variable, largest stride first.
    order = [v for v in first.variables if np.any((strides[v.name] != 0) & (v.extent > 1))]
    if len(members) > 1:
        order = [v for v in order if agreed((strides[v.name] != 0) & (v.extent > 1))]
        order = [order[i] for i in agreed_order([-np.abs(strides[v.name]) for v in order])]
    offsets = np.stack(np.broadcast_arrays(*(requests[i].offset for i in members)))
    left = np.asanyarray(offsets - offsets.min(axis=0), dtype=float)
    moved: dict[str, Array] = {}
    for v in order:
        stride = strides[v.name]
        steps = left / np.where(stride == 0, 1, stride)
        if v.is_block or v.target.startswith("threadIdx"):
            steps = np.rint(steps)
        else:  # loads of an unrolled loop lie between two of its steps
            steps = np.copysign(_whole_steps(np.abs(steps)), steps)
        apart = stride != 0
        if len(members) > 1 and v.is_block and _tiled(v, order, strides):
            # Threads in a row have neighbours' data next to theirs, be they of the block or not.
            gaps = np.diff(np.sort(left, axis=0), axis=0)
            apart = apart & (gaps.max(axis=0, initial=0.0) > np.abs(stride))
        moved[v.name] = np.where(apart, steps, 0.0)
        left = left - moved[v.name] * stride
    for name, steps_of in moved.items():
        counts[f"spread {name}"], counts[f"copies {name}"] = _distinct(steps_of)
    # What is left: an unrolled loop's loads, between two steps of its variable.
    reach, counts["places"] = _distinct(left)
    counts["apart"] = reach / np.maximum(counts["places"] - 1, 1)
    counts["start"] = np.asanyarray(offsets.min(axis=0) + left.min(axis=0), dtype=float)
    period = _joint_period([requests[i] for i in members])
    return Group(tuple(members), counts, strides, first.width, period)


def _whole_steps(steps: Array) -> Array:
    """Return the step that each member counts to: its own, or the next that has members too."""
    own = np.floor(steps + _ROUNDED)
    before = steps - own > 1 - BESIDE
    if not np.any(before):
        return own
    at = np.where(steps - own <= BESIDE, own, -1.0)
    there = np.any(at[None] == own[:, None] + 1, axis=1)
    return np.where(before & there, own + 1, own)


def _tiled(v: Variable, others: Sequence[Variable], strides: Mapping[str, Array]) -> bool:
    """Say whether a block's threads fill the step from it to the next, and so are next to these."""
    return any(
        u.target.startswith("threadIdx")
        and agreed(np.abs(strides[u.name] * u.extent) == np.abs(strides[v.name]))
        for u in others
    )


def _distinct(values: Array) -> tuple[Array, Array]:
    """Return how far some values lie apart, and how many distinct ones there are."""
    ordered = np.sort(values, axis=0)
    several = 1.0 + np.sum(ordered[1:] != ordered[:-1], axis=0)
    return np.asanyarray(ordered[-1] - ordered[0]), np.asanyarray(several)


@dataclass(frozen=True, slots=True)
class Window:
    """One step of lengthening: `name` grows from `start` to `stop` values."""

    name: str
    start: Array
    stop: Array


def fetched(
    groups: Sequence[Group],
    base: Mapping[str, Array],
    windows: Sequence[Window],
    capacity: Array,
    granule: int,
    weights: Sequence[Array],
    resident: Array,
    knee: tuple[float, float] = KNEE,
) -> list[Array]:
    """Return the granules that each group fetches into a cache.

    Parameters
    ----------
    groups : sequence of Group
    base : mapping
        Values that each variable takes among threads that run together.
    windows : sequence of Window
        Lengthening steps, innermost first; the counts are for all groups, and a group that a
        variable does not concern is not lengthened by it.
    capacity : array
        Bytes of the cache.
    granule : int
        Bytes of a fetch.
    weights : sequence of array
        Copies of each group's data that the cache holds.
    resident : array
        Boxes like `base` that share the cache at a time.
    knee : tuple of two float
        Footprint over capacity at which reuse starts to fail, and at which none is left.

    Returns
    -------
    list of array
        Granules for one box and all its windows, for each group.
    """
    windows = [w for w in windows if np.any(w.stop > w.start)]

    def counts(level: int, last: Array | None = None) -> dict[str, Array]:
        found = dict(base)
        for i, w in enumerate(windows[:level]):
            found[w.name] = last if last is not None and i == level - 1 else w.stop
        return found

    levels = range(1, len(windows) + 1)
    moving = [{w.name for w in windows if g.moves_with(w.name)} for g in groups]
    whole = [[g.granules(base, granule)] for g in groups]
    for level, w in zip(levels, windows, strict=True):
        for found, g, names in zip(whole, groups, moving, strict=True):
            found.append(g.granules(counts(level), granule) if w.name in names else found[-1])
    sizes = [
        resident
        * granule
        * sum((f[i] * w for f, w in zip(whole, weights, strict=True)), np.zeros(1))
        for i in (0, *levels)
    ]
    results = []
    for g, found, names in zip(groups, whole, moving, strict=True):
        outer = np.asanyarray(1.0)
        for w in windows:
            outer = outer * (w.stop / w.start if w.name in g.strides else 1.0)
        result = found[0] * outer
        reached = np.ones(1, dtype=bool)
        for level, w in zip(levels, windows, strict=True):
            if w.name not in g.strides:
                reached = reached & (sizes[level] <= capacity * knee[1])
                continue
            outer = outer * w.start / w.stop
            keeps = held(sizes[level], capacity, knee)
            here = found[level]
            if np.any((keeps < 1) & reached):
                # As many iterations as fit, where not all do.
                fit = np.clip(np.floor(w.stop * capacity / sizes[level]), w.start, w.stop)
                # Iterations over the same data fit together, or not at all.
                fit = np.where(sizes[level] > sizes[level - 1], fit, w.start)
                once = g.granules(counts(level, fit), granule) if w.name in names else here
                part = once * w.stop / fit
                here = keeps * here + (1 - keeps) * np.maximum(part, here)
            result = np.where(reached, np.minimum(result, here * outer), result)
            reached = reached & (sizes[level] <= capacity * knee[1])
        results.append(np.asanyarray(result))
    return results
