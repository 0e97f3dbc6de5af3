"""Fitting the intervals again, after measurements or models changed.

    python -m benchmarks.intervals.refit

A measurement folder of programs may hold ``first-look.csv``: what the models said of its launches
before anybody looked at a result. Predictions made later are no such evidence, for what was wrong
with those launches was then looked into.
"""

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.intervals.fit import LEVEL, fit_intervals
from perfmodel.chunks import HERE, Workers
from perfmodel.hardware import device_names, load_device
from perfmodel.measure import folders
from perfmodel.measure.recorded import read_recording
from perfmodel.prediction.interval import INTERVALS
from perfmodel.validation.case import Case
from perfmodel.validation.cases import cases_of

FIRST_LOOKS: Final = tuple(f"source-kernels/h200-sxm/corpus-blind{n}" for n in range(2, 12))
"""Programs whose first looks widen the intervals of translated kernels; later ones judge it."""


def refit_intervals(path: Path = INTERVALS, workers: Workers = HERE) -> None:
    """Fit the intervals to all recorded measurements, ours and published ones, and write them.

    `path`: the data file; by default the one that predictions read. `workers`: who share the
    predictions.

    Raises `PerfmodelError` if the repository's measurements are not there.
    """
    looks = [look for name in FIRST_LOOKS for look in first_looks(folders.repository() / name)]
    ours = {n: found for n, found in folders.measured().items() if n in device_names()}
    # A device outside the catalogue is another one's, with a data sheet: no figures of its own.
    others = {n: found for n, found in folders.published().items() if n in device_names()}
    measured, published = (
        [
            case
            for name, found in origin.items()
            for folder in found
            for case in _cases(name, folder, workers)
        ]
        for origin in (ours, others)
    )
    fitted_on = [
        {case.sweep.split(":")[0] for case in some if case.use == "fit"}
        for some in (measured, published)
    ]
    about = {
        "measured": f"measurements of {', '.join(sorted(fitted_on[0]))}: rows for fitting",
        "published": f"published measurements of {', '.join(sorted(fitted_on[1]))}",
        "date": date.today().isoformat(),
    }
    fit_intervals(measured, published, about, path, translated_over_described(looks))


def _cases(device: str, folder: Path, workers: Workers) -> list[Case]:
    """Return the cases of a folder, those of each kernel a sweep of their own."""
    found = cases_of([read_recording(folder)], load_device(device), use="fit", workers=workers)
    return [replace(case, sweep=f"{device}: {case.sweep}: {case.kernel}") for case in found]


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


if __name__ == "__main__":
    refit_intervals()
