"""What stands between a launch and its time, of launches of the record, as digests.

Requests, traffic of each access, what is said beside the time (interval, warnings, what closed form
and simulator differ by, bytes in flight), what the time is made of, and what formulas and functions
give, change with many a line of the models that does not move the time.
`python tests/models/recorded_stages.py` writes recorded_stages.toml anew, with nvcc: needed where
these are meant to change, or line_launches.txt does.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from digests import of_record
from formula_launches import first_noted, of_source
from last_bits import steady

from perfmodel import Prediction
from perfmodel.prediction.conditions import by_the_models
from perfmodel.prediction.littles_law import littles_law

FILE: Final = Path(__file__).with_suffix(".toml")
_LINES: Final = [
    line
    for line in Path(__file__).with_name("line_launches.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
]
LAUNCHES: Final = [line for line in _LINES if not of_source(line)]
OF_SOURCES: Final = [line for line in _LINES if of_source(line)]
"""Which need nvcc: of what measured programs are translated to, much is in no built-in."""
WITH_INTERVAL: Final = frozenset(LAUNCHES[::4])
"""Of these the interval too, which takes as long as all else."""
PARTS: Final = ("requests", "traffic", "reliability", "bytes in flight", "time", "formulas")


@cache
def recorded() -> dict[str, str]:
    """Return the digests of each launch, in the order of `PARTS`."""
    return dict(tomllib.loads(FILE.read_text("utf-8")))


def digests(launch: str) -> str:
    """Return the digests of a launch as the models are now."""
    with by_the_models():
        found, formulas = first_noted(launch)
        return " ".join([*map(of_record, _parts(found, launch in WITH_INTERVAL)), formulas])


def _parts(found: Prediction, interval: bool) -> Iterator[Any]:
    requests = *found.details.requests, *found.details.on_chip
    yield requests, [r.useful_bytes for r in requests]
    yield found.details.traffic, found.over_fetch, found.roofline, found.occupancy
    spread = (found.interval_s, found.figure_spread) if interval else ()
    yield spread, found.warnings, {"bytes": found.behind.differences.numbers()}
    yield littles_law(found).to_json()
    yield found.details.time


def every() -> dict[str, str]:
    """Return the digests of every launch."""
    return {launch: digests(launch) for launch in (*LAUNCHES, *OF_SOURCES)}


def main() -> None:
    found = steady("recorded_stages", every())
    lines = [f'"{launch}" = "{text}"\n' for launch, text in found.items()]
    FILE.write_text("# Written by recorded_stages.py.\n" + "".join(lines), "utf-8")


if __name__ == "__main__":
    main()
