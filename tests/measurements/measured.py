"""Reader of the measurements that the tests hold the models against."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from perfmodel.prediction.predict import predict_many

FOLDER = Path(__file__).parents[2] / "measurements" / "suite/h200-sxm/foundation"
TEXT = (
    *("operator", "impl", "dtype"),
    *("kernel", "mapping", "pattern", "timing", "cache", "state", "level"),
    *("function", "use", "stream", "flag"),
)


def rows(topic: str, folder: Path = FOLDER, **wanted: Any) -> list[dict[str, Any]]:
    """Return the rows of a topic ("gemm": gemm.csv), or those with the given values.

    Numbers are int or float, `offsets` a tuple of 32 byte offsets, and a column that says nothing
    about a row is absent from it: ``rows("gemm", mapping="naive", timing="profiler")``. There is
    one row at least.
    """
    parsed = _parsed(folder / f"{topic}.csv")
    found = [dict(row) for row in parsed if all(row.get(k) == v for k, v in wanted.items())]
    assert found, f"{topic}.csv has no row with {wanted}"  # a loop over none would test nothing
    return found


@cache
def _parsed(path: Path) -> list[dict[str, Any]]:
    with path.open(newline="") as file:
        return [
            {name: _value(name, cell) for name, cell in row.items() if cell != ""}
            for row in csv.DictReader(file)
        ]


def times(launches: Iterable[dict[str, Any]], sizes: Iterable[str]) -> np.ndarray:
    """Return predicted times of launches, each as arguments of `predict`, in their order [s].

    Launches that differ in `sizes` alone are predicted together.
    """
    found, together = list(launches), frozenset(sizes)
    groups: dict[Any, list[int]] = {}
    for at, launch in enumerate(found):
        alike = {k: None if k in together else v for k, v in launch.items()}
        groups.setdefault(tuple(sorted(alike.items(), key=lambda i: i[0])), []).append(at)
    result = np.empty(len(found))
    for places in groups.values():
        given: dict[str, Any] = dict(found[places[0]])
        for name in together & given.keys():
            given[name] = np.array([found[at][name] for at in places])
        result[places] = predict_many(**given).time_s
    return result


def topics() -> list[str]:
    """Return the names of the topics, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.csv"))


def _value(name: str, cell: str) -> Any:
    if name == "offsets":
        return tuple(int(offset) for offset in cell.split())
    if name in TEXT:
        return cell
    try:
        return float(cell) if "." in cell else int(cell)
    except ValueError:  # a grid of several dimensions
        return cell
