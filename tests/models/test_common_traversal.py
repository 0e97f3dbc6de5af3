"""Walks over common data: against products as measured, and what does not make a block wait."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perfmodel.hardware import load_device
from perfmodel.kernels.files import parse_kernel
from perfmodel.models.time.common_traversal import TRAVERSAL_TIME, WITH_TRAVERSAL
from perfmodel.prediction import Prediction, predict
from perfmodel.prediction.figures_used import derive

H200 = load_device("h200-sxm")
PRODUCTS = Path(__file__).parents[2] / "measurements/l2/h200-sxm/walks/products.csv"
EMPTY_US = 2.784  # between events of that session: its session.toml


WALK = """
name = "walk"
loads_in_flight = 1
[launch]
grid = 132
block = 32
[buffers]
table = { length = "133*16384" }
[[loops]]
variable = "t"
trips = 512
[[accesses]]
load = "table"
index = "t*32 + threadIdx.x"
loop = "t"
"""
LAUNCH_S = 3e-6  # of each: about


def walked(blocks: int, before: str = "", stride: str = "0") -> Prediction:
    """Predict blocks of a warp that all read the same 64 KiB, or with a stride their own."""
    return predict(
        parse_kernel(
            f"""
name = "walk"
loads_in_flight = 1
[launch]
grid = {blocks}
block = 32
[buffers]
table = {{ length = "{max(blocks, 1)}*16384" }}
out = {{ length = "{blocks}*32" }}
[[loops]]
variable = "t"
trips = 512
[[accesses]]
load = "table"
index = "t*32 + threadIdx.x + blockIdx.x*{stride}"
loop = "t"
[[accesses]]
store = "out"
index = "blockIdx.x*32 + threadIdx.x"
{before}
"""
        ),
        device=H200,
    )


def cold_waits(found: Prediction) -> set[float]:
    """Return the waits for lines that come from DRAM of all walks of a prediction."""
    walks = [node for node in derive(found).formulas if node.name == TRAVERSAL_TIME.name]
    return {float(np.ravel(getattr(w.named["cold"], "value", w.named["cold"]))[0]) for w in walks}


def test_blocks_that_share_cold_data_wait_nearly_as_long_as_for_their_own() -> None:
    # measured: a step of 128 B takes 733 clocks alone, 736 with data of their own, and 622 to 629
    # with the same (measurements/l2/h200-sxm/walks/walk.csv): no less than DRAM's pace
    alone, shared, own = walked(1), walked(132), walked(132, stride="16384")
    assert 0.75 < shared.time_s / own.time_s < 1
    assert alone.time_s == pytest.approx(own.time_s, rel=0.15)
    clocks = shared.time_s * H200.sm_clock / 512
    assert clocks == pytest.approx(625, rel=0.12)


def common(blocks: int, index: str, vector: int, work: int, cache: Any) -> Prediction:
    """Predict blocks of 256 threads that all go over the same 512 steps."""
    return predict(
        parse_kernel(
            f"""
name = "walk"
loads_in_flight = 1
[launch]
grid = {blocks}
block = 256
[buffers]
table = {{ length = "512*256" }}
out = {{ length = "{blocks}*256" }}
[[loops]]
variable = "t"
trips = 512
[[accesses]]
load = "table"
index = "{index}"
vector = {vector}
loop = "t"
[[accesses]]
store = "out"
index = "blockIdx.x*256 + threadIdx.x"
[[arithmetic]]
pipe = "fma32"
count = {work}
loop = "t"
"""
        ),
        device=H200,
        cache=cache,
    )


def longer(blocks: int, index: str, vector: int, work: int = 0) -> float:
    """Return how much longer a cold launch takes than a warm one [s]; see `common`."""
    cold, warm = (common(blocks, index, vector, work, cache).time_s for cache in ("cold", "warm"))
    return cold - warm


def test_a_line_new_to_l2_spares_a_wait_for_l2_and_no_mean_wait() -> None:
    # measured: cold, two steps of 32 B that 20 SMs share take 953 clocks, what one of 64 B takes,
    # 627, and a wait for L2 (measurements/l2/h200-sxm/walks/walk.csv, fit rows); four of 16 B the
    # same and two waits for L1, which lower the mean of all but not of those that DRAM makes longer
    assert longer(20, "t*4", 4) == pytest.approx(longer(20, "t*16", 4) / 4, rel=0.03)


@pytest.mark.parametrize("work", [4, 28])
def test_a_few_blocks_more_do_not_hide_the_walk_of_the_first(work: int) -> None:
    # property: 24 blocks that run when all others have ended find in L2 what these waited for
    index = "t*256 + threadIdx.x"
    assert longer(1056 + 24, index, 1, work) == pytest.approx(
        longer(1056, index, 1, work), rel=0.15
    )


def test_data_that_was_read_before_the_loop_keeps_nobody_waiting() -> None:
    # property: where threads took all of it first, the walk finds it in L2
    first = """
[[accesses]]
name = "first"
load = "table"
index = "blockIdx.x*16384 + threadIdx.x*512"
vector = 4
"""
    assert max(cold_waits(walked(132, first))) < 512


def test_no_walk_is_longer_than_what_takes_longer_anyway() -> None:
    # by hand: the first of two rounds takes 5 of 10, and its walk 3 or 8
    for own, expected in ((3.0, 10.0), (8.0, 13.0)):
        assert WITH_TRAVERSAL(together=10.0, walk=own, first=5.0) == pytest.approx(expected)


def test_products_with_a_cold_b_as_measured() -> None:
    # measured: products whose blocks fit two an SM, of up to 132 SMs; rows for validation
    errors = []
    for row in csv.DictReader(PRODUCTS.open()):
        if row["kernel"] != "coalesced" or row["in_l2"] != "none" or int(row["blocks"]) > 264:
            continue
        m, n, k = (int(row[name]) for name in "MNK")
        if k < 128:
            continue
        found = predict("gemm", mapping="coalesced", device=H200, M=m, N=n, K=k)
        took = float(row["time_us"]) - EMPTY_US
        errors.append((found.time_s - found.terms_s["launch"]) * 1e6 / took - 1)
    assert len(errors) > 30
    assert np.median(np.abs(errors)) < 0.06
    assert np.max(np.abs(errors)) < 0.16


def test_a_warp_finds_what_the_others_of_its_block_have_read() -> None:
    # by hand: 512 steps of a block of two warps, the second a line ahead of the first, come to 513
    # lines; a step waits for as much as two lines, so that 256.5 steps' worth is cold
    two = WALK.replace("block = 32", "block = 64").replace("133*16384", "513*32")
    found = predict(parse_kernel(two), device=H200, cache="cold")
    assert cold_waits(found) == {256.5}


def columns(
    index: str, abreast: str, guard: str = "1 > 0", threads: int = 32, right: str = ""
) -> Prediction:
    """Predict 132 blocks that all go over two arrays, of which `index` is read in every step."""
    loads = "".join(
        f'[[accesses]]\nload = "{name}"\nindex = "{at}"\nguard = "{guard}"\nloop = "t"\n'
        for name, at in (("left", index), ("right", right or index))
    )
    return predict(
        parse_kernel(
            f"""
name = "walk"
[launch]
grid = 132
block = {threads}
[buffers]
left = {{ length = "512*32" }}
right = {{ length = "512*32" }}
[[loops]]
variable = "t"
trips = 512
{loads}
[[paces]]
clocks = 30
loop = "t"
abreast = {abreast}
"""
        ),
        device=H200,
        cache="cold",
    )


def test_a_step_that_waits_twice_comes_to_cold_lines_twice() -> None:
    # by hand: 512 steps, each with a new line of each of two arrays, waited for together or one
    # after the other. Measured: pointwise products of 320 channels on 16 SMs take 61.3 us, 160
    # waits of 356 ns, where an iteration of four channels waits twice
    # (measurements/source-kernels/h100-sxm/blind-domains, tensors 57; counted on an H200)
    assert cold_waits(columns("t*32 + threadIdx.x", "1")) == {512.0}
    assert cold_waits(columns("t*32 + threadIdx.x", "0.5")) == {1024.0}


def test_a_load_of_no_stride_is_no_walk() -> None:
    # property: what is read beside it in no order has no part in the waits of the walk
    beside = columns("t*32 + threadIdx.x", "0.5", right="(t*t*7 + threadIdx.x) % 1000")
    assert cold_waits(beside) == {512.0}


def test_loads_of_one_line_are_waited_for_once() -> None:
    # by hand: 16 steps of a word each to a line of 64 B, by one lane
    (waits,) = cold_waits(columns("t + threadIdx.x", "0.5", "threadIdx.x < 1"))
    assert waits == pytest.approx(2 * 512 / 16, rel=0.07)  # at its ends half a line is beside it


def test_lanes_that_a_guard_keeps_out_wait_for_no_line() -> None:
    # property: one thread of four warps walks as if it were alone. Measured: a column of 19,998
    # rows, of which 32 blocks of 128 threads take one each in turn, takes 200.6 us, 625 waits of
    # 0.31 us (measurements/source-kernels/h100-sxm/mixed-sizes, mixtures 27)
    few = columns("t*32 + threadIdx.x", "1", "threadIdx.x < 1", threads=128)
    alone = columns("t*32 + threadIdx.x", "1", threads=1)
    assert cold_waits(few) == cold_waits(alone) == {512.0}


def test_a_walk_takes_its_time_beside_what_other_loops_wait_for() -> None:
    # property: a loop over what all read, then one over data of a block's own, which waits as long
    # as it is: together as long as one after the other. Measured: a layer norm by warps, whose last
    # loop reads weight and bias cold, takes 24.4 us; without, 17 were predicted
    # (measurements/source-kernels/h100-sxm/benchmark-suites, training 11)
    second = """
[[loops]]
variable = "s"
trips = 512
[[accesses]]
name = "own"
load = "table"
index = "s*32 + threadIdx.x + (blockIdx.x + 1)*16384"
loop = "s"
"""

    def took(then: str) -> float:
        return predict(parse_kernel(WALK + then), device=H200, cache="cold").time_s

    alone, both = took(""), took(second)
    own = walked(132, stride="16384").time_s
    assert both == pytest.approx(alone + own - LAUNCH_S, rel=0.06)
