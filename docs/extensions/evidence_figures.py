"""Predicted against measured, a figure for each theory page: counters, and times by what binds.

Predictions are those of the committed record (`benchmarks.record`), so that nothing is predicted
while the site is built; a test of the repository holds the record to the models.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.record import store
from perfmodel.measure import folders
from perfmodel.reports import units
from perfmodel.reports.figure_style import BLUE, FAINT, GREY, VERMILION, new_figure
from perfmodel.validation.cases import matched
from perfmodel.validation.validate import find_recordings

ROOT: Final = Path(__file__).parents[2]
DEVICES: Final = ("h100-sxm", "h200-sxm")
_LEAST_COUNT: Final = {"sectors": 1e3, "bytes": 1e6}
"""Counts below it are those of the launch itself as much as of the accesses, by the name's end."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a page shows: counters by their name in the JSON, and times that some terms bind.

    No terms are all of them; None is no times.
    """

    counters: tuple[str, ...]
    terms: tuple[str, ...] | None


EVIDENCE: Final = {
    "launch": Evidence((), ("launch", "dispatch", "ramp")),
    "requests": Evidence(("global_load_sectors", "global_store_sectors"), None),
    "l1": Evidence(("l1_hit_sectors",), ("l1", "lsu")),
    "l2": Evidence(("l2_read_sectors", "l2_write_sectors"), ("l2", "port")),
    "dram": Evidence(("dram_read_bytes", "dram_write_bytes"), ("dram", "writeback")),
    "atomics": Evidence(("l2_atomic_sectors",), ("atomics", "shared-loops")),
    "latency": Evidence((), ("latency", "stalls")),
    "time": Evidence((), ()),
}


@dataclass(frozen=True, slots=True)
class Point:
    """A measured row and its prediction: counts by name, times in seconds."""

    fitted: bool
    bottleneck: str
    values: dict[str, tuple[float, float]]  # measured, predicted


@cache
def points() -> list[Point]:
    """Return all rows of the scoreboard that are recorded."""
    return [point for device in DEVICES for point in _of_device(device)]


def _of_device(device: str) -> Iterator[Point]:
    recorded = store.read(ROOT / "benchmarks" / "record" / f"{device}.xz")
    for recording in find_recordings(device):
        folder = folders.name(recording.folder)
        for sweep, row in matched(recording):
            found = recorded[f"{device} {folder} {row.topic} {row.line}"]
            terms = {name[5:]: v for name, v in found.items() if name.startswith("term ")}
            values = {
                name[8:]: (float(row.values[name[8:]]), v)
                for name, v in found.items()
                if name.startswith("traffic ") and row.values.get(name[8:]) not in (None, "")
            }
            if "dram_write_bytes" in values:  # counted over all passes of the profiler
                measured, once = values["dram_write_bytes"]
                values["dram_write_bytes"] = measured, once + found["traffic dram_replay_bytes"]
            if row.time_s is not None:
                values["time"] = (row.time_s, found["time_s"])
            yield Point(sweep.use_of(row) == "fit", max(terms, key=terms.__getitem__), values)


def draw_all(source: Path) -> None:
    """Draw the figure of every page below the site's sources."""
    folder = source / "generated" / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    for page in EVIDENCE:
        _draw(page, folder / f"evidence-{page}.svg")


def drawn(page: str) -> tuple[str, str] | None:
    """Return a page's figure, as a path from the sources, and what it shows with the numbers."""
    if page not in EVIDENCE:
        return None
    told = " ".join(_told(name, some) for name, some in _series(page).items())
    return f"generated/figures/evidence-{page}.svg", (
        f"Each point is a measured launch of the scoreboard, on {' or '.join(DEVICES)}; orange "
        f"ones are among those that coefficients were fitted on; the band is within 10%. {told}"
    )


def _series(page: str) -> dict[str, list[Point]]:
    evidence = EVIDENCE[page]
    found = {
        name: [
            p
            for p in points()
            if name in p.values and p.values[name][0] >= _LEAST_COUNT[name.rpartition("_")[2]]
        ]
        for name in evidence.counters
    }
    if evidence.terms is not None:
        found["time"] = [
            p
            for p in points()
            if "time" in p.values and (not evidence.terms or _binds(p, evidence.terms))
        ]
    return found


def _binds(point: Point, terms: tuple[str, ...]) -> bool:
    return point.bottleneck in terms or ("atomics" in terms and "atomic" in point.bottleneck)


def _told(name: str, some: list[Point]) -> str:
    unseen = [p for p in some if not p.fitted] or some
    pairs = np.array([p.values[name] for p in unseen])
    errors = np.abs(pairs[:, 1] / pairs[:, 0] - 1)
    kind = "never fitted on" if any(not p.fitted for p in some) else "all of them fitted on"
    return (
        f"`{name}`: {len(unseen)} launches {kind}, median error {np.median(errors):.1%}, "
        f"90th percentile {np.quantile(errors, 0.9):.1%}."
    )


def _draw(page: str, path: Path) -> None:
    series = _series(page)
    with new_figure(4.4 * len(series), 3.6, layout="constrained") as figure:
        for axes, (name, some) in zip(
            np.atleast_1d(figure.subplots(1, len(series))), series.items(), strict=True
        ):
            _panel(axes, name, some)
        figure.savefig(path, format="svg", metadata={"Date": None}, dpi=140)


def _panel(axes: Any, name: str, some: list[Point]) -> None:
    axes.set_rasterization_zorder(4)  # thousands of points are one picture
    axes.axhspan(1 / 1.1, 1.1, color=FAINT, linewidth=0, zorder=0)
    axes.axhline(1, color=GREY, linewidth=0.8, zorder=1)
    for fitted, colour in ((True, VERMILION), (False, BLUE)):
        pairs = np.array([p.values[name] for p in some if p.fitted is fitted]).reshape(-1, 2)
        axes.scatter(
            pairs[:, 0], pairs[:, 1] / pairs[:, 0], s=5, color=colour, alpha=0.5, linewidths=0
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(0.25, 4)
    axes.set_yticks([0.25, 0.5, 1, 2, 4], ["0.25", "0.5", "1", "2", "4"])
    axes.minorticks_off()
    if name == "time":
        axes.xaxis.set_major_formatter(lambda value, _: units.seconds(value))
    axes.set_xlabel(f"measured {name}")
    axes.set_ylabel("predicted over measured")
