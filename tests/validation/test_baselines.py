"""The two rooflines, against hand-made launches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from perfmodel.hardware import load_device
from perfmodel.validation.case import Case
from perfmodel.validation.scores import FEWEST_FITTED, data_sheet, fit_constants, fitted

Make = Callable[..., Case]
GPU = load_device("h200-sxm")


def test_the_data_sheet_takes_the_larger_of_two(case: Make) -> None:
    # by hand: 4814.3 GB in a second; 2e12 operations at 1e12 a second take two
    cases = [
        case(roofline_bytes=4814.3e9),
        case(roofline_bytes=4814.3e9, flop=2e12),
        case(roofline_bytes=0.0),
    ]
    assert data_sheet(cases, GPU) == pytest.approx([1.0, 2.0, 0.0])


def launches(make: Make, timing: str, use: str = "fit", floor: float = 5e-6) -> list[Case]:
    """Launches that a roofline with known constants describes: 80%, 40%, a floor."""
    found = []
    for size in np.geomspace(1e4, 1e10, 40):
        for flop in (0.0, 40 * size):
            seconds = floor + max(flop / 0.4e12, size / (0.8 * GPU.dram_bandwidth))
            found.append(
                make(timing=timing, use=use, roofline_bytes=size, flop=flop, measured_s=seconds)
            )
    return found


def test_a_fit_finds_the_constants_that_made_the_times(case: Make) -> None:
    cases = [*launches(case, "profiler"), *launches(case, "events", floor=9e-6)]
    found = fit_constants(cases, GPU)
    for timing, floor in (("profiler", 5e-6), ("events", 9e-6)):
        assert found[timing].bandwidth == pytest.approx(0.8, rel=1e-3)
        assert found[timing].compute == pytest.approx(0.4, rel=1e-3)
        assert found[timing].floor == pytest.approx(floor, rel=1e-3)
        assert found[timing].cases == 80
    times = fitted(cases, GPU, found)
    assert times == pytest.approx([c.measured_s for c in cases], rel=1e-3)


def test_validation_cases_are_not_fitted_on(case: Make) -> None:
    cases = launches(case, "profiler")
    wild = [case(use="validation", measured_s=c.measured_s * 7) for c in cases]
    assert fit_constants([*cases, *wild], GPU) == fit_constants(cases, GPU)


def test_too_few_cases_have_no_fitted_roofline(case: Make) -> None:
    cases = launches(case, "profiler")[: FEWEST_FITTED - 1]
    assert fit_constants(cases, GPU) == {}
    assert np.isnan(fitted(cases, GPU, {})).all()
