"""Tables that all blocks read at random beside streams, and walks through one (l1/h200-sxm/reuse).

H200, counted; measured after the formula of tables in L1 was made: independent.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from measured import rows

from perfmodel import predict
from perfmodel.hardware import load_device
from perfmodel.measure.folders import root
from perfmodel.models.l1.l1_tables import table_fills
from perfmodel.models.l2.merged_reads import CHANCE, MERGED_READS, STEP
from perfmodel.models.requests.coalescing import LINE, SECTOR

FOLDER = root() / "l1/h200-sxm/reuse"
H200 = load_device("h200-sxm")
LANES = 32.0
WARPS = 8


def test_tables_read_at_random_beside_streams_miss_as_counted() -> None:
    found = rows("reused", FOLDER, kernel="table", shared_bytes=0)
    assert len(found) == 32
    (some, *_) = predict("gather", n=1 << 20, table_bytes=1 << 26).details.requests
    for r in found:
        requests = r["grid"] * WARPS * r["steps"]
        streamed = requests * r["beside"] * LANES * 4 / SECTOR
        lines = r["table_bytes"] / LINE
        table = np.full(1, float(r["table_bytes"]))
        drawn = replace(
            some,
            strides=None,
            random=True,
            sectors=np.full(1, r["load_sectors"] - streamed),
            lines=np.full(1, requests * lines * (1 - (1 - 1 / lines) ** LANES)),
        )
        brought = table_fills(
            drawn,
            table,
            table,
            np.full(1, float(H200.sm_count)),
            np.full(1, streamed * SECTOR),
            np.full(1, H200.l1_shared_size - 8192.0),
            H200,
        )
        share = float(brought[0]) / (r["load_sectors"] - streamed)
        counted = (r["l1_fill_sectors"] - streamed) / (r["load_sectors"] - streamed)
        assert share == pytest.approx(counted, abs=0.08)


def test_walks_whose_loads_wait_in_turn_are_merged_and_those_asked_for_together_are_not() -> None:
    # Four SMs are answered at once, and two SMs of a GPC of 18 are left over.
    for r in rows("reused", FOLDER, kernel="walk"):
        seen = r["l2_read_sectors"] / r["l1_fill_sectors"]
        if r["one_by_one"]:
            assert seen == pytest.approx(
                float(MERGED_READS(merged=STEP(H200), alike=16.0, most=4.0)), abs=0.03
            )
        elif r["at_once"] == 8:
            assert seen > float(MERGED_READS(merged=CHANCE(H200), alike=16.0, most=4.0))
