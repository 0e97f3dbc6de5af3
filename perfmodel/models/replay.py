"""Replay: a recorded derivation gone again with some of its numbers changed.

Only what depends on a changed number is worked out again. So the elasticity of a time, by how many
percent it changes with one percent of a number on its way, costs a part of a prediction.
"""

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.errors import PerfmodelError
from perfmodel.models.derivation import Recorded
from perfmodel.models.node import Decision, Node
from perfmodel.records import record

_STEP: Final = 1e-6
"""Change of a number, as a share, by which its elasticity is found: the result's rounding is some
1e-10 of that change, its curvature some 1e-6."""
_STEEP: Final = 2.0
"""Elasticity above which a half step tells a slope from a jump, as of ``ceil`` at whole numbers."""
_JUMP: Final = 1.5
"""What a half step may change of an elasticity that is one."""


class DecisionError(PerfmodelError):
    """With these figures the model takes another form: only a new prediction tells."""


@record
class Derivation:
    """The way from figures to a result."""

    result: Node
    # all that the result is made of, each after those that it is made of itself
    nodes: tuple[Node, ...]
    decisions: tuple[Decision, ...]  # what was decided by recorded numbers on the way
    _places: dict[Node, int] = field(init=False, repr=False)
    _users: list[list[int]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Find what each node is used by."""
        places = {node: place for place, node in enumerate(self.nodes)}
        users: list[list[int]] = [[] for _ in self.nodes]
        for place, node in enumerate(self.nodes):
            for source in node.sources():
                users[places[source]].append(place)
        object.__setattr__(self, "_places", places)
        object.__setattr__(self, "_users", users)

    @property
    def figures(self) -> Mapping[str, Node]:
        """The figures that the result depends on, by name."""
        return {node.name: node for node in self.nodes if node.kind == "figure"}

    @property
    def formulas(self) -> tuple[Node, ...]:
        """The formulas on the way, in order."""
        return tuple(node for node in self.nodes if node.kind == "formula")

    def replay(self, **changed: Any) -> Array:
        """Return the result with some figures changed, as a new prediction would give it.

        New values are by the figure's name, in SI units; those that the result does not depend on
        change nothing.

        Raises `DecisionError` if the model would take another form.
        """
        figures = self.figures
        return self.with_values({figures[n]: v for n, v in changed.items() if n in figures})

    def with_values(
        self,
        changed: Mapping[Node, Any],
        of: Node | None = None,
        among: Container[Node] | None = None,
    ) -> Array:
        """Return the result, or the value `of` another node, with the values of some changed.

        Worked out again is all that depends on the changed nodes, or what is `among` some.

        Raises `DecisionError` if the model would take another form.
        """
        # What decides may come after the result.
        last = len(self.nodes) if of is None else self._places[of]
        of = of or self.result
        found = dict(changed)
        again = bytearray(len(self.nodes))
        for node in changed:
            for user in self._users[self._places[node]]:
                again[user] = 1
        place = again.find(1)
        while 0 <= place <= last:
            node = self.nodes[place]
            if node not in changed and (among is None or node in among):
                value = _worked_out(node, found)
                if not _equal(value, node.value):
                    found[node] = value
                    for user in self._users[place]:
                        again[user] = 1
            place = again.find(1, place + 1)
        for decision in self.decisions:
            node = decision.node
            if node in found and decision.read_as(found[node]) != decision.answer:
                names = ", ".join(node.name for node in changed)
                raise DecisionError(f"with another {names} the model takes another form")
        return np.atleast_1d(found.get(of, of.value))

    def elasticity(
        self, *nodes: Node, of: Node | None = None, among: Container[Node] | None = None
    ) -> float | None:
        """Return by how many percent the result is larger where some nodes are, by 1%, together.

        That is the change of the logarithm of the result over that of the nodes, for a small
        change upwards, or downwards where upwards jumps to another value. Zeros stay. `of` and
        `among` are as of `with_values`; what changes of an array is its sum. None where the model
        takes another form with any change, as for numbers by which it counts.
        """
        for step in (_STEP, -_STEP):
            found = self._slope(nodes, step, of, among)
            if found is None:
                continue
            if abs(found) > _STEEP:
                half = self._slope(nodes, step / 2, of, among)
                if half is None or abs(half) > _JUMP * abs(found):
                    continue
            return found
        return None

    def _slope(
        self,
        nodes: Sequence[Node],
        step: float,
        of: Node | None,
        among: Container[Node] | None,
    ) -> float | None:
        changed = {node: _scaled(node.value, step) for node in nodes}
        try:
            moved = self.with_values(changed, of, among)
        except (PerfmodelError, TypeError, ValueError):
            return None  # whole numbers that count or index
        before, after = np.sum((of or self.result).value), np.sum(moved)
        if before == after:
            return 0.0
        if before == 0 or not 0 < after / before < math.inf:
            return None
        return math.log(after / before) / math.log1p(step)


def derivation(result: Any, decisions: Sequence[Decision]) -> Derivation:
    """Return the way to a recorded number.

    Raises `TypeError` if it is not recorded: no figure leads to it.
    """
    if not isinstance(result, Recorded):
        raise TypeError(f"no recorded number, but {type(result).__name__}")
    ends = [result.node, *(decision.node for decision in decisions)]
    return Derivation(result.node, tuple(in_order(ends)), tuple(decisions))


def in_order(ends: Sequence[Node]) -> Iterator[Node]:
    """Yield what some nodes are made of and themselves, each once and after its sources."""
    seen: set[Node] = set()
    left: list[tuple[Node, bool]] = [(end, False) for end in reversed(ends)]
    while left:
        node, ready = left.pop()
        if ready:
            yield node
        elif node not in seen:
            seen.add(node)
            left.append((node, True))
            left += [(source, False) for source in node.sources()]


def _worked_out(node: Node, found: Mapping[Node, Any]) -> Any:
    """Return the value of a node whose sources have changed, some of them."""
    assert node.work is not None
    named = {name: _filled(value, found) for name, value in node.named.items()}
    return node.work(*_filled(node.inputs, found), **named)


def _filled(value: Any, found: Mapping[Node, Any]) -> Any:
    """Return a value with numbers in the place of nodes."""
    if isinstance(value, Node):
        return found.get(value, value.value)
    if type(value) in (tuple, list):
        return type(value)([_filled(part, found) for part in value])
    return value


def _equal(value: Any, other: Any) -> bool:
    """Say whether two values are the same in each bit, as far as is quickly told."""
    if isinstance(value, np.ndarray):
        if value.shape != np.shape(other):
            return False
        return bool(value == other) if value.size == 1 else bool(np.all(value == other))
    return not isinstance(value, (tuple, list)) and bool(value == other)


def _scaled(value: Any, step: float) -> Any:
    """Return a number or an array larger by a share; truth values, which have no size, stay."""
    if isinstance(value, tuple):  # a table of coefficients
        return tuple(_scaled(part, step) for part in value)
    if np.asarray(value).dtype.kind == "b":
        return value
    return value * (1 + step)
