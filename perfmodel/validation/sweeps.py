"""Which measured rows a prediction can be made of, and how: the sweeps of ``cases.toml``.

Sweeps of `perfmodel.measure` that name a model come on top: their rows carry the name of the CUDA
function, and say themselves what they are for.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from perfmodel.errors import PerfmodelError, shown
from perfmodel.expressions import evaluate, parse
from perfmodel.kernels import Kernel, builtin_names, find_kernel, load_kernel
from perfmodel.kernels.values import check_keys
from perfmodel.measure.recorded import Row
from perfmodel.text_files import read_text

KERNELS: Final = Path(__file__).parent / "kernels"
"""Kernel files of what was measured, but is no built-in kernel."""

_CASES: Final = Path(__file__).parent / "cases.toml"
_SWEEPS: Final = Path(__file__).parents[1] / "measure" / "sweeps"
_KEYS: Final = ("name", "topic", "where", "kernel", "mapping", "params", "use", "cache")


@dataclass(frozen=True, slots=True)
class Sweep:
    """Rows of one topic that one kernel predicts.

    Attributes
    ----------
    name : str
        As the scoreboard calls it.
    topic : str
    kernel : str
        A built-in, or a file of `KERNELS`; ``{column}`` stands for what the row says there.
    params : mapping of str to str
        Expressions over the row's columns and ``sms``.
    where : mapping of str to tuple
        Values that a row must have to belong.
    mapping : str or None
    use : str
        "fit" or "validation", for rows that do not say it.
    cache : str
        "cold" or "warm" for rows that do not say it, or say it otherwise; else "".
    """

    name: str
    topic: str
    kernel: str
    params: Mapping[str, str]
    where: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    mapping: str | None = None
    use: str = "fit"
    cache: str = ""

    def holds(self, row: Row) -> bool:
        """Whether a row belongs to the sweep, and a prediction has its protocol."""
        # Rows of the measuring package name their function: none belongs to a sweep that does not.
        named = "function" not in row.values or "function" in self.where
        return (
            named
            and all(row.values.get(k) in v for k, v in self.where.items())
            and self.cache_of(row) in ("cold", "warm")
        )

    def cache_of(self, row: Row) -> str:
        """Return what L2 held before the launch: "cold", "warm", "dirty" or ""."""
        return self.cache or row.cache

    def use_of(self, row: Row) -> str:
        """Return "fit" or "validation"."""
        return row.use or self.use

    def kernel_of(self, row: Row) -> Kernel:
        """Return the kernel that predicts a row."""
        return _kernel(self.kernel.format_map(row.values), self.mapping)

    def params_of(self, row: Row, sms: int) -> dict[str, Any]:
        """Return the kernel's parameters for a row.

        Raises
        ------
        PerfmodelError
            If an expression needs a column that the row does not have.
        """
        numbers = {k: v for k, v in row.values.items() if not isinstance(v, str)} | {"sms": sms}
        words = {k: v for k, v in row.values.items() if isinstance(v, str)}
        where = f"sweep {self.name!r}, line {row.line} of {row.topic}"
        return {
            # A column of words is taken as it is, for a parameter whose values are words.
            name: words[text]
            if text in words
            else int(evaluate(parse(text, where=f"{where}, {name}"), numbers))
            for name, text in self.params.items()
        }


@lru_cache(maxsize=1)
def sweeps() -> tuple[Sweep, ...]:
    """Return all sweeps that can be predicted, those of ``cases.toml`` first."""
    return (*_listed(_CASES), *_measured())


def read_sweeps(path: Path) -> tuple[Sweep, ...]:
    """Return the sweeps of a file such as ``cases.toml``.

    Raises
    ------
    PerfmodelError
        If a key is unknown, missing or of the wrong kind.
    """
    return tuple(_listed(path))


def _listed(path: Path) -> list[Sweep]:
    where = f"case file {path.name!r}"
    try:
        table = tomllib.loads(read_text(path, where, "case"))
    except tomllib.TOMLDecodeError as error:
        raise PerfmodelError(f"{where} is not valid TOML: {error}") from None
    check_keys(table, ("sweep",), ("sweep",), where)
    return [_sweep(entry, f"{where}, sweep {n}") for n, entry in enumerate(table["sweep"], 1)]


def _sweep(entry: Mapping[str, Any], where: str) -> Sweep:
    check_keys(entry, _KEYS, ("name", "topic", "kernel", "params", "use"), where)
    for key, allowed in (("use", ("fit", "validation")), ("cache", ("cold", "warm", ""))):
        if entry.get(key, "") not in (*allowed, ""):
            raise PerfmodelError(
                f"{where}: {key} must be {' or '.join(allowed[:2])}, not {shown(entry[key])}"
            )
    return Sweep(
        name=entry["name"],
        topic=entry["topic"],
        kernel=entry["kernel"],
        params=MappingProxyType(dict(entry["params"])),
        where=MappingProxyType({k: _several(v) for k, v in entry.get("where", {}).items()}),
        mapping=entry.get("mapping"),
        use=entry["use"],
        cache=entry.get("cache", ""),
    )


def _measured() -> list[Sweep]:
    """Return the sweeps of the measuring package that say which kernel predicts their rows."""
    found = []
    for path in sorted(_SWEEPS.glob("*.toml")):
        for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("sweep", ()):
            model = entry.get("model")
            if model:
                found.append(
                    Sweep(
                        name=f"{entry['topic']} {entry['function']}",
                        topic=entry["topic"],
                        kernel=model["kernel"],
                        mapping=model.get("mapping"),
                        params=MappingProxyType(dict(model.get("params", {}))),
                        where=MappingProxyType(
                            {"function": (entry["function"],), **_words(entry), **_where(model)}
                        ),
                        use=entry.get("use", "fit"),
                    )
                )
    return found


def _words(entry: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Return the words that a sweep of the measuring package varies: they tell its rows apart."""
    found: dict[str, tuple[Any, ...]] = {}
    for name, values in entry.get("vary", {}).items():
        if all(isinstance(value, str) for value in values):
            found[name] = tuple(values)
    for case in entry.get("cases", ()):
        for name, value in case.items():
            if isinstance(value, str):
                found[name] = (*found.get(name, ()), value)
    return found


def _where(model: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    return {name: _several(value) for name, value in model.get("where", {}).items()}


def _several(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list) else (value,)


@lru_cache(maxsize=128)
def _kernel(name: str, mapping: str | None) -> Kernel:
    path = KERNELS / f"{name}.toml"
    if name not in builtin_names() and path.is_file():
        return load_kernel(path)
    return find_kernel(name, mapping)
