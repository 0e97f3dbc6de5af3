"""Passes of loads whose lanes meet: against measured chains, lane by lane."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.hardware import load_device
from perfmodel.kernels import bind
from perfmodel.kernels.files import parse_kernel
from perfmodel.models.grid.geometry import block_shape
from perfmodel.models.requests.conflict_latency import conflict_clocks, further_passes
from perfmodel.models.requests.warp_requests import access_requests

ALONE = 33.75


@pytest.mark.parametrize(
    ("words", "clocks"), [(1, 33.75), (2, 35.75), (4, 39.75), (8, 47.75), (16, 63.75), (32, 95.75)]
)
def test_a_load_is_later_for_each_further_word_of_a_bank(words: int, clocks: float) -> None:
    # measured: chains of shared loads of a warp whose lanes meet in so many words of a bank
    # (measurements/instructions/h200-sxm/one-warp/steps.csv)
    kernel = parse_kernel(
        f"""
name = "chain"
[launch]
grid = 1
shared_bytes = 4096
block = 32
[buffers]
table = {{ length = "1024", space = "shared" }}
[[accesses]]
load = "table"
index = "threadIdx.x*{words}"
"""
    )
    instance = bind(kernel, {})
    requests = [access_requests(instance, 0, block_shape((32, 1, 1)), {})]
    longest, others = further_passes(requests, np.full(1, 3.0))
    assert (longest, others) == (words - 1, 2 * (words - 1))  # two more iterations
    once, looped = conflict_clocks(instance, requests, [0], load_device("h200-sxm"))
    assert ALONE + once == pytest.approx(clocks, abs=0.5)
    assert np.all(looped == 0)
