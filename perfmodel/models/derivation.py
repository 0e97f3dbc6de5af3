"""Derivation: how a predicted time followed from the device's figures, recorded while it is made.

A recorded number is an array that knows the node it came from: a figure, a formula with its inputs,
or a definition, which is whatever NumPy does between formulas. So the way from any figure to the
time is closed, whichever way a model is written, and can be gone again with a figure changed.
Models take part without knowing of it; where nothing is recorded, nothing is paid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast, overload

import numpy as np

from perfmodel.arrays import Array
from perfmodel.models.node import Decision, Kind, Node

if TYPE_CHECKING:
    from perfmodel.kernels.access import Access
    from perfmodel.models.formula import Formula

Work = TypeVar("Work", bound=Callable[..., Any])


class Recorded(np.ndarray[Any, Any]):
    """An array that knows its node, which has the value.

    ``np.asarray`` of one is a plain array, which ends the way: models use ``np.asanyarray``. What
    an array of NumPy's holds itself is NaN, so that whatever reads it past the node shows.
    """

    node: Node
    __hash__ = None

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the value."""
        return np.asarray(self.node.value).dtype

    def __array_finalize__(self, obj: Any) -> None:
        """Record a change of type, as of ``np.asanyarray(recorded, dtype=float)``."""
        source = getattr(obj, "node", None)
        if source is not None and obj.shape == self.shape:
            held = np.ndarray.dtype.__get__(self)
            kind = np.dtype(bool) if held.kind == "O" else held
            value = _cast(source.value, kind)
            self.node = Node("definition", "astype", value, _cast, (source, kind))

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
        if func in _OF_ANY_LENGTH and records_parts():
            raise TypeError(f"how much {func.__name__} gives, no program can follow")
        return _done(func.__name__, func, tuple(args), kwargs)

    def __getitem__(self, key: Any) -> Any:
        """Record the choice of some elements."""
        return _done("getitem", _item, (self, key), {})

    def __iter__(self) -> Iterator[Any]:
        """Record the choice of each element."""
        return (self[place] for place in range(len(self)))

    def astype(self, dtype: Any, *_: Any, **__: Any) -> Any:
        """Record the change of type."""
        return _done("astype", _cast, (self, np.dtype(dtype)), {})

    def item(self, *_: Any) -> Any:
        """Note the decision."""
        return self._decided(_only)

    def tolist(self) -> Any:
        """Note the decisions."""
        return self.item() if self.ndim == 0 else [each.tolist() for each in self]

    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        """Record the change of shape."""
        return _done("reshape", _reshaped, (self, *shape), kwargs)

    def transpose(self, *axes: Any) -> Any:
        """Record the change of axes."""
        return _done("transpose", np.transpose, (self, axes or None), {})

    @property
    def T(self) -> Any:  # noqa: N802  # NumPy's name
        """Record the change of axes."""
        return self.transpose()

    @classmethod
    def evaluated(cls, work: Callable[..., Any], node: Any, values: Mapping[str, Any]) -> Any:
        """Record an expression's value, by `work` on its tree and the values of its names."""
        return _done("evaluate", _on_names(work), (node,), values)

    def __repr__(self) -> str:
        """Return the value's."""
        return f"Recorded({self.node.value!r})"

    __str__ = __repr__

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
        answer = read_as(_known(self.node))
        decisions = _decisions.get()
        if decisions is not None:
            decisions.append(Decision(self.node, read_as, answer))
        return answer


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    def recorded(self: Recorded, *args: Any, **kwargs: Any) -> Any:
        return _done(function.__name__, function, (self, *args), kwargs)

    return recorded


# Methods that NumPy works out without asking the class, by the functions that they stand for.
for _name in ("ravel", "copy", "argmax", "argmin", "argsort", "cumsum", "repeat", "take"):
    setattr(Recorded, _name, _method(getattr(np, _name)))


class _Unread:
    """Stands for a truth value in a recorded array, which only its node may be asked for."""

    def __bool__(self) -> bool:
        raise TypeError("a recorded truth value was read past its node: a list of them, perhaps")

    def __float__(self) -> float:
        return math.nan

    def __int__(self) -> int:
        return _NO_INTEGER


_NO_INTEGER: Final = -(2**31)
_NOTHING: Final[dict[str, tuple[Any, Any]]] = {
    "f": (np.nan, None),
    "i": (_NO_INTEGER, None),
    "U": ("unread", None),
    "b": (_Unread(), object),
}
"""What recorded arrays hold by their kind of type: nothing that anybody should read."""
_OF_ANY_LENGTH: Final = frozenset({np.unique, np.nonzero, np.flatnonzero, np.argwhere, np.extract})
"""Functions that give as much as numbers say; a length that is read of it leaves no decision."""
_decisions: Final[ContextVar[list[Decision] | None]] = ContextVar("decisions", default=None)
_in_parts: Final[ContextVar[bool]] = ContextVar("in_parts", default=False)
_general: Final[ContextVar[bool]] = ContextVar("general", default=False)
_scope: Final[ContextVar[Access | None]] = ContextVar("scope", default=None)


@contextmanager
def recording(*, in_parts: bool = False, general: bool = False) -> Iterator[list[Decision]]:
    """Note decisions by recorded numbers within the block.

    `in_parts`: formulas that a function works out another way are recorded as what that does.
    `general`: steps that change nothing are recorded too, as other launches may need them.
    """
    decisions: list[Decision] = []
    tokens = _decisions.set(decisions), _in_parts.set(in_parts), _general.set(general)
    try:
        with np.errstate(invalid="ignore"):  # a change of type of what is not to be read
            yield decisions
    finally:
        _decisions.reset(tokens[0])
        _in_parts.reset(tokens[1])
        _general.reset(tokens[2])


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


def figure(name: str, value: float | tuple[float, ...] | Array) -> Recorded:
    """Return a figure of the device, or a coefficient, as a recorded number or table of numbers."""
    found: Recorded = _of(Node("figure", name, value))
    return found


def number(value: Any) -> float:
    """Return the one number of an array as a float, which is recorded if the array is."""
    if isinstance(value, Recorded):
        found: float = 1.0 * value  # type: ignore[assignment]
        return found
    return float(value)


def glimpse(value: Any) -> Any:
    """Return a number as a plain one, for what no result may depend on: an order to try first."""
    return _each(value, _known)


def most_turns(counts: Any) -> int:
    """Return how often a loop goes whose turns past a launch's own change nothing: the most of all.

    A program holds for launches of as many turns at most, and goes to a power of two.
    """
    most = int(np.ceil(np.max(glimpse(counts), initial=0)))
    if records_parts() and isinstance(counts, Recorded):
        most = 1 << max(most - 1, 0).bit_length()
    if np.any(counts > most):
        raise ValueError(f"turns beyond {most}")  # of launches that a program is asked for
    return most


def skippable(nothing: Any) -> bool:
    """Say whether a step may be left out, by where it changes nothing: everywhere.

    Not where numbers recorded for other launches decide, which may need it: it serves them all.
    """
    every = np.all(nothing)
    kept = isinstance(every, Recorded) and (_general.get() or not glimpse(every))
    return not kept and bool(every)


def records_parts() -> bool:
    """Return whether formulas that are worked out another way are recorded as what that does."""
    return _in_parts.get()


def formula(of: Formula, work: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    """Return what a formula gives on its symbols' values, by some work, recorded."""
    given = {name: value for name, value in values.items() if name in of.symbols}
    return _done(of.name, work, (), given, "formula", of)


@overload
def definition(work: Work, /) -> Work: ...


@overload
def definition(
    *, one: Callable[..., Any] | None = None, replaces: bool = False
) -> Callable[[Work], Work]: ...


def definition(
    work: Any = None, /, *, one: Callable[..., Any] | None = None, replaces: bool = False
) -> Any:
    """Let a function of numbers and arrays be one node, whatever it does inside.

    For algorithms, such as handing out blocks in turn, that write in place or go by loops. `one`
    does the same of one configuration, on plain numbers. A function that `replaces` takes first
    which configurations it is about, then what it gives for all others.
    """
    if work is None:
        return lambda given: _definition(given, one, replaces)
    return _definition(work, None, False)


def _definition(work: Any, one: Callable[..., Any] | None, replaces: bool) -> Any:
    plain: Any = unrecorded(work)
    plain.one, plain.replaces = one, replaces

    @wraps(work)
    def recorded(*inputs: Any, **named: Any) -> Any:
        if is_recording():
            return _done(work.__name__, plain, inputs, named)
        return work(*inputs, **named)

    return recorded


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
    value = work(*_each(inputs, _known), **{n: _each(v, _known) for n, v in named.items()})
    nodes = _each(inputs, _itself), {n: _each(v, _itself) for n, v in named.items()}
    return _of(Node(kind, name, value, work, *nodes, of, _scope.get()))


def _of(node: Node) -> Any:
    """Return a node's value as a recorded array, or as several."""
    value = node.value
    if isinstance(value, (tuple, list)):
        parts = (Node("definition", "part", v, _item, (node, i)) for i, v in enumerate(value))
        return _like(value, [_of(part) for part in parts])
    if not isinstance(value, (np.ndarray, np.generic, int, float)):
        return value  # a shape, a type: no number
    known = np.asarray(value)
    found = _blank(known.shape, known.dtype).view(Recorded)
    found.node = node
    return found


@lru_cache(maxsize=256)
def _blank(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Return what recorded numbers of a shape and type hold themselves."""
    nothing, kind = _NOTHING.get(dtype.kind, (0, dtype))
    found = np.full(shape, nothing, kind or dtype)
    found.flags.writeable = False  # what is written in place, no derivation can follow
    return found


def _like(value: Any, parts: list[Any]) -> Any:
    """Return parts as a tuple or list of a value's type, named tuples too."""
    return value._make(parts) if hasattr(value, "_make") else type(value)(parts)


def _item(value: Any, key: Any) -> Any:
    return value[key]


@lru_cache
def _on_names(work: Callable[..., Any]) -> Callable[..., Any]:
    def evaluated(node: Any, /, **values: Any) -> Any:
        return work(node, values)

    return evaluated


def _only(value: Any) -> Any:
    return np.asarray(value).item()


def _cast(value: Any, dtype: Any) -> Array:
    return np.asarray(value).astype(dtype)


def _reshaped(value: Any, *shape: Any, **kwargs: Any) -> Array:
    return np.asarray(value).reshape(*shape, **kwargs)


def _each(value: Any, of: Callable[[Node], Any]) -> Any:
    """Return a value with something in the place of recorded numbers."""
    if isinstance(value, Recorded):
        return of(value.node)
    if type(value) in (tuple, list):
        return type(value)([_each(part, of) for part in value])
    return value


def _known(node: Node) -> Any:
    known = np.asarray(node.value)
    return known[()] if known.ndim == 0 else known


def _itself(node: Node) -> Node:
    return node
