"""Gathers and their parts on an H200, by CUPTI and the profiler's counters:
gather/h200-sxm/tables."""

from __future__ import annotations

import pytest
from measured import rows

from perfmodel.hardware import load_device
from perfmodel.measure.folders import root
from perfmodel.models.l1.throughput import PAGE_REACH
from perfmodel.prediction import Prediction, predict

FOLDER = root() / "gather/h200-sxm/tables"
MIB = 1 << 20


def gather(n: int, run: int, table: int, cache: str = "warm") -> Prediction:
    return predict("gather", device="h200-sxm", cache=cache, n=n, run=run, table_bytes=table)


def times(**wanted: object) -> dict[int, float]:
    found = rows("times", FOLDER, part="pages", kernel="gather", cache="warm", **wanted)
    return {row["table_bytes"] // MIB: row["time_us"] for row in found}


@pytest.mark.parametrize("n", [67584, 117031])
def test_large_tables_wait_for_translations(n: int) -> None:
    # regression: rows marked fit; what a table of 1 or 16 GiB takes more than one of 128 MiB, whose
    # lines all stay in L2
    measured = times(n=n, run=1)
    predicted = {m: gather(n, 1, m * MIB).time_s * 1e6 for m in (32, 128, 1024, 16384)}
    assert measured[128] == pytest.approx(measured[32], rel=0.03)
    assert predicted[128] == pytest.approx(predicted[32], rel=0.03)
    for mib in (1024, 16384):
        more = measured[mib] - measured[128]
        assert predicted[mib] - predicted[128] == pytest.approx(more, rel=0.3)


def test_translations_miss_where_tables_are_larger_than_their_reach() -> None:
    # derived: at random places a share of 1 - reach/table has no translation; one look-up a lane
    for mib in (64, 1024, 8192):
        found = gather(135168, 1, mib * MIB).details
        pages = float(found.time.sm.l1.stages.pages[0])
        share = max(0.0, 1 - PAGE_REACH(load_device("h200-sxm")) / (mib * MIB))
        apart = mib / 2 * (1 - (1 - 2 / mib) ** 32) / 32  # of 32 lanes, on pages of their own
        assert pages == pytest.approx(6.2 * 135168 / 132 * share * apart, rel=0.02)


def test_a_launch_ends_after_its_last_block() -> None:
    # measured: gathers of 528 to 4224 blocks, of a table of 2 MiB, take 0.7 to 1.3 us more than as
    # many empty blocks; without the last block's waits it was 0.3 to 0.7
    small = rows("times", FOLDER, part="small", run=8, session=1)
    taken = {(r["kernel"], r["n"]): r["time_us"] for r in small}
    for n in (135168, 270336, 540672, 1081344):
        found = gather(n, 8, 2 * MIB)
        dispatch = found.terms_s["dispatch"] * 1e6
        more = taken["gather", n] - taken["empty", n]
        assert 0.65 < more < 1.3
        assert found.time_s * 1e6 - found.terms_s["launch"] * 1e6 - dispatch > 0.5


def test_lines_that_one_sm_reads_lie_in_l2_once() -> None:
    # independent: DRAM reads of the third launch in a row; lines of 34.6 MB of single floats stay
    # but for a tenth, of 69 MB next to none
    counted = rows("counters", FOLDER, kernel="gather", session=2, run=1, table_bytes=2048 * MIB)
    kept = {r["n"]: 1 - r["dram_read_bytes"] / (64 * r["n"]) for r in counted}
    for n in (67584, 202752, 270336, 540672):
        found = 1 - gather(n, 1, 2048 * MIB).traffic["dram_read_bytes"] / (64 * n)
        assert found == pytest.approx(kept[n], abs=0.08)


def test_indices_come_once_a_block() -> None:
    # independent: L1 hits of 16 Mi floats in runs of 48, of a table of 40 MiB, by the counters
    (row,) = rows("counters", FOLDER, n=16 << 20, run=48, table_bytes=40 * MIB, cache="cold")
    found = gather(16 << 20, 48, 40 * MIB, "cold").traffic
    assert found["l1_hit_sectors"] == pytest.approx(row["l1_hit_sectors"], rel=0.06)
    assert found["l2_read_sectors"] == pytest.approx(row["l2_read_sectors"], rel=0.02)
