"""Requests of atomics whose threads share addresses: ``i % m``, a random bin, one address a warp.

Elsewhere in the traffic only distinct sectors count. Atomics also care how many lanes meet at one
address, inside a warp and over the whole launch.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.expressions import Node, Operation, evaluate, names
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.kernels.access import Access
from perfmodel.kernels.histogram import histogram
from perfmodel.models.agreement import agreed
from perfmodel.models.derivation import definition
from perfmodel.models.grid.activity import Activity
from perfmodel.models.grid.affine import Plane, Variable, fixed, plane
from perfmodel.models.requests.addressing import Addressing
from perfmodel.models.requests.coalescing import LINE, SECTOR, row_granules
from perfmodel.models.requests.contention import (
    GRANULE,
    HALF,
    MODULO_ROUNDS,
    WORD,
    AddressSharing,
    Conflicts,
    Hot,
    counted_conflicts,
    random_conflicts,
)

_FEW: Final = 512
"""Elements up to which it matters that some warps pass the last one and go on at the first."""
_UNBOUNDED: Final = 1 << 20
"""More elements than any of the warps that are counted comes to."""


def sharing(a: Addressing, activity: Activity) -> AddressSharing | None:
    """Return how the lanes of an atomic share addresses, in closed form; None if there is none."""
    index, values, variables, element = a.index, a.values, a.variables, a.element
    if not activity.classes:
        return None
    core, scale, start = _split(index, values)
    pitch = np.abs(scale) * element
    runs = _runs(core, values, variables)
    if runs is not None:
        lanes, elements = runs
        if agreed(lanes % WARP_SIZE == 0):
            return _modulo(elements, pitch, activity, np.ones(1, dtype=bool), start)
        if agreed(WARP_SIZE % lanes == 0):
            return _counted_warps(elements, pitch, _typical_lanes(activity), lanes)
        return None
    if isinstance(core, Operation) and core.operator in ("%", "random"):
        inner, count = core.operands
        if not fixed(count, values):
            return None
        bins = np.atleast_1d(np.asanyarray(evaluate(count, values), dtype=float))
        flat = plane(inner, values, variables)
        uniform = _same_key(flat, variables)
        if uniform is None:
            return None
        if core.operator == "random":
            bins, pitch = _words(bins, pitch)
            return _random(a, bins, pitch, _typical_lanes(activity), uniform)
        # Threads that reach fewer elements than the modulo allows leave the others alone.
        bins = np.minimum(bins, _distinct(flat.strides, variables))
        return _modulo(bins, pitch, activity, uniform, start * element)
    return _affine(plane(index, values, variables), variables, activity, element)


def _same_key(flat: Plane, variables: Sequence[Variable]) -> Array | None:
    """Return where a warp's lanes have one key, in others each its own; None if they mix."""
    # Keys differ from lane to lane, or are the same for the warp; runs of lanes are counted.
    steps = [np.abs(flat.strides[v.name]) for v in variables if v.in_lane and np.any(v.extent > 1)]
    if not flat.affine or not steps:
        return None
    uniform: Array = np.all(np.stack(np.broadcast_arrays(*steps)) == 0, axis=0)
    if not agreed(uniform | ((len(steps) == 1) & (steps[0] == 1))):
        return None
    return uniform


def _affine(
    flat: Plane, variables: Sequence[Variable], activity: Activity, element: int
) -> AddressSharing | None:
    """Return how the lanes of an affine index share addresses; None if there is no closed form."""
    if not flat.affine:
        return None
    moving = {v.name: np.abs(flat.strides[v.name]) * (v.extent > 1) for v in variables}
    steps = [moving[v.name] for v in variables if v.in_lane and np.any(v.extent > 1)]
    if not steps:
        uniform = np.ones(1, dtype=bool)
    else:
        uniform = np.all(np.stack(np.broadcast_arrays(*steps)) == 0, axis=0)
    if len(steps) > 1 and not agreed(uniform):
        return None
    step = steps[0] if steps else np.zeros(1)
    step = np.where(uniform, _least(moving.values(), LINE / element), step) * element
    found = _modulo(
        _distinct(flat.strides, variables), step, activity, uniform, flat.offset * element
    )
    # Guards let some threads through, which come again where a loop does not move them.
    again = np.ones(1)
    for v in variables:
        if v.is_loop:
            times = np.maximum(v.extent * activity.shares.get(v.name, 1.0), 1.0)
            again = again * np.where(moving[v.name] == 0, times, 1.0)
    m = np.maximum(np.minimum(found.addresses, activity.active_lanes / again), 1.0)
    return replace(found, addresses=m, hottest=1 / m, hot=_even(m, found.pitch))


def _least(steps: Iterable[Array], default: float) -> Array:
    """Return the smallest step of what moves, or a default where nothing does."""
    found = np.full(1, np.inf)
    for step in steps:
        found = np.where(step > 0, np.minimum(found, step), found)
    return np.where(np.isfinite(found), found, default)


def _runs(
    core: Node, values: Mapping[str, Any], variables: Sequence[Variable]
) -> tuple[Array, Array] | None:
    """Return the lanes and elements of ``i // lanes`` or ``(i // lanes) % count``, if it is such.

    Runs of lanes side by side go to one of the elements each, in turn.
    """
    count = None
    if isinstance(core, Operation) and core.operator == "%" and fixed(core.operands[1], values):
        core, count = core.operands
    if (
        not isinstance(core, Operation)
        or core.operator != "//"
        or not fixed(core.operands[1], values)
    ):
        return None
    flat = plane(core.operands[0], values, variables)
    moving = [np.abs(flat.strides[v.name]) for v in variables if v.in_lane and np.any(v.extent > 1)]
    if not flat.affine or len(moving) != 1 or not agreed((moving[0] == 1) & (flat.offset == 0)):
        return None
    lanes = np.atleast_1d(np.asanyarray(evaluate(core.operands[1], values), dtype=np.int64))
    if not agreed(lanes > 0):
        return None
    every = np.ceil(_distinct(flat.strides, variables) / lanes)
    if count is not None:
        every = np.minimum(every, np.asanyarray(evaluate(count, values), dtype=float))
    return lanes, np.maximum(every, 1.0)


def _words(count: Array, pitch: Array) -> tuple[Array, Array]:
    """Return the words that elements of less lie in, and their distance: atomics change words."""
    small = pitch < WORD
    return np.where(small, np.ceil(count * pitch / WORD), count), np.where(small, WORD, pitch)


def _counted_warps(m: Array, pitch: Array, lanes: Array, runs: Array) -> AddressSharing:
    """Return the sharing of consecutive runs of lanes modulo m: warps, counted."""
    mean = Conflicts(*_conflicts_of_runs(m, pitch, lanes, runs))
    words, pitch = _words(*np.broadcast_arrays(m, pitch))
    return AddressSharing(mean, words, pitch, 1 / np.maximum(words, 1), _even(words, pitch))


@definition
def _conflicts_of_runs(m: Array, pitch: Array, lanes: Array, runs: Array) -> tuple[Array, ...]:
    """Return `Conflicts` of consecutive runs of lanes that go round m elements."""
    few = np.where(m <= _FEW, np.maximum(m, 1), _UNBOUNDED)
    columns = np.broadcast_arrays(few, pitch, np.ceil(lanes), np.maximum(runs, 1))
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return tuple(np.array([_counted_round(*row) for row in rows]).T)


@lru_cache(maxsize=1 << 14)
def _counted_round(m: float, pitch: float, lanes: float, runs: float) -> tuple[float, ...]:
    """Return the mean `Conflicts` of all warps until they start where the first did."""
    numbers = int(m * runs)
    warps = numbers // math.gcd(numbers, WARP_SIZE) if m < _UNBOUNDED else WARP_SIZE
    lane = np.arange(WARP_SIZE)
    element = (lane + np.arange(warps)[:, None] * WARP_SIZE) // int(runs) % int(m)
    rows = (element * pitch).astype(np.int64)
    found = counted_conflicts(rows // WORD * WORD, lane < lanes)
    return tuple(float(column.mean()) for column in found)


def _modulo(
    m: Array, pitch: Array, activity: Activity, uniform: Array, start: Array
) -> AddressSharing:
    m, pitch = np.broadcast_arrays(m, pitch)
    if agreed((pitch < WORD) & ~uniform):
        return _counted_warps(m, pitch, _typical_lanes(activity), np.ones(1))
    # Lanes meet in whole numbers: warps in part count on their own, not as a mean number of lanes.
    each = [
        (c.requests, _modulo_conflicts(m, pitch, c.active, uniform, start))
        for c in activity.classes
    ]
    total = np.maximum(summed(times for times, _ in each), 1e-9)
    columns = zip(*(tuple(times * count for count in found) for times, found in each), strict=True)
    mean = Conflicts(*(np.atleast_1d(sum(column) / total) for column in columns))
    return AddressSharing(mean, m, pitch, 1 / m, _even(m, pitch))


def _modulo_conflicts(
    m: Array, pitch: Array, lanes: Array, uniform: Array, start: Array
) -> Conflicts:
    m, pitch, lanes, uniform, start = np.broadcast_arrays(
        *map(np.atleast_1d, (m, pitch, lanes, uniform, start))
    )
    distinct = np.minimum(m, lanes)
    # All addresses start where they start; of more, warps take the next ones in turn.
    turn = np.gcd(np.maximum(m, 1).astype(np.int64), WARP_SIZE)
    step = np.where(m > lanes, np.gcd((pitch * turn).astype(np.int64), LINE), LINE)

    def granules(count: Array, granule: int) -> Array:
        common = np.gcd(step.astype(np.int64), granule)
        found = row_granules(count, pitch, np.mod(start, granule), common, granule)
        few = (m <= _FEW) & ~uniform & (count > 0)
        return _of_few(found, few, m, count, pitch, start, granule)

    def rounds(granule: int) -> Array:
        rest = granules(np.where(m <= lanes, lanes % m, lanes), granule)
        whole = {"n": lanes.astype(float), "m": m.astype(float), "all": granules(distinct, granule)}
        return MODULO_ROUNDS(**whole, rest=rest)

    touched = (distinct, granules(distinct, SECTOR), granules(distinct, LINE))
    most = np.ceil(lanes / np.maximum(distinct, 1))
    conflicts = Conflicts(*touched, rounds(SECTOR), rounds(LINE), rounds(HALF), most)
    one = np.ones(m.shape)
    at_one: tuple[Array, ...] = (one, one, one, lanes, lanes, lanes, lanes)
    return Conflicts(*(np.where(uniform, a, b) for a, b in zip(at_one, conflicts, strict=True)))


@definition
def _of_few(
    found: Array, few: Array, m: Array, count: Array, pitch: Array, start: Array, granule: int
) -> Array:
    """Return granules with those of few elements, which warps go round, counted."""
    found, some = np.array(found), np.flatnonzero(few)
    if not len(some):
        return found
    given = np.stack([column[some] for column in (m, count, pitch, start)])
    order = np.lexsort(given)  # equal ones together: each is counted once
    given = given[:, order]
    first = np.append(True, np.any(given[:, 1:] != given[:, :-1], axis=0))
    each = [_wrapped(int(n), int(c), p, s, granule) for n, c, p, s in given[:, first].T.tolist()]
    found[some[order]] = np.array(each)[np.cumsum(first) - 1]
    return found


@lru_cache(maxsize=1 << 16)
def _wrapped(m: int, lanes: int, pitch: float, start: float, granule: int) -> float:
    """Return the mean granules of some lanes side by side of m elements that all warps go round."""
    first = np.arange(0, m, math.gcd(m, WARP_SIZE))
    at = (first[:, None] + np.arange(lanes)) % m * pitch + start
    pieces = np.sort(at // granule, axis=-1)
    return float(1 + (np.diff(pieces) != 0).sum(axis=-1).mean())


def _even(addresses: Array, pitch: Array) -> Hot:
    """Return the shares of passes where all addresses are as popular."""

    def share(granule: int) -> Array:
        return np.minimum(1.0, np.maximum(granule / np.maximum(pitch, 1e-9), 1.0) / addresses)

    whole = share(GRANULE)
    return Hot(share(SECTOR), whole, np.minimum(whole, np.maximum(1 - 2 * whole, 0.0)))


def _random(
    a: Addressing, bins: Array, pitch: Array, lanes: Array, uniform: Array
) -> AddressSharing:
    """Return the sharing of lanes that draw their addresses, each configuration by itself."""
    weights = a.access.weights
    plain = weights is None or isinstance(weights, tuple)
    used = () if plain else tuple(name for name in a.values if name in names(weights))
    values = (a.values[name] for name in used)
    *conflicts, sector, granule, third, hottest = _drawn(
        a.access, used, bins, pitch, lanes, uniform, *values
    )
    return AddressSharing(Conflicts(*conflicts), bins, pitch, hottest, Hot(sector, granule, third))


@definition
def _drawn(access: Access, used: tuple[str, ...], *numbers: Any) -> tuple[Array, ...]:
    """Return `Conflicts`, `Hot` and the share of the likeliest bin.

    Of bins, their pitch, lanes, whether these draw the same, and values of the names that are
    `used`.
    """
    columns = [column.tolist() for column in np.broadcast_arrays(*map(np.atleast_1d, numbers))]
    rows = [_drawn_by_one(access, used, row) for row in zip(*columns, strict=True)]
    return tuple(np.array(rows).T)


@lru_cache(maxsize=1 << 10)
def _drawn_by_one(access: Access, used: tuple[str, ...], numbers: Any) -> tuple[float, ...]:
    bins, pitch, lanes, uniform, *values = numbers
    h = histogram(access, int(bins), dict(zip(used, values, strict=True)))
    step = max(1, int(pitch))
    found, hot = random_conflicts(h, step, 1.0 if uniform else float(lanes))
    if uniform:
        together = np.full(1, float(lanes))
        found = Conflicts(*(np.ones(1),) * 3, *(together,) * 4)
    return (*(float(np.ravel(c)[0]) for c in (*found, *hot)), h.most_likely)


def _distinct(strides: Mapping[str, Array], variables: Sequence[Variable]) -> Array:
    """Return how many values an affine index takes, at most."""
    places = np.ones(1)
    for v in variables:
        places = places * np.where(strides[v.name] != 0, np.maximum(v.extent, 1), 1)
    return places


def _typical_lanes(activity: Activity) -> Array:
    """Return the mean lanes of a request."""
    requests, lanes = activity.requests, activity.active_lanes
    return np.asanyarray(np.where(requests > 0, lanes / np.maximum(requests, 1e-9), WARP_SIZE))


def _split(index: Node, values: Mapping[str, Any]) -> tuple[Node, Array, Array]:
    """Return an index in elements as core, scale and start: factors and terms of all threads."""
    scale, start = np.ones(1), np.zeros(1)
    node = index
    while isinstance(node, Operation) and node.operator in ("+", "*"):
        a, b = node.operands
        if not (fixed(a, values) or fixed(b, values)):
            break
        shared, rest = (a, b) if fixed(a, values) else (b, a)
        value = np.atleast_1d(np.asanyarray(evaluate(shared, values), dtype=float))
        if node.operator == "+":
            start = start + scale * value
        else:
            scale = scale * value
        node = rest
    return node, scale, start
