"""Blocks that queue for their SM; expected values are limits, and a queue followed step by step."""

from __future__ import annotations

import heapq

import numpy as np
import pytest

from perfmodel.models.time.queueing import queued_blocks


def queued(latency: float, unit: float, held: float) -> float:
    return float(queued_blocks(np.array([latency]), np.array([unit]), np.array([held]))[0])


def test_one_block_never_queues() -> None:
    assert queued(10.0, 4.0, 1) == pytest.approx(10.0)


def test_many_blocks_wait_for_the_slower_of_both() -> None:
    assert queued(10.0, 2.0, 1000) == pytest.approx(10.0, rel=0.01)
    assert queued(2.0, 10.0, 1000) == pytest.approx(10.0, rel=0.01)


@pytest.mark.parametrize("held", [2, 4, 8, 32])
def test_between_the_slower_of_both_and_their_sum(held: int) -> None:
    for unit in (0.5, 4.0, 9.0, 10.0, 12.0):
        found = queued(10.0, unit, held)
        assert max(10.0, unit) * (1 - 1e-9) <= found <= 10.0 + unit


@pytest.mark.parametrize(("held", "unit"), [(4, 0.5), (8, 0.7), (8, 0.9), (16, 0.8)])
def test_near_a_queue_that_is_followed(held: int, unit: float) -> None:
    # independent: blocks whose waits differ by up to twice, one unit that serves them in turn
    random = np.random.default_rng(7)
    apart = held * 1.0 - unit
    ready = [(float(random.uniform(0, apart)), b) for b in range(held)]
    heapq.heapify(ready)
    free = ended = 0.0
    count = 20_000
    for _ in range(count):
        at, block = heapq.heappop(ready)
        free = max(free, at) + unit
        ended = free
        heapq.heappush(ready, (free + apart * float(random.uniform(0, 2)), block))
    assert queued(1.0, unit, held) == pytest.approx(ended / count, rel=0.06)
