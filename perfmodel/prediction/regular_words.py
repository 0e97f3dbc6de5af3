"""Regular words: what neighbouring threads touch by an index that is not affine, such as ``i % m``.

A column of a bias, ``i % columns``, and a channel, ``i / pixels % channels``, are regular all the
same: groups of neighbouring threads touch words side by side, or all the same word. That is looked
at in some blocks and iterations, all threads of each.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import log2, prod
from typing import Any, Final, Literal

import numpy as np

from perfmodel.arrays import Array
from perfmodel.expressions import Node, Number, Operation, evaluate
from perfmodel.kernels import expanded
from perfmodel.models.requests.request_record import Requests
from perfmodel.prediction.record import Prediction
from perfmodel.prediction.rewrites import known_values

_BY_VARIABLE: Final = {"int32": 16, "imad": 8, "wide": 2, "conversion": 2, "sfu": 1}
_BY_CONSTANT: Final = {"int32": 3, "imad": 1, "wide": 2, "conversion": 0, "sfu": 0}
"""Instructions that an unsigned or signed 32-bit division takes at most, with its remainder: the
machine code of ``i % n`` and ``i / n`` beside that of the same kernels without (nvcc 13.0, sm_90).
"""


def some(count: int) -> list[int]:
    """Return a few numbers below `count`: the first, the last and some between."""
    wanted = {0, 1, count // 4, count // 2, 3 * count // 4, count - 2, count - 1}
    return sorted(i for i in wanted if 0 <= i < count)


def words_of_groups(
    base: Prediction, r: Requests, scaled: Sequence[str], words: int
) -> Literal["consecutive", "one"] | None:
    """Say what groups of `words` threads touch: vectors, one element, or neither (None).

    `scaled`: variables that count words together, the fastest first: ``threadIdx.x``,
    ``blockIdx.x`` or a loop's, or both.
    """
    index = expanded(base.details.instance.kernel, r.access.index)
    element = float(np.max(base.details.instance.element_bytes[r.access.buffer]))
    vector = round(r.width / element)
    threads = base.block[0]
    found = set()
    for fixed in _places(base, scaled):
        at = _evaluated(base, index, fixed | {"threadIdx.x": np.arange(threads)})
        groups = np.broadcast_to(at, threads).reshape(-1, words)
        steps = np.unique(np.diff(groups, axis=1))
        if len(steps) != 1 or steps[0] not in (0, vector):
            return None
        if steps[0] and np.any(groups[:, 0] % (words * vector)):
            return None
        found.add(int(steps[0]))
        if not _by_number(base, index, scaled, words, fixed):
            return None
    if len(found) != 1:
        return None
    return "consecutive" if found.pop() else "one"


def division_work(indices: Iterable[Node]) -> dict[str, int]:
    """Return the instructions, by pipe, that divisions in some indices take at most, each once."""
    divisors: dict[tuple[Node, ...], dict[str, int]] = {}
    waiting, seen = list(indices), set()
    while waiting:
        node = waiting.pop()
        if not isinstance(node, Operation) or id(node) in seen:
            continue
        seen.add(id(node))
        waiting += node.operands
        if node.operator in ("//", "%"):
            _, by = node.operands
            power = isinstance(by, Number) and by.value == 2 ** round(log2(max(1, by.value)))
            cost = _BY_CONSTANT if isinstance(by, Number) else _BY_VARIABLE
            divisors[node.operands] = dict.fromkeys(cost, 0) if power else cost
    return {pipe: sum(cost[pipe] for cost in divisors.values()) for pipe in _BY_VARIABLE}


def _places(base: Prediction, scaled: Sequence[str]) -> Iterator[dict[str, int]]:
    """Yield some blocks and iterations: values of all variables but threads in x."""
    points = {f"blockIdx.{axis}": some(count) for axis, count in zip("xyz", base.grid, strict=True)}
    points |= {f"threadIdx.{a}": some(n)[-1:] for a, n in zip("yz", base.block[1:], strict=True)}
    for variable, trips in base.details.instance.trips.items():
        points[variable] = some(int(np.max(trips)))
    short = {name: values if name in scaled else values[-2:] for name, values in points.items()}
    for row in product(*short.values()):
        yield dict(zip(short, row, strict=True))


def _by_number(
    base: Prediction, index: Node, scaled: Sequence[str], words: int, fixed: Mapping[str, int]
) -> bool:
    """Say whether the index goes by the word's number alone, which the variables count.

    Only then may a thread's variables be multiplied to say which words it has.
    """
    extents = [_extent(base, name) for name in scaled]
    weights = [prod(extents[:i]) for i in range(len(extents))]
    wide: dict[str, Any] = {name: fixed.get(name, 0) // words * words for name in scaled}
    wide["threadIdx.x"] = np.arange(base.block[0]) * words
    number = sum(wide[name] * weight for name, weight in zip(scaled, weights, strict=True))
    there = {
        name: number // weight % (extent if name != scaled[-1] else 2**62)
        for name, weight, extent in zip(scaled, weights, extents, strict=True)
    }
    one = _evaluated(base, index, {**fixed, **wide})
    return bool(np.all(one == _evaluated(base, index, {**fixed, **there})))


def _extent(base: Prediction, name: str) -> int:
    if name == "threadIdx.x":
        return base.block[0]
    if name == "blockIdx.x":
        return base.grid[0]
    return int(np.max(base.details.instance.trips[name]))


def _evaluated(base: Prediction, index: Node, places: Mapping[str, Any]) -> Array:
    return np.asarray(evaluate(index, known_values(base.details.instance) | dict(places)))
