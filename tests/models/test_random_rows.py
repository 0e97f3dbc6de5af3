"""Rows at random places in closed form: against draws of a generator, and the lanes' own."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.arrays import Array
from perfmodel.kernels import Kernel, bind
from perfmodel.kernels.tables import kernel_from_table
from perfmodel.models.grid.activity import warp_classes
from perfmodel.models.grid.geometry import block_shape
from perfmodel.models.requests.addressing import addressing
from perfmodel.models.requests.enumeration import counted_requests
from perfmodel.models.requests.random_rows import TOUCHED, busiest, random_rows, touched
from perfmodel.models.requests.request_record import Requests
from perfmodel.models.requests.warp_requests import access_requests
from perfmodel.models.requests.wavefronts import data_wavefronts, tag_bank

SHAPE = block_shape((256, 1, 1))
ROWS = "random(i // run, rows)*run + i % run"


def load(index: str = ROWS, element: int = 4, guard: str = "i < n") -> Kernel:
    """A load of a table by blocks of 256 threads."""
    return kernel_from_table(
        {
            "name": "rows",
            "parameters": {"n": {"default": 1 << 20}, "run": {"default": 1}, "rows": {}},
            "launch": {"grid": ["ceil_div(n, 256)"], "block": [256]},
            "definitions": {"i": "blockIdx.x*blockDim.x + threadIdx.x"},
            "buffers": {"table": {"length": "rows*run*4 + n", "element_bytes": element}},
            "accesses": [{"load": "table", "index": index, "guard": guard}],
        }
    )  # fmt: skip


def closed(kernel: Kernel, **params: int) -> Requests | None:
    """Return what the closed form says, None where it has nothing to say."""
    a = addressing(bind(kernel, params), 0, SHAPE)
    activity = warp_classes(a.guards, a.values, a.variables)
    return None if activity is None else random_rows(a, activity)


def drawn_addresses(run: int, rows: int, element: int, lanes: int) -> Array:
    """Return addresses of many groups of lanes that read whole rows, by a generator of NumPy's."""
    generator = np.random.default_rng(run + rows)
    row = generator.integers(0, rows, (4000, max(1, lanes // run)))
    every = row[:, :, None] * run + np.arange(min(run, lanes))
    return np.asarray(every.reshape(4000, -1) * element)


def distinct(addresses: Array, granule: int) -> float:
    """Return the mean number of distinct granules of a group."""
    return float(np.mean([len(np.unique(own)) for own in addresses // granule]))


@pytest.mark.parametrize(
    ("run", "rows", "element"),
    [
        *((1, 1 << 20, 4), (1, 900, 4), (1, 40, 4), (2, 5000, 4), (4, 16, 4), (8, 300, 4)),
        *((32, 50, 4), (1, 300, 8), (2, 64, 16), (16, 1 << 16, 16), (32, 9, 16)),
    ],
)
def test_rows_touch_as_many_granules_as_drawn_ones(run: int, rows: int, element: int) -> None:
    # independent: draws of NumPy's generator, counted one by one; a mean over 4000 warps or blocks
    found = closed(load(element=element), run=run, rows=rows)
    assert found is not None
    warps, blocks = (1 << 20) / 32, (1 << 20) / 256
    own, together = (drawn_addresses(run, rows, element, lanes) for lanes in (32, 256))
    assert float(found.requests[0]) == warps
    assert found.different is not None
    assert found.pairs is not None
    assert found.distinct_per_block is not None
    every = {element: found.different, 32: found.sectors, 64: found.pairs, 128: found.lines}
    for granule, number in every.items():
        assert float(number[0]) / warps == pytest.approx(distinct(own, granule), rel=0.01)
    for granule, number in zip((32, 64, 128), found.distinct_per_block, strict=True):
        assert float(number[0]) / blocks == pytest.approx(distinct(together, granule), rel=0.01)


@pytest.mark.parametrize(
    ("run", "rows", "element"),
    [(1, 1 << 20, 4), (1, 2000, 4), (2, 4096, 4), (8, 700, 4), (32, 40, 4), (1, 5000, 8)],
)
def test_clocks_in_banks_are_those_of_drawn_rows(run: int, rows: int, element: int) -> None:
    # independent: clocks of drawn addresses; lines counted bank by bank
    found = closed(load(element=element), run=run, rows=rows)
    assert found is not None
    own = drawn_addresses(run, rows, element, 32)
    lines = [np.unique(each) for each in (own + (1 << 36)) // 128]
    tags = np.mean([np.bincount(tag_bank(each)).max() for each in lines])
    data = np.mean(data_wavefronts(own, element))
    requests = float(found.requests[0])
    assert float(found.data_wavefronts[0]) / requests == pytest.approx(float(data), rel=0.02)
    assert float(found.tag_wavefronts[0]) / requests == pytest.approx(float(tags), rel=0.025)


def test_share_that_the_next_block_touches_too() -> None:
    # independent: distinct lines of two blocks' draws, and of one's
    found = closed(load(), rows=1 << 12)
    assert found is not None
    assert found.next_block_share is not None
    one = drawn_addresses(1, 1 << 12, 4, 256)
    both = np.concatenate([one[:2000], one[2000:]], axis=1)
    expected = 2 - distinct(both, 128) / distinct(one, 128)
    assert float(found.next_block_share[2, 0]) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("n", [20_011, 100_003, 1 << 20])
@pytest.mark.parametrize("run", [1, 4, 64])
def test_rows_are_counted_as_lane_by_lane(n: int, run: int) -> None:
    # independent: the lanes' own addresses, by the hash that stands for the table's contents
    instance = bind(load(), {"n": n, "run": run, "rows": 1500})
    found = access_requests(instance, 0, SHAPE, {})
    counted = counted_requests(addressing(instance, 0, SHAPE))
    assert found.sampled is None
    for name in ("requests", "active_lanes"):
        one, other = (np.ravel(getattr(each, name)) for each in (found, counted))
        assert one == pytest.approx(other, rel=1e-12 if counted.sampled == 1 else 5e-3)
    for name in ("sectors", "lines", "different", "data_wavefronts", "tag_wavefronts"):
        one, other = (np.ravel(getattr(each, name)) for each in (found, counted))
        assert one == pytest.approx(other, rel=0.02), name


@pytest.mark.parametrize(
    "index",
    [
        "random(i // run, rows)*run + (i + 1) % run",  # cut at other places
        "random(i // run, rows)*2 + i % run",  # rows over one another
        "random(i // run, rows)*6 + i % run",  # at no multiples of their size
        "random(i // run, rows)*run + threadIdx.x",  # lanes of a row somewhere else
        "random(random(i, rows), rows)",
        "shuffled(i, rows)",
        "min(random(i // run, rows)*run, 100)",
    ],
)
def test_other_random_indices_have_no_closed_form(index: str) -> None:
    # by definition: rows of elements one after the other, at multiples of their size
    assert closed(load(index), run=4, rows=600) is None


def test_guards_within_a_block_have_no_closed_form() -> None:
    # by definition: cut blocks are the last ones
    assert closed(load(guard="threadIdx.x < 40"), rows=600) is None


def test_granules_that_random_rows_touch() -> None:
    # hand: of 2 draws among 4 places the second is another one three times in four
    assert float(TOUCHED(each=3.0, places=4.0, rows=2.0)) == pytest.approx(3 * 1.75)
    for places in (1.0, 1.25, 4.0, 1e4 + 0.5):
        one = touched(3.0, np.full(1, places), 7.0)
        assert float(one[0]) == pytest.approx(float(TOUCHED(each=3.0, places=places, rows=7.0)))


def test_fullest_bin() -> None:
    # hand: two balls in two bins meet half of the time; in one bin all do
    one, two = np.full(1, 1e9), np.full(1, 2.0)
    assert float(busiest(two, 2.0, one)[0]) == pytest.approx(1.5)
    assert float(busiest(two + 5, 1.0, one)[0]) == pytest.approx(7)
    # independent: draws of a generator
    drawn = np.random.default_rng(1).integers(0, 32, (20000, 32))
    fullest = np.mean([np.bincount(own).max() for own in drawn])
    assert float(busiest(np.full(1, 32.0), 32.0, one)[0]) == pytest.approx(float(fullest), rel=5e-3)
    # independent: 32 lanes draw among 70 words, in 32 banks: as far as it errs
    few = [np.bincount(np.unique(own) % 32).max() for own in drawn_addresses(1, 70, 1, 32)]
    words = touched(1.0, np.full(1, 70.0), 32.0)
    assert float(busiest(words, 32.0, 70.0)[0]) == pytest.approx(float(np.mean(few)), rel=0.2)
    # hand: all of the places are as many in each bin
    assert float(busiest(np.full(1, 32.0), 4.0, np.full(1, 32.0))[0]) == pytest.approx(8)


@pytest.mark.parametrize("n", [4096, 5003, 60_431])
@pytest.mark.parametrize("run", [2, 8, 16])
def test_numbers_of_rows_where_a_guard_cuts_a_warp(n: int, run: int) -> None:
    # independent: the lanes' own addresses; what the one cut warp asks for may be a sector off
    instance = bind(load("i // run"), {"n": n, "run": run, "rows": 70})
    found = access_requests(instance, 0, SHAPE, {})
    counted = counted_requests(addressing(instance, 0, SHAPE))
    assert found.sampled is None
    assert counted.sampled == 1
    assert found.strides is not None
    for name in ("requests", "active_lanes"):
        assert getattr(found, name) == pytest.approx(getattr(counted, name), rel=1e-12)
    for name in ("sectors", "lines", "data_wavefronts", "tag_wavefronts"):
        assert getattr(found, name) == pytest.approx(getattr(counted, name), abs=1), name
