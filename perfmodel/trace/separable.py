"""Indices that are a sum of one part of the thread in its block and one of everything else.

For these, and they are most, the lanes of a warp keep their distances from block to block and from
iteration to iteration, so one address a warp says it all.
"""

from __future__ import annotations

from perfmodel.expressions import Node, Number, Operation, names
from perfmodel.expressions.nodes import COMPARISONS
from perfmodel.kernels.intervals import Ranges

THREAD = frozenset({"threadIdx.x", "threadIdx.y", "threadIdx.z"})


def separable(node: Node, moving: frozenset[str]) -> bool:
    """Say whether an expression is a sum of terms in `THREAD` alone and terms in `moving` alone.

    `moving`: variables that change besides: of blocks and loops. All others are constants.
    """
    used = names(node)
    if not (used & THREAD) or not (used & moving):
        return True
    assert isinstance(node, Operation)
    if node.operator in ("+", "-", "neg"):
        return all(separable(operand, moving) for operand in node.operands)
    if node.operator == "*":
        varying = [o for o in node.operands if names(o) & (THREAD | moving)]
        # A constant factor keeps the sum a sum; it must be whole, or the parts would not be.
        return len(varying) == 1 and separable(varying[0], moving)
    return False


def always(node: Node, ranges: Ranges) -> bool:
    """Say whether interval arithmetic shows that a condition holds for all values."""
    if isinstance(node, Number):
        return bool(node.value)
    if not isinstance(node, Operation):
        return False
    if node.operator == "and":
        return all(always(operand, ranges) for operand in node.operands)
    if node.operator not in COMPARISONS:
        return False
    left, right = (ranges.of(operand) for operand in node.operands)
    if left is None or right is None:
        return False
    surely = {
        "<": left.high < right.low,
        "<=": left.high <= right.low,
        ">": left.low > right.high,
        ">=": left.low >= right.high,
    }
    return surely.get(node.operator, False)
