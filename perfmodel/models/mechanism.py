"""Mechanism: one file of a stage, by name, with what it is when it is switched off.

A mechanism is a function from what the stage knows to what it changes. Switched off it gives its
neutral result, as if the hardware did not have it; so the scoreboard can say what it is worth
(`perfmodel validate --without NAME`), and the documentation can list what there is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, ParamSpec, TypeVar

from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.records import record

P = ParamSpec("P")
R = TypeVar("R")

_registry: dict[str, Mechanism] = {}
_off: Final[ContextVar[frozenset[str]]] = ContextVar("mechanisms_off", default=frozenset())


@record
class Mechanism:
    """What the registry knows of a mechanism.

    Its module's name, the folder that this is in, the first line of its docstring, what the stage
    calls, and the subjects of measurements/ with the rows that need it.
    """

    name: str
    stage: str
    text: str
    function: Callable[..., Any]
    evidence: tuple[str, ...]


def mechanism(
    *, neutral: Callable[..., Any], evidence: Iterable[str] = ()
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Register a module's function as its mechanism; `neutral` is what it gives switched off."""

    def registered(work: Callable[P, R]) -> Callable[P, R]:
        *_, stage, name = work.__module__.split(".")

        @wraps(work)
        def switched(*args: P.args, **kwargs: P.kwargs) -> R:
            if name in _off.get():
                found: R = neutral(*args, **kwargs)
                return found
            return work(*args, **kwargs)

        if name in _registry:
            raise ValueError(f"module {name!r} has two mechanisms")
        text = (sys.modules[work.__module__].__doc__ or "").partition("\n")[0]
        _registry[name] = Mechanism(name, stage, text, switched, tuple(evidence))
        return switched

    return registered


def mechanisms() -> Mapping[str, Mechanism]:
    """Return all mechanisms by name, those of a stage together."""
    from pkgutil import walk_packages  # late, for the time that it takes

    models = import_module("perfmodel.models")
    for module in walk_packages(models.__path__, "perfmodel.models."):
        import_module(module.name)
    ordered = sorted(_registry.values(), key=lambda each: (each.stage, each.name))
    return MappingProxyType({each.name: each for each in ordered})


def switched_off() -> frozenset[str]:
    """Return the names of the mechanisms that are off, for another process to switch off too."""
    return _off.get()


def switch_off(names: frozenset[str]) -> None:
    """Switch mechanisms off for good, as in a process that works for another."""
    _off.set(names)


@contextmanager
def without(*names: str) -> Iterator[None]:
    """Switch mechanisms off within the block; a `PerfmodelError` if there is none of a name."""
    for name in names:
        if name not in mechanisms():
            known = list(mechanisms())
            hint = nearest(name, known) or f"; known are {', '.join(known) or 'none'}"
            raise PerfmodelError(f"no mechanism is called {shown(name)}{hint}")
    token = _off.set(_off.get() | frozenset(names))
    try:
        yield
    finally:
        _off.reset(token)
