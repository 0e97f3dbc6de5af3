"""Costs: operations and calls of predictions, beside those recorded (regression)."""

from __future__ import annotations

import pytest

from benchmarks.costs import LAUNCHES, cost, recorded

THIRD = 4 / 3
"""How much more than recorded is no longer the same cost."""


@pytest.mark.parametrize("what", LAUNCHES)
def test_a_prediction_costs_what_it_did(what: str) -> None:
    found, before = cost(*LAUNCHES[what]), recorded()[what]
    remedy = "; if it is worth it: python -m benchmarks.costs > benchmarks/costs.json"
    assert found.operations <= THIRD * before.operations, remedy
    assert found.reliability <= THIRD * before.reliability, remedy
    assert found.calls <= THIRD * before.calls, remedy
