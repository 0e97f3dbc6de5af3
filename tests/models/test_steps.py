"""Blocks that work in steps: limits, an independent queue, and words in shared memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.errors import PerfmodelError
from perfmodel.hardware import load_device
from perfmodel.kernels import kernel_from_table
from perfmodel.models.requests.wavefronts import data_wavefronts
from perfmodel.models.time.last_block import LAST_TIME
from perfmodel.models.time.step_work import (
    OPERANDS_OVERLAP,
    BlockWork,
    warps_times,
    work_times,
)
from perfmodel.models.time.steps import block_time as queued_block_time
from perfmodel.prediction import predict
from perfmodel.prediction.figures_used import derive

seconds = st.floats(1e-9, 1e-3)
H200 = load_device("h200-sxm")


def work(
    issue: float, l1: float, warps: float = 8, strands: float = 1, tensor: float = 0
) -> BlockWork:
    times = [np.array([float(time)]) for time in (issue, l1, tensor, 0, 0)]
    return BlockWork(*times, warps=np.array([float(warps)]), strands=np.array([float(strands)]))


@given(seconds, seconds)
def test_a_warp_alone_uses_one_unit_after_the_other(issue: float, l1: float) -> None:
    # hand count: four warps, one a scheduler; each waits for its own work only
    assert work_times(work(issue, l1, warps=4), [1], H200)[0][0] == pytest.approx(issue + l1)


@given(seconds, seconds)
def test_few_warps_have_l1_to_themselves(issue: float, l1: float) -> None:
    # hand count: a block's only warp issues all of its instructions at one scheduler of four, and
    # none of another scheduler is in its way at L1; of two, each issues half
    assert work_times(work(issue, l1, warps=1), [1], H200)[0][0] == pytest.approx(4 * issue + l1)
    assert work_times(work(issue, l1, warps=2), [1], H200)[0][0] == pytest.approx(2 * issue + l1)
    # two blocks of a warp take twice as long at L1, and half of that each
    both = work_times(work(issue, l1, warps=1), [2], H200)[0][0]
    assert both == pytest.approx((4 * issue + 2 * l1) / 2)


@given(seconds, seconds, st.sampled_from([4, 8, 32]), st.integers(1, 8))
def test_no_queue_is_faster_than_its_slower_unit(
    issue: float, l1: float, warps: int, blocks: int
) -> None:
    # property: asymptotic bounds of a closed queue
    found = work_times(work(issue, l1, warps), range(1, blocks + 1), H200)[-1][0]
    assert max(issue, l1) * (1 - 1e-9) <= found <= (issue + l1) * (1 + 1e-9)


@given(seconds)
def test_equal_units_share_a_queue_as_the_textbook_says(time: float) -> None:
    # published: two equal stations and n customers pass n/(n + 1) of a station's rate
    one = np.ones(1)
    for n, each in enumerate(warps_times(work(time, time, warps=4), one, 12), 1):
        assert float(each[0]) == pytest.approx(time * (n + 1) / n)
    # and three of them n/(n + 2)
    for n, each in enumerate(warps_times(work(time, time, warps=4, tensor=time), one, 12), 1):
        assert float(each[0]) == pytest.approx(time * (n + 2) / n)


@given(seconds, seconds, seconds)
def test_operands_are_read_while_products_are_made(tensor: float, sfu: float, l1: float) -> None:
    # limits: nothing to read, and nothing but that; between, neither one after the other nor free
    given = replace(work(0, 0, warps=4, tensor=tensor), sfu_s=np.array([sfu]))
    alone = work_times(given, [1], H200)[0][0]
    assert alone == pytest.approx(tensor + sfu)
    found = work_times(replace(given, operands_s=np.array([l1])), [1], H200)[0][0]
    p = OPERANDS_OVERLAP(H200)
    assert found == pytest.approx((alone**p + l1**p) ** (1 / p))
    assert max(alone, l1) < found * (1 + 1e-9) <= (alone + l1) * (1 + 2e-9)


def block_time(wait: float, works: list[float], blocks: int) -> float:
    each = [np.array([w]) for w in works]
    return float(queued_block_time(np.array([wait]), each, np.array([blocks]))[0])


@given(seconds, st.lists(seconds, min_size=1, max_size=6))
def test_blocks_in_turn_against_the_balance_of_the_chain(wait: float, works: list[float]) -> None:
    # independent: the birth-death chain's balance equations, solved as a linear system
    count = len(works)
    up = [(count - j) / wait for j in range(count)]
    down = [1 / w for w in works]
    matrix = np.zeros((count + 1, count + 1))
    for j in range(count):
        matrix[j, j] -= up[j]
        matrix[j + 1, j] += up[j]
        matrix[j + 1, j + 1] -= down[j]
        matrix[j, j + 1] += down[j]
    matrix[-1] = 1.0
    share = np.linalg.solve(matrix, np.eye(count + 1)[-1])
    rate = sum(share[j + 1] * down[j] for j in range(count))
    assert block_time(wait, works, count) == pytest.approx(1 / rate, rel=1e-4)


def test_one_block_waits_and_works() -> None:
    assert block_time(3.0, [2.0], 1) == pytest.approx(5.0)  # hand count


def test_without_waits_blocks_take_as_long_as_their_work() -> None:
    assert block_time(0.0, [2.0, 1.5], 2) == pytest.approx(1.5, rel=1e-4)


def test_more_blocks_on_an_sm_hide_waits() -> None:
    times = [
        predict(
            "gemm", mapping="vectorized", device="h100-sxm", M=128, N=128 * 132 * j, K=2048
        ).time_s
        for j in (1, 2)
    ]
    assert times[1] < 1.6 * times[0]


LANES = np.arange(32)


@pytest.mark.parametrize(
    ("addresses", "width", "clocks"),
    [
        (LANES * 0, 8, 1),  # all one word of 8 B: both halves together
        (LANES * 0, 16, 2),  # each half together
        (LANES // 16 * 4096, 16, 2),  # a word for each half
        (LANES // 4 * 32, 16, 2),  # pairs of lanes alike, 4 words a half without a conflict
        (LANES * 16, 16, 4),  # all different: by quarters
        (LANES % 16 * 32, 16, 8),  # halves alike, but no pairs: by quarters, two words a bank
        (LANES // 2 * 8, 8, 1),  # pairs alike
        (LANES * 8, 8, 2),
    ],
)
def test_pairs_of_lanes_share_a_pass(addresses: Any, width: int, clocks: int) -> None:
    # measured: H200, shared-banks-counters.csv, ladder-counters.csv and ladder-tiles.csv
    assert data_wavefronts(addresses, width, shared=True) == clocks


def test_stores_and_global_loads_have_no_pairs() -> None:
    # measured: H200, shared-banks.csv (stores) and coalescer.csv (loads)
    assert data_wavefronts(LANES * 0, 8) == 2
    assert data_wavefronts(LANES * 0, 16) == 4


def kernel(**other: Any) -> dict[str, Any]:
    return {
        "name": "steps",
        "launch": {"grid": 1, "block": 64},
        "loops": [{"variable": "k", "trips": 4}],
        **other,
    }


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"barriers": [{"loop": "j"}]}, "loop must be the variable of a loop"),
        ({"barriers": [{"times": 2}]}, "unknown key 'times'"),
        ({"barriers": 2}, "must be a list of tables"),
        ({"strands": "k"}, "strands"),
    ],
)
def test_wrong_barriers_are_refused(other: dict[str, Any], said: str) -> None:
    with pytest.raises(PerfmodelError, match=said):
        kernel_from_table(kernel(**other))


def test_negative_barriers_are_refused() -> None:
    table = kernel(parameters={"n": 1}, barriers=[{"loop": "k", "count": "n - 2"}])
    with pytest.raises(PerfmodelError, match="count of barrier 1 must be 0 to"):
        predict(kernel_from_table(table))


def test_steps_end_with_their_last_block() -> None:
    # property: blocks that copy ahead wait less than their loads in a row would, so no block's
    # waits one after the other are a lower bound of the launch, as they are elsewhere
    stepped = predict("gemm", mapping="warptile", device="h200-sxm", N=1024)
    scattered = predict("gather", device="h200-sxm", n=100_000, table_bytes=1 << 30)
    bounds = [
        {node.name for node in derive(found).formulas} & {LAST_TIME.name}
        for found in (stepped, scattered)
    ]
    assert bounds == [set(), {LAST_TIME.name}]


def test_the_block_with_most_steps_ends_last() -> None:
    # property: of blocks that all run at a time, one with three times the steps takes three times
    # as long; launch and start-up apart
    table = kernel(
        launch={"grid": 132, "block": 128},
        loops=[{"variable": "k", "trips": 1000}],
        barriers=[{"loop": "k", "count": 2}],
        arithmetic=[{"pipe": "fma32", "count": 40, "loop": "k"}],
    )
    alike, uneven = (
        predict(kernel_from_table({**table, "longest": longest}), device="h200-sxm").details.time
        for longest in (1, 3)
    )
    fixed = alike.terms_s["launch"] + alike.terms_s["ramp"]
    assert (uneven.time_s - fixed) / (alike.time_s - fixed) == pytest.approx(3, rel=0.02)
