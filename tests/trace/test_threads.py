"""Threads of the simulator: what they return, and what happens when one fails."""

from __future__ import annotations

import time

import pytest

from perfmodel.trace.threads import THREADS, WORTH_A_THREAD, in_threads, shares


def test_results_are_in_the_order_of_jobs() -> None:
    assert in_threads(lambda a, b: a - b, [(i, 1) for i in range(9)]) == list(range(-1, 8))
    assert in_threads(lambda a: a, [(3,)]) == [3]


def test_no_job_runs_on_after_a_failure() -> None:
    # property: what jobs write to is used again, so none may go on writing when the call is over
    ended = []

    def job(number: int) -> None:
        if number == 0:
            raise KeyboardInterrupt
        time.sleep(0.05)
        ended.append(number)

    with pytest.raises(KeyboardInterrupt):
        in_threads(job, [(number,) for number in range(4)])
    before = list(ended)
    time.sleep(0.15)
    assert ended == before


@pytest.mark.parametrize(("n", "accesses"), [(0, 0), (7, WORTH_A_THREAD - 1), (7, WORTH_A_THREAD)])
def test_shares_are_all_of_it(n: int, accesses: int) -> None:
    found = shares(n, accesses)
    assert len(found) == (THREADS if accesses >= WORTH_A_THREAD else 1)
    assert [i for low, high in found for i in range(low, high)] == list(range(n))
