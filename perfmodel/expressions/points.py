"""Evaluation with arrays of one element each: NumPy's values at the cost of Python's numbers.

One launch is a point: each of its numbers comes as an array of one element, and NumPy then spends
its time around the arithmetic. Here an expression becomes a function of Python's numbers, once for
each combination of input types. Types are worked out beforehand, so that whole numbers and floats
mix as in arrays. Whatever is out of the ordinary (an overflow, a division by zero, a result that is
not finite) has no value here: `perfmodel.expressions.arrays` then evaluates, or says what is wrong.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from perfmodel.expressions.chains import Function, NotHereError, chain, ordered_names
from perfmodel.expressions.nodes import COMPARISONS, Name, Node, Number, Operation
from perfmodel.expressions.scalars import FUNCTIONS, LARGEST_INTEGER, LARGEST_SHIFT, NoValueError

_KINDS: Final = {float: "f", int: "i", bool: "b"}
_LARGEST_FLOAT: Final = math.nextafter(math.inf, 0.0)
_WHOLE_ONLY: Final = frozenset({"<<", ">>", "&", "|", "^", "random", "shuffled", "full_parts"})
_ROUNDINGS: Final = {"floor": math.floor, "ceil": math.ceil}


class _Part(NamedTuple):
    """A part of an expression: its function, "f", "i" or "b", and whether it is a 0-d array."""

    function: Function
    kind: str
    lone: bool


def evaluate_point(node: Node, values: Mapping[str, Any]) -> npt.NDArray[Any] | None:
    """Return what `evaluate` gives for arrays of one element, at least one of them with an axis.

    None for other values, and where an operation has no value or none that is finite.
    """
    numbers: list[Any] = []
    kinds, lone = "", ""
    axes = 0
    for name in ordered_names(node):
        value: Any = values.get(name)
        if isinstance(value, np.ndarray):
            if value.size != 1:
                return None
            axes = max(axes, value.ndim)
            lone += "0" if value.ndim else "1"
            value = value.item()
        else:
            lone += "1"
            value = value.item() if isinstance(value, np.generic) else value
        kind = _KINDS.get(type(value))
        if kind is None or value != value:
            return None
        if kind == "i" and not -LARGEST_INTEGER <= value <= LARGEST_INTEGER:
            return None
        numbers.append(value)
        kinds += kind
    if not axes:
        return None
    found = _function(node, kinds, lone)
    if found is None:
        return None
    function, shared = found
    try:
        value = function(numbers + shared)
    except (ArithmeticError, ValueError, NoValueError, NotHereError):
        return None
    return np.array(value).reshape((1,) * axes)


@lru_cache(maxsize=4096)
def _function(node: Node, kinds: str, lone: str) -> tuple[Function, list[None]] | None:
    """Return an expression as a function for inputs of some types, and places for shared parts."""
    order = ordered_names(node)

    def leaf(part: Node) -> _Part:
        if isinstance(part, Name):
            place = order.index(part.name)
            return _Part(operator.itemgetter(place), kinds[place], lone[place] == "1")
        assert isinstance(part, Number)
        value = part.value
        return _Part(lambda env: value, _KINDS[type(value)], True)

    def operation(part: Operation, operands: Sequence[_Part]) -> _Part:
        function, kind = _operation(part.operator, operands)
        return _Part(function, kind, all(operand.lone for operand in operands))

    return chain(node, leaf, operation)


def _operation(name: str, operands: Sequence[_Part]) -> tuple[Function, str]:
    """Return the function of an operation, and the type that arrays would have."""
    functions = [operand.function for operand in operands]
    if name in ("and", "or", "not"):
        return _logic(name, functions), "b"
    if name == "where":
        condition = functions[0]
        (first, second), kind = _alike(operands[1:])
        return lambda env: first(env) if condition(env) else second(env), kind
    if name in COMPARISONS:
        (first, second), _ = _alike(operands)
        compare = FUNCTIONS[name]
        return lambda env: compare(first(env), second(env)), "b"
    if name in ("/", "log2", "sqrt", "**"):
        return _in_floats(name, operands)
    functions, kind = _alike(operands)
    if name in _WHOLE_ONLY and kind == "f":
        raise NotHereError
    if name in _ROUNDINGS:
        return (functions[0] if kind == "i" else _rounded(_ROUNDINGS[name], functions[0])), "i"
    if name in ("min", "max"):
        choose = FUNCTIONS[name]
        return lambda env: choose([function(env) for function in functions]), kind
    return _checked(FUNCTIONS[name], functions, kind), kind


def _logic(name: str, functions: list[Function]) -> Function:
    if name == "not":
        return lambda env: not functions[0](env)
    if name == "and":
        return lambda env: all(function(env) for function in functions)
    return lambda env: any(function(env) for function in functions)


def _alike(operands: Sequence[_Part]) -> tuple[list[Function], str]:
    """Return operands of one type: truth values become 0 and 1, all floats if one is."""
    if any(operand.kind == "f" for operand in operands):
        return [_float(operand) for operand in operands], "f"
    return [o.function if o.kind == "i" else _converted(int, o.function) for o in operands], "i"


def _float(operand: _Part) -> Function:
    return operand.function if operand.kind == "f" else _converted(float, operand.function)


def _converted(convert: Callable[[Any], Any], function: Function) -> Function:
    return lambda env: convert(function(env))


def _checked(compute: Callable[..., Any], functions: list[Function], kind: str) -> Function:
    """Return a computed number that stays in the range of its type."""
    largest = _LARGEST_FLOAT if kind == "f" else LARGEST_INTEGER
    if len(functions) == 2:
        first, second = functions

        def value(env: list[Any]) -> Any:
            found = compute(first(env), second(env))
            if -largest <= found <= largest:
                return found
            raise NotHereError

        return value

    def value_of_any(env: list[Any]) -> Any:
        found = compute(*(function(env) for function in functions))
        if -largest <= found <= largest:
            return found
        raise NotHereError

    return value_of_any


def _rounded(compute: Callable[[float], int], function: Function) -> Function:
    def value(env: list[Any]) -> int:
        found = compute(function(env))
        if -LARGEST_INTEGER <= found <= LARGEST_INTEGER:
            return found
        raise NotHereError

    return value


def _in_floats(name: str, operands: Sequence[_Part]) -> tuple[Function, str]:
    """Return a quotient, logarithm, root or power; NumPy's own where Python's rounds otherwise."""
    if name == "**" and all(operand.kind != "f" for operand in operands):
        return _checked(_whole_power, _alike(operands)[0], "i"), "i"
    # NumPy has its own way with one exponent for all, as the square root for 0.5.
    power = _lone_power if operands[-1].lone else _power
    functions: dict[str, Callable[..., float]]
    functions = {"/": operator.truediv, "sqrt": math.sqrt, "log2": _log2, "**": power}
    compute = functions[name]
    return _checked(compute, [_float(operand) for operand in operands], "f"), "f"


def _whole_power(base: int, exponent: int) -> int:
    if not 0 <= exponent <= LARGEST_SHIFT:  # to a negative power it is no whole number
        raise NotHereError
    return int(base**exponent)


def _log2(value: float) -> float:
    if not 0 < value < math.inf:
        raise NotHereError
    return float(np.log2(value))


def _lone_power(base: float, exponent: float) -> float:
    if base <= 0:
        raise NotHereError
    with np.errstate(all="ignore"):
        return float(np.power(base, exponent))


def _power(base: float, exponent: float) -> float:
    if base <= 0:
        raise NotHereError
    with np.errstate(all="ignore"):
        return float(np.power(base, np.array((exponent,)))[0])
