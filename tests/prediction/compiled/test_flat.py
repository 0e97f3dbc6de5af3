"""Cost over sizes: of every built-in, what no machine changes stays what it is (property)."""

from __future__ import annotations

import pytest

from benchmarks.flat import cost, kernels, launches, sizes
from perfmodel.kernels import Kernel
from perfmodel.prediction.conditions import by_the_models

_MORE = 1.5
"""Calls at one size over those at another: some forms have a term more."""
_LITTLE = 1 << 18
_DRAWN = 1 << 26
"""Memory in use [B], and where random places are drawn, as many for any size."""
_RANDOM = ("embedding", "gather")


@pytest.mark.parametrize("kernel", kernels(), ids=lambda k: f"{k.name}-{k.mapping}")
def test_a_prediction_costs_the_same_at_any_size(kernel: Kernel) -> None:
    with by_the_models():
        for parameter in sizes(kernel)[:1]:
            some = list(launches(kernel, parameter).values())
            assert some
            costs = [cost(work) for work in (some[0], some[-1])]
            calls = [each.calls for each in costs]
            assert max(calls) <= _MORE * min(calls)
            most = _DRAWN if kernel.name in _RANDOM else _LITTLE
            assert max(each.peak for each in costs) <= most
