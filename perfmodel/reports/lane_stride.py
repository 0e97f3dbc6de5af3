"""How far apart neighbouring lanes read, as an expression in the kernel's own parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Name, Node, Number, Operation, evaluate, names, text
from perfmodel.kernels.instance import Instance
from perfmodel.models.formula import Formula
from perfmodel.models.grid.affine import Variable
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.reports.step import Step, scalar, step

_ZERO = Number(0)
_ONE = Number(1)


def lane_stride(section: str, title: str, instance: Instance, r: Requests, v: Variable) -> Step:
    """Return the step that gives the bytes from one lane to the next along a lane digit.

    Parameters
    ----------
    section, title : str
        Of the step.
    instance : Instance
    r : Requests
        An access with strides.
    v : Variable
        One of its lane digits.
    """
    assert r.strides is not None
    bytes_apart = scalar(r.strides[v.name])
    index = instance.expression(r.access.index)
    element = instance.kernel.buffer(r.access.buffer).element_bytes
    change = slope(index, v.target)
    if change is not None:
        change = _product(instance.expression(element), change)
        known = {name: scalar(instance.known[name]) for name in names(change)}
        if _value(change, known) == bytes_apart:
            meanings = {name: f"{name} of the launch [1]" for name in known}
            formula = Formula(
                title, "B", _tight(change), meanings, "lanes of one warp", "derived from the index"
            )
            return step(section, formula, known)
    # An index such as table[...] or a mixture of // and %: the number was probed.
    formula = Formula(
        title,
        "B",
        "probed",
        {"probed": "change of the address from one lane to the next [B]"},
        "lanes of one warp",
        "probed: the index evaluated at neighbouring lanes",
    )
    return step(section, formula, {"probed": bytes_apart})


def slope(node: Node, variable: str) -> Node | None:
    """Return the change of an expression as `variable` grows by one inside a warp, or None.

    Right for sums and products. Quotients are taken as constant and remainders as not wrapping,
    which holds inside a warp of the usual index arithmetic; compare the value with a probe.
    """
    if variable not in names(node):
        return _ZERO
    if isinstance(node, Name):
        return _ONE
    assert isinstance(node, Operation)
    operands = node.operands
    if node.operator in ("//", ">>"):
        return _ZERO
    parts = [slope(part, variable) for part in operands]
    if node.operator == "%":
        return parts[0]
    if any(part is None for part in parts):
        return None
    left, right = (*parts, _ZERO)[:2]
    assert left is not None
    assert right is not None
    if node.operator == "neg":
        return _product(Number(-1), left)
    if node.operator == "+":
        return _sum(left, right)
    if node.operator == "-":
        return _sum(left, _product(Number(-1), right))
    if node.operator == "*" and _ZERO in parts:
        return _sum(_product(left, operands[1]), _product(operands[0], right))
    return None


def _sum(a: Node, b: Node) -> Node:
    if a == _ZERO or b == _ZERO:
        return b if a == _ZERO else a
    if isinstance(a, Number) and isinstance(b, Number):
        return Number(a.value + b.value)
    return Operation("+", (a, b))


def _product(a: Node, b: Node) -> Node:
    if _ZERO in (a, b):
        return _ZERO
    if a == _ONE or b == _ONE:
        return b if a == _ONE else a
    if isinstance(a, Number) and isinstance(b, Number):
        return Number(a.value * b.value)
    if isinstance(b, Number):
        a, b = b, a
    if isinstance(b, Operation) and b.operator == "*":
        return Operation("*", (_product(a, b.operands[0]), b.operands[1]))
    return Operation("*", (a, b))


def _value(node: Node, known: dict[str, Any]) -> float:
    try:
        return scalar(evaluate(node, known))
    except PerfmodelError:
        return float(np.nan)


def _tight(node: Node) -> str:
    return text(node).replace(" * ", "*")
