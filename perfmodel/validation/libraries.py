"""Intervals of what libraries run, by architecture, fitted to rows that others published.

Where only others measured a GPU's libraries, residuals of our own measurements say too little.
The classes of ``libraries.toml`` are predicted for published rows
(``measurements/published/libraries``), one half of them, by hash, for fitting: the 5% and 95%
quantiles of measured over predicted times, every source counting alike, are the interval; of the
other half it is said which share lies inside.

python -c "from perfmodel.validation.libraries import fit_libraries; fit_libraries()"
"""

from __future__ import annotations

import csv
import hashlib
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from perfmodel.errors import PerfmodelError
from perfmodel.hardware import load_device
from perfmodel.measure import folders
from perfmodel.prediction.interval import own_interval
from perfmodel.prediction.predict import predict
from perfmodel.prediction.wider import LIBRARY
from perfmodel.validation.intervals import LEVEL

CLASSES: Final = Path(__file__).with_suffix(".toml")
FOLDER: Final = "libraries"
Progress = Callable[[int, int], Any]


@dataclass(frozen=True, slots=True)
class LibraryRow:
    """A published time of a library's kernel."""

    # As `LibraryClass` has them; a key of the sources; a built-in kernel.
    workload: str
    device: str
    source: str
    kernel: str
    params: dict[str, Any]
    cache: str  # state of L2 that comes nearest to the protocol
    time_s: float  # published [s]
    use: str  # "fit", or "validation" where the last byte of the SHA-256 of the row's text is odd


@dataclass(frozen=True, slots=True)
class LibraryClass:
    """What a library runs on an architecture; see ``libraries.toml``."""

    name: str
    workload: str
    kernel: str
    compute_capability: str
    mapping: str = ""
    precisions: tuple[str, ...] = ()

    def has(self, row: LibraryRow) -> bool:
        """Say whether a row is of it."""
        same = (row.workload, row.kernel) == (self.workload, self.kernel)
        return same and load_device(row.device).compute_capability == self.compute_capability


@dataclass(frozen=True, slots=True)
class LibraryCase:
    """A row and its prediction."""

    row: LibraryRow
    predicted_s: float
    own_s: tuple[float, float]  # interval by the residuals of the prediction's own class [s]

    @property
    def ratio(self) -> float:
        """Measured over predicted time."""
        return self.row.time_s / self.predicted_s

    def inside(self, low: float = 1.0, high: float = 1.0) -> bool:
        """Say whether its own interval holds the time, or one with these factors does."""
        least, most = self.own_s
        least, most = min(least, low * self.predicted_s), max(most, high * self.predicted_s)
        return least <= self.row.time_s <= most


@dataclass(frozen=True, slots=True)
class LibraryFit:
    """The interval of a class."""

    # Factors of the predicted time.
    low: float
    high: float
    median: float  # of measured over predicted times, of all rows
    rows: int
    held_out_rows: int
    # Share of the left-out rows inside the interval of their own residuals, and of this one.
    before: float
    held_out: float


def read_rows(folder: Path | None = None) -> tuple[LibraryRow, ...]:
    """Return the published rows.

    Parameters
    ----------
    folder : Path, optional
        Of ``rows.csv`` and ``sources.toml``; by default that of the repository.
    """
    folder = folder or folders.repository() / folders.PUBLISHED / FOLDER
    sources = tomllib.loads((folder / "sources.toml").read_text(encoding="utf-8"))
    with (folder / "rows.csv").open(encoding="utf-8", newline="") as file:
        return tuple(_row(row, sources) for row in csv.DictReader(file))


def read_classes() -> tuple[LibraryClass, ...]:
    """Return the classes of ``libraries.toml``."""
    tables: list[dict[str, Any]] = tomllib.loads(CLASSES.read_text(encoding="utf-8"))["class"]
    return tuple(
        LibraryClass(**{**t, "precisions": tuple(t.get("precisions", ()))}) for t in tables
    )


def predicted_case(row: LibraryRow, mapping: str) -> LibraryCase | None:
    """Return a row with its prediction; None where the kernel cannot be launched so."""
    try:
        found = predict(
            row.kernel,
            mapping=mapping or None,
            device=row.device,
            cache="warm" if row.cache == "warm" else "cold",
            **row.params,
        )
    except PerfmodelError:
        return None
    own = own_interval(found.details, found.bottleneck, found.figure_spread, found.time_s)
    return LibraryCase(row, found.time_s, own)


def fitted(cases: Sequence[LibraryCase]) -> LibraryFit:
    """Return the interval of the cases for fitting, and what it says of the others.

    Raises
    ------
    PerfmodelError
        If one half is empty.
    """
    fit = [c for c in cases if c.row.use == "fit"]
    rest = [c for c in cases if c.row.use != "fit"]
    if not fit or not rest:
        raise PerfmodelError(f"{len(fit)} rows for fitting and {len(rest)} others: both are needed")
    low, high = (_quantile(fit, q) for q in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    low, high = min(low, 1.0), max(high, 1.0)
    return LibraryFit(
        low=low,
        high=high,
        median=float(np.median([c.ratio for c in cases])),
        rows=len(fit),
        held_out_rows=len(rest),
        before=float(np.mean([c.inside() for c in rest])),
        held_out=float(np.mean([c.inside(low, high) for c in rest])),
    )


def fit_libraries(path: Path = LIBRARY, progress: Progress | None = None) -> None:
    """Predict all rows, fit the intervals and write the data file that predictions read.

    Parameters
    ----------
    progress : callable, optional
        Is told how many classes of how many are done.
    """
    rows, classes = read_rows(), read_classes()
    lines = [
        "# Where 90% of the times that others published of libraries' kernels lie, over predicted",
        "# ones: 5% and 95% quantiles of the rows for fitting, every source counting alike. before",
        "# and held_out: shares of the other rows inside the interval of residuals of our own",
        "# measurements, and inside the wider of both. Rows, sources and licences:",
        "# measurements/published/libraries. Written by perfmodel.validation.libraries.",
    ]
    for done, each in enumerate(classes):
        if progress is not None:
            progress(done, len(classes))
        cases = (predicted_case(row, each.mapping) for row in rows if each.has(row))
        lines += _table(each, [case for case in cases if case is not None])
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _table(each: LibraryClass, cases: Sequence[LibraryCase]) -> list[str]:
    """Return the lines of a class's interval."""
    found = fitted(cases)
    sources = sorted({case.row.source for case in cases})
    off = abs(1 - 1 / found.median)
    way = "too short" if found.median >= 1 else "too long"
    because = (
        f"against {len(cases)} published times ({', '.join(sources)}) the models read {off:.0%} "
        f"{way} in the median"
    )
    words = {"kernel": each.kernel, "mapping": each.mapping}
    words["compute_capability"] = each.compute_capability
    return [
        "",
        "[[interval]]",
        f'name = "{each.name}"',
        *(f'{key} = "{value}"' for key, value in words.items() if value),
        *([f"precisions = [{_quoted(each.precisions)}]"] if each.precisions else []),
        f"low = {found.low:.3f}",
        f"high = {found.high:.3f}",
        f'because = "{because}"',
        f"rows = {found.rows}",
        f"held_out_rows = {found.held_out_rows}",
        f"before = {found.before:.3f}",
        f"held_out = {found.held_out:.3f}",
    ]


def _quoted(words: Iterable[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)


def _quantile(cases: Sequence[LibraryCase], share: float) -> float:
    """Return a quantile of measured over predicted times, every source counting alike."""
    every = {c.row.source: sum(o.row.source == c.row.source for o in cases) for c in cases}
    ordered = sorted(cases, key=lambda c: c.ratio)
    weights = np.array([1 / every[c.row.source] for c in ordered])
    centres = np.cumsum(weights) - weights / 2
    logs = np.log([c.ratio for c in ordered])
    return float(np.exp(np.interp(share * weights.sum(), centres, logs)))


def _row(row: dict[str, str], sources: dict[str, Any]) -> LibraryRow:
    words = (word.partition("=") for word in row["params"].split())
    text = ",".join(row.values())
    odd = hashlib.sha256(text.encode()).digest()[-1] % 2
    return LibraryRow(
        workload=row["workload"],
        device=row["device"],
        source=row["source"],
        kernel=row["kernel"].partition("/")[0],
        params={name: int(v) if v.isdigit() else v for name, _, v in words},
        cache=sources[row["source"]]["cache"],
        time_s=float(row["time_us"]) * 1e-6,
        use="validation" if odd else "fit",
    )
