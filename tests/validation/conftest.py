"""What the tests of the validation share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from perfmodel.validation.case import Case

CASE = Case(
    sweep="copy",
    topic="streams",
    line=2,
    kernel="copy",
    params={"bytes": 1024},
    use="fit",
    timing="profiler",
    cache="cold",
    measured_s=1e-3,
    predicted_s=1e-3,
    low_s=0.9e-3,
    high_s=1.1e-3,
    bottleneck="dram",
    regime="dram",
    residual_class="dram",
    spread=0.0,
    flop=0.0,
    flop_peak=1e12,
    roofline_bytes=1e9,
)


@pytest.fixture
def case() -> Callable[..., Case]:
    """Make a case that differs from a plain one in some attributes."""

    def make(**changes: Any) -> Case:
        return replace(CASE, **changes)

    return make
