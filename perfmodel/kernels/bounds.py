"""Whether any thread reaches outside a buffer, and which thread does.

First interval arithmetic tries to show that none does, which settles most kernels in
microseconds. Only where it cannot, threads are tried: at the corners of the launch, along its
edges, and at the edge of where the guards hold. So what is reported is always a thread that
really does it, while an error that hides in the middle of an odd pattern can go unseen.
"""

from collections.abc import Callable, Mapping
from functools import reduce
from itertools import product
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.arrays import Array
from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Name, Node, Number, Operation, evaluate, names
from perfmodel.expressions.evaluate import folded
from perfmodel.kernels.access import Access
from perfmodel.kernels.instance import Instance
from perfmodel.kernels.intervals import Interval, Ranges
from perfmodel.records import record

_MOST_CORNERS: Final = 4096
_EDGE_POINTS: Final = 512
# Threads from which the edge of a guard is sought, along each variable.
_SEARCHED: Final = 64
# Steps of the search for it, each an array operation over 7 places between two known ones.
_BRANCHES: Final = 8

Points = npt.NDArray[np.int64]


@record(slots=False)
class _Search:
    """What an access does, in the variables that differ among threads and iterations.

    `used` are those of `largest` that matter; points have a column for each of them.
    """

    instance: Instance
    access: Access
    index: Node
    guard: Node
    largest: dict[str, int]
    used: list[str]

    @property
    def name(self) -> str:
        """What messages call the access."""
        access = self.access
        kernel = self.instance.kernel.name
        return f"kernel {kernel!r}, {access.kind} {access.name or access.buffer!r}"


def check_bounds(instance: Instance) -> None:
    """Refuse accesses that reach outside their buffer, or that are misaligned vectors.

    `instance`: one configuration, not arrays.

    Raises `PerfmodelError` if a thread does so: names the access, the index, the buffer's length
    and the thread. Or if the instance holds arrays.
    """
    if instance.shape:
        raise PerfmodelError(
            f"bounds of kernel {instance.kernel.name!r} are checked for one configuration at a "
            f"time, not for arrays of shape {instance.shape}"
        )
    for access, vector in zip(instance.kernel.accesses, instance.vectors, strict=True):
        if access.counted is not None:
            continue  # its index is only an example
        _check_access(instance, access, int(vector))


def surely_fits(instance: Instance, whole: Callable[[Any], Any] = int) -> bool:
    """Say whether every access is shown to stay within its buffer, and its vectors to be aligned.

    That is by interval arithmetic alone; False says nothing. `whole` makes one whole number of a
    value of the instance's.
    """
    pairs = zip(instance.kernel.accesses, instance.vectors, strict=True)
    return all(
        access.counted is not None or _fits(instance, access, vector, whole) == (True, True)
        for access, vector in pairs
    )


def _fits(
    instance: Instance, access: Access, vector: Any, whole: Callable[[Any], Any]
) -> tuple[bool, bool]:
    """Say whether an access is shown to stay within its buffer, and to be aligned."""
    largest = _largest(instance, access, whole)
    if any(most < 0 for most in largest.values()):
        return True, True  # a loop of no iterations
    index, guard = instance.expression(access.index), instance.condition(access)
    known = {name: whole(value) for name, value in instance.known.items()}
    variables = {name: Interval(value, value) for name, value in known.items()}
    variables |= {name: Interval(0, most) for name, most in largest.items()}
    ranges = Ranges(variables)
    if guard is not None:
        ranges.assume(guard)
    count = int(whole(vector))
    still = {name: 0 for name, most in largest.items() if most == 0}
    aligned = count == 1 or divisor(index, known | still, count) == count
    end = whole(instance.lengths[access.buffer])
    # An aligned vector that starts before the end ends there at the latest, if that is aligned.
    last = end - end % count if aligned else end - count + 1
    found = (of(index) for of in (ranges.of, ranges.cancelled))
    return any(r is not None and r.low >= 0 and r.high < last for r in found), aligned


def _check_access(instance: Instance, access: Access, vector: int) -> None:
    within, aligned = _fits(instance, access, vector, int)
    if within and aligned:
        return
    largest = _largest(instance, access, int)
    length = int(instance.lengths[access.buffer])
    index = instance.expression(access.index)
    condition = instance.condition(access)
    still = {name: 0 for name, most in largest.items() if most == 0}
    fixed = {name: int(value) for name, value in instance.known.items()} | still
    index = folded(index, fixed)
    guard = Number(1) if condition is None else folded(condition, fixed)
    needed = names(index) | names(guard)
    used = [name for name, most in largest.items() if name in needed and most > 0]
    search = _Search(instance, access, index, guard, largest, used)
    points = _corners(search)
    _check_points(search, points, length, vector)
    if not within:
        points = np.concatenate([points, _edges(search)])
        _check_points(search, points, length, vector)
        _check_points(search, _guard_edges(search, points), length, vector)


def _largest(instance: Instance, access: Access, whole: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the largest value of each variable, slowest first; all start at 0."""
    largest = {}
    for base, sizes in (("blockIdx", instance.grid), ("threadIdx", instance.block)):
        for axis, size in reversed([*zip("xyz", sizes, strict=True)]):
            largest[f"{base}.{axis}"] = whole(size) - 1
    for loop in instance.kernel.loop_nest(access.loop):
        largest[loop.variable] = whole(instance.trips[loop.variable]) - 1
    return largest


def _check_points(search: _Search, points: Points, length: int, vector: int) -> None:
    """Refuse the first of some threads, in launch order, that does what it must not."""
    active, index = _evaluated(search, points)
    outside = active & ((index < 0) | (index > length - vector))
    wrong = outside if outside.any() else active & (index % vector != 0)
    if not wrong.any():
        return
    bad = np.flatnonzero(wrong)
    first = bad[np.lexsort(points[bad].T[::-1])[0]] if search.used else bad[0]
    buffer, value = search.access.buffer, int(index[first])
    if outside.any():
        reach = f"index {value}" if vector == 1 else f"index {value} to {value + vector - 1}"
        what = f"{reach} is outside buffer {buffer!r} of {length} elements"
        remedy = "guard the access, or make the buffer longer"
    else:
        what = f"index {value} of buffer {buffer!r} is no multiple of the vector of {vector}"
        remedy = "CUDA refuses misaligned vectors: align the index, or use a narrower vector"
    raise PerfmodelError(f"{search.name}: {what}, in {_thread(search, points[first])}; {remedy}")


def _thread(search: _Search, point: Points) -> str:
    """Name a thread and the iteration it is in."""
    place = dict.fromkeys(search.largest, 0) | dict(zip(search.used, point.tolist(), strict=True))
    loops = [f"{name} = {value}" for name, value in place.items() if "." not in name]
    threads = [
        f"{base} ({', '.join(str(place[f'{base}.{axis}']) for axis in 'xyz')})"
        for base in ("blockIdx", "threadIdx")
    ]
    return ", ".join(threads + loops)


def _evaluated(search: _Search, points: Points) -> tuple[npt.NDArray[np.bool_], Points]:
    """Return which points take part, and their indices (0 for those that do not)."""
    index = Operation("where", (search.guard, search.index, Number(0)))
    return _holds(search, points), _values(search, index, points).astype(np.int64)


def _holds(search: _Search, points: Points) -> npt.NDArray[np.bool_]:
    return _values(search, search.guard, points).astype(np.bool_)


def _values(search: _Search, node: Node, points: Points) -> Array:
    known: dict[str, Any] = {**search.instance.known, **dict.fromkeys(search.largest, 0)}
    known |= dict(zip(search.used, points.T, strict=True))
    try:
        return np.broadcast_to(evaluate(node, known), len(points))
    except PerfmodelError as error:
        raise PerfmodelError(f"{search.name}: {error}") from None


def _corners(search: _Search) -> Points:
    """Return the corners of the launch, and a few places between them as far as these fit."""
    most = [search.largest[name] for name in search.used]
    count = len(most)
    if 2**count > _MOST_CORNERS:
        return np.concatenate([np.eye(count, dtype=np.int64), np.diag(most), [most]])
    places = next((n for n in (5, 4, 3) if n**count <= _MOST_CORNERS), 2)
    values = [{0, last, *(1, last - 1, last // 2)[: places - 2]} for last in most]
    return np.array(list(product(*map(sorted, values))), dtype=np.int64)


def _edges(search: _Search) -> Points:
    """Return points along each variable, the others all at 0 or all at their largest."""
    most = np.array([search.largest[name] for name in search.used], dtype=np.int64)
    parts = [np.empty((0, len(most)), dtype=np.int64)]
    for column, last in enumerate(most.tolist()):
        if last < 2 * _EDGE_POINTS:
            along = np.arange(last + 1)
        else:
            near = np.arange(_EDGE_POINTS)
            spread = np.linspace(0, last, _EDGE_POINTS).astype(np.int64)
            along = np.unique(np.concatenate([near, spread, last - near]))
        for base in (np.zeros_like(most), most):
            part = np.tile(base, (len(along), 1))
            part[:, column] = along
            parts.append(part)
    return np.concatenate(parts)


def _guard_edges(search: _Search, points: Points) -> Points:
    """Return the last threads for which the guard holds, going along each variable from some.

    Going twice over the variables finds the corner of a guard in several of them.
    """
    found = [np.empty((0, points.shape[1]), dtype=np.int64)]
    guarded = names(search.guard)
    columns = [column for column, name in enumerate(search.used) if name in guarded]
    for column in columns * 2:
        points = _extremes(search, points)
        if not len(points):
            break
        moved = np.concatenate([_pushed(search, points, column, up) for up in (True, False)])
        found.append(moved)
        points = np.concatenate([points, moved])
    return np.concatenate(found)


def _extremes(search: _Search, points: Points) -> Points:
    """Return those of the points that take part and have the least or the greatest indices."""
    active, index = _evaluated(search, points)
    points, index = points[active], index[active]
    if len(points) <= _SEARCHED:
        return points
    order = np.argsort(index, kind="stable")
    chosen: Points = points[np.concatenate([order[: _SEARCHED // 2], order[-_SEARCHED // 2 :]])]
    return chosen


def _pushed(search: _Search, points: Points, column: int, up: bool) -> Points:
    """Return the points moved along a variable to the last place where the guard holds.

    If it holds in several stretches, one of their ends is found.
    """
    start = points[:, column]
    sign, end = (1, search.largest[search.used[column]]) if up else (-1, 0)
    moved = points.copy()
    moved[:, column] = end
    reached = _holds(search, moved)
    # Steps that are known to hold, and to be past the edge.
    good, bad = np.where(reached, np.abs(end - start), 0), np.abs(end - start)
    steps = np.arange(1, _BRANCHES)
    while np.any(bad - good > 1):
        # Close to the edge some of the places fall on the known ones, which does no harm.
        tried = good[:, None] + (bad - good)[:, None] * steps // _BRANCHES
        probes = np.repeat(points, len(steps), axis=0)
        probes[:, column] = (start[:, None] + sign * tried).ravel()
        holds = _holds(search, probes).reshape(tried.shape) | (tried == good[:, None])
        count = np.logical_and.accumulate(holds, axis=1).sum(axis=1)
        places = np.concatenate([good[:, None], tried, bad[:, None]], axis=1)
        rows = np.arange(len(points))
        good, bad = places[rows, count], places[rows, count + 1]
    moved[:, column] = start + sign * good
    return moved


_OF_ALL = frozenset({"+", "-", "neg", "abs", "min", "max", "%"})
"""Operators whose result is divided by what divides all operands."""


def divisor(node: Node, known: Mapping[str, Any], of: int) -> Any:
    """Return a divisor of `of`, the largest that is shown to divide all values of an expression.

    `known` are the names that have one value; all others may have any. Of a sum it is what divides
    its terms, of a product the product of what divides its factors.
    """
    if isinstance(node, Number):
        return _common(node.value, of) if isinstance(node.value, int) else 1
    if isinstance(node, Name):
        return _common(known[node.name], of) if node.name in known else 1
    if names(node) <= known.keys():
        return _common(evaluate(node, known), of)
    operands = node.operands
    if node.operator == "where":
        operands = operands[1:]
    elif node.operator == "*":
        each = [divisor(operand, known, of) for operand in operands]
        return _common(each[0] * each[1], of)
    elif node.operator not in _OF_ALL:
        return 1
    return reduce(_common, (divisor(operand, known, of) for operand in operands), of)


def _common(value: Any, of: Any) -> Any:
    """Return the greatest common divisor, recorded if one of the two is."""
    found = np.gcd(value, of)
    return int(found) if isinstance(found, np.integer) else found
