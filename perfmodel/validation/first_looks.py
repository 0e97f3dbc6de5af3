"""How much wider the intervals of kernels translated from PTX must be, from first looks.

A measurement folder of programs may hold ``first-look.csv``: what the models said of its launches
before anybody looked at a result. Predictions made later are no such evidence, for what was wrong
with those launches was then looked into.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from perfmodel.validation.intervals import LEVEL

FILE: Final = "first-look.csv"


@dataclass(frozen=True, slots=True)
class FirstLook:
    """A launch that was predicted and then measured."""

    kernel: str
    # Time, its 90% interval, and what it was [us].
    predicted: float
    low: float
    high: float
    measured: float
    widened: float = 1.0  # power of a described kernel's interval that this one is

    @property
    def power(self) -> float:
        """Least power of a described kernel's interval that holds the measured time."""
        end = self.high if self.measured > self.predicted else self.low
        off = math.log(self.measured / self.predicted) / math.log(end / self.predicted)
        return off * self.widened


def first_looks(folder: Path) -> tuple[FirstLook, ...]:
    """Return the first looks of a folder of measured programs; none where it has no such file."""
    path = folder / FILE
    if not path.is_file():
        return ()
    times = {_key(row): float(row["time_us"]) for row in _rows(folder / "corpus.csv")}
    return tuple(
        FirstLook(
            row["kernel"],
            float(row["predicted_us"]),
            float(row["low_us"]),
            float(row["high_us"]),
            times[_key(row)],
            float(row.get("widened") or 1),
        )
        for row in _rows(path)
    )


def translated_over_described(looks: Sequence[FirstLook]) -> float:
    """Return the power of a described kernel's interval that holds 90% of translated ones."""
    if not looks:
        return 1.0
    # the least of the powers at hand that holds as many: no interpolation between few launches
    powers = [look.power for look in looks]
    return max(1.0, float(np.quantile(powers, LEVEL, method="inverted_cdf")))


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _key(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in ("source", "launch", "timing", "cache"))
