"""Drawn kernels, and what the models say of them: times, and digests of what stands before them.

The numbers of `SEEDS` are of kernels that run lines of the models which other recorded launches do
not run, or seldom. `python tests/models/recorded_kernels.py` writes recorded_kernels.toml anew:
needed where predictions are meant to change.
"""

from __future__ import annotations

import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from digests import noted, of_lines, of_record
from drawn_kernels import drawn
from last_bits import steady

from perfmodel.prediction import predict, predict_many
from perfmodel.prediction.conditions import by_the_models

FILE: Final = Path(__file__).with_suffix(".toml")
PARTS: Final = ("time", "requests", "traffic", "formulas", "time of several", "their formulas")
_SEVERAL: Final = 4
"""Of so many kernels one is predicted at several sizes at once too, which takes longer."""
_FACTORS: Final = (1, 3, 20)
"""By which those sizes differ."""


@cache
def recorded() -> dict[str, str]:
    """Return what is recorded of each kernel, by its number, in the order of `PARTS`."""
    return dict(tomllib.loads(FILE.read_text("utf-8")))


def said(seed: int) -> str:
    """Return what the models say now of a kernel alone, and of some with others of its sizes."""
    kernel, launch = drawn(seed)
    with by_the_models():
        with noted() as lines:
            found = predict(kernel, **launch)
        details = found.details
        requests = *details.requests, *details.on_chip
        differences = found.behind.differences.numbers()
        parts = [
            of_record((details.time, found.occupancy)),
            of_record((requests, [r.useful_bytes for r in requests])),
            of_record((details.traffic, found.over_fetch, {"bytes": differences})),
            of_lines(lines),
        ]
        if seed % _SEVERAL == 0:
            sizes = [launch["n"] * factor for factor in _FACTORS]
            with noted() as lines:
                several = predict_many(kernel, **launch | {"n": sizes})
            parts += [
                of_record((several.time_s, several.terms_s, several.traffic)),
                of_lines(lines),
            ]
    return " ".join(parts)


def every() -> dict[str, str]:
    """Return what the models say now of every kernel."""
    return {seed: said(int(seed)) for seed in recorded()}


def main() -> None:
    lines = [f'{k} = "{text}"\n' for k, text in steady("recorded_kernels", every()).items()]
    FILE.write_text("# Written by recorded_kernels.py.\n" + "".join(lines), "utf-8")


if __name__ == "__main__":
    main()
