"""What the simulator counts of small launches and drawn kernels is what it always counted."""

from __future__ import annotations

import pytest
from recorded_counts import ENGINES, counted, names, recorded, simulated

from perfmodel.trace.cache import Engine


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", names())
def test_counts_are_as_recorded(name: str, engine: Engine) -> None:
    # regression: any change of order, hashes or rules of the caches shows here; property: compiled
    # loops and NumPy's count the same
    assert counted(simulated(name, engine)) == recorded()[name]


def test_every_launch_is_recorded() -> None:
    assert list(recorded()) == names()
