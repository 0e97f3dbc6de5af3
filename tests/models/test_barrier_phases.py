"""Blocks that meet between their loads and what they compute; expected values are limits."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.hardware import load_device
from perfmodel.kernels.instance import bind
from perfmodel.kernels.library import find_kernel
from perfmodel.models.grid.geometry import block_shape
from perfmodel.models.latency.barrier_phases import LoadingBlocks, barrier_time, read_again
from perfmodel.models.requests.warp_requests import access_requests


def meeting(wait: float, bandwidth: float, held: float, rounds: float, load: float = 0.0) -> float:
    """Return the time of blocks that compute all of `wait`, loads apart."""
    blocks = LoadingBlocks(
        device=load_device("h100-sxm"),
        latency_s=np.array([wait]),
        busy_s=np.array([wait - load * rounds]),
        bandwidth_s=np.array([bandwidth]),
        load_s=np.array([load]),
        concurrent=np.array([held]),
        waves=np.array([rounds]),
    )
    return float(np.ravel(barrier_time(blocks))[0])


def test_nobody_hides_what_the_only_block_of_an_sm_computes() -> None:
    assert meeting(5.0, 3.0, held=1, rounds=100) == pytest.approx(8.0)


def test_a_batch_takes_its_latency_or_its_transfer() -> None:
    assert meeting(6.0, 3.0, held=1, rounds=1, load=1.0) == pytest.approx(5.0 + 3.0)
    assert meeting(6.0, 0.5, held=1, rounds=1, load=1.0) == pytest.approx(6.0)


def test_many_blocks_hide_what_is_shorter_after_many_rounds() -> None:
    assert meeting(5.0, 3.0, held=1e6, rounds=1e6) == pytest.approx(5.0)
    assert meeting(3.0, 5.0, held=1e6, rounds=1e6) == pytest.approx(5.0)


def test_between_the_longer_of_both_and_their_sum() -> None:
    times = [meeting(5.0, 3.0, held, rounds) for held in (1, 2, 4, 8) for rounds in (1, 4, 16)]
    assert all(5.0 < t <= 8.0 * (1 + 1e-9) for t in times)
    assert meeting(5.0, 3.0, 2, 1) > meeting(5.0, 3.0, 2, 4) > meeting(5.0, 3.0, 8, 4)


def test_without_bandwidth_only_the_wait_counts() -> None:
    assert meeting(5.0, 0.0, held=2, rounds=4) == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("kernel", "columns", "share"),
    [("softmax", 32000, 2 / 3), ("softmax", 16384, 0.0), ("layernorm", 4096, 0.0)],
)
def test_what_passes_read_again(kernel: str, columns: int, share: float) -> None:
    # a layer normalisation waits for one load after the other and computes between them
    instance = bind(find_kernel(kernel), {"rows": 264, "cols": columns})
    block = block_shape((1024, 1, 1) if kernel == "softmax" else (32, 4, 1))
    every = range(len(instance.kernel.accesses))
    found = read_again(instance, [access_requests(instance, i, block, {}) for i in every])
    assert float(np.ravel(found)[0]) == pytest.approx(share, abs=0.01)
