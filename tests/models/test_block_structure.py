"""What a kernel says of its blocks: dependent loops, barriers, unequal work, tensor cores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from perfmodel.cuda.emulate.result import looping, unequal
from perfmodel.errors import PerfmodelError
from perfmodel.hardware import load_device
from perfmodel.kernels import Kernel, bind
from perfmodel.kernels.counted import Unequal
from perfmodel.kernels.files import parse_kernel
from perfmodel.models.launch.waves import crowding, unevenness
from perfmodel.models.time.issue import issue_slots, issued
from perfmodel.prediction import Prediction, predict

H200 = load_device("h200-sxm")


def kernel(
    head: str = "", blocks: int = 132, block: int = 1024, count: int = 100, meets: bool = False
) -> Kernel:
    return parse_kernel(
        f"""
name = "sum"
{head}
[launch]
grid = {blocks}
block = {block}
[buffers]
x = {{ length = {blocks * block * 16} }}
[[loops]]
variable = "t"
trips = 16
[[accesses]]
load = "x"
index = "(blockIdx.x*16 + t)*{block} + threadIdx.x"
loop = "t"
[[arithmetic]]
pipe = "fma32"
count = {count}
loop = "t"
{"[[barriers]]" if meets else ""}
{"count = 1" if meets else ""}
"""
    )


def predicted(**changes: Any) -> Prediction:
    return predict(kernel(**changes), device=H200, cache="warm")


def test_dependent_instructions_take_as_long_as_code_that_runs_once() -> None:
    # by hand: one warp a block, 16*(100 + 1) instructions in the loop at 5.4 clocks each
    free = predicted(head="loads_in_flight = 1", block=32)
    chained = predicted(head="loads_in_flight = 1\ndependent = true", block=32)
    clocks = 16 * 101
    assert float(chained.details.time.chain.in_loops[0]) == pytest.approx(5.4 * clocks)
    assert float(free.details.time.chain.in_loops[0]) == pytest.approx(3.0 * clocks)
    more = (5.4 - 3.0) * 16 * 101 / H200.sm_clock
    assert chained.terms_s["latency"] - free.terms_s["latency"] == pytest.approx(more, rel=1e-6)


def test_between_barriers_a_blocks_warps_take_turns() -> None:
    # by hand: 32 warps on 4 schedulers are 8 turns of 16*101 instructions, more than 3 clocks each
    chain = predicted(head="loads_in_flight = 1", meets=True).details.time.chain
    assert float(chain.issue_clocks[0]) == 8
    assert float(chain.between[0]) == 8 * 16 * 101
    # four warps take one turn, less than a warp's own time
    small = predicted(head="loads_in_flight = 1", block=128, meets=True).details.time.chain
    assert float(small.between[0]) == pytest.approx(3.0 * 16 * 101)
    free = predicted(head="loads_in_flight = 1").details.time.chain
    assert float(free.issue_clocks[0]) == 0
    assert float(free.between[0]) == pytest.approx(3.0 * 16 * 101)


@pytest.mark.parametrize(
    ("running", "expected"),
    # by hand: all at once, the longest is the last; of ten rounds, it is the end of one
    [(1.0, 2.0), (3.0, 2.0), (0.1, 1.1)],
)
def test_unequal_blocks(running: float, expected: float) -> None:
    instance = bind(kernel("longest = 2"))
    assert float(unevenness(instance, np.array([running]))[0]) == pytest.approx(expected)
    assert float(unevenness(bind(kernel()), np.array([running]))[0]) == 1.0


def test_the_longest_block_lengthens_a_single_round() -> None:
    # property: one block an SM, twice the work in one of them
    even, uneven = predicted(), predicted(head="longest = 2")
    for term in ("fma32", "l1", "latency"):
        ratio = uneven.terms_s[term] / even.terms_s[term]
        assert 1.5 < ratio <= 2.5, term
    assert uneven.terms_s["dram"] == even.terms_s["dram"]
    causal, whole = (
        predict("prefill-attention", device=H200, tokens=1024, causal=c) for c in ("true", "false")
    )
    # measured: 54.8 us and 53.3 us, all blocks in one round
    # (measurements/operators/h200-sxm/pytorch)
    assert causal.time_s == pytest.approx(whole.time_s, rel=0.1)


def test_a_tensor_instruction_takes_one_issue_slot() -> None:
    # by hand: m16n8k16 is 2048 multiply-accumulates, 64 a lane
    assert float(issue_slots("tensor16", 64, H200)) == 1.0
    assert float(issue_slots("fma32", 64, H200)) == 64.0
    assert issued({"tensor16": 640, "fma32": 5}, H200).tolist() == [15.0]


def test_dependent_is_true_or_false() -> None:
    with pytest.raises(PerfmodelError, match="dependent must be true or false, not 1"):
        kernel("dependent = 1")


def test_longest_is_an_expression_of_the_launch() -> None:
    with pytest.raises(PerfmodelError, match="longest"):
        kernel('longest = "threadIdx.x"')


def test_blocks_that_data_makes_unequal() -> None:
    # by hand: of two blocks of two warps each the longest does 3 and 2 of 2 on average
    found = unequal(np.array([[1.0, 3.0], [2.0, 2.0]]))
    assert found == Unequal(slowest=1.25, longest=1.5, spread=0.0)
    assert unequal(np.ones((4, 8))) == Unequal()
    instance = bind(replace(kernel(), unequal=found))
    # all at a time: until the longest is done; of many rounds blocks last 1.25 on average
    assert float(unevenness(instance, np.array([1.0]))[0]) == pytest.approx(1.5)
    assert float(unevenness(instance, np.array([0.0]))[0]) == pytest.approx(1.25)


def test_warps_that_come_to_no_loop_are_not_in_the_average() -> None:
    # by hand: the three that come to a loop do 4 each on average; the last block has none
    work = np.array([[3.0, 1.0], [5.0, 4.0], [1.0, 1.0]])
    found = looping(work, np.array([[True, False], [True, True], [False, False]]))
    assert (found.slowest, found.longest) == (1.0, 1.25)
    assert found.spread == unequal(work).spread
    assert looping(work, np.zeros((3, 2), dtype=bool)) == unequal(work)


def test_a_loop_of_few_warps_is_part_of_what_they_are_compared_with() -> None:
    # by hand: all come to the longest loop and do 10 there; one of two has 6 more in another, which
    # whoever is counted has too, so that the slowest does no more than the average one, not 16/13
    work = np.array([[16.0, 10.0]])
    every = np.ones((1, 2), dtype=bool)
    assert looping(work, every, other_loops=3.0).slowest == 1.0
    assert looping(work, every).slowest == pytest.approx(16 / 13, abs=1e-4)
    assert looping(work, every, other_loops=10.0).slowest == 1.0


@pytest.mark.parametrize(("held", "rounds"), [(1, 1), (4, 1), (8, 4)])
def test_the_busiest_sm_of_unequal_blocks(held: int, rounds: int) -> None:
    # independent: sums of random work, drawn; in the last of several rounds the others are even
    spread, random = 0.3, np.random.default_rng(0)
    work = random.normal(1.0, spread, (400, 132, held)).sum(2) + held * (rounds - 1)
    expected = (work.max(1) / (held * rounds)).mean()
    instance = bind(replace(kernel(), unequal=Unequal(1.2, 2.0, spread)))
    blocks = np.array([132.0 * held * rounds])
    found = crowding(instance, blocks, np.array([float(held)]), 132)
    assert float(found[0]) == pytest.approx(expected, rel=0.01)
    alike = bind(replace(kernel(), unequal=Unequal()))
    assert float(crowding(alike, blocks, np.array([float(held)]), 132)[0]) == 1.0
    # property: one short block spreads as much as a long one, and makes no SM's work longer
    short = bind(replace(kernel(), unequal=Unequal(1.02, 1.02, spread)))
    assert float(crowding(short, blocks, np.array([float(held)]), 132)[0]) <= 1.02


@pytest.mark.parametrize(
    ("share", "waits"), [(20, 1), (32, 1), (60, 2), (66, 2), (96, 2), (100, 3), (240, 4), (800, 7)]
)
def test_an_unrolled_loop_whose_last_turn_is_not_full_is_waited_for_in_turn(
    share: int, waits: int
) -> None:
    # independent: the ways of nvcc 13.0's loop (four turns, two, one) that lanes of a warp take,
    # followed by hand
    values = {"lookups": 8192, "stream_bytes": share * 4 * 8192}
    found = predict("embedding", device=H200, cache="cold", **values)
    (stream,) = (b for b in found.details.time.chain.batches if b.loop == "s")
    assert stream.waited == waits
