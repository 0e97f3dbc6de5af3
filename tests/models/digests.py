"""Digests of what models work out: records of stages, and what formulas are given and give.

Much of it moves no time by itself, as another term is the largest there.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import _lru_cache_wrapper, cache
from typing import Any, Final

import numpy as np

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
_GIVEN: Final = ("access", "variables", "strides", "execution", "instance", "kernel", "device")
"""Fields that stages are given."""


def forget() -> None:
    """Clear the caches of the models' functions."""
    for each in _caches():
        each.cache_clear()


@cache
def _caches() -> list[_lru_cache_wrapper[Any]]:
    modules = [m for n, m in sys.modules.items() if n.startswith("perfmodel.models.")]
    return [f for m in modules for f in vars(m).values() if isinstance(f, _lru_cache_wrapper)]


@contextmanager
def noted() -> Iterator[set[str]]:
    """Note each evaluation of a formula within the block, as text; how often does not matter.

    Nothing that models keep is taken: a digest must not depend on what was predicted before.
    """
    forget()
    found: set[str] = set()
    call, by = Formula.__call__, Formula.by

    def noting(self: Formula, /, **given: Any) -> Any:
        result = call(self, **given)
        found.add(_line(self, given, result))
        return result

    def noting_by(self: Formula, work: Any, /, **given: Any) -> Any:
        result = by(self, work, **given)
        found.add(_line(self, given, result))
        return result

    Formula.__call__, Formula.by = noting, noting_by  # type: ignore[method-assign]
    try:
        yield found
    finally:
        Formula.__call__, Formula.by = call, by  # type: ignore[method-assign]


def of_lines(lines: Iterable[str]) -> str:
    """Return a digest of evaluations, in whatever order they came."""
    return _digest(sorted(lines))


def of_record(part: Any) -> str:
    """Return a digest of a record's numbers and words."""
    return _digest(_texts(part))


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
