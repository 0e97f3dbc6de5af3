"""Digests of what models work out: records of stages, what formulas are given and give, and what
functions of the models return.

Much of it moves no time by itself, as another term is the largest there.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import _lru_cache_wrapper, cache, wraps
from importlib import import_module
from pkgutil import walk_packages
from types import FunctionType, ModuleType
from typing import Any, Final
from zlib import crc32

import numpy as np

import perfmodel.models
from perfmodel.models import compiled_loops
from perfmodel.models.formula import Formula

_DIGITS: Final = 7
"""That any machine agrees on."""
_NO_TIES: Final = 0.7390851332151607
"""By which figures are multiplied: those of few digits would lie between two of so many."""
_LEAST: Final = {"s": 1e-12, "B": 1e-2}
"""By unit: what is less is the noise of a difference."""
_LEAST_OF_OTHERS: Final = 1e-5
_AS_BYTES: Final = ("bytes", "sectors")
"""How names of numbers end that are bytes, or as large."""
_TIMES: Final = ("_s", "time", "times", "latency", "interval", "seconds")
"""How names of numbers end that are seconds."""
_MODELS: Final = "perfmodel.models."
_UNNOTED: Final = (
    "affine_form",
    "linear_form",
    "distinct",
    "residues",
    "recounts",
    "handout",
    "wavefronts",
    "derivation",
    "replay",
    "node",
    "formula",
    "_loop",
)
"""Modules that go another way, to the same end, by what is compiled or was worked out before."""
_RECORDS: Final = ("perfmodel.models", "perfmodel.traffic")
_GIVEN: Final = ("access", "variables", "strides", "execution", "instance", "kernel", "device")
"""Fields that stages are given."""


def forget() -> None:
    """Clear the caches of the models' functions."""
    for each in _caches():
        each.cache_clear()


@cache
def _modules() -> list[ModuleType]:
    """Return the modules of the models: some are imported late, and of those all are noted too."""
    every = walk_packages(perfmodel.models.__path__, _MODELS)
    return [import_module(m.name) for m in every if not m.name.endswith(_UNNOTED)]


@cache
def _caches() -> list[_lru_cache_wrapper[Any]]:
    _modules()
    modules = [m for n, m in sys.modules.items() if n.startswith(_MODELS)]
    return [f for m in modules for f in vars(m).values() if isinstance(f, _lru_cache_wrapper)]


@contextmanager
def noted() -> Iterator[set[str]]:
    """Note each evaluation of a formula within the block, and what functions of the models return.

    As text; how often does not matter.

    Nothing that models keep is taken: a digest must not depend on what was predicted before.
    """
    forget()
    found: set[str] = set()
    call, by, returned = Formula.__call__, Formula.by, _Returned()

    def noting(self: Formula, /, **given: Any) -> Any:
        result = call(self, **given)
        found.add(_line(self, given, result))
        return result

    def noting_by(self: Formula, work: Any, /, **given: Any) -> Any:
        result = by(self, work, **given)
        found.add(_line(self, given, result))
        return result

    def noting_returned(work: Callable[..., Any], name: str) -> Callable[..., Any]:
        @wraps(work)
        def working(*args: Any, **kwargs: Any) -> Any:
            result = work(*args, **kwargs)
            if text := returned.text(result, name):
                found.add(f"{name} {text}")
            return result

        return working

    Formula.__call__, Formula.by = noting, noting_by  # type: ignore[method-assign]
    wrapped: dict[int, Any] = {}
    for owner, name, work in _functions():
        if id(work) not in wrapped:
            wrapped[id(work)] = _wrapped(work, noting_returned)
        setattr(owner, name, wrapped[id(work)])
    # Few rows go one way, whatever was predicted before; restored with the other functions.
    compiled_loops.loaded = lambda module: False
    try:
        yield found
    finally:
        for owner, name, work in _functions():
            setattr(owner, name, work)
        Formula.__call__, Formula.by = call, by  # type: ignore[method-assign]


def of_lines(lines: Iterable[str]) -> str:
    """Return a digest of evaluations, in whatever order they came."""
    return _digest(sorted(lines))


def of_record(part: Any) -> str:
    """Return a digest of a record's numbers and words."""
    return _digest(_texts(part))


@cache
def _functions() -> list[tuple[Any, str, Any]]:
    """Return where the models' functions, methods and properties are, their names, and these."""
    own = [c for m in _modules() for c in vars(m).values() if _noted(c, type) and c is not Formula]
    return [
        (owner, name, each)
        for owner in [*_modules(), *dict.fromkeys(own)]
        for name, each in vars(owner).items()
        if not name.startswith("__") and _noted(each, FunctionType | _lru_cache_wrapper | property)
    ]


def _noted(each: Any, kind: Any) -> bool:
    """Say whether something of a kind is of the models, and does not depend on what came before."""
    module = getattr(each.fget if isinstance(each, property) else each, "__module__", None) or ""
    return isinstance(each, kind) and module.startswith(_MODELS) and not module.endswith(_UNNOTED)


def _wrapped(each: Any, noting: Callable[..., Any]) -> Any:
    if isinstance(each, property):
        return property(noting(each.fget, each.fget.__name__))  # type: ignore[union-attr]
    return noting(each, each.__name__)


class _Returned:
    """Numbers and words of values in short; of a record or an array once, as models keep them."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, str]] = {}

    def text(self, value: Any, name: str, depth: int = 0) -> str:
        """Return them of a value of a name."""
        if isinstance(value, str | bool | int | np.bool_ | np.integer):
            return str(value)
        if isinstance(value, float):
            return f"{value * _NO_TIES:.6g}" if abs(value) >= _least(name) else "0"
        if isinstance(value, tuple | list):
            return " ".join([self.text(each, name, depth) for each in value])
        is_array = isinstance(value, np.ndarray)
        if not is_array and (depth or not type(value).__module__.startswith(_RECORDS)):
            return ""
        known = self._known.get(id(value))
        if known is None:
            found = _bits(value, name) if is_array else self._of_record(value)
            self._known[id(value)] = known = value, found
        return known[1]

    def _of_record(self, value: Any) -> str:
        if not is_dataclass(value):
            return ""
        return " ".join([self.text(item, name, 1) for name, item in _items(value)])


@cache
def _least(name: str) -> float:
    return 1e-12 if name.endswith(_TIMES) else 1e-2 if name.endswith(_AS_BYTES) else 1e-5


def _bits(values: np.ndarray[Any, Any], name: str) -> str:
    """Return numbers to the bits that any machine agrees on: 20 of them, in short."""
    if values.dtype.kind == "f":
        values = np.where(np.abs(values) >= _least(name), values * _NO_TIES, 0.0)
        values = (values.astype(np.float32).view(np.int32) + 8) >> 4
    elif values.dtype.kind not in "biu":
        return str(values.tolist())
    return f"{crc32(values.astype(np.int64).tobytes()):x}"


def _digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:8]


def _texts(value: Any, unit: str = "s") -> Iterator[str]:
    """Yield a record's numbers and words, to the digits that any machine agrees on.

    Numbers are as of seconds, of which a launch takes 1e-7 and more, but for what names say are
    bytes or sectors.
    """
    if isinstance(value, np.ndarray) and value.dtype.kind == "U":
        value = value.ravel().tolist()
    if isinstance(value, str | bool) or value is None:
        yield str(value)
    elif isinstance(value, int | float | np.number | np.ndarray):
        yield from _numbers(value, unit)
    elif isinstance(value, Mapping) or is_dataclass(value):
        for name, item in _items(value):
            yield from _texts(item, "B" if name.endswith(_AS_BYTES) else unit)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _texts(item, unit)


def _items(value: Any) -> Iterable[tuple[str, Any]]:
    """Return what a mapping or record holds, by name."""
    if isinstance(value, Mapping):
        return [(str(name), value[name]) for name in sorted(value)]
    return [(f.name, getattr(value, f.name)) for f in fields(value) if f.name not in _GIVEN]


def _line(formula: Formula, given: dict[str, Any], result: Any) -> str:
    meanings = formula.symbols
    values = [
        ",".join(_numbers(given[name], str(meanings[name]).rpartition("[")[2].rstrip("]")))
        for name in sorted(given)
    ]
    values.append(",".join(_numbers(result, formula.unit)))
    return " ".join([formula.module, formula.name, *values])


def _numbers(value: Any, unit: str) -> list[str]:
    least = _LEAST.get(unit, _LEAST_OF_OTHERS)
    numbers = np.ravel(value).astype(float).tolist()
    return [f"{0.0 if abs(x) < least else x * _NO_TIES:.{_DIGITS}g}" for x in numbers]
