"""Baselines: what a roofline would have said of the same cases.

Both are given the bytes of every array once, as one would count by hand, or the DRAM bytes that
perfmodel predicts, caches and all, if those are more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware import Device
from perfmodel.validation.case import Case

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
