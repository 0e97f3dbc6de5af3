"""Steps that queue for DRAM: what the last of several loads waits for."""

from __future__ import annotations

import pytest

from perfmodel.models.time.step_queue import LAST_QUEUE


def test_the_last_of_equal_queues_takes_a_harmonic_number_of_them() -> None:
    # published: the mean largest of n exponential times (Nelson and Tantawi, 1988)
    for n in (1, 2, 3, 4, 8, 32, 64):
        exact = sum(1 / k for k in range(1, n + 1))
        assert float(LAST_QUEUE(queues=n)) == pytest.approx(exact, rel=0.02)
