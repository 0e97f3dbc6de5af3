"""Calls: functions of arrays that a program calls as they are, for one launch or for many."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from operator import itemgetter
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.expressions import evaluate
from perfmodel.models.node import Node
from perfmodel.prediction.compiled.array_functions import NoProgramError
from perfmodel.records import record

ROWS: Final = 251
"""Launches that are recorded together, so many that a program of these holds for nearly all that
are like them: a number that no shape has otherwise."""
_KEPT: Final = 1 << 15
"""Results of functions on one launch that are kept: programs of one kernel share them."""


@record
class Leaf:
    """Stands for a recorded number among the inputs of a function: its place among all."""

    place: int


@record(slots=False, eq=False)
class Function:
    """A recorded function, without the derivation that it was in; equal ones do the same."""

    name: str
    work: Any
    # inputs and named: what it takes, with leaves in the place of recorded numbers
    inputs: tuple[Any, ...]
    named: Mapping[str, Any]
    types: tuple[str, ...]  # of the leaves
    # shapes and results: shapes of those and of its results, of one launch: the last axis is of
    # launches
    shapes: tuple[tuple[int, ...], ...]
    results: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, node: Node, leaves: Sequence[Node], shapes: Sequence[tuple[int, ...]]) -> Function:
        """Return the function of a node, whose sources are `leaves`, of these shapes.

        Raises `NoProgramError` if it was given rows that nobody recorded.
        """
        places = {leaf: Leaf(place) for place, leaf in enumerate(leaves)}
        parts = [one_row(part, alike=False) for part in numbers_of(node.value)]
        return cls(
            node.name,
            node.work,
            inputs=_put(node.inputs, places),
            named={name: _put(value, places) for name, value in node.named.items()},
            types=tuple(np.asarray(leaf.value).dtype.str for leaf in leaves),
            shapes=tuple(shapes),
            results=tuple(part.shape for part in parts),
        )

    @cached_property
    def _key(self) -> Any:
        named = tuple((name, _hashable(value)) for name, value in self.named.items())
        return self.work, _hashable(self.inputs), named, self.types, self.shapes, self.results

    @cached_property
    def _hash(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        """Say whether another does the same."""
        return self is other or (isinstance(other, Function) and self._key == other._key)

    def __hash__(self) -> int:
        """Return the same number for functions that do the same."""
        return self._hash

    @cached_property
    def of_one(self) -> Callable[..., tuple[Any, ...]]:
        """The function of the leaves' plain numbers, which gives those of its results."""
        if self.name == "evaluate" and self._is_of_numbers:
            return self._evaluated
        return partial(_kept, _first_of_equals(self))

    @cached_property
    def _is_of_numbers(self) -> bool:
        """Whether all that it takes are single numbers."""
        shapes = (math.prod(shape) for shape in self.shapes)
        constants = (c for c in numbers_of(self.inputs) if isinstance(c, np.ndarray))
        named = (value for value in self.named.values() if not isinstance(value, Leaf))
        return {*shapes, *map(np.size, (*constants, *named))} <= {1}

    @cached_property
    def of_numbers(self) -> Callable[[Sequence[Any]], Any] | None:
        """What it does of plain numbers for its leaves, where it can do that without arrays."""
        one = getattr(self.work, "one", None)
        if one is None or self.named or not self._is_of_numbers:
            return None
        fill = _filling(_plain(self.inputs))
        return lambda numbers: one(*fill(numbers))

    @cached_property
    def _fill(self) -> Callable[[Sequence[Any]], Any]:
        return _filling((self.inputs, tuple(self.named.values())))

    def _evaluated(self, *numbers: Any) -> tuple[Any, ...]:
        """Return an expression's value of plain numbers, as of arrays of one."""
        values = {
            name: numbers[value.place] if isinstance(value, Leaf) else np.asarray(value).item()
            for name, value in self.named.items()
        }
        return (evaluate(self.inputs[0], values),)

    def check_rows(self) -> None:
        """Raise `NoProgramError` unless launches are an axis of their own in all that it takes."""
        if any(shape[-1:] not in ((), (1,)) for shape in (*self.shapes, *self.results)):
            raise NoProgramError(f"{self.name}, whose launches are no axis of their own")

    def of_rows(self, *columns: Any) -> list[Array]:
        """Return the same of many launches: an array for each number, and for each result."""
        size = max(np.size(column) for column in columns)
        found = self.found([_of_size(column, (size,)) for column in columns], size)
        return [
            row
            for part, shape in zip(found, self.results, strict=True)
            for row in _of_size(part, (*shape[:-1], size)).reshape(-1, size)
        ]

    def found(self, columns: list[Array], size: int) -> list[Any]:
        """Return the results for so many launches, an array for each of their numbers."""
        given: list[Any] = []
        left = iter(columns)
        for shape, kind in zip(self.shapes, self.types, strict=True):
            rows = [np.asarray(next(left), dtype=kind) for _ in range(math.prod(shape))]
            alone = shape not in ((), (1,)) and shape[-1] != 1  # no axis is of launches
            every = rows[0] if len(rows) == 1 else np.array(rows, dtype=kind)
            array = every.reshape(shape if alone else (*shape[:-1], size))
            given.append(array[0] if shape == () and size == 1 else array)
        inputs, named = self._fill(given)
        found = list(numbers_of(self.work(*inputs, **dict(zip(self.named, named, strict=True)))))
        expected = [(*shape[:-1], size) if shape[-1:] == (1,) else shape for shape in self.results]
        if [np.shape(part) for part in found] != expected:
            raise ValueError(f"{self.name} gave arrays of other shapes")
        return found


@record(eq=False)
class Call:
    """A function with scalars and constants for all numbers of its leaves, in order.

    `needed` is a scalar or constant: whether the results are needed at all.
    """

    function: Function
    operands: tuple[Any, ...]
    needed: Any = True


@lru_cache(_KEPT)
def _first_of_equals(function: Function) -> Function:
    """Return the first of functions that do the same: to compare them takes longer than to call."""
    return function


@lru_cache(_KEPT)
def _kept(function: Function, *numbers: Any) -> tuple[Any, ...]:
    """Return what a function gives of one launch's numbers."""
    if function.of_numbers is not None:
        return tuple(numbers_of(function.of_numbers(numbers)))
    found = function.found([np.array([number]) for number in numbers], 1)
    return tuple(number for part in found for number in np.ravel(part).tolist())


def _of_size(value: Any, shape: tuple[int, ...]) -> Array:
    """Return an array of a shape, the same one if it is."""
    return value if np.shape(value) == shape else np.broadcast_to(value, shape)


def numbers_of(value: Any) -> Iterator[Any]:
    """Yield the numbers and arrays of a function's result."""
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from numbers_of(part)
    else:
        yield value


def _put(value: Any, given: Mapping[Any, Any]) -> Any:
    """Return a value with others in the place of its nodes."""
    if isinstance(value, Node):
        return given[value]
    if type(value) in (tuple, list):
        return type(value)([_put(part, given) for part in value])
    return one_row(value) if isinstance(value, np.ndarray) else value


def _filling(value: Any) -> Callable[[Sequence[Any]], Any]:
    """Return a function that puts what is given in the places of leaves, and keeps the rest."""
    if isinstance(value, Leaf):
        return itemgetter(value.place)
    if type(value) not in (tuple, list) or not any(isinstance(v, Leaf) for v in numbers_of(value)):
        return lambda given: value
    kind, parts = type(value), [_filling(part) for part in value]
    return lambda given: kind([part(given) for part in parts])


def _plain(value: Any) -> Any:
    """Return a value with numbers in the place of arrays of one."""
    if type(value) in (tuple, list):
        return type(value)([_plain(part) for part in value])
    return value.item() if isinstance(value, np.ndarray) else value


def _hashable(value: Any) -> Any:
    """Return what tells inputs of a function from others."""
    if type(value) in (tuple, list):
        return tuple(map(_hashable, value))
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.str, value.tobytes()
    return type(value), value if isinstance(value, Leaf) else repr(value)


def one_row(value: Any, alike: bool = True) -> Array:
    """Return an array of recorded launches as of one, which stands for all if they are `alike`.

    Raises `NoProgramError` if they are not alike: they differ by what nobody recorded.
    """
    array = np.asarray(value)
    if array.ndim == 0 or array.shape[-1] != ROWS:
        return array
    if alike and not np.all(array == array[..., :1]):
        raise NoProgramError("rows that differ, and are not recorded")
    return array[..., :1]
