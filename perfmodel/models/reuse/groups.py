"""Groups: accesses that walk through one buffer with the same strides, and what they touch."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array, largest, smallest, summed
from perfmodel.models.agreement import agreed, agreed_order
from perfmodel.models.derivation import skippable
from perfmodel.models.grid.affine import Variable
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.footprint import Extent, footprint
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.reuse.spreads import Spread, by_parts, distinct_steps, parts_of_steps
from perfmodel.records import record

BESIDE: Final = 1 / 24
"""Part of a loop's step by which a load before it still counts as one of it, if there are others
at it: a neighbour's. Loads of iterations that are put together fill the step and end before it."""
_ROUNDED: Final = 1e-9


class Star(NamedTuple):
    """Members around a centre, each along one variable alone."""

    centre: Array  # where the data of the centre starts [B]
    arms: Mapping[str, Array]  # the same of those along each variable


@record
class Group:
    """Accesses that walk through one buffer with the same strides, at some distance in bytes."""

    members: tuple[int, ...]  # positions of the accesses
    counts: Mapping[str, Array]  # values of each variable
    strides: Mapping[str, Array]  # bytes that a step of each moves the address
    width: int  # bytes that a lane moves at once, at most
    # of the members' offsets, by variable; one for each part of a step that they are at
    spreads: Mapping[str, Sequence[Spread]]
    # what that leaves of the offsets: the places that members start at, and their distance
    rest: Extent
    start: Array  # where the first of these lies [B]
    # bytes that the members go through before their addresses start again
    period: Array | None = None
    star: Star | None = None  # where members lie around a centre, each along one variable alone

    def granules(self, window: Mapping[str, Array], granule: int) -> Array:
        """Return the distinct granules over a window: how many values each variable takes in it."""
        found = self._granules(window, granule, self.spreads)
        if self.star is not None:
            # Arms add up, where members at all corners multiply.
            arms = self.star.arms
            inner = {name: s for name, s in self.spreads.items() if name not in arms}
            centre = self._granules(window, granule, inner, self.star.centre)
            along = (
                self._granules(window, granule, {**inner, name: self.spreads[name]}, start)
                for name, start in arms.items()
            )
            found = np.minimum(found, centre + summed(each - centre for each in along))
        return found if self.period is None else np.minimum(found, np.ceil(self.period / granule))

    def _granules(
        self,
        window: Mapping[str, Array],
        granule: int,
        spreads: Mapping[str, Sequence[Spread]],
        start: Array | None = None,
    ) -> Array:
        """Return the distinct granules of members that lie apart as `spreads` say.

        Where their data is known to `start`, if it is.
        """
        extents = []
        for name, stride in self.strides.items():
            count = np.minimum(window.get(name, 1.0), self.counts[name])
            parts = spreads.get(name, ())
            if len(parts) == 1:
                count = parts[0].steps(count)
            elif parts:
                count = summed(part.steps(count) for part in parts)
            step = stride / len(parts) if len(parts) > 1 else stride
            extents.append(Extent(step, np.asanyarray(count)))
        known = start is not None
        first = self.start if start is None else start
        return footprint([*extents, self.rest], self.width, granule, first, known)

    def moves_with(self, name: str) -> bool:
        """Say whether a variable may lengthen the group's footprint in any configuration."""
        stride = self.strides.get(name)
        return stride is not None and not skippable((stride == 0) | (self.counts[name] <= 1))


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
                and _same_period(other, r)
                and same_strides(other, r)
            ):
                members.append(i)
                break
        else:
            groups.append([i])
    return [group_of(members, requests) for members in groups]


def apart(group: Group, requests: Sequence[Requests]) -> list[Group]:
    """Return a group's members in groups between which no block touches the same sectors.

    These lie so far from each other that the threads and loops of one block do not reach from one
    to the next, such as the planes of a stencil that walks along none of them.
    """
    if len(group.members) < 2 or group.period is not None:
        return [group]
    offsets = np.stack(np.broadcast_arrays(*(requests[i].offset for i in group.members)))
    inner = [v for v in requests[group.members[0]].variables if not v.is_block]
    span, step = _reach(group, inner)
    clusters = _clusters([*(offsets if step is None else np.mod(offsets, step))], span, step)
    parts: dict[int, list[int]] = {}
    for i, cluster in zip(group.members, clusters, strict=True):
        parts.setdefault(cluster, []).append(i)
    return [group] if len(parts) == 1 else [group_of(part, requests) for part in parts.values()]


def _reach(group: Group, inner: Sequence[Variable]) -> tuple[Array, Array | None]:
    """Return the bytes that a block covers without gaps, and the step by which it comes again [B].

    The step of the first loop that leaves gaps; None if there is none.
    """
    moving = [v for v in inner if agreed((group.strides[v.name] != 0) & (v.extent > 1))]
    threads = [v for v in moving if v.target.startswith("threadIdx")]
    span = _span(group.strides, threads, group.width)
    loops = [v for v in moving if v not in threads]
    for i in agreed_order([np.abs(group.strides[v.name]) for v in loops]):
        stride = np.abs(group.strides[loops[i].name])
        if agreed(stride > span + SECTOR):
            return span, stride
        span = span + stride * (loops[i].extent - 1)
    return span, None


def _span(strides: Mapping[str, Array], inner: Iterable[Variable], width: int) -> Array:
    """Return the bytes from the first that some variables reach to the last."""
    return summed(np.abs(strides[v.name]) * (v.extent - 1) for v in inner) + width


def _clusters(offsets: Sequence[Array], span: Array, around: Array | None = None) -> list[int]:
    """Return which offsets lie so close that a span from one reaches the next, as numbers.

    Offsets may go `around`: the last is next to the first, so many bytes on. All are in one cluster
    where each is close to the next, or none is: nothing is gained by parting them.
    """
    found = [0] * len(offsets)
    ordered = np.sort(np.stack(np.broadcast_arrays(*offsets)), axis=0)
    far = np.diff(ordered, axis=0) >= span + SECTOR
    if not agreed(np.any(far, axis=0) & ~np.all(far, axis=0)):
        return found
    order, cluster = agreed_order(offsets), 0
    for before, here in itertools.pairwise(order):
        cluster += agreed(offsets[here] - offsets[before] >= span + SECTOR)
        found[here] = cluster
    if around is not None:
        back = offsets[order[0]] + around - offsets[order[-1]] < span + SECTOR
        if agreed(back):
            return [number % cluster for number in found]
    return found


def same_strides(a: Requests, b: Requests) -> bool:
    """Say whether two affine accesses have the same strides; a variable of one value has none."""
    assert a.strides is not None
    assert b.strides is not None
    if a.strides.keys() != b.strides.keys():
        return False
    still = {v.name: v.extent <= 1 for v in a.variables}
    pairs = ((s, b.strides[name], still.get(name, False)) for name, s in a.strides.items())
    return all(agreed((s == other) | alone) for s, other, alone in pairs)


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


def group_of(members: list[int], requests: Sequence[Requests]) -> Group:
    """Return accesses of one buffer with equal strides, by their positions, as a group."""
    first = requests[members[0]]
    strides = first.strides or {}
    counts = {v.name: v.extent * first.shares.get(v.name, 1.0) for v in first.variables}
    # How far apart the members are, in steps of each variable, largest stride first.
    order: list[Variable] = []
    if len(members) > 1:
        order = [v for v in first.variables if agreed((strides[v.name] != 0) & (v.extent > 1))]
        order = [order[i] for i in agreed_order([-np.abs(strides[v.name]) for v in order])]
    offsets = np.stack(np.broadcast_arrays(*(requests[i].offset for i in members)))
    width = max(requests[i].width for i in members)
    moved, between, left = _steps(offsets, order, strides, counts, width)
    rest = distinct_steps(left + between)
    start = np.asanyarray(offsets.min(axis=0) + left.min(axis=0), dtype=float)
    threads = (v.name for v in order if v.is_block or v.target.startswith("threadIdx"))
    return Group(
        members=tuple(members),
        counts=counts,
        strides=strides,
        width=width,
        spreads={name: by_parts(steps_of) for name, steps_of in moved.items()},
        rest=Extent(rest.reach / np.maximum(rest.copies - 1, 1), rest.copies),
        start=start,
        period=_joint_period([requests[i] for i in members]),
        star=_star({name: moved[name] for name in threads}, strides, start),
    )


def _steps(
    offsets: Array,
    order: Sequence[Variable],
    strides: Mapping[str, Array],
    counts: Mapping[str, Array],
    width: int,
) -> tuple[dict[str, Array], Array, Array]:
    """Return the steps of variables from the first of some offsets to each, and what is left [B].

    What is left: how far the loads of an unrolled loop lie apart where each has neighbours, and
    all else that lies between two steps.
    """
    left = np.asanyarray(offsets - offsets.min(axis=0), dtype=float)
    between = np.zeros_like(left)
    threads = [v for v in order if v.target.startswith("threadIdx")]
    moved: dict[str, Array] = {}
    for at, v in enumerate(order):
        stride = strides[v.name]
        if not v.is_block and v not in threads:
            middles = _middles(left, _span(strides, threads, width))
            between, left = between + middles, left - middles
        steps, parts = left / np.where(stride == 0, 1, stride), 1
        if v.is_block or v in threads:
            row = summed(np.abs(strides[u.name]) * (counts[u.name] - 1) for u in order[at + 1 :])
            parts = parts_of_steps(steps, np.abs(stride) / (row + width))
            steps = np.rint(steps * parts)
        else:  # loads of an unrolled loop lie between two of its steps
            steps = np.copysign(_whole_steps(np.abs(steps)), steps)
        separate = stride != 0
        if v.is_block and _tiled(v, order, strides):
            # Threads in a row have neighbours' data next to theirs, be they of the block or not.
            gaps = np.diff(np.sort(left, axis=0), axis=0)
            separate = separate & (gaps.max(axis=0, initial=0.0) > np.abs(stride))
        steps = np.where(separate, steps, 0.0)
        moved[v.name] = steps / parts
        left = left - steps * (stride / parts)
    return moved, between, left


def _middles(offsets: Array, span: Array) -> Array:
    """Return how far the middle of the cluster that each offset is in lies from the first [B]."""
    clusters = np.asanyarray(_clusters([*offsets], span))
    members = (offsets[clusters == cluster] for cluster in clusters)
    middles = np.stack([(each.min(axis=0) + each.max(axis=0)) / 2 for each in members])
    return np.asanyarray(middles - middles.min(axis=0))


def _star(steps: Mapping[str, Array], strides: Mapping[str, Array], start: Array) -> Star | None:
    """Return what members are that lie around a centre, each along one variable alone.

    `steps` are the members' along each variable, from data that starts at `start`. None if others
    lie at corners, or all along one variable.
    """
    moving = {name: along for name, along in steps.items() if np.any(along != along[0])}
    if len(moving) < 2:
        return None
    middles = {name: np.sort(along, axis=0)[len(along) // 2] for name, along in moving.items()}
    away = summed((along != middles[name]) * 1 for name, along in moving.items())
    if not agreed(np.all(away <= 1, axis=0)):
        return None
    centre = start + summed(middle * strides[name] for name, middle in middles.items())
    arms = {
        name: np.asanyarray(centre + (along.min(axis=0) - middles[name]) * strides[name])
        for name, along in moving.items()
    }
    return Star(np.asanyarray(centre), arms)


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
