"""Nodes of a derivation: numbers with what they were made of, and what was decided by them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

from perfmodel.records import record

if TYPE_CHECKING:
    from perfmodel.kernels.access import Access
    from perfmodel.models.formula import Formula

Kind = Literal["figure", "formula", "definition"]


@record(eq=False)
class Node:
    """One number of a derivation."""

    kind: Kind
    name: str  # of the figure, of the formula, or of NumPy's function
    value: Any  # as recorded
    work: Callable[..., Any] | None = None  # what makes it of its inputs; None for a figure
    # nodes and plain values, in order; sequences of them may be among them
    inputs: tuple[Any, ...] = ()
    # those that are given by name: a formula's symbols
    named: Mapping[str, Any] = field(default_factory=dict)
    # with text, unit and the meaning of each symbol; None of other kinds
    formula: Formula | None = None
    scope: Access | None = None  # the access that it was worked out for, if for one

    def __repr__(self) -> str:
        """Return what it is called, and its value: what it is made of goes on and on."""
        return f"Node({self.kind!r}, {self.name!r}, {self.value!r})"

    def sources(self) -> list[Node]:
        """Return the nodes that it is made of."""
        found: list[Node] = []
        _add_nodes(self.inputs, found)
        if self.named:
            _add_nodes(tuple(self.named.values()), found)
        return found


@record
class Decision:
    """A recorded number that a model read as a plain one, to choose a form or to count by it."""

    node: Node
    read_as: Callable[[Any], Any]
    answer: Any


def _add_nodes(values: Iterable[Any], found: list[Node]) -> None:
    for value in values:
        if type(value) is Node:
            found.append(value)
        elif type(value) in (tuple, list):
            _add_nodes(value, found)
