"""Conditions as expressions: negated, joined and simplified as branches need them."""

import threading
from collections.abc import Iterable
from typing import Final

from perfmodel.expressions import Node, Number, Operation
from perfmodel.expressions.nodes import COMPARISONS

TRUE: Final = Number(1)
FALSE: Final = Number(0)

_OPPOSITE: Final = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
_HERE: Final = threading.local()


def work_done() -> int:
    """Return how many parts of formulas this thread has made or compared: what following costs."""
    return getattr(_HERE, "work", 0)


def worked(count: int) -> None:
    """Count parts of formulas that this thread has made or compared."""
    _HERE.work = work_done() + count


def negated(condition: Node) -> Node:
    """Return a condition that holds where the given one does not."""
    worked(1)
    if isinstance(condition, Number):
        return FALSE if condition.value else TRUE
    if isinstance(condition, Operation):
        if condition.operator == "not":
            return condition.operands[0]
        if condition.operator in COMPARISONS:
            return Operation(_OPPOSITE[condition.operator], condition.operands)
        if condition.operator == "and":
            return any_of(negated(part) for part in condition.operands)
        if condition.operator == "or":
            return all_of(negated(part) for part in condition.operands)
    return Operation("not", (condition,))


def all_of(conditions: Iterable[Node]) -> Node:
    """Return a condition that holds where all of some do."""
    parts = _parts(conditions, "and", TRUE)
    if parts is None:
        return FALSE
    # What the others settle is dropped from a choice among conditions.
    simpler = [_given(part, [p for p in parts if p is not part]) for part in parts]
    if simpler != parts:
        return all_of(simpler)
    if not parts:
        return TRUE
    return parts[0] if len(parts) == 1 else Operation("and", tuple(parts))


def any_of(conditions: Iterable[Node]) -> Node:
    """Return a condition that holds where at least one of some does."""
    parts = _parts(conditions, "or", FALSE)
    if parts is None:
        return TRUE
    shared = _shared(parts)
    if shared:
        rest = (all_of(p for p in _operands(part, "and") if p not in shared) for part in parts)
        return all_of([*shared, any_of(rest)])
    # a or (not a and b) is a or b.
    simpler = []
    for part in parts:
        others = [negated(p) for p in parts if p is not part]
        simpler.append(all_of(p for p in _operands(part, "and") if p not in others))
    if simpler != parts:
        return any_of(simpler)
    if not parts:
        return FALSE
    return parts[0] if len(parts) == 1 else Operation("or", tuple(parts))


def _parts(conditions: Iterable[Node], operator: str, neutral: Number) -> list[Node] | None:
    """Return what is joined, each once; None if one part, or two together, decide the whole."""
    parts: list[Node] = []
    for part in (p for condition in conditions for p in _operands(condition, operator)):
        if isinstance(part, Number):
            if bool(part.value) != bool(neutral.value):
                return None
        elif part not in parts:
            parts.append(part)
    worked(len(parts))
    return None if any(negated(part) in parts for part in parts) else parts


def _given(part: Node, known: list[Node]) -> Node:
    """Simplify a choice among conditions, knowing that others hold."""
    choices = _operands(part, "or")
    if len(choices) == 1:
        return part
    if any(choice in known for choice in choices):
        return TRUE
    left = [choice for choice in choices if negated(choice) not in known]
    return part if len(left) == len(choices) else any_of(left)


def _shared(parts: list[Node]) -> list[Node]:
    if len(parts) < 2:
        return []
    sets = [_operands(part, "and") for part in parts]
    return [p for p in sets[0] if all(p in other for other in sets[1:])]


def conjuncts(condition: Node) -> tuple[Node, ...]:
    """Return the conditions that make up one."""
    return () if condition == TRUE else _operands(condition, "and")


def _operands(condition: Node, operator: str) -> tuple[Node, ...]:
    if isinstance(condition, Operation) and condition.operator == operator:
        return condition.operands
    return (condition,)


def decided(operator: str, low: int, high: int) -> bool | None:
    """Say whether a - b compares with 0 like this, by its range; None where that leaves it open."""
    always, never = {
        "<": (high < 0, low >= 0),
        "<=": (high <= 0, low > 0),
        ">": (low > 0, high <= 0),
        ">=": (low >= 0, high < 0),
        "==": (low == high == 0, low > 0 or high < 0),
        "!=": (low > 0 or high < 0, low == high == 0),
    }[operator]
    return always if always or never else None
