"""Calls: functions of arrays that a program calls as they are, for one launch or for many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.models.node import Node
from perfmodel.prediction.compiled.array_functions import NoProgramError
from perfmodel.records import record

ROWS: Final = 61
"""Launches that are recorded together: a number that no shape has otherwise."""
_KEPT: Final = 4096
"""Calls of one launch whose results are kept."""


@record(slots=False, eq=False)
class Call:
    """A recorded function, with what it was given and gave.

    Attributes
    ----------
    node : Node
    leaves : tuple of Node
        The numbers that it is made of, each once.
    shapes, results : tuple of tuple of int
        Shapes of those and of its results, of one launch: the last axis is of launches.
    operands : tuple
        Scalars and constants in the place of all numbers of the leaves, in order.
    needed : scalar or bool
        Whether the results are needed at all.
    """

    node: Node
    leaves: tuple[Node, ...]
    shapes: tuple[tuple[int, ...], ...]
    results: tuple[tuple[int, ...], ...]
    operands: tuple[Any, ...]
    needed: Any = True

    @cached_property
    def work(self) -> Any:
        """The function of the operands' numbers, which gives those of its results."""
        one, inputs = getattr(self.node.work, "one", None), self.node.inputs
        constants = [one_row(i) if isinstance(i, np.ndarray) else i for i in inputs]
        sizes = [int(np.prod(shape)) for shape in self.shapes]
        sizes += [c.size for c in constants if isinstance(c, np.ndarray)]
        if one is None or self.node.named or any(size != 1 for size in sizes):
            return lru_cache(_KEPT)(self._one)
        order = [self.leaves.index(i) if isinstance(i, Node) else None for i in inputs]
        constants = [c.item() if isinstance(c, np.ndarray) else c for c in constants]

        def work(*numbers: Any) -> tuple[Any, ...]:
            given = zip(order, constants, strict=True)
            return (one(*(c if place is None else numbers[place] for place, c in given)),)

        return work

    def _one(self, *numbers: Any) -> tuple[Any, ...]:
        found = self._found([np.array([number]) for number in numbers], 1)
        return tuple(number for part in found for number in np.ravel(part).tolist())

    def rows(self, *columns: Any) -> list[Array]:
        """Return the same of many launches: an array for each operand, and for each result."""
        size = max(np.size(column) for column in columns)
        found = self._found([np.broadcast_to(column, size) for column in columns], size)
        return [
            row
            for part, shape in zip(found, self.results, strict=True)
            for row in np.broadcast_to(part, (*shape[:-1], size)).reshape(-1, size)
        ]

    def _found(self, columns: list[Array], size: int) -> list[Any]:
        given: dict[Node, Any] = {}
        left = iter(columns)
        for leaf, shape in zip(self.leaves, self.shapes, strict=True):
            count = int(np.prod(shape))
            rows = np.array([next(left) for _ in range(count)], dtype=np.asarray(leaf.value).dtype)
            alone = shape not in ((), (1,)) and shape[-1] != 1  # no axis is of launches
            array = rows.reshape(shape if alone else (*shape[:-1], size))
            given[leaf] = array[0] if shape == () and size == 1 else array
        named = {name: _put(value, given) for name, value in self.node.named.items()}
        assert self.node.work is not None
        found = list(numbers_of(self.node.work(*_put(self.node.inputs, given), **named)))
        expected = [(*shape[:-1], size) if shape[-1:] == (1,) else shape for shape in self.results]
        if [np.shape(part) for part in found] != expected:
            raise ValueError(f"{self.node.name} gave arrays of other shapes")
        return found


def numbers_of(value: Any) -> Iterator[Any]:
    """Yield the numbers and arrays of a function's result."""
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from numbers_of(part)
    else:
        yield value


def _put(value: Any, given: Mapping[Node, Any]) -> Any:
    """Return a value with numbers in the place of nodes."""
    if isinstance(value, Node):
        return given[value]
    if type(value) in (tuple, list):
        return type(value)([_put(part, given) for part in value])
    return one_row(value) if isinstance(value, np.ndarray) else value


def one_row(value: Any, alike: bool = True) -> Array:
    """Return an array of recorded launches as of one, which stands for all if they are `alike`.

    Raises
    ------
    NoProgramError
        If they are not alike: they differ by what nobody recorded.
    """
    array = np.asarray(value)
    if array.ndim == 0 or array.shape[-1] != ROWS:
        return array
    if alike and not np.all(array == array[..., :1]):
        raise NoProgramError("rows that differ, and are not recorded")
    return array[..., :1]
