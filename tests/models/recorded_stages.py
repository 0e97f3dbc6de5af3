"""What stands between a launch and its time, of launches of the record, as digests.

Requests, traffic of each access, what is said beside the time (interval, warnings, what closed form
and simulator differ by, bytes in flight), and what formulas are given and give, change with many a
line of the models that does not move the time. `python tests/models/recorded_stages.py` writes recorded_stages.toml anew: needed
where these are meant to change, or line_launches.txt does.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from formula_launches import first_noted, of_source

from perfmodel import Prediction
from perfmodel.prediction.conditions import by_the_models
from perfmodel.prediction.littles_law import littles_law

FILE: Final = Path(__file__).with_suffix(".toml")
LAUNCHES: Final = [
    line
    for line in Path(__file__).with_name("line_launches.txt").read_text("utf-8").splitlines()
    if not line.startswith("#") and not of_source(line)
]
PARTS: Final = ("requests", "traffic", "reliability", "bytes in flight", "formulas")
_DESCRIBED: Final = ("access", "variables", "strides")
"""Fields that are of the kernel, and of no stage."""


@cache
def recorded() -> dict[str, str]:
    """Return the digests of each launch, in the order of `PARTS`."""
    return dict(tomllib.loads(FILE.read_text("utf-8")))


def digests(launch: str) -> str:
    """Return the digests of a launch as the models are now."""
    with by_the_models():
        found, formulas = first_noted(launch)
        return " ".join([*map(_digest, _parts(found)), formulas])


def _parts(found: Prediction) -> Iterator[Any]:
    yield found.details.requests
    yield found.details.traffic, found.over_fetch, found.roofline, found.occupancy
    differences = found.behind.differences.numbers()
    yield found.interval_s, found.figure_spread, found.warnings, differences
    yield littles_law(found).to_json()


def _digest(part: Any) -> str:
    return hashlib.sha256("\n".join(_texts(part)).encode()).hexdigest()[:8]


def _texts(value: Any) -> Iterator[str]:
    """Yield a record's numbers and words, to the digits that any machine agrees on."""
    if isinstance(value, str | bool) or value is None:
        yield str(value)
    elif isinstance(value, int | float | np.number | np.ndarray):
        # a remainder of large numbers is noise; seconds of a launch are 1e-7 and more
        yield from (f"{0.0 if abs(x) < 1e-12 else x:.8g}" for x in np.ravel(value).astype(float))
    elif isinstance(value, Mapping):
        for name in sorted(value):
            yield from _texts(value[name])
    elif is_dataclass(value):
        for each in fields(value):
            if each.name not in _DESCRIBED:
                yield from _texts(getattr(value, each.name))
    elif isinstance(value, Sequence):
        for item in value:
            yield from _texts(item)


def main() -> None:
    lines = [f'"{launch}" = "{digests(launch)}"\n' for launch in LAUNCHES]
    FILE.write_text("# Written by recorded_stages.py.\n" + "".join(lines), "utf-8")


if __name__ == "__main__":
    main()
