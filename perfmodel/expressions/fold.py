"""Putting numbers into an expression ahead of time: what does not vary is worked out once."""

from __future__ import annotations

from collections.abc import Mapping

from perfmodel.errors import PerfmodelError
from perfmodel.expressions.evaluate import evaluate
from perfmodel.expressions.nodes import Name, Node, Number, Operation


def folded(node: Node, known: Mapping[str, int | float]) -> Node:
    """Return an expression with numbers for some variables, its constant parts evaluated.

    Parts that have no value, as a division by zero that a condition leaves out, stay as they are.
    """
    done: dict[Node, Node] = {}

    def visit(part: Node) -> Node:
        if isinstance(part, Name):
            return Number(known[part.name]) if part.name in known else part
        if isinstance(part, Number):
            return part
        if part not in done:
            done[part] = _simpler(part.operator, tuple(map(visit, part.operands)))
        return done[part]

    return visit(node)


def _simpler(operator: str, operands: tuple[Node, ...]) -> Node:
    whole = Operation(operator, operands)
    if operator == "where" and isinstance(operands[0], Number):
        return operands[1] if operands[0].value else operands[2]
    if not all(isinstance(operand, Number) for operand in operands):
        return whole
    try:
        value = evaluate(whole, {})
        return Number(int(value) if isinstance(value, bool) else value)  # type: ignore[arg-type]
    except PerfmodelError:
        return whole
