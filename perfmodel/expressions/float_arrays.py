"""Evaluation with arrays of floats, as long as nothing is out of the ordinary.

An expression becomes a chain of NumPy's functions, once. Where floats alone go in, whole numbers
come of literals, truth values and rounding, so that their bounds are known beforehand. What a
condition leaves out is computed like all else: where that, or anything, has no value, the processor
says so, and `perfmodel.expressions.evaluate` evaluates again, part by part.
"""

import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.expressions.array_operators import BOUNDS, FUNCTIONS
from perfmodel.expressions.nodes import COMPARISONS, Name, Node, Number, Operation, names
from perfmodel.expressions.scalars import BITWISE, LARGEST_INTEGER

Function = Callable[[list[Any]], Any]
"""Value of a part, from the inputs in the order of their names, and what shared parts gave."""

_LARGEST: Final = 2_000
"""Most nodes of an expression that becomes a chain, written out."""
_ROUNDED: Final = 1 << 31
"""Largest magnitude that rounding gives here."""


class _NoChainError(Exception):
    """The expression has no chain."""


class _Part(NamedTuple):
    """A part's function, and the bound of its magnitude; None for floats."""

    function: Function
    bound: int | None
    truth: bool = False


def evaluate_floats(node: Node, arrays: Mapping[str, Array]) -> Any:
    """Return what arrays of floats give, or None. NumPy is to raise floating-point faults."""
    if any(array.dtype.kind != "f" for array in arrays.values()):
        return None
    found = _chain(node)
    if found is None:
        return None
    function, shared = found
    try:
        return function([*(arrays[name] for name in _ordered(node)), *shared])
    except FloatingPointError:
        return None


@lru_cache(maxsize=4096)
def _ordered(node: Node) -> tuple[str, ...]:
    return tuple(sorted(names(node)))


@lru_cache(maxsize=4096)
def _chain(node: Node) -> tuple[Function, list[None]] | None:
    """Return an expression as a function of arrays of floats, and places for shared parts.

    A part that is used twice or more is computed once.
    """
    if getattr(node, "size", 1) > _LARGEST:
        return None
    order, used = _ordered(node), _uses(node)
    places: dict[Node, int] = {}
    built: dict[Node, _Part] = {}

    def build(part: Node) -> _Part:
        if isinstance(part, Name):
            return _Part(operator.itemgetter(order.index(part.name)), None)
        if isinstance(part, Number):
            value = np.asarray(part.value)
            return _Part(lambda env: value, None if value.dtype.kind == "f" else abs(int(value)))
        if part not in built:
            found = _operation(part, [build(operand) for operand in part.operands])
            if used[part] > 1:
                places[part] = len(order) + len(places)
                found = found._replace(function=_once(found.function, places[part]))
            built[part] = found
        return built[part]

    try:
        function = build(node).function
    except _NoChainError:
        return None
    return function, [None] * len(places)


def _uses(node: Node) -> Counter[Node]:
    """Return how many operands each part of an expression is."""
    found: Counter[Node] = Counter()
    left = [node]
    while left:
        for operand in getattr(left.pop(), "operands", ()):
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


def _operation(part: Operation, operands: Sequence[_Part]) -> _Part:
    name = part.operator
    if name in ("where", "and", "or", "not"):
        return _choice(name, operands)
    if name in COMPARISONS:
        compare, (first, second) = FUNCTIONS[name], (operand.function for operand in operands)
        return _Part(lambda env: compare(first(env), second(env)), 1, truth=True)
    numbers = [_arithmetic(operand) for operand in operands]
    bounds = [n.bound for n in numbers if n.bound is not None]
    whole = len(bounds) == len(numbers)
    if name in ("floor", "ceil"):
        return (
            numbers[0] if whole else _Part(_rounded(FUNCTIONS[name], numbers[0].function), _ROUNDED)
        )
    if name in BITWISE or (name == "**" and whole):
        raise _NoChainError
    functions = [n.function for n in numbers]
    if name == "**":
        functions = [_converted(function, np.float64) for function in functions]
    bound = BOUNDS[name](*bounds) if whole and name in BOUNDS else None
    if bound is not None and bound > LARGEST_INTEGER:
        raise _NoChainError
    return _Part(_applied(FUNCTIONS[name], functions), bound)


def _choice(name: str, operands: Sequence[_Part]) -> _Part:
    """Return what a condition chooses, or several conditions together."""
    if name == "where":
        condition = _truth(operands[0])
        first, second = (_arithmetic(operand) for operand in operands[1:])
        bounds = (first.bound, second.bound)
        bound = None if bounds[0] is None or bounds[1] is None else max(bounds[0], bounds[1])
        yes, no = first.function, second.function
        return _Part(lambda env: np.where(condition(env), yes(env), no(env)), bound)
    conditions = [_truth(operand) for operand in operands]
    if name == "not":
        return _Part(lambda env: ~conditions[0](env), 1, truth=True)
    join: Callable[[Any, Any], Any] = np.logical_and if name == "and" else np.logical_or

    def joined(env: list[Any]) -> Any:
        found = conditions[0](env)
        for condition in conditions[1:]:
            found = join(found, condition(env))
        return found

    return _Part(joined, 1, truth=True)


def _truth(part: _Part) -> Function:
    function = part.function
    return function if part.truth else lambda env: function(env) != 0


def _arithmetic(part: _Part) -> _Part:
    return _Part(_converted(part.function, np.int64), 1) if part.truth else part


def _converted(function: Function, kind: Any) -> Function:
    return lambda env: function(env).astype(kind)


def _applied(apply: Callable[..., Any], functions: list[Function]) -> Function:
    if len(functions) == 2:
        first, second = functions
        return lambda env: apply(first(env), second(env))
    return lambda env: apply(*(function(env) for function in functions))


def _rounded(apply: Callable[[Any], Any], function: Function) -> Function:
    def value(env: list[Any]) -> Any:
        found = apply(function(env))
        if not (np.abs(found) <= _ROUNDED).all():
            raise FloatingPointError
        return found.astype(np.int64)

    return value
