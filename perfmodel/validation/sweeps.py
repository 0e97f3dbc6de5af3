"""Which measured rows a prediction can be made of, and how: the sweeps of ``cases.toml``.

Sweeps of `perfmodel.measure` that name a model come on top: their rows carry the name of the CUDA
function, and say themselves what they are for.
"""

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
from perfmodel.kernels.l2_control import L2Control
from perfmodel.measure.recorded import Row
from perfmodel.measure.sweep import SWEEPS, l2_control
from perfmodel.tables import check_keys, is_list
from perfmodel.text_files import parse_toml, read_text

KERNELS: Final = Path(__file__).parent / "kernels"
"""Kernel files of what was measured, but is no built-in kernel."""

_CASES: Final = Path(__file__).parent / "cases.toml"
_L2_WORDS: Final = ("normal", "streaming", "persisting")
_KEYS: Final = ("name", "topic", "where", "kernel", "mapping", "params", "use", "cache", "l2")


@dataclass(frozen=True, slots=True)
class Sweep:
    """Rows of one topic that one kernel predicts."""

    name: str  # as the scoreboard calls it
    topic: str
    # A built-in, or a file of `KERNELS`; ``{column}`` stands for what the row says there.
    kernel: str
    params: Mapping[str, str]  # expressions over the row's columns and ``sms``
    # Values that a row must have to belong.
    where: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    mapping: str | None = None
    use: str = "fit"  # "fit" or "validation", for rows that do not say it
    cache: str = ""  # "cold" or "warm" for rows that do not say it, or say it otherwise; else ""
    # Values of which a row must have those of one, if there are any.
    cases: tuple[Mapping[str, Any], ...] = ()
    # L2 control of the launch: the fields of a sweep's ``l2``, over the row's columns.
    l2: Mapping[str, Any] = field(default_factory=dict)

    def holds(self, row: Row) -> bool:
        """Whether a row belongs to the sweep, and a prediction has its protocol."""
        # Rows of the measuring package name their function: none belongs to a sweep that does not.
        named = "function" not in row.values or "function" in self.where
        return (
            named
            and all(row.values.get(k) in v for k, v in self.where.items())
            and (
                not self.cases
                or any(all(row.values.get(k) == v for k, v in c.items()) for c in self.cases)
            )
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

        Raises `PerfmodelError` if an expression needs a column that the row does not have.
        """
        return {
            name: self._value(text, row, {"sms": sms}, name) for name, text in self.params.items()
        }

    def control_of(self, row: Row) -> L2Control:
        """Return what the program asked of L2 before a row's launch."""
        return l2_control({key: self._value(text, row, {}, key) for key, text in self.l2.items()})

    def _value(self, text: Any, row: Row, more: Mapping[str, int], what: str) -> Any:
        """Return an expression over a row's columns; the text of a column that is text."""
        if not isinstance(text, str) or isinstance(row.values.get(text), str):
            return row.values.get(text, text)
        if text in _L2_WORDS or what == "window_buffer":
            return text
        numbers = {k: v for k, v in row.values.items() if not isinstance(v, str)} | dict(more)
        where = f"sweep {self.name!r}, line {row.line} of {row.topic}, {what}"
        number = evaluate(parse(text, where=where), numbers)
        return number if what == "hit_ratio" else int(number)


@lru_cache(maxsize=1)
def sweeps() -> tuple[Sweep, ...]:
    """Return all sweeps that can be predicted, those of ``cases.toml`` first."""
    return (*read_sweeps(_CASES), *measured_sweeps())


def read_sweeps(path: Path) -> list[Sweep]:
    """Return the sweeps of a file such as ``cases.toml``.

    Raises `PerfmodelError` if a key is unknown, missing or of the wrong kind.
    """
    where = f"case file {path.name!r}"
    table = parse_toml(read_text(path, where, "case"), where)
    check_keys(table, ("sweep",), ("sweep",), where)
    entries = table["sweep"]
    if not is_list(entries) or not all(isinstance(entry, Mapping) for entry in entries):
        raise PerfmodelError(f"{where}: sweep must be a list of tables, each under [[sweep]]")
    return [_sweep(entry, f"{where}, sweep {n}") for n, entry in enumerate(entries, 1)]


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
        l2=MappingProxyType(dict(entry.get("l2", {}))),
    )


def measured_sweeps(folder: Path = SWEEPS) -> list[Sweep]:
    """Return the sweeps of the measuring package whose rows a known kernel predicts.

    `folder`: of sweep files, as `perfmodel.measure.sweep` reads them.
    """
    found = []
    known = {*builtin_names(), *(path.stem for path in KERNELS.glob("*.toml"))}
    for path in sorted(folder.glob("*.toml")):
        for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("sweep", ()):
            model = entry.get("model")
            if model and model["kernel"] in known:
                own = {name: _several(values) for name, values in entry.get("vary", {}).items()}
                own |= _constants(entry.get("set", {}))
                own |= {n: _several(values) for n, values in model.get("where", {}).items()}
                found.append(
                    Sweep(
                        name=model.get("name", f"{entry['topic']} {entry['function']}"),
                        topic=entry["topic"],
                        kernel=model["kernel"],
                        mapping=model.get("mapping"),
                        params=MappingProxyType(dict(model.get("params", {}))),
                        where=MappingProxyType({"function": (entry["function"],), **own}),
                        use=entry.get("use", "fit"),
                        cases=tuple(entry.get("cases", ())),
                        l2=MappingProxyType(dict(entry.get("l2", {}))),
                    )
                )
    return found


def _constants(derived: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return the derived parameters that are plain numbers: they tell sweeps of a topic apart."""
    return {n: (int(v),) for n, v in derived.items() if isinstance(v, int) or v.strip().isdecimal()}


def _several(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list) else (value,)


@lru_cache(maxsize=128)
def _kernel(name: str, mapping: str | None) -> Kernel:
    path = KERNELS / f"{name}.toml"
    if name not in builtin_names() and path.is_file():
        return load_kernel(path)
    return find_kernel(name, mapping)
