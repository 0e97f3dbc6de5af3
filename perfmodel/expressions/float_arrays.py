"""Evaluation with arrays of floats, as long as nothing is out of the ordinary.

An expression becomes a chain of NumPy's functions, once. Where floats alone go in, whole numbers
come of literals, truth values and rounding, so that their bounds are known beforehand. What a
condition leaves out is computed like all else: where that, or anything, has no value, the processor
says so, and `perfmodel.expressions.evaluate` evaluates again, part by part.
"""

import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, reduce
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
ROUNDED: Final = 1 << 31
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
    found = chain(node, ON_ARRAYS)
    if found is None:
        return None
    try:
        return found.of([arrays[name] for name in ordered(node)])
    except FloatingPointError:
        return None


@lru_cache(maxsize=4096)
def ordered(node: Node) -> tuple[str, ...]:
    """Return an expression's names in the order that its chain takes their values."""
    return tuple(sorted(names(node)))


class Chain(NamedTuple):
    """An expression as a function of floats by order, places for shared parts, and its kind."""

    function: Function
    shared: list[None]
    kind: type  # of the result: float, int or bool

    def of(self, values: Sequence[Any]) -> Any:
        """Return the expression's value; raises `FloatingPointError` where it may have none."""
        return self.function([*values, *self.shared])


class Operations:
    """What the parts of a chain do, on arrays."""

    functions: Mapping[str, Callable[..., Any]] = FUNCTIONS

    def constant(self, value: int | float) -> Any:
        """Return a number as the parts take it."""
        return np.asarray(value)

    def where(self, condition: Function, chosen: Function, other: Function) -> Function:
        """Return a function of what a condition chooses."""
        return lambda env: np.where(condition(env), chosen(env), other(env))

    def joined(self, name: str, conditions: Sequence[Function]) -> Function:
        """Return a function of several conditions' "and" or "or"."""
        join = np.logical_and if name == "and" else np.logical_or
        first, *others = conditions
        return lambda env: reduce(join, (condition(env) for condition in others), first(env))

    def negated(self, condition: Function) -> Function:
        """Return a function of a condition's negation."""
        return lambda env: ~condition(env)

    def converted(self, function: Function, kind: type) -> Function:
        """Return a function of another one's numbers as floats or integers."""
        return lambda env: function(env).astype(kind)

    def rounded(self, name: str, function: Function) -> Function:
        """Return a function of integers, none of them too large."""
        apply = self.functions[name]

        def value(env: list[Any]) -> Any:
            found = apply(function(env))
            if not (np.abs(found) <= ROUNDED).all():
                raise FloatingPointError
            return found.astype(np.int64)

        return value


ON_ARRAYS: Final = Operations()


@lru_cache(maxsize=4096)
def chain(node: Node, do: Operations) -> Chain | None:
    """Return an expression as a chain of some operations' functions; None where there is none.

    A part that is used twice or more is computed once.
    """
    if getattr(node, "size", 1) > _LARGEST:
        return None
    order, used = ordered(node), _uses(node)
    places: dict[Node, int] = {}
    built: dict[Node, _Part] = {}

    def build(part: Node) -> _Part:
        if isinstance(part, Name):
            return _Part(operator.itemgetter(order.index(part.name)), None)
        if isinstance(part, Number):
            value = do.constant(part.value)
            return _Part(
                lambda env: value, None if type(part.value) is float else abs(int(part.value))
            )
        if part not in built:
            found = _operation(do, part, [build(operand) for operand in part.operands])
            if used[part] > 1:
                places[part] = len(order) + len(places)
                found = found._replace(function=_once(found.function, places[part]))
            built[part] = found
        return built[part]

    try:
        found = build(node)
    except _NoChainError:
        return None
    kind = bool if found.truth else float if found.bound is None else int
    return Chain(found.function, [None] * len(places), kind)


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


def _operation(do: Operations, part: Operation, operands: Sequence[_Part]) -> _Part:
    name = part.operator
    if name in ("where", "and", "or", "not"):
        return _choice(do, name, operands)
    apply = do.functions.get(name)
    if apply is None:
        raise _NoChainError
    if name in COMPARISONS:
        return _Part(_applied(apply, [operand.function for operand in operands]), 1, truth=True)
    numbers = [_arithmetic(do, operand) for operand in operands]
    bounds = [n.bound for n in numbers if n.bound is not None]
    whole = len(bounds) == len(numbers)
    if name in ("floor", "ceil"):
        return numbers[0] if whole else _Part(do.rounded(name, numbers[0].function), ROUNDED)
    if name in BITWISE or (name == "**" and whole):
        raise _NoChainError
    functions = [n.function for n in numbers]
    if name == "**":
        functions = [do.converted(function, float) for function in functions]
    bound = BOUNDS[name](*bounds) if whole and name in BOUNDS else None
    if bound is not None and bound > LARGEST_INTEGER:
        raise _NoChainError
    return _Part(_applied(apply, functions), bound)


def _choice(do: Operations, name: str, operands: Sequence[_Part]) -> _Part:
    """Return what a condition chooses, or several conditions together."""
    if name == "where":
        condition = _truth(operands[0])
        first, second = (_arithmetic(do, operand) for operand in operands[1:])
        bounds = (first.bound, second.bound)
        bound = None if bounds[0] is None or bounds[1] is None else max(bounds[0], bounds[1])
        return _Part(do.where(condition, first.function, second.function), bound)
    conditions = [_truth(operand) for operand in operands]
    joined = do.negated(conditions[0]) if name == "not" else do.joined(name, conditions)
    return _Part(joined, 1, truth=True)


def _truth(part: _Part) -> Function:
    function = part.function
    return function if part.truth else lambda env: function(env) != 0


def _arithmetic(do: Operations, part: _Part) -> _Part:
    return _Part(do.converted(part.function, int), 1) if part.truth else part


def _applied(apply: Callable[..., Any], functions: list[Function]) -> Function:
    if len(functions) == 2:
        first, second = functions
        return lambda env: apply(first(env), second(env))
    return lambda env: apply(*(function(env) for function in functions))
