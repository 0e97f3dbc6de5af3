"""The value of an expression, for Python numbers or for whole NumPy arrays."""

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from perfmodel.arrays import Array
from perfmodel.errors import PerfmodelError
from perfmodel.expressions.arrays import Parts, evaluate_arrays
from perfmodel.expressions.nodes import Name, Node, Number, Operation, names, shown
from perfmodel.expressions.scalars import LARGEST_INTEGER, Scalar, evaluate_scalars


def evaluate(
    node: Node, values: Mapping[str, npt.ArrayLike], parts: Parts | None = None
) -> Array | Scalar:
    """Evaluate an expression.

    Integers stay exact: ``//`` and ``%`` round down as in Python, and an integer whose magnitude
    passes 2**62 is an error, never a wrapped number. ``floor`` and ``ceil`` give integers;
    comparisons, ``and``, ``or`` and ``not`` give truth values, which count as 0 and 1 in
    arithmetic. What a condition of ``where``, ``and`` or ``or`` leaves out may be undefined:
    ``where(n > 0, m // n, 0)`` is fine at n = 0, also elementwise.

    Parameters
    ----------
    node
        The expression.
    values
        A number or an array for each variable; more are allowed. The arrays that the expression
        uses must broadcast together. Integers of any width count as int64, floats as float64.
    parts
        A dictionary, empty at first, that calls for the same values share: a part that several
        expressions have in common is then computed once. Names may be added to `values` between
        calls, but none changed.

    Returns
    -------
    int, float or bool
        If all the values used are numbers (or 0-d arrays).
    numpy.ndarray
        Otherwise: int64, float64 or bool, a new array of the broadcast shape.

    Raises
    ------
    PerfmodelError
        If a variable is missing, a value is no real number or NaN, shapes do not broadcast,
        or an operation overflows or is undefined (division by zero, log2 of 0, ...).
    """
    node = _kept(node)
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
