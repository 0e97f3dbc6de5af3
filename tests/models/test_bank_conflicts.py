"""Lanes of shared atomics that meet in banks: against counting lane by lane."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.models.requests.bank_conflicts import BANK_CONFLICTS, counted_turns


@pytest.mark.parametrize("apart", [1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize("elements", [1, 2, 4, 8, 16, 32])
def test_turns_are_the_lanes_in_the_fullest_bank(elements: int, apart: int) -> None:
    # independent: lanes of each bank, counted one by one
    banks = [lane % elements * apart % 32 for lane in range(32)]
    most = max(banks.count(bank) for bank in set(banks))
    assert BANK_CONFLICTS(n=32.0, m=float(elements), gcd=float(np.gcd(apart, 32))) == most
    addresses = np.arange(32)[None] % elements * apart * 4
    found = counted_turns(addresses, np.ones((1, 32), dtype=bool), 4)
    assert found.turns == most
    assert found.clocks == most
