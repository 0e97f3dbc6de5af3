"""Waves and tails: by hand, and against drawing work at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from perfmodel.hardware import load_device
from perfmodel.kernels import bind
from perfmodel.kernels.files import parse_kernel
from perfmodel.kernels.instance import Instance
from perfmodel.models.grid.geometry import block_shape
from perfmodel.models.launch.waves import (
    CROWDING,
    ROUNDS,
    Balance,
    balances,
    largest_of,
    mean_turns,
    side_by_side,
    taking_part,
)
from perfmodel.models.requests.warp_requests import access_requests

H100 = load_device("h100-sxm")


def launch(blocks: int, guard: str = "") -> tuple[Instance, list[Any]]:
    """Return a copy of a float each by blocks of 256 threads, and its requests."""
    kernel = parse_kernel(
        f"""
name = "copy"
{guard}
[launch]
grid = {blocks}
block = 256
[buffers]
a = {{ length = "{blocks * 256}" }}
[[accesses]]
load = "a"
index = "blockIdx.x*256 + threadIdx.x"
"""
    )
    instance = bind(kernel, {})
    return instance, [access_requests(instance, 0, block_shape((256, 1, 1)), {})]


@pytest.mark.parametrize(
    ("blocks", "busiest"), [(1, 1), (100, 1), (132, 1), (133, 2), (264, 2), (265, 3), (1320, 10)]
)
def test_the_busiest_sm_has_the_blocks_that_come_to_it(blocks: int, busiest: int) -> None:
    # by hand: blocks go to 132 SMs in turn, one at a time
    instance, requests = launch(blocks)
    balance, l1_load, busy = balances(instance, requests, H100)
    assert balance.load == pytest.approx(busiest / (blocks / 132))
    assert l1_load == pytest.approx(busiest / (blocks / 132))
    assert busy == blocks


def test_blocks_that_the_guard_keeps_out_have_no_work() -> None:
    # by hand: of 1000 blocks the first 198 have elements, and go to 132 SMs: two at some
    instance, requests = launch(1000, 'guard = "blockIdx.x*256 + threadIdx.x < 198*256"')
    balance, _, busy = balances(instance, requests, H100)
    assert busy == 198
    assert balance.load == pytest.approx(2 / 1.5)


def test_the_load_of_what_all_blocks_do() -> None:
    # by hand: 300 blocks on 132 SMs are 3 on the busiest, uneven by a tenth; where all are at work
    # the load of those counts
    found = Balance.of(np.full(1, 2.0), 132.0, np.full(1, 200.0), 1.1)
    blocks, load = np.full(1, 300.0), 2 * 132 / 200 * 1.1
    assert found.load == pytest.approx(load)
    assert found.of_all(blocks, np.full(1, 10.0)) == pytest.approx(3 / (300 / 132) * 1.1)
    assert found.of_all(blocks, blocks) == pytest.approx(load)


@pytest.mark.parametrize(("x", "waves"), [(0.5, 1.0), (1.0, 1.0), (1.5, 1.5 + 0.5 / 1.5), (4.0, 4)])
def test_waves_of_blocks(x: float, waves: float) -> None:
    # by hand: whole waves are themselves, and a wave in part lasts a whole one but for the drift
    assert ROUNDS(x=x, uneven=1.0) == pytest.approx(waves)
    assert ROUNDS(x=x, uneven=1.2) == pytest.approx(1.2 * waves)


@pytest.mark.parametrize("held", [1, 4])
def test_crowding_is_the_fullest_of_all_sms(held: int) -> None:
    # independent: normal work of the blocks of 132 SMs, drawn 4000 times
    drawn = np.random.default_rng(1).normal(1.0, 0.1, (4000, 132, held)).mean(axis=2).max(axis=1)
    z = 2.6  # of 132 standard normal numbers the largest: Blom (1958) gives 2.58, tables 2.59
    found = CROWDING(z=z, spread=0.1, held=float(held), waves=1.0)
    assert found - 1 == pytest.approx(drawn.mean() - 1, rel=0.03)


def test_small_parts() -> None:
    # by hand
    assert list(side_by_side(np.full(3, 4.0), np.array([100.0, 200.0, 1e4]), 132)) == [1, 2, 4]
    instance, requests = launch(10, 'guard = "blockIdx.x*256 + threadIdx.x < 1280"')
    assert taking_part(requests) == pytest.approx(0.5)
    assert mean_turns(instance, requests) == 1


def test_loops_that_go_on_by_a_grid_along_one_axis() -> None:
    # by hand: 700 numbers by steps of 256 are 700/256 turns in the mean, and 3 of the first block;
    # blocks along two axes go on by less than their grid, and steps of 128 by less than four blocks
    kernel = parse_kernel(
        """
name = "turns"
[parameters]
x = { default = 4 }
y = { default = 1 }
step = { default = 256 }
[launch]
grid = ["x", "y"]
block = 64
[buffers]
a = { length = 2000 }
[[loops]]
variable = "i"
trips = "ceil_div(700, step)"
[[accesses]]
load = "a"
loop = "i"
index = "blockIdx.x*64 + threadIdx.x + i*step"
guard = "blockIdx.x*64 + threadIdx.x + i*step < 700"
"""
    )

    def turns(**params: Any) -> list[float]:
        instance = bind(kernel, params)
        trips = {"i": instance.trips["i"]}
        requests = [access_requests(instance, 0, block_shape((64, 1, 1)), trips)]
        return np.broadcast_to(mean_turns(instance, requests), instance.shape or 1).tolist()

    part = 700 / 256 / 3
    assert turns(y=np.array([1, 2])) == pytest.approx([part, 1.0])
    assert turns(y=1) + turns(y=2) + turns(step=128) == pytest.approx([part, 1.0, 1.0])


def test_the_largest_of_standard_normal_numbers_is_that_of_tables() -> None:
    # published: Harter, Expected Values of Normal Order Statistics (1961), to Blom's 5%
    found = largest_of(np.array([[2, 10], [100, 400]]))
    assert found.shape == (2, 2)
    assert found == pytest.approx(np.array([[0.5642, 1.5388], [2.5076, 2.968]]), rel=0.05)
