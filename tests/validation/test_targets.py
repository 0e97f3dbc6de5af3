"""Targets: what was reached, by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from perfmodel.validation.case import Case
from perfmodel.validation.targets import Reached, reached

Make = Callable[..., Case]


def of(found: list[Reached], name: str) -> dict[tuple[str, str], Reached]:
    return {(r.protocol, r.what): r for r in found if r.name.startswith(name)}


def test_streams_by_hand(case: Make) -> None:
    sizes = [2**20, 2**22, 2**24]
    errors = [0.01, -0.2, 0.03]
    cases = [
        case(use="validation", params={"bytes": b}, predicted_s=1e-3 * (1 + e))
        for b, e in zip(sizes, errors, strict=True)
    ]
    small = case(use="validation", params={"bytes": 4096}, predicted_s=9e-3)
    fit = case(params={"bytes": 2**25}, predicted_s=9e-3)
    found = of(reached([*cases, small, fit]), "copy, read, write")
    median = found["profiler, cold", "median"]
    assert (median.use, median.cases, median.wanted, median.met) == ("validation", 3, 0.04, True)
    assert median.reached == pytest.approx(0.03)
    worst = found["profiler, cold", "worst"]
    assert (worst.wanted, worst.met) == (0.15, False)
    assert worst.reached == pytest.approx(0.2)


def test_protocols_are_judged_apart_and_fit_cases_only_if_there_are_no_others(case: Make) -> None:
    floor = {"kernel": "empty", "params": {"blocks": 1, "block": 32}}
    cases = [
        case(**floor, measured_s=1.5e-6, predicted_s=1.9e-6),
        case(**floor, timing="events", cache="warm", measured_s=4.5e-6, predicted_s=5.8e-6),
        case(kernel="empty", params={"blocks": 9}, measured_s=1e-6, predicted_s=9e-6),
    ]
    found = of(reached(cases), "empty")
    assert {key: (r.use, r.met) for key, r in found.items()} == {
        ("profiler, cold", "worst_us"): ("fit", True),
        ("events, warm", "worst_us"): ("fit", False),
    }
    assert found["events, warm", "worst_us"].reached == pytest.approx(1.3)


def test_the_knee_is_where_the_rate_passes_the_middle(case: Make) -> None:
    # by hand: 8 TB/s up to 4 sizes measured and 5 predicted, 2 TB/s beyond; the middle is 4 TB/s
    cases = [
        case(
            kernel="working-set-read",
            params={"bytes": n * 2**20, "iterations": 10},
            measured_s=n * 2**20 * 10 / (8e12 if n <= 4 else 2e12),
            predicted_s=n * 2**20 * 10 / (8e12 if n <= 5 else 2e12),
        )
        for n in range(1, 9)
    ]
    found = of(reached(cases), "working set")["profiler, cold", "knee_steps"]
    assert (found.wanted, found.reached, found.met) == (1, 1, True)


def test_sets_read_few_times_are_no_knee(case: Make) -> None:
    # by hand: sizes 1, 3, 5, 7 are read ten times, the others twice, and cold: half of it by DRAM
    cases = []
    for n in range(1, 9):
        rate = (8e12 if n <= 5 else 2e12) if n % 2 else (3.2e12 if n <= 5 else 2e12)
        time = n * 2**20 * (10 if n % 2 else 2) / rate
        params = {"bytes": n * 2**20, "iterations": 10 if n % 2 else 2}
        # The flat top's highest place differs.
        other = time * (0.99 if n == 5 else 1.0)
        cases.append(
            case(kernel="working-set-read", params=params, measured_s=time, predicted_s=other)
        )
    found = of(reached(cases), "working set")["profiler, cold", "knee_steps"]
    assert found.reached == 0
