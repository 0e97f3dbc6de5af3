"""Scores: how far predictions are from measured times, over groups of cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from perfmodel.arrays import Array
from perfmodel.models.execution import Timing
from perfmodel.prediction.interval import REGIMES
from perfmodel.validation.case import Case


@dataclass(frozen=True, slots=True)
class Judged:
    """A case, and what the baselines said of it."""

    case: Case
    # Times by the data-sheet roofline and by the fitted one [s]; NaN where there is none.
    data_sheet_s: float
    fitted_s: float


@dataclass(frozen=True, slots=True)
class Score:
    """Errors of a group of cases; an error is predicted over measured time, less one."""

    name: str
    cases: int
    # Of the magnitude of the error.
    median: float
    ninetieth: float
    bias: float  # median of the signed error
    coverage: float  # share of the cases whose 90% interval holds the measured time
    # Median of the magnitude of the baselines' errors; NaN where there is none.
    data_sheet: float
    fitted: float


def score(name: str, judged: Sequence[Judged]) -> Score:
    """Return the score of a group of cases; there is at least one."""
    errors = np.array([j.case.error for j in judged])
    measured = np.array([j.case.measured_s for j in judged])
    return Score(
        name=name,
        cases=len(judged),
        median=float(np.median(np.abs(errors))),
        ninetieth=float(np.quantile(np.abs(errors), 0.9)),
        bias=float(np.median(errors)),
        coverage=float(np.mean([j.case.covered for j in judged])),
        data_sheet=_median_error(np.array([j.data_sheet_s for j in judged]), measured),
        fitted=_median_error(np.array([j.fitted_s for j in judged]), measured),
    )


def by_regime(judged: Sequence[Judged]) -> list[Score]:
    """Return a score for each regime that has cases, in the usual order, and one for all."""
    found = _grouped(judged, lambda case: case.regime, REGIMES)
    return [*found, score("all", judged)] if judged else []


def by_protocol(judged: Sequence[Judged]) -> list[Score]:
    """Return a score for each timing and state of L2."""
    order = [f"{timed}, {l2}" for timed in get_args(Timing) for l2 in ("cold", "warm")]
    return _grouped(judged, lambda case: f"{case.timing}, {case.cache}", order)


def by_sweep(judged: Sequence[Judged]) -> list[Score]:
    """Return a score for each sweep and protocol, in the order of the cases."""

    def name(case: Case) -> str:
        return f"{case.sweep} ({case.timing}, {case.cache})"

    return _grouped(judged, name, dict.fromkeys(name(j.case) for j in judged))


def worst(judged: Sequence[Judged], count: int = 10) -> list[Judged]:
    """Return the cases with the largest errors, counting half and double as equally wrong."""

    def wrong(j: Judged) -> float:
        return -abs(math.log(j.case.predicted_s / j.case.measured_s))

    return sorted(judged, key=wrong)[:count]


def _grouped(
    judged: Sequence[Judged], key: Callable[[Case], str], order: Iterable[str]
) -> list[Score]:
    groups: dict[str, list[Judged]] = {name: [] for name in order}
    for j in judged:
        groups.setdefault(key(j.case), []).append(j)
    return [score(name, some) for name, some in groups.items() if some]


def _median_error(times: Array, measured: Array) -> float:
    known = ~np.isnan(times)
    if not known.any():
        return float("nan")
    return float(np.median(np.abs(times[known] / measured[known] - 1)))
