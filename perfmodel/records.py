"""Records: frozen dataclasses with slots, made in a quarter of the time that `dataclasses` takes.

A command that predicts one launch imports over a hundred records. For each of them
``dataclass(frozen=True, slots=True)`` compiles six methods, which takes half a millisecond; here
only ``__init__`` is compiled, and the others are the same functions for all records. Fields are
those of `dataclasses`, so that its `fields`, `replace` and `asdict` work as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import Any, Final, NoReturn, TypeVar, dataclass_transform, overload

T = TypeVar("T")


@overload
def record(cls: type[T], /) -> type[T]: ...
@overload
def record(
    *, slots: bool = True, eq: bool = True, kw_only: bool = False
) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(
    cls: type[T] | None = None, /, *, slots: bool = True, eq: bool = True, kw_only: bool = False
) -> type[T] | Callable[[type[T]], type[T]]:
    """Return the class as ``dataclass(frozen=True, slots=True)`` makes it.

    Methods of its own stay. No field is an ``InitVar``, and all are by keyword, or none. Without
    `slots` its objects have a dictionary, as cached properties need; without `eq` each is equal to
    itself only.
    """

    def made(cls: type[T]) -> type[T]:
        found: Any = dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
        known = fields(found)
        found.__init__ = _init(found, known, slots)
        found._compared = _values(f for f in known if f.compare)
        found._hashed = _values(f for f in known if (f.compare if f.hash is None else f.hash))
        methods = _FROZEN | (_SLOTS if slots else {}) | (_EQUAL if eq else {})
        for name, method in methods.items():
            if found.__dict__.get(name) is None:  # `__hash__` is None beside an own `__eq__`
                setattr(found, name, method)
        return found  # type: ignore[no-any-return]

    return made if cls is None else made(cls)


def _init(cls: Any, known: Sequence[Field[Any]], slots: bool) -> Callable[..., None]:
    """Compile ``__init__``: it goes around ``__setattr__``, which refuses."""
    names: dict[str, Any] = {"_absent": MISSING}
    parameters = ["self"] + ["*"] * (bool(known) and known[0].kw_only is True)
    lines = [] if slots else ["_held = self.__dict__"]
    for f in known:
        if not f.init:  # `__post_init__` sets it
            continue
        name, value = f.name, f.name
        if f.default is not MISSING:
            names[f"_default_{name}"] = f.default
            parameters.append(f"{name}=_default_{name}")
        elif f.default_factory is not MISSING:
            names[f"_made_{name}"] = f.default_factory
            parameters.append(f"{name}=_absent")
            value = f"_made_{name}() if {name} is _absent else {name}"
        else:
            parameters.append(name)
        if slots:
            names[f"_set_{name}"] = getattr(cls, name).__set__
            lines.append(f"_set_{name}(self, {value})")
        else:
            lines.append(f"_held[{name!r}] = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"]), names)
    made: Callable[..., None] = names["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _values(some: Iterable[Field[Any]]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what gives a record's values of some fields."""
    names = [f.name for f in some]
    if len(names) > 1:
        return attrgetter(*names)
    return lambda record: tuple(getattr(record, name) for name in names)


def _repr(self: Any) -> str:
    shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{type(self).__qualname__}({shown})"


def _eq(self: Any, other: Any) -> bool:
    kind = type(self)
    return kind._compared(self) == kind._compared(other) if type(other) is kind else NotImplemented


def _hash(self: Any) -> int:
    return hash(type(self)._hashed(self))


def _setattr(self: Any, name: str, value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: Any, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


# Pickled as its values: what restores slots otherwise would assign to fields.
def _getstate(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in fields(self)]


def _setstate(self: Any, state: list[Any]) -> None:
    for f, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, f.name, value)


_FROZEN: Final[dict[str, Any]] = {
    "__repr__": _repr,
    "__setattr__": _setattr,
    "__delattr__": _delattr,
}
_SLOTS: Final[dict[str, Any]] = {"__getstate__": _getstate, "__setstate__": _setstate}
_EQUAL: Final[dict[str, Any]] = {"__eq__": _eq, "__hash__": _hash}
