"""What DRAM moves beyond what is asked, and what copies to shared memory hold L1 for, by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from perfmodel.models.dram.throughput import over_fetch
from perfmodel.models.l1.throughput import copied_passes


def access(kind: str, moved: float, sectors: float) -> Any:
    return SimpleNamespace(kind=kind, dram_bytes=np.array([moved]), asked_sectors=sectors)


def test_what_dram_moves_beyond_what_loads_ask_for() -> None:
    # by hand: loads ask for 10 + 20 sectors of 32 B, 960 B; what stores move is not theirs
    loads = [access("load", 400.0, 10), access("load", 1520.0, 20), access("store", 1e6, 1)]
    found = over_fetch(loads)
    assert found is not None
    assert float(found["moved"][0]) == 1920
    assert found["asked"] == pytest.approx(960)


def test_a_twentieth_more_is_no_over_fetch() -> None:
    # by hand: 10 sectors are 320 B; 336 are 1.05 times as much, which is the limit
    assert over_fetch([access("load", 336.0, 10)]) is None
    assert over_fetch([access("load", 337.0, 10)]) is not None


@pytest.mark.parametrize(
    ("width", "wavefronts", "passes"),
    # by hand: 10 requests of 16 B a lane are stored in 4 passes each, 40, which the stores pay;
    # 25 wavefronts more and one a request are the copies' own. Of 2 B a pass stores a request.
    [(16, 65.0, 35.0), (16, 30.0, 10.0), (2, 12.0, 12.0)],
)
def test_copies_pay_what_their_stores_do_not(width: int, wavefronts: float, passes: float) -> None:
    found: Any = SimpleNamespace(requests=10.0, data_wavefronts=wavefronts)
    given: Any = SimpleNamespace(width=width)
    assert float(copied_passes(given, found)) == passes
