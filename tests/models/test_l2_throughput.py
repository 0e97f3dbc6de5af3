"""L2's throughput: what runs concurrently with writes, by hand and as measured."""

from __future__ import annotations

import pytest

from perfmodel.hardware import load_device
from perfmodel.models.l2.throughput import L2_TIME, TABLES_CONCURRENT

H200 = load_device("h200-sxm")


def test_reads_of_tables_run_concurrently_with_writes() -> None:
    # measured: tables of 1 to 4 MiB add 20 to 25 us a GiB to a write, of which reads alone take 130
    # (measurements/suite/h200-sxm/sweeps/data-reset.csv); one of 128 KiB 19
    # (measurements/l2/h200-sxm/moving-sets/rounds.csv)
    for beside_us in (19, 20, 25):
        assert TABLES_CONCURRENT(H200) == pytest.approx(1 - beside_us / 130, rel=0.06)


def test_time_of_reads_and_writes_by_hand() -> None:
    # by hand: 8 s of reads, of which 6 hit, and 4 s of writes: half of the shorter is saved
    given = {"writes": 8.0, "cost": 1.0, "read": 1.0, "write": 2.0}
    assert L2_TIME(asked=8.0, hits=6.0, concurrent=0.5, **given) == pytest.approx(8 + 4 - 2)
    assert L2_TIME(asked=8.0, hits=2.0, concurrent=0.5, **given) == pytest.approx(8 + 4 - 1)
    assert L2_TIME(asked=8.0, hits=-1.0, concurrent=0.5, **given) == pytest.approx(8 + 4)
