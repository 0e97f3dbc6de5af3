"""Scores: how far predictions, and baselines beside them, are from measured times.

Baselines are what a roofline would have said of the same cases. Both rooflines are given the bytes
of every array once, as one would count by hand, or the DRAM bytes that perfmodel predicts, caches
and all, if those are more.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware import Device
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


def worst(judged: Sequence[Judged]) -> list[Judged]:
    """Return the ten cases with the largest errors, counting half and double as equally wrong."""

    def wrong(j: Judged) -> float:
        return -abs(math.log(j.case.predicted_s / j.case.measured_s))

    return sorted(judged, key=wrong)[:10]


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


FEWEST_FITTED = 10
"""Cases that a fit of three constants needs at least."""


@dataclass(frozen=True, slots=True)
class Constants:
    """A roofline's fitted constants."""

    # Shares of the data sheet's peaks that are reached.
    bandwidth: float
    compute: float
    floor: float  # time of a launch that does nothing [s]
    cases: int  # that they were fitted on


def data_sheet(cases: Sequence[Case], device: Device) -> Array:
    """Return times by the data-sheet roofline [s]: FLOP or bytes over peak."""
    return _roofline(cases, device, Constants(1.0, 1.0, 0.0, 0))


def fit_constants(cases: Sequence[Case], device: Device) -> dict[str, Constants]:
    """Return the constants of the fitted roofline, by timing; fitted on fit cases only.

    Robust least squares on the logarithm of the time, bounded to what a GPU can do. Cases for
    validation are left out, and a timing with fewer than `FEWEST_FITTED` others gets none.
    """
    fitted = {}
    for timing in sorted({case.timing for case in cases}):
        some = [case for case in cases if case.timing == timing and case.use == "fit"]
        if len(some) < FEWEST_FITTED:
            continue
        fitted[timing] = _fit(some, device)
    return fitted


def fitted(cases: Sequence[Case], device: Device, constants: Mapping[str, Constants]) -> Array:
    """Return times by the fitted roofline [s]; NaN where no constants fit a case's timing."""
    times = np.full(len(cases), np.nan)
    for timing, values in constants.items():
        chosen = np.array([case.timing == timing for case in cases], dtype=bool)
        times[chosen] = _roofline([c for c in cases if c.timing == timing], device, values)
    return times


def _roofline(cases: Sequence[Case], device: Device, constants: Constants) -> Array:
    flop = np.array([case.flop / case.flop_peak for case in cases])
    moved = np.array([case.roofline_bytes / device.dram_bandwidth for case in cases])
    return constants.floor + np.maximum(flop / constants.compute, moved / constants.bandwidth)


def _fit(cases: Sequence[Case], device: Device) -> Constants:
    from scipy.optimize import least_squares  # only for this

    measured = np.log([case.measured_s for case in cases])
    shortest = float(np.exp(measured.min()))

    def residual(logs: Array) -> Array:
        bandwidth, compute, floor = np.exp(logs)
        times = _roofline(cases, device, Constants(bandwidth, compute, floor, 0))
        return np.asarray(np.log(times) - measured)

    bounds = (np.log([1e-3, 1e-4, shortest / 10]), np.log([1.0, 1.0, shortest * 10]))
    # Kernels that are far from any peak make several minima: the best of a few starts.
    tries = [
        least_squares(
            residual,
            np.log([0.9, compute, shortest]),
            bounds=bounds,
            loss="soft_l1",
            f_scale=0.1,
        )
        for compute in (0.01, 0.1, 0.9)
    ]
    bandwidth, compute, floor = np.exp(min(tries, key=lambda found: found.cost).x)
    return Constants(float(bandwidth), float(compute), float(floor), len(cases))
