"""Fits of figures: known answers, standard errors, bounds, and what cannot be told."""

import numpy as np
import pytest

from perfmodel.calibration.fit import fit_figures
from perfmodel.errors import PerfmodelError

BYTES = np.array([1e6, 1e7, 1e8, 1e9, 2e9])


def line(values):
    """A floor and a bandwidth, both to be found: independent of the project's models."""
    return values["floor"] + BYTES / values["bandwidth"]


def found(measured, bounds=(1e10, 1e13)):
    start = {"floor": 1e-6, "bandwidth": 1e11}
    limits = {"floor": (1e-7, 1e-4), "bandwidth": bounds}
    return fit_figures(line, start, limits, measured, [f"{b:g}" for b in BYTES])


def test_exact_data_give_the_figures_back():
    fit = found(line({"floor": 3e-6, "bandwidth": 2.5e12}))
    floor, bandwidth = fit.figures
    assert floor.value == pytest.approx(3e-6, rel=1e-5)
    assert bandwidth.value == pytest.approx(2.5e12, rel=1e-5)
    assert not floor.at_bound
    assert np.abs(fit.residuals).max() < 1e-5
    assert np.abs(fit.before_s / fit.measured_s - 1).max() > 0.5


def test_the_standard_error_covers_the_noise():
    # Property: over 40 draws of 2% noise, the true bandwidth lies within two standard errors of
    # what is found about 95% of the times; three times in four must hold by a wide margin.
    rng = np.random.default_rng(1)
    truth = line({"floor": 3e-6, "bandwidth": 2.5e12})
    hits = 0
    for _ in range(40):
        _, bandwidth = found(truth * np.exp(rng.normal(0, 0.02, len(truth)))).figures
        hits += abs(bandwidth.value - 2.5e12) < 2 * bandwidth.standard_error
    assert hits >= 30


def test_an_outlier_moves_the_fit_little():
    measured = line({"floor": 3e-6, "bandwidth": 2.5e12})
    measured[3] *= 1.5
    _, bandwidth = found(measured).figures
    assert bandwidth.value == pytest.approx(2.5e12, rel=0.12)


def test_a_figure_at_its_bound_says_so():
    fit = found(line({"floor": 3e-6, "bandwidth": 2.5e12}), bounds=(1e10, 1e12))
    _, bandwidth = fit.figures
    assert bandwidth.at_bound
    assert bandwidth.value == pytest.approx(1e12, rel=1e-3)


def test_a_figure_that_no_case_depends_on_has_no_error():
    fit = fit_figures(
        lambda values: BYTES / values["bandwidth"],
        {"bandwidth": 1e11, "idle": 1.0},
        {"bandwidth": (1e10, 1e13), "idle": (0.1, 10.0)},
        BYTES / 2e12,
        [""] * len(BYTES),
    )
    assert fit.figures[0].value == pytest.approx(2e12, rel=1e-3)
    assert np.isinf(fit.figures[1].standard_error)


def test_fewer_cases_than_figures_are_refused():
    with pytest.raises(PerfmodelError, match="1 cases cannot tell 2 figures"):
        fit_figures(
            lambda values: np.ones(1) * values["a"] * values["b"],
            {"a": 1.0, "b": 1.0},
            {"a": (0.1, 10.0), "b": (0.1, 10.0)},
            np.ones(1),
            ["one"],
        )
