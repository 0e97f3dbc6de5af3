"""Evaluation with arrays of one float each, as one launch has them: by Python's numbers.

They take a quarter of the time of NumPy's functions, and give the same to the last bit: powers and
logarithms stay NumPy's. What is out of the ordinary is left to arrays.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.expressions import scalars
from perfmodel.expressions.float_arrays import ROUNDED, Function, Operations, chain, ordered
from perfmodel.expressions.nodes import COMPARISONS, Node

_LARGEST: Final = float(np.finfo(float).max)


def evaluate_one(node: Node, values: Mapping[str, Any]) -> Array | None:
    """Return what arrays of one float give; None if these are no such, or have no plain value."""
    numbers, some = [], False
    for name in ordered(node):
        value = values.get(name)
        if type(value) is np.ndarray and value.size == 1 and value.ndim < 2:
            some = some or value.ndim == 1
            value = value.item()
        if type(value) is not float or value != value:
            return None
        numbers.append(value)
    found = chain(node, _ON_NUMBERS) if some else None
    if found is None:
        return None
    try:
        return np.array([found.kind(found.of(numbers))])
    except ArithmeticError:
        return None


def _finite(apply: Callable[..., Any]) -> Callable[..., Any]:
    """Return an operation that raises where what it gives is not finite, as it may be no value."""

    def checked(*numbers: Any) -> Any:
        found = apply(*numbers)
        if not -_LARGEST <= found <= _LARGEST:
            raise FloatingPointError
        return found

    return checked


def _of_numpy(apply: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of NumPy's that raises where it has no value."""

    def checked(*numbers: float) -> float:
        with np.errstate(all="raise", under="ignore"):
            return float(apply(*numbers))

    return checked


_PLAIN: Final = (*COMPARISONS, "neg", "abs", "min", "max")
_ARITHMETIC: Final = ("+", "-", "*", "/", "//", "%", "ceil_div")
_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    **{name: scalars.FUNCTIONS[name] for name in _PLAIN},
    **{name: _finite(scalars.FUNCTIONS[name]) for name in _ARITHMETIC},
    **{"floor": math.floor, "ceil": math.ceil},
    **{"sqrt": _of_numpy(np.sqrt), "log2": _of_numpy(np.log2), "**": _of_numpy(np.power)},
}


class _OnNumbers(Operations):
    """What the parts of a chain do, on Python's numbers."""

    functions = _FUNCTIONS

    def constant(self, value: int | float) -> Any:
        """Return a number as it is."""
        return value

    def where(self, condition: Function, chosen: Function, other: Function) -> Function:
        """Return a function of what a condition chooses."""
        return lambda env: chosen(env) if condition(env) else other(env)

    def joined(self, name: str, conditions: Sequence[Function]) -> Function:
        """Return a function of several conditions' "and" or "or"."""
        join = all if name == "and" else any
        return lambda env: join(condition(env) for condition in conditions)

    def negated(self, condition: Function) -> Function:
        """Return a function of a condition's negation."""
        return lambda env: not condition(env)

    def converted(self, function: Function, kind: type) -> Function:
        """Return a function of another one's number as a float or an integer."""
        return lambda env: kind(function(env))

    def rounded(self, name: str, function: Function) -> Function:
        """Return a function of an integer that is not too large."""
        apply = self.functions[name]

        def value(env: list[Any]) -> Any:
            found = apply(function(env))
            if abs(found) > ROUNDED:
                raise FloatingPointError
            return found

        return value


_ON_NUMBERS: Final = _OnNumbers()
