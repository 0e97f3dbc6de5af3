"""Waiting share: in which share of its batches a warp waits."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel import predict
from perfmodel.kernels import Kernel, kernel_from_table
from perfmodel.models.latency.sector_phases import in_step


def sums(streams: int) -> Kernel:
    """Return a kernel that adds up streams, and waits for a few of its loads at a time."""
    return kernel_from_table(
        {
            "name": "sums",
            "summary": "sums of several streams",
            "launch": {"grid": 2048, "block": 256},
            "definitions": {"i": "blockIdx.x*blockDim.x + threadIdx.x"},
            "paces": [{"clocks": 100, "loop": "k", "abreast": 0.3}],
            "loops": [{"variable": "k", "trips": 64}],
            "buffers": {f"x{j}": {"length": 2048 * 256 * 64} for j in range(streams)},
            "accesses": [
                {"load": f"x{j}", "index": "k*524288 + i", "loop": "k"} for j in range(streams)
            ],
        }
    )


@pytest.mark.parametrize("streams", [9, 20])
def test_loads_that_all_miss_are_no_more_than_all(streams: int) -> None:
    # property: nine ninths, and 20 twentieths, add up to more than one in floating point; each
    # load is of lines of its own, so that a stream more takes longer, and one less does not
    less, found, more = (predict(sums(streams + n)).time_s for n in (-1, 0, 1))
    assert less < found < more


@pytest.mark.parametrize(("floats", "sectors"), [(8, 8), (10, 10), (16, 16), (32, 32)])
def test_rows_shorter_than_a_warp_are_of_fewer_sectors(floats: int, sectors: int) -> None:
    # hand: 8 warps of a block read a row each, which follow one another: 8*floats*4/32 sectors, not
    # those up to where the last warp's 32 lanes would end
    kernel = kernel_from_table(
        {
            "name": "rows",
            "summary": "a warp a row",
            "launch": {"grid": 1024, "block": 256},
            "definitions": {"row": "(blockIdx.x*blockDim.x + threadIdx.x) // 32"},
            "buffers": {"x": {"length": 8192 * floats}},
            "accesses": [
                {
                    "load": "x",
                    "index": f"row*{floats} + threadIdx.x % 32",
                    "guard": f"threadIdx.x % 32 < {floats}",
                }
            ],
        }
    )
    (request,) = predict(kernel).details.requests
    np.testing.assert_allclose(in_step(request, np.full(1, 8.0)), sectors)
