"""NumPy's functions on arrays of scalars: element by element, along an axis, and of shape alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.prediction.compiled.scalars import OPERATORS, Scalars, kind_of

Objects = npt.NDArray[Any]
"""An array of scalars and constants."""


class NoProgramError(Exception):
    """The derivation has something that no program of scalars does."""


_SCALARS: Final = np.dtype(object)
_NAMES: Final = {
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
    "true_divide": "divide",
    "fabs": "absolute",
}
_OF_TRUTHS: Final = {"add": "or", "multiply": "and", "maximum": "or", "minimum": "and"}
"""What NumPy does with truth values."""
_FOLDS: Final = {"sum": "add", "prod": "multiply", "any": "or", "all": "and"} | {
    name: f"{which}imum" for which in ("max", "min") for name in (which, f"a{which}")
}

STRUCTURAL: Final = frozenset(
    {
        *("stack", "concatenate", "broadcast_arrays", "broadcast_to", "atleast_1d", "ravel"),
        *("reshape", "transpose", "copy", "shape", "ndim", "size", "moveaxis", "expand_dims"),
        *("squeeze", "repeat", "zeros_like", "ones_like", "full_like"),
    }
)
"""Functions of shape: on arrays of scalars they do what they do on numbers."""


def objects(value: Any) -> Objects:
    """Return a number, an array of numbers or of scalars, as an array of scalars and constants."""
    array = np.asarray(value)
    if array.dtype is _SCALARS:
        return array
    if array.dtype.kind not in "bif":
        raise NoProgramError(f"numbers of type {array.dtype}")
    found = np.empty(array.shape, dtype=object)
    found.reshape(-1)[:] = array.reshape(-1).tolist()
    return found


def each(function: Callable[..., Any], *arrays: Any) -> Objects:
    """Return what a function of scalars gives of arrays that broadcast together."""
    given = [objects(array) for array in arrays]
    if all(array.size == 1 for array in given):
        shapes = {array.shape for array in given}
        shape = shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)
        found = np.empty(shape, dtype=object)
        found.fill(function(*(array.item() for array in given)))
        return found
    together = np.broadcast(*given)
    found = np.empty(together.shape, dtype=object)
    found.reshape(-1)[:] = [function(*numbers) for numbers in together]
    return found


def universal(scalars: Scalars, name: str, inputs: Sequence[Any], truths: bool) -> Objects | None:
    """Return what a universal function gives, by its name; None for one that scalars have not.

    `truths`: whether the result is truth values.
    """
    if name in ("logical_and", "logical_or"):
        joined = [each(lambda v: scalars.cast(v, "b"), i) for i in inputs]
        return each(lambda a, b: scalars.apply(name.removeprefix("logical_"), a, b), *joined)
    if name in ("invert", "logical_not") and truths:
        return each(lambda v: scalars.apply("not", v), *inputs)
    if name == "isnan":
        return each(lambda v: scalars.apply("not_equal", v, v), *inputs)
    if name == "clip":
        return clip(scalars, *inputs)
    if name == "square":
        return each(lambda v: scalars.apply("multiply", v, v), *inputs)
    name = _NAMES.get(name, name)
    name = _OF_TRUTHS.get(name, name) if truths else name
    if name not in OPERATORS:
        return None
    return each(lambda *numbers: scalars.apply(name, *numbers), *inputs)


def folded(scalars: Scalars, name: str, array: Any, axis: Any, keepdims: bool) -> Objects:
    """Return an array with the numbers along an axis put together, one after the other.

    `name` of an operator of two numbers; `axis` None for all of them.
    """
    given = objects(array)
    if axis is None:
        axis = tuple(range(given.ndim))
    axes = sorted(a % given.ndim for a in np.ravel(axis))
    kept = [a for a in range(given.ndim) if a not in axes]
    rows = given.transpose(*kept, *axes).reshape(*(given.shape[a] for a in kept), -1)
    if rows.shape[-1] == 0:
        raise NoProgramError("nothing to put together")
    found = np.empty(rows.shape[:-1], dtype=object)
    flat = rows.reshape(-1, rows.shape[-1])
    found.reshape(-1)[:] = [reduce(lambda a, b: scalars.apply(name, a, b), row) for row in flat]
    return np.expand_dims(found, tuple(axes)) if keepdims else found


def clip(scalars: Scalars, value: Any, low: Any = None, high: Any = None) -> Objects:
    """Return ``np.clip``."""
    found = objects(value)
    if low is not None:
        found = each(lambda a, b: scalars.apply("maximum", a, b), found, low)
    if high is not None:
        found = each(lambda a, b: scalars.apply("minimum", a, b), found, high)
    return found


def _interp(scalars: Scalars, at: Any, places: Any, values: Any) -> Objects:
    """Return ``np.interp``: each piece where it holds."""
    xs, ys = objects(places), objects(values)
    do = scalars.apply

    def piece(x: Any) -> Any:
        found = ys[-1]
        for i in reversed(range(len(xs) - 1)):
            slope = do("divide", do("subtract", ys[i + 1], ys[i]), do("subtract", xs[i + 1], xs[i]))
            here = do("add", do("multiply", slope, do("subtract", x, xs[i])), ys[i])
            found = scalars.where(do("less", x, xs[i + 1]), here, found)
        return scalars.where(do("less", x, xs[0]), ys[0], found)

    return each(piece, at)


def _argsort(scalars: Scalars, array: Any, axis: int = -1, kind: Any = None) -> Objects:
    """Return ``np.argsort``, stable: each place by how many come before it."""
    given = np.moveaxis(objects(array), axis, 0)
    count, do = len(given), scalars.apply
    if count > _MOST_SORTED:
        raise NoProgramError("a long array to sort")

    def order(*row: Any) -> list[Any]:
        before = [
            reduce(
                lambda a, b: do("add", a, b),
                [
                    do("integer", do("less_equal" if j < i else "less", row[j], row[i]))
                    for j in range(count)
                    if j != i
                ],
                0,
            )
            for i in range(count)
        ]
        found = []
        for place in range(count):
            chosen = 0
            for i in range(1, count):
                chosen = scalars.where(do("equal", before[i], place), i, chosen)
            found.append(chosen)
        return found

    rows = given.reshape(count, -1)
    columns = [order(*rows[:, i]) for i in range(rows.shape[1])]
    found = np.empty((count, rows.shape[1]), dtype=object)
    for i, column in enumerate(columns):
        found[:, i] = column
    return np.moveaxis(found.reshape(given.shape), 0, axis)


def _take_along_axis(scalars: Scalars, array: Any, indices: Any, axis: int = -1) -> Objects:
    """Return ``np.take_along_axis``."""
    rows = np.moveaxis(objects(array), axis, 0)
    if len(rows) > _MOST_SORTED:
        raise NoProgramError("a long array to take from")

    def taken(index: Any, first: Any, *others: Any) -> Any:
        for place, number in enumerate(others, 1):
            first = scalars.where(scalars.apply("equal", index, place), number, first)
        return first

    return np.moveaxis(each(taken, np.moveaxis(objects(indices), axis, 0), *rows), 0, axis)


def _sort(scalars: Scalars, array: Any, axis: int = -1, kind: Any = None) -> Objects:
    """Return ``np.sort``: neighbours change places until none has to."""
    given = np.moveaxis(objects(array), axis, 0)
    if len(given) > _MOST_SORTED:
        raise NoProgramError("a long array to sort")
    rows = [given[i] for i in range(len(given))]
    for last in reversed(range(1, len(rows))):
        for i in range(last):
            low, high = (
                each(lambda a, b, name=name: scalars.apply(name, a, b), rows[i], rows[i + 1])
                for name in ("minimum", "maximum")
            )
            rows[i], rows[i + 1] = low, high
    return np.moveaxis(np.stack(rows), 0, axis)


def _diff(scalars: Scalars, array: Any, n: int = 1, axis: int = -1) -> Objects:
    """Return ``np.diff`` of neighbours."""
    rows = np.moveaxis(objects(array), axis, 0)
    if n != 1:
        raise NoProgramError("differences of differences")
    found = each(lambda a, b: scalars.apply("subtract", a, b), rows[1:], rows[:-1])
    return np.moveaxis(found, 0, axis)


def _round(scalars: Scalars, array: Any, decimals: int = 0) -> Objects:
    """Return ``np.round`` of floats, as NumPy does it."""

    def rounded(value: Any) -> Any:
        if kind_of(value) != "f" or decimals < 0:
            raise NoProgramError("rounding of integers")
        whole = scalars.apply("rint", scalars.apply("multiply", value, 10.0**decimals))
        return scalars.apply("divide", whole, 10.0**decimals)

    return each(rounded, array)


def _extreme(scalars: Scalars, name: str, array: Any, axis: Any = None) -> Objects:
    """Return ``np.argmin`` or ``np.argmax``: the place of the first that is the extreme."""
    given = objects(array)
    rows = given.reshape(-1) if axis is None else np.moveaxis(given, axis, 0)

    def place(*row: Any) -> Any:
        best, found = row[0], 0
        for i, number in enumerate(row[1:], 1):
            better = scalars.apply(name, number, best)
            best, found = scalars.where(better, number, best), scalars.where(better, i, found)
        return found

    return each(place, *rows)


_MOST_SORTED: Final = 12
"""Numbers that are sorted at most, each against each."""


def _fold(name: str) -> Callable[..., Objects]:
    def function(
        scalars: Scalars, array: Any, axis: Any = None, keepdims: bool = False, **named: Any
    ) -> Objects:
        found = folded(scalars, name, array, axis, keepdims)
        if (initial := named.pop("initial", None)) is not None:
            found = each(lambda a, b: scalars.apply(name, a, b), found, initial)
        if any(value is not None for value in named.values()):
            raise NoProgramError(f"options of {name}: {', '.join(named)}")
        return found

    return function


FUNCTIONS: Final[dict[str, Callable[..., Objects]]] = {
    **{name: _fold(operator) for name, operator in _FOLDS.items()},
    "where": lambda scalars, *three: each(scalars.where, *three),
    "clip": clip,
    "interp": _interp,
    "argsort": _argsort,
    "take_along_axis": _take_along_axis,
    "sort": _sort,
    "diff": _diff,
    "round": _round,
    "argmin": lambda scalars, *given, **named: _extreme(scalars, "less", *given, **named),
    "argmax": lambda scalars, *given, **named: _extreme(scalars, "greater", *given, **named),
}
"""NumPy's functions by their names."""
