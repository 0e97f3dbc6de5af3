"""Suspected reasons: which case gets which, and that none stands for a kernel that is not there."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import perfmodel.validation
from perfmodel.kernels import builtin_names
from perfmodel.prediction.interval import REGIMES
from perfmodel.validation.case import Case
from perfmodel.validation.reasons import reason
from perfmodel.validation.sweeps import KERNELS

FILE = Path(perfmodel.validation.__file__).parent / "reasons.toml"
ENTRIES = tomllib.loads(FILE.read_text())["reason"]
Make = Callable[..., Case]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e["text"][:30])
def test_entries_name_what_there_is(entry: dict[str, str]) -> None:
    known = {*builtin_names(), *(p.stem for p in KERNELS.glob("*.toml"))}
    assert entry.get("kernel", "copy").split()[0] in known
    assert entry.get("regime", "l1") in REGIMES


def test_an_entry_matches_kernel_direction_and_condition(case: Make) -> None:
    # as the file says: stencils that are too fast; working sets under 4 MiB that are too fast
    fast, slow = {"predicted_s": 0.5e-3}, {"predicted_s": 2e-3}
    assert "rows above and below" in reason(case(kernel="stencil5", **fast))
    assert reason(case(kernel="stencil5", **slow)) == ""
    small, large = {"bytes": 2**20}, {"bytes": 2**26}
    assert "which GPC gets its blocks first" in reason(
        case(kernel="working-set-read", params=small, **fast)
    )
    assert reason(case(kernel="working-set-read", params=large, **slow)) == ""


def test_the_floor_is_blamed_for_short_launches_between_events_only(case: Make) -> None:
    short = case(regime="launch", timing="events", measured_s=7e-6, predicted_s=9e-6)
    assert "floor between events" in reason(short)
    assert reason(case(regime="launch", timing="profiler", measured_s=7e-6)) == ""
    assert reason(case(regime="launch", timing="events", measured_s=7e-4)) == ""


def test_a_condition_over_what_the_case_lacks_does_not_hold(case: Make) -> None:
    assert reason(case(kernel="gemm coalesced", params={}, predicted_s=0.5e-3)) == ""
