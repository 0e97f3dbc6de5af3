"""Derivation: how a predicted time followed from the device's figures, recorded while it is made.

A recorded number is an array that knows the node it came from: a figure, a formula with its inputs,
or a definition, which is whatever NumPy does between formulas. So the way from any figure to the
time is closed, whichever way a model is written, and can be gone again with a figure changed.
Models take part without knowing of it; where nothing is recorded, nothing is paid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, cast

import numpy as np
import numpy.typing as npt

from perfmodel.records import record

if TYPE_CHECKING:
    from perfmodel.kernels.access import Access
    from perfmodel.models.formula import Formula

Array = npt.NDArray[Any]
Kind = Literal["figure", "formula", "definition"]
Work = TypeVar("Work", bound=Callable[..., Any])


@record(eq=False)
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
    formula : Formula or None
        With text, unit and the meaning of each symbol; None of other kinds.
    scope : Access or None
        The access that it was worked out for, if for one.
    """

    kind: Kind
    name: str
    value: Any
    work: Callable[..., Any] | None = None
    inputs: tuple[Any, ...] = ()
    named: Mapping[str, Any] = field(default_factory=dict)
    formula: Formula | None = None
    scope: Access | None = None

    def sources(self) -> Iterator[Node]:
        """Yield the nodes that it is made of."""
        yield from _nodes(self.inputs)
        yield from _nodes(tuple(self.named.values()))


@record
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

    def copy(self, order: Any = "C") -> Any:
        """Record the copy, which is not to be written to either."""
        return _done("copy", np.copy, (self,), {"order": order})

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


_decisions: Final[ContextVar[list[Decision] | None]] = ContextVar("decisions", default=None)
_scope: Final[ContextVar[Access | None]] = ContextVar("scope", default=None)


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


@contextmanager
def scope(access: Access) -> Iterator[None]:
    """Note of what is recorded within the block that it is worked out for an access."""
    token = _scope.set(access)
    try:
        yield
    finally:
        _scope.reset(token)


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


def formula(of: Formula, work: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    """Return what a formula gives on its symbols' values, by some work, recorded."""
    given = {name: value for name, value in values.items() if name in of.symbols}
    return _done(of.name, work, (), given, "formula", of)


def definition(work: Work) -> Work:
    """Let a function of numbers and arrays be one node, whatever it does inside.

    For algorithms, such as handing out blocks in turn, that write in place or go by loops.
    """

    @wraps(work)
    def recorded(*inputs: Any, **named: Any) -> Any:
        if is_recording():
            return _done(work.__name__, unrecorded(work), inputs, named)
        return work(*inputs, **named)

    return cast(Work, recorded)


def unrecorded(work: Work) -> Work:
    """Return a function that leaves no nodes inside."""

    @wraps(work)
    def plain(*inputs: Any, **named: Any) -> Any:
        token = _decisions.set(None)
        try:
            return work(*inputs, **named)
        finally:
            _decisions.reset(token)

    return cast(Work, plain)


def _done(
    name: str,
    work: Callable[..., Any],
    inputs: tuple[Any, ...],
    named: Mapping[str, Any],
    kind: Kind = "definition",
    of: Formula | None = None,
) -> Any:
    """Return what some work gives, recorded."""
    value = work(*_plain(inputs), **{key: _plain(v) for key, v in named.items()})
    linked = {key: _linked(v) for key, v in named.items()}
    return _of(Node(kind, name, value, work, _linked(inputs), linked, of, _scope.get()))


def _of(node: Node) -> Any:
    """Return a node's value as a recorded array, or as several."""
    value = node.value
    if isinstance(value, (tuple, list)):
        parts = (Node("definition", "part", v, _item, (node, i)) for i, v in enumerate(value))
        return _like(value, [_of(part) for part in parts])
    if not isinstance(value, (np.ndarray, np.generic, int, float)):
        return value  # a shape, a type: no number
    found = np.asarray(value).view(Recorded)
    found.flags.writeable = False  # what is written in place, no derivation can follow
    found.node = node
    return found


def _like(value: Any, parts: list[Any]) -> Any:
    """Return parts as a tuple or list of a value's type, named tuples too."""
    return value._make(parts) if hasattr(value, "_make") else type(value)(parts)


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


def _nodes(value: Any) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif type(value) in (tuple, list):
        for part in value:
            yield from _nodes(part)
