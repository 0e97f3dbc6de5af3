"""Divisors: what divides an integer expression for all threads and iterations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

import numpy as np

from perfmodel.expressions import Name, Node, Number, evaluate, names

_OF_ALL = frozenset({"+", "-", "neg", "abs", "min", "max", "%"})
"""Operators whose result is divided by what divides all operands."""


def divisor(node: Node, known: Mapping[str, Any], of: int) -> int:
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


def _common(value: Any, of: int) -> int:
    return int(np.gcd(value, of))
