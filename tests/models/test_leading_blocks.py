"""Blocks that read the same in the same turns: how many, and what the one ahead of them waits."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel import predict
from perfmodel.hardware import load_device
from perfmodel.models.latency.leading_blocks import MOST_PAGES, pages_at_once, reading_alike
from perfmodel.models.time.pipe_contention import LEFT_IDLE
from perfmodel.models.time.step_work import BlockWork
from perfmodel.models.time.steps import Steps, steps_time

H100 = load_device("h100-sxm")
H200 = load_device("h200-sxm")


def test_blocks_of_a_row_and_of_a_column_read_alike() -> None:
    # by hand: 256 x 512 by tiles of 32 are 16 blocks a row, which share rows of A, in 8 rows of
    # blocks, which share columns of B; of the first 32 blocks two rows share columns
    requests = predict("gemm", mapping="smem", M=256, N=512, K=128).details.requests
    a, b = (r for r in requests if r.access.kind == "load")
    for wave, of_a, of_b in ((128.0, 16, 8), (32.0, 16, 2), (8.0, 8, 1)):
        assert reading_alike(a, np.full(1, wave))[0] == of_a
        assert reading_alike(b, np.full(1, wave))[0] == of_b


def test_a_block_reads_from_as_many_pages_as_its_rows_are_apart() -> None:
    # by hand: 32 rows of A and of B 512 B apart lie in 4 pages each; a page at a time in no fewer
    # than are waited for one after the other
    def pages(n: int, k: int) -> float:
        requests = predict("gemm", mapping="smem", M=256, N=n, K=k).details.requests
        loads = [r for r in requests if r.access.kind == "load"]
        return float(pages_at_once(loads, H100)[0])

    assert pages(2048, 4096) == MOST_PAGES(H100)
    assert pages(32, 32) == pytest.approx(2, abs=0.5)


def steps(blocks: float, resident: float, lead: float) -> Steps:
    """Return blocks of 1 us of work and 10 waits of 0.1 us; of `lead` for the block ahead [s]."""
    one, none = np.ones(1), np.zeros(1)
    return Steps(
        work=BlockWork(1e-6 * one, none, none, none, none, warps=4.0 * one, strands=one),
        blocks=blocks * one,
        resident=resident * one,
        steps=10 * one,
        load=1e-7 * one,
        lead=lead * one,
        barriers=one,
        arriving=one,
        outside=none,
        start=0.0,
        warp=0.0,
        clock=1e9,
    )


def test_the_block_ahead_counts_where_it_is_the_last() -> None:
    """Limits: blocks that compute as long as they like, and such that only wait."""
    assert steps_time(steps(1, 1, lead=5e-7), H200)[0] == pytest.approx(1e-6 + 10 * 5e-7)
    # of many, whose work takes longer, nobody waits for it
    many, ahead = (steps(128, 64, lead) for lead in (5e-7, 0.0))
    assert steps_time(many, H200)[0] == steps_time(ahead, H200)[0]


def test_the_last_of_blocks_in_steps_leave_schedulers_idle_in_one_round() -> None:
    # derived: 64 blocks of 1 us of work, and a lone one's 10 waits of 0.1 us that nobody fills
    found = steps_time(steps(64, 64, lead=1e-7), H200)[0]
    assert found == pytest.approx(64e-6 + LEFT_IDLE(H200) * 10 * 1e-7)
