"""The stages of a calibration, as ``stages.toml`` states them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from perfmodel.expressions import evaluate, parse
from perfmodel.measure.recorded import Row

_FILE: Final = Path(__file__).parent / "stages.toml"


@dataclass(frozen=True, slots=True)
class Rows:
    """Which rows take part."""

    topics: tuple[str, ...]
    words: Mapping[str, str] = field(default_factory=dict)  # columns of text that must say so
    where: str = ""  # expression over the row's numbers, ``sms`` and ``l2_bytes``; empty takes all

    def keep(self, row: Row, machine: Mapping[str, Any]) -> bool:
        """Say whether a row takes part: one to fit on, trusted, and kept by `where`."""
        if row.use != "fit" or not row.trusted:
            return False
        if any(row.values.get(name) != word for name, word in self.words.items()):
            return False
        if not self.where:
            return True
        node = parse(self.where)
        numbers = {k: v for k, v in row.values.items() if not isinstance(v, str)}
        known = {**numbers, "sms": machine["sms"], "l2_bytes": machine["l2_bytes"]}
        return bool(evaluate(node, known))


@dataclass(frozen=True, slots=True)
class Reading:
    """A figure that rows tell by themselves: ``factor * median(column) + offset`` in `unit`.

    With `slope`, ``factor`` times the change of its first column over that of its second.
    """

    figure: str
    rows: Rows
    unit: str
    note: str
    column: str = ""
    slope: tuple[str, str] | None = None
    factor: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Fitting:
    """Figures that are changed together, within bounds in SI, until predictions fit the rows."""

    name: str
    rows: Rows
    figures: Mapping[str, tuple[float, float]]


@lru_cache(maxsize=1)
def stages() -> tuple[tuple[Reading, ...], tuple[Fitting, ...]]:
    """Return the readings and the fits, in order."""
    table = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    readings = []
    for entry in table["read"]:
        rows = Rows((entry.pop("topic"),), entry.pop("words", {}), entry.pop("where", ""))
        slope = tuple(entry.pop("slope")) if "slope" in entry else None
        readings.append(Reading(rows=rows, slope=slope, **entry))
    fits = [
        Fitting(
            name=entry["name"],
            rows=Rows(tuple(entry["topics"]), entry.get("words", {}), entry.get("where", "")),
            figures={name: (low, high) for name, (low, high) in entry["figures"].items()},
        )
        for entry in table["fit"]
    ]
    return tuple(readings), tuple(fits)
