"""Indices that are affine modulo a period, such as ``(i % m)*4 + j``: what they are before it.

Buffers of vectors, rows of several elements and constant offsets put factors and terms around the
remainder; they are moved inside it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.expressions import Node, Number, Operation, evaluate
from perfmodel.models.agreement import agreed
from perfmodel.models.grid.affine import Plane, Variable, fixed, plane

_ONE: Final = Number(1)


class PeriodicIndex(NamedTuple):
    """An index that is `plane`, folded into the `period` elements from `shift` on.

    The shift is 0 where all offsets are inside the remainder.
    """

    plane: Plane
    period: Array
    shift: Array


def periodic_index(
    index: Node, values: Mapping[str, Any], variables: Sequence[Variable]
) -> PeriodicIndex | None:
    """Return what an index is before its remainder is taken; None if it is not of that kind.

    Notes
    -----
    ``a*(x % m) + b`` is ``(a*x + b) % (a*m)`` where b is from 0 to a - 1.
    """
    terms = [*_terms(index, _ONE, values)]
    cycles = [
        (times, part)
        for times, part in terms
        if isinstance(part, Operation) and part.operator == "%" and fixed(part.operands[1], values)
    ]
    if len(cycles) != 1:
        return None
    ((times, cycle),) = cycles
    assert isinstance(cycle, Operation)
    inner = plane(cycle.operands[0], values, variables)
    rest = plane(_added([t for t in terms if t != cycles[0]]), values, variables)
    if not (inner.affine and rest.affine):
        return None
    factor, modulus = (
        np.atleast_1d(np.asanyarray(evaluate(node, values), dtype=float))
        for node in (times, cycle.operands[1])
    )
    reach = summed(np.abs(inner.strides[v.name]) * (v.extent - 1.0) for v in variables)
    if agreed(reach <= modulus):
        return None  # it starts again once at most: neighbours across an edge
    spans = [rest.strides[v.name] * (v.extent - 1.0) for v in variables]
    low = rest.offset + summed(np.minimum(s, 0) for s in spans)
    high = rest.offset + summed(np.maximum(s, 0) for s in spans)
    inside = agreed((low >= 0) & (high < factor))
    if not inside and not agreed(low == high):
        return None  # the period itself moves
    return PeriodicIndex(
        Plane(
            factor * inner.offset + rest.offset,
            {name: factor * s + rest.strides[name] for name, s in inner.strides.items()},
            True,
        ),
        np.abs(factor) * modulus,
        np.zeros(1) if inside else rest.offset + np.minimum(factor, 0) * (modulus - 1),
    )


def _terms(node: Node, times: Node, values: Mapping[str, Any]) -> Iterator[tuple[Node, Node]]:
    """Yield the terms of a sum: a factor that is the same for all threads, and what it scales."""
    if isinstance(node, Operation) and node.operator in ("+", "-"):
        first, second = node.operands
        yield from _terms(first, times, values)
        negative = node.operator == "-"
        yield from _terms(second, Operation("neg", (times,)) if negative else times, values)
    elif isinstance(node, Operation) and node.operator == "neg":
        yield from _terms(node.operands[0], Operation("neg", (times,)), values)
    elif isinstance(node, Operation) and node.operator == "*":
        first, second = node.operands
        if fixed(second, values):
            yield from _terms(first, _times(times, second), values)
        elif fixed(first, values):
            yield from _terms(second, _times(times, first), values)
        else:
            yield times, node
    else:
        yield times, node


def _times(a: Node, b: Node) -> Node:
    return b if a == _ONE else Operation("*", (a, b))


def _added(terms: Sequence[tuple[Node, Node]]) -> Node:
    total: Node = Number(0)
    for times, part in terms:
        total = Operation("+", (total, _times(times, part)))
    return total
