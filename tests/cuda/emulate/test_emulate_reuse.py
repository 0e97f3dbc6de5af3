"""Shares of loads that a cache of some lines has not, against a cache simulated line by line."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

import numpy as np
import pytest

from perfmodel.cuda.emulate.reuse import LINES, Touches

SECTORS_PER_LINE = 4


def simulated(sectors: list[int], lines: int) -> float:
    """Return the share of touches that miss in a cache with least recently used replacement."""
    held: OrderedDict[int, set[int]] = OrderedDict()
    missed = 0
    for sector in sectors:
        line = sector // SECTORS_PER_LINE
        there = held.pop(line, set())
        missed += sector not in there
        held[line] = there | {sector}
        if len(held) > lines:
            held.popitem(last=False)
    return missed / len(sectors)


def recorded(sectors: list[int]) -> tuple[float, ...]:
    touches = Touches({7: 0.0}, 32)
    lanes = np.arange(1, dtype=np.int64)
    for sector in sectors:
        touches.turn += 1
        touches.take(7, np.array([sector * 32], dtype=np.uint64), lanes)
    return touches.reuse()[7].misses


@pytest.mark.parametrize("kind", ["random", "cyclic", "twice", "skewed"])
def test_shares_are_those_of_a_simulated_cache(kind: str) -> None:
    random = np.random.default_rng(1)
    sectors = {
        "random": random.integers(0, 800, 2000).tolist(),
        "cyclic": [*range(600)] * 3,
        "twice": [s for s in range(900) for _ in range(2)],
        "skewed": (random.pareto(1.2, 2000) * 20).astype(int).tolist(),
    }[kind]
    found = recorded(sectors)
    for lines, share in zip(LINES, found, strict=True):
        # At the very size of a cycle the mean of a stretch says less.
        if kind == "cyclic" and 0.7 < lines / 150 < 1.5:
            continue
        assert share == pytest.approx(simulated(sectors, lines), abs=0.06), lines


def test_a_larger_cache_never_misses_more() -> None:
    found = recorded(np.random.default_rng(2).integers(0, 5000, 2000).tolist())
    assert list(found) == sorted(found, reverse=True)


def test_loads_that_l1_does_not_keep_are_left_out() -> None:
    touches = Touches({1: 0.0}, 32)
    touches.take(2, np.zeros(1, dtype=np.uint64), np.zeros(1, dtype=np.int64))
    assert touches.reuse() == {}


def test_blocks_that_load_are_followed_and_not_the_first_ones() -> None:
    # by hand: of eight blocks of a warp, three and five read a line each, twice
    touches = Touches({7: 0.0}, 32)
    for _ in range(2):
        touches.turn += 1
        places = np.array([[3, 5]], dtype=np.uint64).repeat(32, axis=0).T.ravel() * 128
        touches.take(7, places, np.r_[96:128, 160:192].astype(np.int64))
    assert touches.reuse()[7].once == (0.5, 0.5)
    assert touches.reuse()[7].misses[-1] == 0.5


def drawing(places: list[np.ndarray]) -> Touches:
    """Return what four blocks of a warp each touch, request by request, as sectors of a load."""
    touches = Touches({7: 0.0}, 32)
    for sectors in places:
        touches.turn += 1
        lanes = np.arange(4 * 32, dtype=np.int64)
        touches.take(7, (sectors.reshape(-1) * 32).astype(np.uint64), lanes)
    return touches


def test_the_lines_of_a_table_are_known_from_what_blocks_have_in_common() -> None:
    # Independent: places drawn at random in 1000 lines of 4 sectors.
    random = np.random.default_rng(3)
    draws = [random.integers(0, 1000, (4, 32)) * SECTORS_PER_LINE for _ in range(30)]
    assert drawing(draws).reuse()[7].drawn == pytest.approx(1000, rel=0.1)


@pytest.mark.parametrize("apart", [0, 100_000])
def test_what_blocks_walk_along_is_no_table(apart: int) -> None:
    # Property: all along the same, or each along its own.
    own = np.arange(32)[None, :] + apart * np.arange(4)[:, None]
    walked = drawing([(own + 32 * k) % 4000 + own // 4000 * 4000 for k in range(60)])
    assert walked.reuse()[7].drawn == 0


def test_what_a_block_asks_for_the_first_time() -> None:
    # Derived: the first half of a line, sector by sector, then the same again and the other half.
    touches = Touches({7: 0.0}, 32)
    for sector in (0, 1, 0, 1, 2, 3):
        touches.turn += 1
        touches.take(7, np.array([sector * 32], dtype=np.uint64), np.zeros(1, dtype=np.int64))
    assert touches.reuse()[7].once == pytest.approx((4 / 6, 2 / 6))


def test_other_warps_come_between_loads_that_wait_for_each_other() -> None:
    # Property: each of 64 warps loads a word of a line and then the next one. In a row it finds the
    # line in a cache of four; after all others have had their turn it does not.
    def missed(waits: float) -> float:
        touches = Touches({7: 0.0, 8: waits}, 64 * 32)
        lanes = 32 * np.arange(64, dtype=np.int64)
        for at in (7, 8):
            touches.take(at, (128 * np.arange(64)).astype(np.uint64), lanes)
        return touches.reuse()[8].misses[0]

    assert missed(0.0) == 0.0
    assert missed(1.0) == 1.0


def test_warps_that_come_to_a_sector_together_wait_together() -> None:
    # by hand: two warps of a block ask for one sector in a turn; then each for one of its own; then
    # for what is there
    touches = Touches({7: 0.0}, 64)
    lanes = np.array([0, 32], dtype=np.int64)
    for sectors in ((1, 1), (2, 3), (1, 2)):
        touches.turn += 1
        touches.take(7, np.array(sectors, dtype=np.uint64) * np.uint64(32), lanes)
    assert touches.reuse()[7].met == pytest.approx(4 / 3)


@pytest.mark.parametrize(
    ("place", "jumps"),
    [
        (lambda warp, k, drawn: drawn, True),
        (lambda warp, k, drawn: 8 * k + warp, False),  # warps side by side
        (lambda warp, k, drawn: 64 * warp + k, False),  # each along a row of its own
        (lambda warp, k, drawn: 64 * warp + 63 - k, False),  # the same, from its end
    ],
)
def test_who_goes_in_no_order(place: Callable[[int, int, int], int], jumps: bool) -> None:
    # by hand: 8 warps of one block, 64 requests each, a line a request
    touches = Touches({7: 0.0}, 256)
    random = np.random.default_rng(4)
    for k in range(64):
        touches.turn += 1
        lines = [place(warp, k, int(random.integers(0, 512))) for warp in range(8)]
        address = np.repeat(np.array(lines, dtype=np.uint64) * np.uint64(128), 32)
        touches.take(7, address, np.arange(256, dtype=np.int64))
    assert touches.reuse()[7].jumping == jumps


def test_blocks_that_ask_for_a_sector_at_a_time_are_counted_one_by_one() -> None:
    random = np.random.default_rng(4)
    places = [random.integers(0, 40, (4, 32)) << 10 for _ in range(9)]
    each = {(t, s, b) for t, turn in enumerate(places) for b in range(4) for s in turn[b].tolist()}
    at_a_time = {(t, s) for t, s, _ in each}
    assert drawing(places).reuse()[7].alike == len(each) / len(at_a_time)
