"""Intervals of what libraries run, by architecture, fitted to rows that others published.

Where only others measured a GPU's libraries, residuals of our own measurements say too little.
The classes of ``libraries.toml`` are predicted for published rows
(``measurements/published/libraries``), one half of them, by hash, for fitting: the 5% and 95%
quantiles of measured over predicted times, every source counting alike, are the interval; of the
other half it is said which share lies inside.

    python -m benchmarks.intervals.libraries
"""

import csv
import hashlib
import math
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.intervals.fit import central
from perfmodel.errors import PerfmodelError
from perfmodel.hardware import load_device
from perfmodel.measure import folders
from perfmodel.prediction.interval import LIBRARY, WiderInterval
from perfmodel.prediction.predict import predict

CLASSES: Final = Path(__file__).with_suffix(".toml")
FOLDER: Final = "libraries"
_COMMENT: Final = """\
# Where 90% of the times that others published of libraries' kernels lie, over predicted
# ones: 5% and 95% quantiles of the rows for fitting, every source counting alike. before
# and held_out: shares of the other rows inside the interval of residuals of our own
# measurements, and inside the wider of both. Rows, sources and licences:
# measurements/published/libraries. Written by benchmarks.intervals.libraries.

"""


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


def read_rows(folder: Path | None = None) -> tuple[LibraryRow, ...]:
    """Return the published rows.

    `folder`: of ``rows.csv`` and ``sources.toml``; by default that of the repository.
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
    own = found.uncertainty.own_interval(found.figure_spread, found.time_s)
    return LibraryCase(row, found.time_s, own)


def fitted(cases: Sequence[LibraryCase], each: LibraryClass | None = None) -> WiderInterval:
    """Return the interval of a class by the cases for fitting, and what it says of the others.

    Every source counts alike.

    Raises `PerfmodelError` if one half is empty.
    """
    fit = [c for c in cases if c.row.use == "fit"]
    rest = [c for c in cases if c.row.use != "fit"]
    if not fit or not rest:
        raise PerfmodelError(f"{len(fit)} rows for fitting and {len(rest)} others: both are needed")
    every = Counter(c.row.source for c in fit)
    weights = np.array([1 / every[c.row.source] for c in fit])
    ends = central(np.log([c.ratio for c in fit]), weights)
    low, high = min(math.exp(ends[0]), 1.0), max(math.exp(ends[1]), 1.0)
    median = float(np.median([c.ratio for c in cases]))
    sources = ", ".join(sorted({c.row.source for c in cases}))
    words = {} if each is None else asdict(each)
    words.pop("workload", None)
    return WiderInterval(
        **{"name": "", **words},
        low=low,
        high=high,
        because=f"against {len(cases)} published times ({sources}) the models read "
        f"{abs(1 - 1 / median):.0%} {'too short' if median >= 1 else 'too long'} in the median",
        rows=len(fit),
        held_out_rows=len(rest),
        before=float(np.mean([c.inside() for c in rest])),
        held_out=float(np.mean([c.inside(low, high) for c in rest])),
    )


def fit_libraries() -> None:
    """Predict all rows, fit the intervals and write the data file that predictions read."""
    import tomli_w

    rows, classes = read_rows(), read_classes()
    tables = []
    for each in classes:
        cases = (predicted_case(row, each.mapping) for row in rows if each.has(row))
        found = asdict(fitted([case for case in cases if case is not None], each))
        rounded = {k: round(v, 3) if isinstance(v, float) else v for k, v in found.items()}
        tables.append({k: v for k, v in rounded.items() if v not in ("", (), frozenset(), None)})
    LIBRARY.write_text(_COMMENT + tomli_w.dumps({"interval": tables}), encoding="utf-8")


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


if __name__ == "__main__":
    fit_libraries()
