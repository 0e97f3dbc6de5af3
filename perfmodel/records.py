"""Records: frozen dataclasses with slots, made in a seventh of the time that `dataclasses` takes.

A command that predicts one launch imports over a hundred records. For each of them
``dataclass(frozen=True, slots=True)`` compiles six methods, which takes half a millisecond; here
``__init__`` is compiled once for all records with as many fields, and the others are the same
functions for all. Fields are those of `dataclasses`, so that its `fields`, `replace` and `asdict`
work as ever.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from functools import cache
from operator import attrgetter
from types import CodeType, FunctionType
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
        if "__init__" not in found.__dict__:
            found.__init__ = _init(found, [f for f in known if f.init], slots, kw_only)
        found._compared = _values(f for f in known if f.compare)
        found._hashed = _values(f for f in known if (f.compare if f.hash is None else f.hash))
        methods = _FROZEN | (_SLOTS if slots else {}) | (_EQUAL if eq else {})
        for name, method in methods.items():
            if found.__dict__.get(name) is None:  # `__hash__` is None beside an own `__eq__`
                setattr(found, name, method)
        return found  # type: ignore[no-any-return]

    return made if cls is None else made(cls)


def _init(cls: Any, given: Sequence[Field[Any]], slots: bool, kw_only: bool) -> FunctionType:
    """Return ``__init__``, which goes around ``__setattr__``, for that refuses."""
    made = [f.default_factory is not MISSING for f in given]
    template = _template(tuple(made), slots, kw_only, hasattr(cls, "__post_init__"))
    names: dict[str, Any] = {"_absent": MISSING}
    defaults: dict[str, Any] = {}
    for i, f in enumerate(given):
        names[f"_set{i}"] = getattr(cls, f.name).__set__ if slots else f.name
        names[f"_make{i}"] = f.default_factory
        if made[i] or f.default is not MISSING:
            defaults[f.name] = f.default
    locals_ = template.co_varnames[1 + len(given) :]
    code = template.replace(co_varnames=("self", *(f.name for f in given), *locals_))
    found = FunctionType(code, names, "__init__", None if kw_only else tuple(defaults.values()))
    found.__kwdefaults__ = defaults if kw_only else None
    found.__qualname__ = f"{cls.__qualname__}.__init__"
    return found


@cache
def _template(made: tuple[bool, ...], slots: bool, kw_only: bool, after: bool) -> CodeType:
    """Compile ``__init__`` once for all records of a form; `made`: which fields have a factory."""
    parameters = [f"_{i}" for i in range(len(made))]
    lines = [] if slots else ["_held = self.__dict__"]
    for i, factory in enumerate(made):
        value = f"_make{i}() if _{i} is _absent else _{i}" if factory else f"_{i}"
        lines.append(f"_set{i}(self, {value})" if slots else f"_held[_set{i}] = {value}")
    if after:
        lines.append("self.__post_init__()")
    starred = ["*"] * (kw_only and bool(made))
    names: dict[str, Any] = {}
    head = f"def __init__({', '.join(['self', *starred, *parameters])}):"
    exec(f"{head}\n " + "\n ".join(lines or ["pass"]), names)
    code: CodeType = names["__init__"].__code__
    return code


def _values(some: Iterable[Field[Any]]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what gives a record's values of some fields."""
    names = [f.name for f in some]
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda record: ()
    (name,) = names
    return lambda record: (getattr(record, name),)


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
