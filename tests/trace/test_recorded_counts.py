"""What the simulator counts of small launches and drawn kernels is what it always counted."""

from __future__ import annotations

import pytest
from recorded_counts import counted, names, recorded, simulated


@pytest.mark.parametrize("name", names())
def test_counts_are_as_recorded(name: str) -> None:
    # regression: any change of order, hashes or rules of the caches shows here
    assert counted(simulated(name)) == recorded()[name]


def test_every_launch_is_recorded() -> None:
    assert list(recorded()) == names()
