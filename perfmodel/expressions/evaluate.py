"""The value of an expression, for Python numbers or for whole NumPy arrays.

Arrays give what the scalar evaluation gives for every element.
"""

import math
from collections.abc import Mapping
from functools import lru_cache, reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perfmodel.arrays import Array
from perfmodel.errors import PerfmodelError
from perfmodel.expressions.array_operators import APPROXIMATE, BOUNDS, FUNCTIONS
from perfmodel.expressions.float_arrays import evaluate_floats
from perfmodel.expressions.float_numbers import evaluate_one
from perfmodel.expressions.nodes import COMPARISONS, Name, Node, Number, Operation, names, shown
from perfmodel.expressions.scalars import (
    BITWISE,
    DOMAINS,
    FLOAT_OVERFLOW,
    LARGEST_INTEGER,
    OVERFLOW,
    UNDEFINED,
    WHOLE_NUMBERS,
    NoValueError,
    Scalar,
    evaluate_scalars,
    named,
)


class _Value(NamedTuple):
    """An array, and a bound on its magnitude if it holds integers or truth values."""

    data: Any
    bound: int | None


Parts = dict[Node, _Value]


class _Scope(NamedTuple):
    """The elements that count (True: all), and what is known for them or for the scope around."""

    active: Any
    known: Parts
    around: "_Scope | None"

    def find(self, node: Node) -> _Value | None:
        scope: _Scope | None = self
        while scope is not None:
            if node in scope.known:
                return scope.known[node]
            scope = scope.around
        return None

    def narrowed(self, condition: Any) -> "_Scope":
        return _Scope(self.active & condition, {}, self)


def evaluate_arrays(
    node: Node, values: Mapping[str, Array | Scalar], parts: Parts | None = None
) -> Array:
    """Evaluate with int64, float64 or bool arrays, and Python numbers, for the variables.

    `node`, `values`: as for `perfmodel.expressions.evaluate`. `parts`: what expressions evaluated
    before with the same values have in common with this one; its own parts are added.

    Raises `PerfmodelError` if shapes do not broadcast, or an operation overflows or is undefined.
    """
    arrays = {name: np.asarray(value) for name, value in values.items()}
    shapes = {array.shape for array in arrays.values()} - {()}
    try:
        if len(shapes) > 1:
            np.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(f"{name} {array.shape}" for name, array in list(arrays.items())[:6])
        raise PerfmodelError(f"arrays must broadcast together, not {listed}") from None
    with np.errstate(all="raise", under="ignore"):
        result = evaluate_floats(node, arrays)
        if result is None:
            inputs = {name: _Value(array, _largest(array)) for name, array in arrays.items()}
            result = _visit(node, inputs, _Scope(True, {} if parts is None else parts, None)).data
    # Names and identities such as floor of an integer hand an input through, and parts are kept.
    kept = parts is not None or any(result is array for array in arrays.values())
    return np.array(result, copy=kept or None)


def _largest(array: Array) -> int | None:
    """Return the largest magnitude of an integer array; None for floats."""
    if array.dtype.kind == "f":
        return None
    if array.dtype.kind == "b":
        return 1
    if array.ndim == 0:
        return abs(int(array))
    return max(int(array.max(initial=0)), -int(array.min(initial=0)))


def _visit(node: Node, inputs: Mapping[str, _Value], scope: _Scope) -> _Value:
    if isinstance(node, Name):
        return inputs[node.name]
    if isinstance(node, Number):
        return _constant(node)
    found = scope.find(node)
    if found is None:
        try:
            found = _compute(node, inputs, scope)
        except NoValueError as fault:
            raise named(fault, node) from None
        scope.known[node] = found
    return found


@lru_cache(maxsize=4096)
def _constant(node: Number) -> _Value:
    array = np.asarray(node.value)
    return _Value(array, _largest(array))


def _compute(node: Operation, inputs: Mapping[str, _Value], scope: _Scope) -> _Value:
    operator, operands = node.operator, node.operands
    if operator == "where":
        condition = _truth(_visit(operands[0], inputs, scope))
        chosen = _arithmetic(_visit(operands[1], inputs, scope.narrowed(condition)))
        other = _arithmetic(_visit(operands[2], inputs, scope.narrowed(~condition)))
        bounds = (chosen.bound, other.bound)
        bound = None if bounds[0] is None or bounds[1] is None else max(bounds[0], bounds[1])
        return _Value(np.where(condition, chosen.data, other.data), bound)
    if operator in ("and", "or"):
        result = _truth(_visit(operands[0], inputs, scope))
        for operand in operands[1:]:
            undecided = scope.narrowed(result if operator == "and" else ~result)
            value = _truth(_visit(operand, inputs, undecided))
            result = result & value if operator == "and" else result | value
        return _Value(result, 1)
    values = [_visit(operand, inputs, scope) for operand in operands]
    if operator == "not":
        return _Value(~_truth(values[0]), 1)
    if operator in COMPARISONS:
        return _Value(FUNCTIONS[operator](values[0].data, values[1].data), 1)
    return _operate(operator, [_arithmetic(value) for value in values], scope.active)


def _truth(value: _Value) -> Any:
    return value.data if value.data.dtype.kind == "b" else value.data != 0


def _arithmetic(value: _Value) -> _Value:
    """Return truth values as 0 and 1, and anything else as it is."""
    return value if value.data.dtype.kind != "b" else _Value(value.data.astype(np.int64), 1)


def _operate(operator: str, values: list[_Value], active: Any) -> _Value:
    data = [value.data for value in values]
    bounds = [value.bound for value in values if value.bound is not None]
    integers = len(bounds) == len(values)
    if operator in BITWISE and not integers:
        raise NoValueError(WHOLE_NUMBERS)
    _make_defined(operator, data, active)
    if operator in ("floor", "ceil"):
        return values[0] if integers else _round(operator, data[0], active)
    if operator == "**" and integers:
        negative = data[1] < 0
        integers = not np.any(negative & active)
        if integers:
            data[1] = np.where(negative, 0, data[1])
    if integers and operator in BOUNDS:
        return _integers(operator, data, BOUNDS[operator](*bounds), active)
    if operator == "**":
        data = [array.astype(np.float64) for array in data]
    return _Value(_floats(operator, data, active), None)


def _make_defined(operator: str, data: list[Any], active: Any) -> None:
    """Raise if the operation is undefined for an active element; make the others harmless."""
    for place, safe, reason, is_bad in DOMAINS.get(operator, ()):
        bad = is_bad(*data)
        if bad.any():
            if np.any(bad & active):
                raise NoValueError(reason)
            data[place] = np.where(bad, safe, data[place])


def _integers(operator: str, data: list[Any], bound: int, active: Any) -> _Value:
    function = FUNCTIONS[operator]
    if bound <= LARGEST_INTEGER:
        return _Value(function(*data), bound)
    with np.errstate(all="ignore"):
        result = function(*data)
        bad = (result > LARGEST_INTEGER) | (result < -LARGEST_INTEGER)
        if operator in APPROXIMATE:
            # int64 may have wrapped back into range; floats tell, being right to 1 part in 2**52.
            rough = APPROXIMATE[operator](*(array.astype(np.float64) for array in data))
            bad |= np.abs(rough) > 1.5 * LARGEST_INTEGER
    if np.any(bad):
        if np.any(bad & active):
            raise NoValueError(OVERFLOW)
        result = np.where(bad, 0, result)
    return _Value(result, _largest(result))


def _round(operator: str, data: Any, active: Any) -> _Value:
    result = FUNCTIONS[operator](data)
    largest = max(result.max(initial=0), -result.min(initial=0))
    if largest <= LARGEST_INTEGER:
        return _Value(result.astype(np.int64), int(largest))
    bad = ~(np.abs(result) <= LARGEST_INTEGER)
    if np.any(bad & active):
        raise NoValueError(OVERFLOW)
    whole = np.where(bad, 0, result).astype(np.int64)
    return _Value(whole, _largest(whole))


def _floats(operator: str, data: list[Any], active: Any) -> Any:
    function = FUNCTIONS[operator]
    try:
        return function(*data)
    except FloatingPointError:  # the processor's own flags, so the usual case costs nothing
        with np.errstate(all="ignore"):
            result = function(*data)
    undefined = np.isnan(result)
    if np.any(undefined & active):
        raise NoValueError(UNDEFINED)
    overflowed = np.isinf(result) & reduce(np.logical_and, map(np.isfinite, data))
    if np.any(overflowed & active):
        raise NoValueError(FLOAT_OVERFLOW)
    return np.where(undefined | overflowed, 0.0, result)


def evaluate(
    node: Node, values: Mapping[str, npt.ArrayLike], parts: Parts | None = None
) -> Array | Scalar:
    """Evaluate an expression.

    Integers stay exact: ``//`` and ``%`` round down as in Python, and an integer whose magnitude
    passes 2**62 is an error, never a wrapped number. ``floor`` and ``ceil`` give integers;
    comparisons, ``and``, ``or`` and ``not`` give truth values, which count as 0 and 1 in
    arithmetic. What a condition of ``where``, ``and`` or ``or`` leaves out may be undefined:
    ``where(n > 0, m // n, 0)`` is fine at n = 0, also elementwise.

    `values`: a number or an array for each variable; more are allowed. The arrays that the
    expression uses must broadcast together. Integers of any width count as int64, floats as
    float64. `parts`: a dictionary, empty at first, that calls for the same values share: a part
    that several expressions have in common is then computed once. Names may be added to `values`
    between calls, but none changed.

    The value is an int, a float or a bool where all values used are numbers, or 0-d arrays, and
    else a new array of int64, float64 or bool of the broadcast shape.

    Raises `PerfmodelError` if a variable is missing, a value is no real number or NaN, shapes do
    not broadcast, or an operation overflows or is undefined (division by zero, log2 of 0, ...).
    """
    node = _kept(node)
    one = evaluate_one(node, values)
    if one is not None:
        return one
    given: dict[str, Any] = {}
    for name in names(node):
        try:
            value = values[name]
        except KeyError:
            raise PerfmodelError(_missing(name, values)) from None
        if type(value) in (int, float):
            given[name] = value
        elif (noted := getattr(type(value), "evaluated", None)) is not None:
            # An array that sees what is done with it.
            found: Array = noted(evaluate, node, {n: values[n] for n in names(node)})
            return found
        else:
            given[name] = _number_or_array(name, value)
    if any(isinstance(value, np.ndarray) for value in given.values()):
        return evaluate_arrays(node, given, parts)
    for name, value in given.items():
        if value != value:
            raise PerfmodelError(f"variable {shown(name)} is NaN; give a number")
        if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
            raise PerfmodelError(f"variable {shown(name)} overflows: integers go up to 2**62")
    return evaluate_scalars(node, given)


@lru_cache(maxsize=4096)
def _kept(node: Node) -> Node:
    """Return the first of equal trees: comparing them again and again takes longer than a value."""
    return node


def _missing(name: str, values: Mapping[str, object]) -> str:
    import difflib  # only when there is something wrong

    near = difflib.get_close_matches(name, values, n=1)
    hint = f"did you mean {shown(near[0])}?" if near else "give it a number or an array"
    return f"variable {shown(name)} has no value; {hint}"


def _number_or_array(name: str, value: npt.ArrayLike) -> Any:
    """Return a Python number, or an int64, float64 or bool array, after checking its contents."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise PerfmodelError(f"variable {shown(name)} is a ragged list; give an array") from None
    if array.dtype.kind not in "biuf":
        raise PerfmodelError(
            f"variable {shown(name)} has type {array.dtype}; give integers up to 2**62 or floats"
        )
    if array.ndim == 0:
        return float(array) if array.dtype.kind == "f" else array.item()
    if array.dtype.kind == "f":
        # One launch is arrays of one float: NumPy's ways would take longer than its arithmetic.
        if math.isnan(array.item()) if array.size == 1 else np.isnan(array).any():
            raise PerfmodelError(f"variable {shown(name)} contains NaN; give numbers")
        return array if array.dtype == np.float64 else array.astype(np.float64)
    if array.dtype.kind in "iu":
        if array.dtype.itemsize == 8 and array.size:
            low, high = int(array.min()), int(array.max())
            if max(-low, high) > LARGEST_INTEGER:
                raise PerfmodelError(f"variable {shown(name)} overflows: integers go up to 2**62")
        return array.astype(np.int64, copy=False)
    return array


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
