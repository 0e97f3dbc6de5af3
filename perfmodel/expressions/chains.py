"""Expressions as chains of functions: each part that is used twice or more is computed once.

What the functions work on, Python's numbers or arrays of floats, is up to the caller.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, Protocol, Self, TypeVar

from perfmodel.expressions.nodes import Node, Operation, names

Function = Callable[[list[Any]], Any]
"""Value of a part, from the inputs in the order of their names, and what shared parts gave."""

_LARGEST: Final = 2_000
"""Most nodes of an expression that becomes a chain, written out."""


class NotHereError(Exception):
    """The expression has no chain, or these values no value in it."""


class _Made(Protocol):
    @property
    def function(self) -> Function: ...

    def _replace(self, *, function: Function) -> Self: ...


_Part = TypeVar("_Part", bound=_Made)


@lru_cache(maxsize=4096)
def ordered_names(node: Node) -> tuple[str, ...]:
    """Return the variables of an expression in the order of their names."""
    return tuple(sorted(names(node)))


def chain(
    node: Node,
    leaf: Callable[[Node], _Part],
    operation: Callable[[Operation, Sequence[_Part]], _Part],
) -> tuple[Function, list[None]] | None:
    """Return an expression as a function, and places for shared parts; None if it has none.

    Parameters
    ----------
    node : Node
    leaf : callable
        Makes a part of a name or a number.
    operation : callable
        Makes one of an operation and its operands' parts; raises NotHereError where it cannot.
    """
    if getattr(node, "size", 1) > _LARGEST:
        return None
    inputs = len(ordered_names(node))
    used = _uses(node)
    places: dict[Node, int] = {}
    built: dict[Node, _Part] = {}

    def build(part: Node) -> _Part:
        if not isinstance(part, Operation):
            return leaf(part)
        if part not in built:
            found = operation(part, [build(operand) for operand in part.operands])
            if used[part] > 1:
                places[part] = inputs + len(places)
                found = found._replace(function=_once(found.function, places[part]))
            built[part] = found
        return built[part]

    try:
        function = build(node).function
    except NotHereError:
        return None
    return function, [None] * len(places)


def _uses(node: Node) -> Counter[Node]:
    """Return how many operands each part of an expression is."""
    found: Counter[Node] = Counter()
    left = [node]
    while left:
        part = left.pop()
        for operand in getattr(part, "operands", ()):
            if isinstance(operand, Operation):
                if operand not in found:
                    left.append(operand)
                found[operand] += 1
    return found


def _once(function: Function, place: int) -> Function:
    """Return a function that looks at `place` whether its value is known, and keeps it there."""

    def value(env: list[Any]) -> Any:
        if env[place] is None:
            env[place] = function(env)
        return env[place]

    return value
