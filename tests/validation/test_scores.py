"""Scores, against numbers worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from perfmodel.validation.case import Case
from perfmodel.validation.scores import Judged, by_protocol, by_regime, by_sweep, score, worst

Make = Callable[..., Case]
NAN = math.nan


@pytest.fixture
def four(case: Make) -> list[Judged]:
    # predicted over measured, less one: +10%, -50%, +30%, 0%; intervals are a factor of 1.2
    found = []
    for ratio, regime, timing in (
        (1.1, "dram", "profiler"),
        (0.5, "l1", "profiler"),
        (1.3, "dram", "events"),
        (1.0, "dram", "events"),
    ):
        made = case(
            predicted_s=ratio * 1e-3,
            low_s=ratio * 1e-3 / 1.2,
            high_s=ratio * 1e-3 * 1.2,
            regime=regime,
            timing=timing,
            cache="cold" if timing == "profiler" else "warm",
        )
        found.append(Judged(made, 2e-3, 0.9e-3 if timing == "events" else NAN))
    return found


def test_a_score_by_hand(four: list[Judged]) -> None:
    found = score("all", four)
    assert found.cases == 4
    assert found.median == pytest.approx((0.1 + 0.3) / 2)  # of 0, 0.1, 0.3, 0.5
    assert found.ninetieth == pytest.approx(0.3 + 0.7 * 0.2)  # at place 2.7 of 0 to 3
    assert found.bias == pytest.approx((0 + 0.1) / 2)  # of -0.5, 0, 0.1, 0.3
    assert found.coverage == 0.5  # 1.1 and 1.0 hold 1; 0.5*1.2 and 1.3/1.2 do not
    assert found.data_sheet == pytest.approx(1.0)
    assert found.fitted == pytest.approx(0.1)  # the two that have one


def test_groups_have_their_own_scores_and_a_whole(four: list[Judged]) -> None:
    regimes = by_regime(four)
    assert [(s.name, s.cases) for s in regimes] == [("l1", 1), ("dram", 3), ("all", 4)]
    assert regimes[0].bias == pytest.approx(-0.5)
    assert [(s.name, s.cases) for s in by_protocol(four)] == [
        ("profiler, cold", 2),
        ("events, warm", 2),
    ]
    assert [s.name for s in by_sweep(four)] == ["copy (profiler, cold)", "copy (events, warm)"]
    assert by_regime([]) == by_protocol([]) == by_sweep([]) == []


def test_half_is_as_wrong_as_double(four: list[Judged], case: Make) -> None:
    double = Judged(case(predicted_s=1.9e-3), 1.0, 1.0)
    found = [j.case.error for j in worst([*four, double])[:2]]
    assert found == pytest.approx([-0.5, 0.9])  # log 2 against log 1.9
