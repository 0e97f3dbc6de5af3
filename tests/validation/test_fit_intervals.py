"""The fit of intervals on residuals whose distribution is known."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.intervals.fit import (
    LEAST_CASES,
    LEAST_HALF_WIDTH,
    Fit,
    filled,
    fit_classes,
    fit_intervals,
    interval_score,
    left_over,
)
from perfmodel import PerfmodelError
from perfmodel.prediction.interval import CLASSES, INTERVALS, NORMAL_90
from perfmodel.validation.case import Case

Make = Callable[..., Case]


def sweep(make: Make, name: str, logs: np.ndarray, **changes: object) -> list[Case]:
    """Cases of a sweep with the given logarithms of measured over predicted."""
    return [
        make(sweep=name, measured_s=1e-3 * math.exp(x), predicted_s=1e-3, **changes) for x in logs
    ]


def normal(make: Make, sweeps: int, shift: float = 0.0, **changes: object) -> list[Case]:
    random = np.random.default_rng(7)
    return [
        case
        for n in range(sweeps)
        for case in sweep(make, f"s{n}", random.normal(shift * (-1) ** n, 0.05, 200), **changes)
    ]


def test_normal_residuals_give_their_quantiles(case: Make) -> None:
    # independent: the central 90% of a normal distribution of standard deviation 0.05
    found, factor = fit_classes(normal(case, 12))
    assert factor == pytest.approx(1.0, abs=0.05)
    assert math.log(found["dram"].high) == pytest.approx(1.645 * 0.05, rel=0.1)
    assert math.log(found["dram"].low) == pytest.approx(-1.645 * 0.05, rel=0.1)
    assert found["dram"].cases == 2400
    assert found["dram"].sweeps == 12
    assert found["dram"].held_out == pytest.approx(0.9, abs=0.02)


def test_sweeps_that_disagree_make_wider_intervals(case: Make) -> None:
    # property: the scatter within each sweep is the same, the sweeps lie apart
    apart, _ = fit_classes(normal(case, 6, shift=0.2))
    alike, _ = fit_classes(normal(case, 6))
    assert math.log(apart["dram"].high) > 0.2
    assert math.log(apart["dram"].high) > 2 * math.log(alike["dram"].high)


def test_validation_cases_do_not_count(case: Make) -> None:
    cases = normal(case, 5)
    wild = sweep(case, "wild", np.full(300, 2.0), use="validation")
    assert fit_classes([*cases, *wild]) == fit_classes(cases)


def test_what_figures_explain_is_taken_off(case: Make) -> None:
    # by hand: 3-4-5; an error of 0.5, of which the figures explain 0.4
    made = case(measured_s=1e-3 * math.exp(-0.5), spread=0.4 / NORMAL_90)
    assert left_over(made) == pytest.approx(-0.3)
    assert left_over(replace(made, spread=1.0)) == 0


def test_no_interval_is_narrower_than_repeats_scatter(case: Make) -> None:
    exact = [c for n in range(3) for c in sweep(case, f"s{n}", np.zeros(20))]
    found, _ = fit_classes(exact)
    assert found["dram"].high == pytest.approx(math.exp(LEAST_HALF_WIDTH))


def test_a_class_without_cases_has_those_of_all(case: Make) -> None:
    found, _ = fit_classes(normal(case, 4))
    assert found["atomics"].cases == 0
    assert math.isinf(found["atomics"].prior_sweeps)
    assert found["atomics"].high == pytest.approx(found["dram"].high, rel=0.1)


def test_too_few_cases_are_refused(case: Make) -> None:
    with pytest.raises(PerfmodelError, match=f"need {LEAST_CASES} cases"):
        fit_classes(sweep(case, "s", np.zeros(LEAST_CASES - 1)))


def test_the_score_by_hand() -> None:
    # Gneiting and Raftery, equation 43, alpha = 0.1: width, and 20 times what lies outside
    assert interval_score(np.array([0.0, 0.3, -0.2]), 0.1, 0.2) == pytest.approx(
        0.3 + 20 * (0 + 0.1 + 0.1) / 3
    )


def test_classes_of_few_cases_are_filled_by_the_ratio() -> None:
    # by hand: widths of exp(2) against exp(1) in the class that both have, so squares elsewhere
    def fit(width: float, prior: float) -> Fit:
        return Fit(math.exp(-width), math.exp(width), 30, 3, prior, 0.9)

    few = {"dram": fit(1.0, 1.0), "l1": fit(9.0, math.inf)}
    many = {"dram": fit(0.5, 1.0), "l1": fit(0.2, 1.0)}
    found, ratio = filled(few, many)
    assert ratio == pytest.approx(2)
    assert found["dram"] == few["dram"]
    assert found["l1"].high == pytest.approx(math.exp(0.4))


def test_few_cases_that_agree_make_no_interval_narrower() -> None:
    few = {"dram": Fit(0.9, 1.01, 30, 3, 1.0, 0.9)}
    many = {"dram": Fit(0.95, 1.2, 900, 30, 1.0, 0.9)}
    found, _ = filled(few, many)
    assert (found["dram"].low, found["dram"].high) == (0.9, 1.2)


def test_the_file_has_every_class_and_where_it_comes_from(case: Make, tmp_path: Path) -> None:
    cases = normal(case, 4)
    fit_intervals(cases, cases, {"measured": "here", "date": "today"}, tmp_path / "i.toml")
    made = tomllib.loads((tmp_path / "i.toml").read_text())
    shipped = tomllib.loads(INTERVALS.read_text())
    for table in (made, shipped):
        assert set(table) == {"about", "measured", "published"}
        for origin in ("measured", "published"):
            assert set(table[origin]) == set(CLASSES)
            for entry in table[origin].values():
                assert entry["low"] < 1 < entry["high"]
    assert made["about"]["measured"] == "here"
    assert shipped["about"]["date"]
    assert shipped["about"]["level"] == 0.9
