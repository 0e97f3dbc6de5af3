"""Strides of an index: how far one step of each thread, block and loop variable moves an address.

An expression is probed at the origin and one step along each variable, for all configurations at
once. Where its form does not show that it is affine, the resulting plane is checked at corners and
scattered points. That accepts whatever is affine in fact (``threadIdx.x & 31`` in a block of
warps), not only what looks affine.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.expressions import Node, Operation, evaluate, names
from perfmodel.models.agreement import agreed
from perfmodel.models.each_launch import each_launch
from perfmodel.models.grid.affine_form import surely_affine
from perfmodel.models.grid.geometry import AXES, BlockShape, alike
from perfmodel.records import record

_RANDOM_POINTS: Final = 6
"""Scattered points, beside the corners, at which a plane is checked."""
_SCATTERED: Final = 64
_MOSTLY: Final = 0.75
_ON_TWO: Final = 0.9
"""Scattered points at which `nearly_plane` looks, and the shares of them that must lie on the
plane, or on it and one beside it: chosen."""
_PRIMES: Final = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
_BITWISE: Final = frozenset({"&", "|", "^", "<<", ">>", "random", "shuffled"})


@record
class Variable:
    """An index variable or a digit of one: values 0 to `extent` - 1."""

    # "lane.x", "warp.y", "blockIdx.x" or a loop's variable; "thread.x" of irregular blocks
    name: str
    extent: Array  # one for each configuration (or one for all)
    target: str  # name that it adds to in expressions, such as "threadIdx.x"
    weight: int = 1  # what a step adds to it

    @property
    def in_lane(self) -> bool:
        """Whether it tells the threads of one warp apart."""
        return self.name.startswith("lane.")

    @property
    def is_thread(self) -> bool:
        """Whether it tells all threads of an irregular block apart, warp or not."""
        return self.name.startswith("thread.")

    @property
    def is_block(self) -> bool:
        """Whether it tells blocks apart."""
        return self.name.startswith("blockIdx.")

    @property
    def is_loop(self) -> bool:
        """Whether it is a loop's variable, whose values a thread takes one after another."""
        return not self.name.startswith(("lane.", "warp.", "thread.", "blockIdx."))


@record
class Plane:
    """``offset + sum(stride[v] * v)``, per configuration; `affine` tells where that is true."""

    offset: Array
    strides: Mapping[str, Array]
    affine: bool


def index_variables(
    shape: BlockShape, grid: Sequence[Any], trips: Mapping[str, Any]
) -> tuple[Variable, ...]:
    """Return lane and warp digits, block indices and loop variables, in that order.

    Threads of an irregular block have no digits, but an index for each axis: it says what a block
    touches, not which lanes share a warp.
    """
    threads = [
        Variable(d.name, np.asanyarray(d.count), f"threadIdx.{d.axis}", d.weight)
        for d in shape.digits
    ]
    if not shape.regular:
        threads = [
            Variable(f"thread.{axis}", np.asanyarray(extent), f"threadIdx.{axis}")
            for axis, extent in zip(AXES, shape.block, strict=True)
        ]
    blocks = [
        Variable(f"blockIdx.{axis}", alike(np.asanyarray(extent)), f"blockIdx.{axis}")
        for axis, extent in zip(AXES, grid, strict=True)
    ]
    loops = [Variable(name, alike(np.asanyarray(count)), name) for name, count in trips.items()]
    return (*threads, *blocks, *loops)


def plane(node: Node, values: Mapping[str, Any], variables: Sequence[Variable]) -> Plane:
    """Probe an integer expression over the variables' targets and `values` as an affine function.

    Values are numbers or arrays of one configuration axis; offsets and strides floats, exact up to
    2**53.
    """
    exact = _uses(node, _BITWISE)
    known = {
        name: value if exact else np.asanyarray(value, dtype=float)
        for name, value in values.items()
    }
    basis = np.vstack([np.zeros(len(variables)), np.eye(len(variables))])
    # A variable of a single value is probed at 1 all the same: nothing asks for its stride.
    at = _at(node, known, _targets(variables), _columns(basis))
    offset = at[0]
    strides = {v.name: alike(at[i + 1] - offset) for i, v in enumerate(variables)}
    moving = [(v.target, v.weight, v.extent) for v in variables]
    affine = surely_affine(node, values, moving) or _holds(node, known, variables, offset, strides)
    return Plane(offset, strides, affine)


def nearly_plane(
    node: Node, values: Mapping[str, Any], variables: Sequence[Variable]
) -> Plane | None:
    """Return the plane that an index mostly is, or None: a stencil that is clamped at its edges.

    Strides are taken at the middle of all ranges, and hold if three in four scattered points lie on
    the plane, or nine in ten on it and one beside it: threads that have taken one iteration more
    before go on a step further.
    """
    return _found(_nearly, node, values, variables)


def plane_within_a_step(
    node: Node, values: Mapping[str, Any], variables: Sequence[Variable]
) -> Plane | None:
    """Return the plane that threads follow which begin a loop at places of their own, or None.

    Strides are the most common ones, three in four of all steps, and hold if nine in ten scattered
    points lie within a loop's step of each other.
    """
    return _found(_within_a_step, node, values, variables)


def _found(
    by: Callable[..., Sequence[Any]],
    node: Node,
    values: Mapping[str, Any],
    variables: Sequence[Variable],
) -> Plane | None:
    used = tuple(name for name in values if name in names(node))
    numbers = (*(values[name] for name in used), *(v.extent for v in variables))
    holds, offset, *strides = by((node, used, _targets(variables)), *numbers)
    if not agreed(holds):
        return None
    return Plane(offset, {v.name: s for v, s in zip(variables, strides, strict=True)}, False)


@each_launch
def _nearly(
    given: tuple[Node, tuple[str, ...], tuple[tuple[str, int], ...]], numbers: tuple[int, ...]
) -> Sequence[Any]:
    """Return whether an index mostly is a plane, its offset and strides.

    `numbers` are values of the names that are used, and extents of the variables.
    """
    node, used, targets = given
    values, extents = dict(zip(used, numbers, strict=False)), numbers[len(used) :]
    last = np.array([max(extent - 1, 0) for extent in extents], dtype=np.int64)
    middle = last // 2
    moved = np.where(middle < last, 1, 0)
    points = np.vstack([middle, middle + np.diag(moved)])
    scattered = _scattered(last)
    every = np.vstack([points, scattered])
    value = _at(node, values, targets, _columns(every.astype(float)))[:, 0]
    strides = np.where(moved > 0, value[1 : len(last) + 1] - value[0], 0.0)
    offset = value[0] - strides @ middle
    residuals = value[len(points) :] - (offset + scattered @ strides)
    shares = np.sort(np.unique(np.round(residuals, 3), return_counts=True)[1])[::-1] / _SCATTERED
    mostly = np.mean(np.isclose(residuals, 0.0)) >= _MOSTLY or np.sum(shares[:2]) >= _ON_TWO
    return mostly, offset, *strides


@each_launch
def _within_a_step(
    given: tuple[Node, tuple[str, ...], tuple[tuple[str, int], ...]], numbers: tuple[int, ...]
) -> Sequence[Any]:
    """Return whether an index stays within a loop's step of a plane, its offset and strides."""
    node, used, targets = given
    values, extents = dict(zip(used, numbers, strict=False)), numbers[len(used) :]
    last = np.array([max(extent - 1, 0) for extent in extents], dtype=np.int64)
    points = _scattered(np.maximum(last - 1, 0))
    steps = np.diag(np.where(last > 0, 1, 0))
    every = np.vstack([points, *(points + step for step in steps)]).astype(float)
    value = _at(node, values, targets, _columns(every))[:, 0].reshape(-1, len(points))
    strides, shares = np.array([_most_common(moved - value[0]) for moved in value[1:]]).T
    residuals = value[0] - points @ strides
    low, high = np.quantile(residuals, ((1 - _ON_TWO) / 2, (1 + _ON_TWO) / 2))
    loops = [
        abs(stride)
        for stride, (name, _) in zip(strides, targets, strict=True)
        if not name.startswith(("threadIdx", "blockIdx"))
    ]
    within = high - low < max(loops, default=0.0)
    return within and shares.min(initial=1.0) >= _MOSTLY, low, *strides


def _most_common(values: Array) -> tuple[float, float]:
    """Return the most common of some values, and its share."""
    found, counts = np.unique(values, return_counts=True)
    return float(found[counts.argmax()]), float(counts.max() / len(values))


def _scattered(last: Array) -> Array:
    """Return points from 0 to the last of each variable, (points, variables)."""
    steps = np.sqrt(np.resize(_PRIMES, len(last)) + np.arange(len(last)) // len(_PRIMES))
    fractions = np.outer(np.arange(1, _SCATTERED + 1), steps) % 1
    return np.floor(fractions * last + 0.5).astype(np.int64)


def _targets(variables: Sequence[Variable]) -> tuple[tuple[str, int], ...]:
    return tuple((v.target, v.weight) for v in variables)


def _at(
    node: Node,
    values: Mapping[str, Any],
    moving: Sequence[tuple[str, int]],
    places: Sequence[Array],
) -> Array:
    """Evaluate at places, of each variable an array (points, configurations)."""
    points = len(places[0])
    targets: dict[str, Any] = {}
    for (target, weight), place in zip(moving, places, strict=True):
        targets[target] = targets.get(target, 0) + weight * place
    for axis in AXES:
        for base in ("threadIdx", "blockIdx"):
            targets.setdefault(f"{base}.{axis}", np.zeros((points, 1)))
    if _uses(node, _BITWISE):
        targets = {name: value.astype(np.int64) for name, value in targets.items()}
    result = np.asanyarray(evaluate(node, {**values, **targets}), dtype=float)
    if result.ndim == 2 and len(result) == points:
        return result
    return np.broadcast_to(result, (points, result.shape[-1] if result.ndim else 1))


def _holds(
    node: Node,
    values: Mapping[str, Any],
    variables: Sequence[Variable],
    offset: Array,
    strides: Mapping[str, Array],
) -> bool:
    """Check the plane at corners and scattered points."""
    corners = np.vstack([np.eye(len(variables)), np.ones((1, len(variables)))])
    # Multiples of irrational numbers: scattered, the same every time, and no generator to import.
    steps = np.sqrt(np.resize(_PRIMES, len(variables)) + np.arange(len(variables)) // len(_PRIMES))
    fractions = np.outer(np.arange(1, _RANDOM_POINTS + 1), steps) % 1
    points = np.vstack([corners, fractions])
    places = [
        np.floor(column * _last(v) + 0.5)
        for v, column in zip(variables, _columns(points), strict=True)
    ]
    found = _at(node, values, _targets(variables), places)
    expected = offset[None, :] + sum(
        strides[v.name][None, :] * place for v, place in zip(variables, places, strict=True)
    )
    return agreed(np.all(found == expected, axis=0))


def fixed(node: Node, values: Mapping[str, Any]) -> bool:
    """Say whether an expression is the same for all threads and iterations: values decide it."""
    return names(node) <= values.keys()


def _columns(points: Array) -> list[Array]:
    """Return the coordinates of points, of each variable an array (points, 1)."""
    return [column[:, None] for column in points.T]


@lru_cache(maxsize=4096)
def _uses(node: Node, operators: frozenset[str]) -> bool:
    if not isinstance(node, Operation):
        return False
    return node.operator in operators or any(_uses(part, operators) for part in node.operands)


def _last(variable: Variable) -> Array:
    # A loop of no iterations is probed at 0: nothing of it counts.
    return np.maximum(np.atleast_1d(variable.extent)[None, :] - 1.0, 0.0)


def split_threads(
    node: Node, values: Mapping[str, Any], variables: Sequence[Variable]
) -> tuple[Variable, ...] | None:
    """Return variables with thread digits split so that an index may be affine in them, or None.

    ``threadIdx.x // 8*K + threadIdx.x % 8`` is affine in no digit of a block of 256 threads, but in
    two digits of each warp: its lanes as four rows of eight. Digits are split at powers of two, as
    few as the index needs.
    """
    found: list[Variable] = []
    for v in variables:
        found += _split(node, values, v) if v.target.startswith("threadIdx") else [v]
    return tuple(found) if len(found) > len(variables) else None


def _split(node: Node, values: Mapping[str, Any], v: Variable) -> list[Variable]:
    """Return a digit as the fewest digits whose powers of two move the index evenly."""
    extent = int(np.max(v.extent))
    bits = (extent & -extent).bit_length() - 1
    starts = [1 << bit for bit in range(bits)] + ([1 << bits] if extent >> bits > 1 else [])
    if len(starts) < 2:
        return [v]
    moves = _moves(node, values, v, starts)
    cuts = [1]
    for (low, by), (high, after) in itertools.pairwise(moves):
        if agreed(after * low != by * high):
            cuts.append(high)
    if len(cuts) == 1:
        return [v]
    ends = [*cuts[1:], extent]
    return [
        Variable(f"{v.name}/{at}%{end // at}", np.asanyarray(end // at), v.target, v.weight * at)
        for at, end in zip(cuts, ends, strict=True)
    ]


def _moves(
    node: Node, values: Mapping[str, Any], v: Variable, steps: Sequence[int]
) -> list[tuple[int, Array]]:
    """Return how far each step of a digit from the origin moves the index."""
    zero = {f"{base}.{axis}": 0 for base in ("threadIdx", "blockIdx") for axis in AXES}
    zero |= dict.fromkeys(names(node) - values.keys() - zero.keys(), 0)  # loops

    def at(step: int) -> Array:
        known = {**values, **zero, v.target: v.weight * step}
        return np.asanyarray(evaluate(node, known), dtype=float)

    origin = at(0)
    return [(step, at(step) - origin) for step in steps]
