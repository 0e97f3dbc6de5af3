"""Tables in L1: against a cache of least-recently-used lines, draw by draw."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

import numpy as np
import pytest

from perfmodel.hardware import load_device
from perfmodel.kernels import bind
from perfmodel.kernels.tables import kernel_from_table
from perfmodel.models.grid.geometry import block_shape
from perfmodel.models.l1.l1_tables import (
    TABLE_SHARE,
    WALKED_MISSES,
    periodic_fills,
    table_fills,
)
from perfmodel.models.requests.warp_requests import Requests, access_requests

LINE, SECTOR = 128, 32
GPU = load_device("h200-sxm")


def reads(table: int, threads: int) -> Requests:
    kernel = kernel_from_table(
        {
            "name": "reads",
            "launch": {"grid": [threads // 256], "block": [256]},
            "buffers": {"table": {"length": table // 4}},
            "accesses": [
                {
                    "load": "table",
                    "index": f"random(blockIdx.x*blockDim.x + threadIdx.x, {table // 4})",
                }
            ],
        }
    )  # fmt: skip
    return access_requests(bind(kernel, {}), 0, block_shape((256, 1, 1)), {})


def drawn(table: int, threads: int, capacity: int) -> float:
    """Return the sectors that miss, of one random float a thread."""
    rng = np.random.default_rng(11)
    lines: OrderedDict[int, set[int]] = OrderedDict()
    misses = 0
    for word in rng.integers(0, table // 4, threads):
        line, sector = divmod(int(word) * 4, LINE)
        held = lines.pop(line, set())
        misses += sector // SECTOR not in held
        lines[line] = held | {sector // SECTOR}
        if len(lines) > capacity // LINE:
            lines.popitem(last=False)
    return float(misses)


@pytest.mark.parametrize("table", [16 << 10, 64 << 10, 128 << 10, 512 << 10])
def test_random_places_against_a_cache(table: int) -> None:
    threads, capacity = 1 << 16, 64 << 10
    r = reads(table, threads)
    assert r.random
    # A warp's lanes rarely share sectors: the draws are the sectors.
    r = replace(r, sectors=np.full(1, float(threads)), lines=np.full(1, float(threads)))
    one = np.ones(1)
    found = table_fills(
        r, table * one, table * one, one, 0 * one, capacity / TABLE_SHARE(GPU) * one, GPU
    )
    assert float(found[0]) == pytest.approx(drawn(table, threads, capacity), rel=0.05)


def test_what_fits_is_fetched_once_an_sm() -> None:
    r = reads(32 << 10, 1 << 20)
    one = np.ones(1)
    found = table_fills(r, 32768 * one, 32768 * one, 132 * one, 0 * one, 2e5 * one, GPU)
    assert float(found[0]) == pytest.approx(132 * 32768 / 32, rel=0.01)


@pytest.mark.parametrize(("walkers", "sms"), [(16, 1), (32, 1), (32, 16), (64, 4)])
def test_walks_miss_until_one_stands_where_another_started(walkers: int, sms: int) -> None:
    """Independent: the longest way between random places on circles, drawn."""
    places, hops = 512, 256
    generator = np.random.default_rng(1)
    starts = np.sort(generator.integers(0, places, (400, sms, walkers)), axis=-1)
    ways = np.diff(starts, axis=-1, append=starts[..., :1] + places)
    longest = np.minimum(ways.max(axis=(1, 2)), hops).mean()
    found = WALKED_MISSES(
        new=np.minimum(1.0, places / (hops * walkers)), own=walkers, all=walkers * sms
    )
    assert float(found) * hops == pytest.approx(longest, rel=0.07)


def test_one_walker_misses_what_is_new() -> None:
    """Limit: nobody went before."""
    assert float(WALKED_MISSES(new=0.4, own=1.0, all=132.0)) == pytest.approx(0.4)


@pytest.mark.parametrize(("period", "once"), [(1000, True), (4096, True), (1 << 20, False)])
def test_addresses_that_start_again_are_fetched_once_an_sm(period: int, once: bool) -> None:
    # published: a bias added to rows, 125 and 512 sectors for each of 132 SMs
    # (measurements/source-kernels/h200-sxm/corpus, gelu_bias); by hand: a longer period than L1 is
    # never there still
    kernel = kernel_from_table(
        {
            "name": "bias",
            "launch": {"grid": [65536], "block": [256]},
            "buffers": {"bias": {"length": period}},
            "accesses": [
                {"load": "bias", "index": f"(blockIdx.x*blockDim.x + threadIdx.x) % {period}"}
            ],
        }
    )  # fmt: skip
    r = access_requests(bind(kernel, {}), 0, block_shape((256, 1, 1)), {})
    if r.period is None:  # whole lines: the requests need none, but the addresses still repeat
        r = replace(r, period=np.array([period * 4.0]))
    beside = r.sectors * SECTOR  # a stream of as many bytes
    sectors = periodic_fills(r, r.sectors, np.array([132.0]), beside, np.array([200e3]), GPU)
    expected = period * 4 / SECTOR * 132 if once else float(r.sectors.max())
    assert float(np.max(sectors)) == pytest.approx(expected)
