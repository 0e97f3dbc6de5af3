"""Closed forms of L2 residency against caches simulated line by line, and their limits."""

from __future__ import annotations

from collections import OrderedDict
from itertools import pairwise

import numpy as np
import pytest

from perfmodel.hardware import load_device
from perfmodel.models.dram.writeback_loss import DramMix, SetAside, writeback_loss
from perfmodel.models.l2 import residency, set_overflow
from perfmodel.models.l2.random_lines import (
    OtherTable,
    Shares,
    both_sides,
    lost_lines,
    random_line_hits,
    stay,
)

MIB = 2**20
H200 = 60.0 * MIB
GPU = load_device("h200-sxm")


class Lru:
    """A set of lines of which the least recently used leaves."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.lines: OrderedDict[int, None] = OrderedDict()

    def __contains__(self, line: int) -> bool:
        return line in self.lines

    def use(self, line: int) -> None:
        self.lines[line] = None
        self.lines.move_to_end(line)
        if len(self.lines) > self.most:
            self.lines.popitem(last=False)


@pytest.mark.parametrize("ways", [3, 5, 8])
@pytest.mark.parametrize(
    ("lines", "picked"), [(4.25, 0.5625), (8.5, 0.3125), (8.5, 1.0), (17, 0.5)]
)
def test_overflow_is_what_an_lru_cache_loses(ways: int, lines: float, picked: float) -> None:
    # independent: sets of `ways` lines, least recently used first, read in order again and again;
    # some have more lines than others
    generator = np.random.default_rng(1)
    sets, again, missed = 2000, 0, 0
    rare = set_overflow.UNEVEN_SHARE(GPU)
    for _ in range(sets):
        uneven = generator.choice([-1, 0, 1], p=[rare, 1 - 2 * rare, rare]) * set_overflow.UNEVEN(
            GPU
        )
        count = int(lines + uneven + generator.random())
        persisting = [line for line in range(count) if generator.random() < picked]
        cache = Lru(ways)
        for turn in range(3):
            for line in persisting:
                if turn:
                    again += 1
                    missed += line not in cache
                cache.use(line)
    found = float(set_overflow.overflow(lines, picked, ways, GPU))
    assert found == pytest.approx(missed / again, abs=0.03)


@pytest.mark.parametrize(
    ("lines", "picked", "ways", "others"),
    [(2.1, 1.0, 3, 2.1), (6.4, 1.0, 8, 6.4), (4.3, 0.5625, 3, 2.4), (8.5, 0.3125, 5, 0.0)],
)
def test_random_overflow_is_what_an_lru_cache_loses(
    lines: float, picked: float, ways: int, others: float
) -> None:
    # independent: sets of `ways` lines, least recently used first, read at random places, by this
    # kernel and by another one whose lines are `others` in each set
    generator = np.random.default_rng(2)
    read = missed = 0
    for _ in range(600):
        count = int(lines) + (generator.random() < lines % 1)
        mine = [line for line in range(count) if generator.random() < picked]
        theirs = [100 + line for line in range(int(others) + (generator.random() < others % 1))]
        every = mine + theirs
        if not every:
            continue
        cache = Lru(ways)
        draws = generator.integers(len(every), size=40 * len(every))
        for turn, at in enumerate(draws):
            if turn > 8 * len(every):
                read += 1
                missed += every[at] not in cache
            cache.use(every[at])
    found = float(set_overflow.random_overflow(lines, picked, ways, others))
    assert found == pytest.approx(missed / read, abs=0.03)


def test_random_overflow_has_limits() -> None:
    # property: what fits is never lost; without ways everything is
    assert set_overflow.random_overflow(4.0, 1.0, 8.0, 4.0) == 0
    assert set_overflow.random_overflow(4.0, 1.0, 0.0) == 1
    assert set_overflow.random_overflow(8.0, 1.0, 4.0) == pytest.approx(0.5)


def test_overflow_has_limits() -> None:
    # property: whole ways, all picked: nothing or everything is lost
    assert set_overflow.overflow(4.4, 1.0, 5.0, GPU) == 0
    assert set_overflow.overflow(7.0, 1.0, 5.0, GPU) == pytest.approx(1)
    assert set_overflow.overflow(4.0, 0.5, 0.0, GPU) == 1
    some = set_overflow.overflow(np.array([4.0, 8.0, 16.0]), 0.5, 5.0, GPU)
    assert np.all(np.diff(some) > 0)
    assert np.all(np.diff(set_overflow.overflow(8.0, 0.5, np.arange(1.0, 9.0), GPU)) <= 0)


@pytest.mark.parametrize("table_lines", [600, 1500, 4000])
def test_random_tables_against_two_partitions(table_lines: int) -> None:
    # independent: two halves of 512 lines; readers of the far half keep a copy, homes keep theirs
    generator = np.random.default_rng(2)
    half, draws = 512, 40_000
    caches = (Lru(half), Lru(half))
    lines = generator.integers(0, table_lines, draws)
    sides = generator.integers(0, 2, draws)
    hits = 0
    for line, side in zip(lines.tolist(), sides.tolist(), strict=True):
        home = line % 2
        if line in caches[side]:
            hits += 1
        else:
            hits += line in caches[home]
            caches[home].use(line)
        caches[side].use(line)
    found, *_ = random_line_hits(table_lines * 128.0, 0.0, draws, half * 2 * 128.0)
    assert float(found) == pytest.approx(hits / draws, abs=0.005)


@pytest.mark.parametrize("copied", [True, False])
def test_random_tables_that_compete_against_two_partitions(copied: bool) -> None:
    # independent: as above, every third reference to another table, by loads or by atomics that
    # go to a line's home alone
    generator = np.random.default_rng(4)
    half, references, sizes = 512, 90_000, (900, 300)
    caches = (Lru(half), Lru(half))
    hits, draws = [0, 0], [0, 0]
    for n in range(references):
        which = int(n % 3 == 2)
        line, side = (int(generator.integers(0, most)) for most in (sizes[which], 2))
        home = line % 2
        line += which * 10_000
        near = side if which == 0 or copied else home
        draws[which] += 1
        hits[which] += line in caches[near] or line in caches[home]
        if line not in caches[near]:
            caches[home].use(line)
        caches[near].use(line)
    other = OtherTable(np.array([sizes[1] * 128.0]), np.array([draws[1] / sizes[1]]), copied)
    found, *_ = random_line_hits(
        *(sizes[0] * 128.0, 0.0, draws[0], half * 2 * 128.0), others=[other]
    )
    assert float(found[0]) == pytest.approx(hits[0] / draws[0], abs=0.006)


def test_lines_that_a_set_aside_lets_go() -> None:
    # by hand: with room for nothing else they miss, and no copy is on the far side; with room for
    # all nobody does
    table, streams = np.array([1e6]), np.array([1e3])
    shares = Shares(np.array([0.75]), np.array([0.0]))
    for room, wanted in ((1.0, [0.25, 1.0]), (1e9, [0.0, 0.0])):
        found = lost_lines(stay(table, streams, room, shares), np.array([0.25]))
        assert [float(x[0]) for x in found] == pytest.approx(wanted, abs=1e-3)


def test_lines_of_random_tables_on_both_sides() -> None:
    # by hand: lines drawn once have a copy on the far side every other time, and any draw finds
    # them; all drawn often are there twice
    few, hits = both_sides(1e-4)
    assert float(few) == pytest.approx(1.5e-4, rel=1e-3)
    assert float(hits) == pytest.approx(1e-4, rel=1e-3)
    assert [float(x) for x in both_sides(40.0)] == pytest.approx([2.0, 1.0])


def test_atoms_of_lines_that_stay() -> None:
    # independent: references to a line until it leaves, each to a random one of its parts
    generator = np.random.default_rng(3)
    for parts in (1, 2, 4):
        there: set[int] = set()
        hits, draws, stays = 0, 60_000, 0.6
        for _ in range(draws):
            if generator.random() > stays:
                there.clear()
            part = int(generator.integers(0, parts))
            hits += part in there
            there.add(part)
        found = residency.ATOM_HITS(h=stays, a=parts)
        assert found == pytest.approx(hits / draws, abs=0.01)


def test_a_set_aside_is_whole_ways() -> None:
    # measured: times of copies change at these sizes and not between (H200, 3.75 MiB a way)
    mib = np.array([0, 1, 3, 7, 8, 12, 16, 20, 24, 28, 30, 34, 37.5])
    assert residency.granted_ways(mib * MIB, H200).tolist() == [
        *(0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 8, 10, 10)
    ]


def test_hit_ratio_picks_a_sixteenth_more() -> None:
    # measured: DRAM reads of data-reset with 30 MiB set aside (data-reset.csv): 13/16 miss, ...
    ratios = [0.0, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 1.0]
    assert residency.picked_share(ratios).tolist() == [0, 3 / 16, 5 / 16, 9 / 16, 13 / 16, 1]


@pytest.mark.parametrize("aside", [8, 16, 30])
@pytest.mark.parametrize("window", [4, 16, 32, 64])
def test_the_best_hit_ratio_does_not_thrash(aside: int, window: int) -> None:
    # property: what it picks fits the ways set aside, and no longer window fits better
    granted = float(residency.granted(aside * MIB, H200))
    ratio = float(residency.best_hit_ratio(granted, window * MIB, GPU))
    picked = float(residency.picked_share(ratio)) * window * MIB
    assert picked <= granted
    if window * MIB <= granted:
        assert ratio == 1
    way = H200 / residency.WAYS
    lost = set_overflow.overflow(
        window * MIB / way, residency.picked_share(ratio), granted / way, GPU
    )
    assert float(lost) < 0.35


def test_two_kernels_of_one_set_aside() -> None:
    # the notes' example, in whole ways: windows of 16 over 16; hitRatio 1.0 evicts, 0.5 does not
    way = H200 / residency.WAYS
    lines, ways = 16 * MIB / way, residency.granted_ways(16 * MIB, H200)
    whole = float(set_overflow.overflow(lines, 1.0, ways - 16 * MIB / way, GPU))
    half = float(set_overflow.overflow(lines, 9 / 16, ways - 9 * MIB / way, GPU))
    assert whole > 0.95
    assert half < 0.65 * whole


def test_misses_grow_with_streams_and_tables() -> None:
    # property: monotonic, from none to all
    sizes = np.linspace(0.1, 40, 200) * MIB
    for read, written in ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0)):
        streams = residency.Streams(sizes * read, sizes * written)
        misses, _ = residency.normal_misses(sizes, streams, residency.Streams(0, 0), H200, GPU)
        assert np.all(np.diff(misses) >= -1e-12)
        assert misses[0] < 1e-3
        assert misses[-1] > 0.99


def test_streams_marked_streaming_do_less_harm() -> None:
    # measured: a write stream marked streaming leaves an 8 MiB table alone (data-reset-out-window)
    size = 8.0 * MIB
    streams = residency.Streams(0.0, size)
    plain, _ = residency.normal_misses(size, streams, residency.Streams(0.0, 0.0), H200, GPU)
    marked, _ = residency.normal_misses(size, streams, streams, H200, GPU)
    assert plain > 0.05
    assert marked < 0.01


def held_up(
    written: float, normal: float, streaming: float, filled: float, ways: float, **more: float
) -> float:
    """Return what writes lose, as bytes."""
    mix, aside = DramMix(written, normal, streaming, **more), SetAside(ways, filled)
    return float(writeback_loss(mix, aside, load_device("h200-sxm")))


def test_reads_alone_lose_nothing_to_a_set_aside() -> None:
    # measured: 116 us with and without 30 MiB set aside (set-aside-streams.csv)
    assert held_up(0.0, 1e9, 0.0, 0.0, 8.0) == 0
    # property: more ways and more reads cost more
    costs = [held_up(1e9, 1e9, 0.0, 0.0, float(w)) for w in range(11)]
    assert costs[:4] == [0, 0, 0, 0]
    assert all(b >= a for a, b in pairwise(costs[4:]))
    reads = [held_up(1e9, 1e9, s, 0.0, 8.0) for s in (0.0, 2e8, 5e8, 1e9)]
    assert all(b > a for a, b in pairwise(reads))
    # measured: ways that persisting lines fill leave less of them to others
    # (l2/h200-sxm/set-aside/grid.csv)
    assert held_up(1e9, 1e9, 0.0, 0.5, 8.0) < held_up(1e9, 1e9, 0.0, 0.0, 8.0)
    # property: reads beyond the writes hide part of it, and whose they are does not matter
    more = [held_up(1e9, r, 0.0, 0.0, 8.0) for r in (1e9, 1.5e9, 2e9, 9e9)]
    assert all(b < a for a, b in pairwise(more))
    assert more[-1] == 0
    assert held_up(1e9, 1e9, 0.0, 0.0, 8.0, persisting=5e8) == more[1]
