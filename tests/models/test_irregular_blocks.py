"""Blocks whose warps are no full boxes of threads: what guards leave of them, and their lanes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from brute_force import warps
from hypothesis import given
from hypothesis import strategies as st

from perfmodel import predict
from perfmodel.expressions import parse
from perfmodel.kernels import Kernel, kernel_from_table
from perfmodel.models.grid.activity import let_in
from perfmodel.models.grid.affine import index_variables
from perfmodel.models.grid.geometry import block_shape

BLOCKS = [(10, 10, 1), (24, 1, 1), (1000, 1, 1), (7, 5, 1), (33, 3, 1), (6, 6, 6), (1, 24, 1)]


def rows(block: tuple[int, int], columns: int, guard: str = "") -> Kernel:
    """Return one block whose threads add up a row each: x and y tell the row."""
    threads = math.prod(block)
    return kernel_from_table(
        {
            "name": "rows",
            "launch": {"grid": 1, "block": list(block)},
            "paces": [{"clocks": 20, "loop": "k", "abreast": 1}],
            "loops": [{"variable": "k", "trips": columns}],
            "buffers": {"x": {"length": threads * columns, "element_bytes": 4}},
            "accesses": [
                {
                    "load": "x",
                    "index": f"(threadIdx.y*{block[0]} + threadIdx.x)*{columns} + k",
                    "loop": "k",
                }
            ],
        }
        | ({"guard": guard} if guard else {})
    )


@given(st.sampled_from(BLOCKS), st.integers(1, 3), st.integers(1, 4000))
def test_shares_of_all_threads_equal_brute_force(
    block: tuple[int, int, int], blocks: int, n: int
) -> None:
    # independent: every thread of every block is asked whether its number in all passes
    x, y, _ = block
    number = f"((blockIdx.x*{block[2]} + threadIdx.z)*{y} + threadIdx.y)*{x} + threadIdx.x < n"
    shape = block_shape(block)
    variables = index_variables(shape, (blocks, 1, 1), {})
    found = let_in([parse(number)], {"n": n}, variables)
    assert found is not None
    passing = sum(at < n for at in range(blocks * math.prod(block)))
    share = math.prod(float(np.ravel(s)[0]) for s in found.shares.values())
    assert share * blocks * math.prod(block) == pytest.approx(passing)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("axis", ["x", "y"])
def test_whole_warps_that_some_thread_passes_in(block: tuple[int, int, int], axis: str) -> None:
    # independent: warps of which some thread passes, but for what two sides' ends leave of a warp
    at = "xy".index(axis)
    if block[2] > 1 or block[at] == 1:
        return
    n = max(1, block[at] // 3)
    shape = block_shape(block)
    variables = index_variables(shape, (1, 1, 1), {})
    found = let_in([parse(f"threadIdx.{axis} < {n}")], {}, variables)
    assert found is not None
    passing = sum(any(t[at] < n for t in warp) for warp in warps(block))
    whole = float(np.ravel(found.warp_shares[f"thread.{axis}"])[0]) * math.prod(block) / 32
    if axis == "y" or block[1] == 1:
        assert passing - 1 < whole <= passing
    else:
        assert whole * 32 / math.prod(block) == min(1.0, -(-n // 32) * 32 / block[0])


@pytest.mark.parametrize(("let", "columns"), [(89, 1000), (300, 96), (900, 16)])
def test_rows_that_a_guard_lets_in_come_once(let: int, columns: int) -> None:
    # by hand: rows of whole sectors, which L1 keeps until the last of their words is read
    found = predict(rows((1000, 1), columns, f"threadIdx.x < {let}"), device="h100-sxm")
    assert found.traffic["l2_read_sectors"] == pytest.approx(let * columns * 4 / 32, rel=0.01)


@pytest.mark.parametrize(
    ("block", "lanes"), [((10, 10), (10, 4)), ((24, 1), (24, 1)), ((33, 3), (32, 1))]
)
def test_lanes_of_a_warp_lie_along_x_first(block: tuple[int, int], lanes: tuple[int, int]) -> None:
    # by hand: 32 threads in a row of the block's, or rows of it, the last in part
    request = predict(rows(block, 64), device="h100-sxm").details.requests[0]
    assert tuple(int(np.ravel(count)[0]) for _, count in request.lanes[:2]) == lanes


@pytest.mark.parametrize("block", [(4, 8), (5, 5), (3, 32)])
def test_lanes_side_by_side_share_the_sectors_that_they_come_to(block: tuple[int, int]) -> None:
    # by hand: lanes side by side along rows whole sectors apart go on by x words of 4 B a turn, and
    # come to a new sector of 32 B in x/8 of the turns, not each lane in turns of its own
    x, y = block
    turns = 320
    kernel = kernel_from_table(
        {
            "name": "groups",
            "launch": {"grid": 1, "block": list(block)},
            "paces": [{"clocks": 20, "loop": "k", "abreast": 1}],
            "loops": [{"variable": "k", "trips": turns}],
            "buffers": {"x": {"length": y * turns * 8, "element_bytes": 4}},
            "accesses": [
                {
                    "load": "x",
                    "index": f"threadIdx.y*{turns * 8} + k*{x} + threadIdx.x",
                    "loop": "k",
                }
            ],
        }
    )
    chain = predict(kernel, device="h100-sxm").details.time.chain
    (batch,) = [b for b in chain.batches if b.loop == "k"]
    assert batch.advance is not None
    a_turn = float(np.ravel(batch.advance / batch.unroll)[0])
    assert a_turn == pytest.approx(x * 4 / 32, rel=0.02)
