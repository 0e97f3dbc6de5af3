"""Derivation: how a predicted time followed from the device's figures, recorded while it is made.

A recorded number is an array that knows the node it came from: a figure, a formula with its inputs,
or a definition, which is whatever NumPy does between formulas. So the way from any figure to the
time is closed, whichever way a model is written, and can be gone again with a figure changed.
Models take part without knowing of it; where nothing is recorded, nothing is paid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Final, Literal, TypeVar, cast

import numpy as np
import numpy.typing as npt

from perfmodel.errors import PerfmodelError

Array = npt.NDArray[Any]
Kind = Literal["figure", "formula", "definition"]
Work = TypeVar("Work", bound=Callable[..., Any])


class DecisionError(PerfmodelError):
    """With these figures the model takes another form: only a new prediction tells."""


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """One number of a derivation.

    Attributes
    ----------
    kind : {"figure", "formula", "definition"}
    name : str
        Of the figure, of the formula, or of NumPy's function.
    value : array or number
        As recorded.
    work : callable or None
        What makes it of its inputs; None for a figure.
    inputs : tuple
        Nodes and plain values, in order; sequences of them may be among them.
    named : mapping of str to node or value
        Those that are given by name: a formula's symbols.
    """

    kind: Kind
    name: str
    value: Any
    work: Callable[..., Any] | None = None
    inputs: tuple[Any, ...] = ()
    named: Mapping[str, Any] = field(default_factory=dict)

    def sources(self) -> Iterator[Node]:
        """Yield the nodes that it is made of."""
        yield from _nodes(self.inputs)
        yield from _nodes(tuple(self.named.values()))


@dataclass(frozen=True, slots=True)
class Decision:
    """A recorded number that a model read as a plain one, to choose a form or to count by it."""

    node: Node
    read_as: Callable[[Any], Any]
    answer: Any


class Recorded(np.ndarray[Any, Any]):
    """An array that knows its node.

    ``np.asarray`` of one is a plain array, which ends the way: models use ``np.asanyarray``.
    """

    node: Node
    __hash__ = None

    def __array_finalize__(self, obj: Any) -> None:
        """Record a change of type, as of ``np.asanyarray(recorded, dtype=float)``."""
        source = getattr(obj, "node", None)
        if source is not None and obj.shape == self.shape:
            given = (source, self.dtype)
            self.node = Node("definition", "astype", _cast(source.value, self.dtype), _cast, given)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **named: Any) -> Any:
        """Do what a universal function does, and record it."""
        if named.get("out") is not None:
            raise TypeError(f"{ufunc.__name__} writes in place, which no derivation can follow")
        return _done(ufunc.__name__, getattr(ufunc, method), inputs, named)

    def __array_function__(
        self, func: Callable[..., Any], types: Any, args: Iterable[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """Do what a function of NumPy does, and record it."""
        if func is np.copyto:
            raise TypeError("copyto writes in place, which no derivation can follow")
        return _done(func.__name__, func, tuple(args), kwargs)

    def __getitem__(self, key: Any) -> Any:
        """Record the choice of some elements."""
        return _done("getitem", _item, (self, key), {})

    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        """Record the change of shape."""
        return _done("reshape", _reshaped, (self, *shape), kwargs)

    def ravel(self, *args: Any, **kwargs: Any) -> Any:
        """Record the change of shape."""
        return _done("ravel", np.ravel, (self, *args), kwargs)

    def transpose(self, *axes: Any) -> Any:
        """Record the change of axes."""
        return _done("transpose", np.transpose, (self, axes or None), {})

    @property
    def T(self) -> Any:  # noqa: N802  # NumPy's name
        """Record the change of axes."""
        return self.transpose()

    def __bool__(self) -> bool:
        """Note the decision."""
        return bool(self._decided(bool))

    def __int__(self) -> int:
        """Note the decision."""
        return int(self._decided(int))

    def __index__(self) -> int:
        """Note the decision."""
        return int(self._decided(int))

    def __float__(self) -> float:
        """Note the decision."""
        return float(self._decided(float))

    def _decided(self, read_as: Callable[[Any], Any]) -> Any:
        answer = read_as(_plain(self))
        decisions = _decisions.get()
        if decisions is not None:
            decisions.append(Decision(self.node, read_as, answer))
        return answer


@dataclass(frozen=True, slots=True)
class Derivation:
    """The way from figures to a result.

    Attributes
    ----------
    result : Node
    nodes : tuple of Node
        All that the result is made of, each after those that it is made of itself.
    decisions : tuple of Decision
        What was decided by recorded numbers on the way.
    """

    result: Node
    nodes: tuple[Node, ...]
    decisions: tuple[Decision, ...]

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

        Parameters
        ----------
        changed : float
            New values by the figure's name, in SI units; those that the result does not depend on
            change nothing.

        Raises
        ------
        DecisionError
            If the model would take another form.
        """
        found: dict[Node, Any] = {}
        for node in self.nodes:
            if node.work is None:
                found[node] = changed.get(node.name, node.value)
            else:
                named = {name: _filled(v, found) for name, v in node.named.items()}
                found[node] = node.work(*_filled(node.inputs, found), **named)
        for decision in self.decisions:
            if decision.read_as(found[decision.node]) != decision.answer:
                names = ", ".join(changed)
                raise DecisionError(f"with another {names} the model takes another form")
        return np.atleast_1d(found[self.result])


_decisions: Final[ContextVar[list[Decision] | None]] = ContextVar("decisions", default=None)


@contextmanager
def recording() -> Iterator[list[Decision]]:
    """Note decisions by recorded numbers within the block."""
    decisions: list[Decision] = []
    token = _decisions.set(decisions)
    try:
        yield decisions
    finally:
        _decisions.reset(token)


def is_recording() -> bool:
    """Return whether a derivation is being recorded."""
    return _decisions.get() is not None


def figure(name: str, value: float | tuple[float, ...]) -> Recorded:
    """Return a figure of the device, or a coefficient, as a recorded number or table of numbers."""
    found: Recorded = _of(Node("figure", name, value))
    return found


def number(value: Any) -> float:
    """Return the one number of an array as a float, which is recorded if the array is."""
    if isinstance(value, Recorded):
        found: float = 1.0 * value  # type: ignore[assignment]
        return found
    return float(value)


def formula(name: str, work: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    """Return what a formula gives, recorded if one of its inputs is."""
    if not any(isinstance(value, Recorded) for value in values.values()):
        return work(**values)
    return _done(name, work, (), values, "formula")


def definition(work: Work) -> Work:
    """Let a function of numbers and arrays be one node, whatever it does inside.

    For algorithms, such as handing out blocks in turn, that write in place or go by loops.
    """

    @wraps(work)
    def recorded(*inputs: Any, **named: Any) -> Any:
        if is_recording():
            return _done(work.__name__, work, inputs, named)
        return work(*inputs, **named)

    return cast(Work, recorded)


def derivation(result: Any, decisions: Sequence[Decision]) -> Derivation:
    """Return the way to a recorded number.

    Raises
    ------
    TypeError
        If it is not recorded: no figure leads to it.
    """
    if not isinstance(result, Recorded):
        raise TypeError(f"no recorded number, but {type(result).__name__}")
    ends = [result.node, *(decision.node for decision in decisions)]
    return Derivation(result.node, tuple(_in_order(ends)), tuple(decisions))


def _in_order(ends: Sequence[Node]) -> Iterator[Node]:
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


def _done(
    name: str,
    work: Callable[..., Any],
    inputs: tuple[Any, ...],
    named: Mapping[str, Any],
    kind: Kind = "definition",
) -> Any:
    """Return what some work gives, recorded."""
    value = work(*_plain(inputs), **{key: _plain(v) for key, v in named.items()})
    linked = {key: _linked(v) for key, v in named.items()}
    return _of(Node(kind, name, value, work, _linked(inputs), linked))


def _of(node: Node) -> Any:
    """Return a node's value as a recorded array, or as several."""
    value = node.value
    if isinstance(value, (tuple, list)):
        parts = (Node("definition", "part", v, _item, (node, i)) for i, v in enumerate(value))
        return type(value)([_of(part) for part in parts])
    if not isinstance(value, (np.ndarray, np.generic, int, float)):
        return value  # a shape, a type: no number
    found = np.asarray(value).view(Recorded)
    found.flags.writeable = False  # what is written in place, no derivation can follow
    found.node = node
    return found


def _item(value: Any, key: Any) -> Any:
    return value[key]


def _cast(value: Any, dtype: Any) -> Array:
    return np.asarray(value).astype(dtype)


def _reshaped(value: Any, *shape: Any, **kwargs: Any) -> Array:
    return np.asarray(value).reshape(*shape, **kwargs)


def _plain(value: Any) -> Any:
    """Return a value without nodes."""
    if isinstance(value, Recorded):
        return value.view(np.ndarray)[()] if value.ndim == 0 else value.view(np.ndarray)
    if type(value) in (tuple, list):
        return type(value)([_plain(part) for part in value])
    return value


def _linked(value: Any) -> Any:
    """Return a value with nodes in the place of recorded numbers."""
    if isinstance(value, Recorded):
        return value.node
    if type(value) in (tuple, list):
        return type(value)([_linked(part) for part in value])
    return value


def _filled(value: Any, found: Mapping[Node, Any]) -> Any:
    """Return a value with numbers in the place of nodes."""
    if isinstance(value, Node):
        return found[value]
    if type(value) in (tuple, list):
        return type(value)([_filled(part, found) for part in value])
    return value


def _nodes(value: Any) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif type(value) in (tuple, list):
        for part in value:
            yield from _nodes(part)
