"""The cache: worked on paper, against pycachesim to the last access, and both engines alike."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cachesim import Cache, CacheSimulator, MainMemory
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.trace.cache import (
    ATOMIC,
    NORMAL,
    PERSISTING,
    READ,
    STREAMING,
    WRITE,
    CacheShape,
    CacheState,
    Outcome,
    Touches,
    access,
    empty,
    place,
)
from perfmodel.trace.l2 import EPOCH, L2, L2Shape, Lookups, l2_shape

ENGINES = ("numpy", "numba")
pytestmark = pytest.mark.parametrize("engine", ENGINES)


class Caches:
    """A cache whose set is the line modulo the sets, for traces by hand."""

    def __init__(self, engine: Any, sets: int, ways: int, **rules: Any) -> None:
        self.engine = engine
        self.shape = CacheShape(sets, ways, **rules)
        self.state: CacheState = empty(self.shape)
        self.time = 1

    def run(
        self,
        lines: list[int] | np.ndarray,
        sectors: Any = 1,
        kind: Any = READ,
        rank: Any = NORMAL,
        words: Any = 0,
    ) -> Outcome:
        line = np.array(lines, dtype=np.int64)
        n = len(line)

        def full(value: Any, kind: Any) -> np.ndarray:
            return np.broadcast_to(np.asarray(value), n).astype(kind)

        self.time += n
        return access(
            self.shape,
            self.state,
            Touches(
                line % self.shape.sets,
                line,
                full(sectors, np.uint8),
                full(words, np.uint32),
                full(kind, np.uint8),
                full(rank, np.uint8),
                np.arange(self.time - n, self.time),
            ),
            self.engine,
        )


def test_lru_on_paper(engine: Any) -> None:
    # by hand, one set of two ways: A B A C B. C takes the place of B, not of A, so B misses again
    # and takes that of A
    found = Caches(engine, 1, 2).run([1, 2, 1, 3, 2])
    assert found.hit.tolist() == [0, 0, 1, 0, 0]
    assert found.victim.tolist() == [-1, -1, -1, 2, 1]


def test_fifo_on_paper(engine: Any) -> None:
    # by hand: the same, but C takes the place of A, which came first, so B hits
    found = Caches(engine, 1, 2, renewed=False).run([1, 2, 1, 3, 2])
    assert found.hit.tolist() == [0, 0, 1, 0, 1]


def test_sectors_miss_one_by_one(engine: Any) -> None:
    # by hand: sector 0, then 0 and 1: one hit, one miss, in one line
    found = Caches(engine, 1, 2).run([5, 5], sectors=[0b01, 0b11])
    assert found.hit.tolist() == [0, 0b01]
    assert found.fetched.tolist() == [0b01, 0b10]


@pytest.mark.parametrize(
    ("sectors", "brought"), [(1, [0b0001, 0b0100]), (2, [0b0011, 0b1100]), (4, [0b1111, 0])]
)
def test_fetch_granularity(engine: Any, sectors: int, brought: list[int]) -> None:
    # by hand: sector 0, then sector 2, of one line
    found = Caches(engine, 1, 2, fetch_sectors=sectors).run([5, 5], sectors=[0b0001, 0b0100])
    assert found.fetched.tolist() == brought


def test_write_back_of_a_partial_sector(engine: Any) -> None:
    # by hand: sector 0 stored whole (8 words), sector 1 by half; a line in its place: both are
    # written, and sector 1 must be read to be completed
    cache = Caches(engine, 1, 1)
    cache.run([7], sectors=0b11, kind=WRITE, words=0x0FFF)
    found = cache.run([8])
    assert (found.victim[0], found.written[0], found.partial[0]) == (7, 0b11, 0b10)


def test_two_halves_make_a_whole_sector(engine: Any) -> None:
    # by hand: nothing to read before it is written
    cache = Caches(engine, 1, 1)
    cache.run([7, 7], sectors=1, kind=WRITE, words=[0x0F, 0xF0])
    found = cache.run([8])
    assert (found.written[0], found.partial[0]) == (1, 0)


def test_reading_a_partial_sector_fetches_it(engine: Any) -> None:
    # by hand: after that it is whole, and written without another read
    cache = Caches(engine, 1, 1)
    cache.run([7], kind=WRITE, words=1)
    assert cache.run([7]).fetched.tolist() == [1]
    assert cache.run([7]).hit.tolist() == [1]
    assert cache.run([8]).partial.tolist() == [0]


def test_atomics_read_and_dirty(engine: Any) -> None:
    cache = Caches(engine, 1, 1)
    found = cache.run([7, 7], kind=ATOMIC)
    assert found.hit.tolist() == [0, 1]
    gone = cache.run([8])
    assert (gone.victim[0], gone.written[0], gone.partial[0]) == (7, 1, 0)


def test_dirty_lines_over_the_most_are_cleaned_and_stay(engine: Any) -> None:
    # by hand: three dirty lines where two may be: one of them is written, and all still hit
    cache = Caches(engine, 1, 4, dirty_ways=2.0)
    found = cache.run([1, 2, 3], sectors=15, kind=WRITE, words=0xFFFFFFFF)
    assert (found.cleaned >= 0).tolist() == [False, False, True]
    assert found.clean_written[2] == 15
    assert cache.run([1, 2, 3], sectors=15).hit.tolist() == [15, 15, 15]


def test_streaming_lines_leave_first(engine: Any) -> None:
    # by hand: 2 is younger than 1, but streaming
    cache = Caches(engine, 1, 2)
    found = cache.run([1, 2, 3, 1], rank=[NORMAL, STREAMING, NORMAL, NORMAL])
    assert found.victim.tolist() == [-1, -1, 2, -1]
    assert found.hit[3] == 1


def test_persisting_lines_stay_until_used_otherwise(engine: Any) -> None:
    # by hand: a persisting line outlives any number of others, until a normal access
    cache = Caches(engine, 1, 4, persisting_ways=1.0)
    cache.run([1], rank=PERSISTING)
    cache.run(list(range(10, 30)))
    assert cache.run([1]).hit.tolist() == [1]
    cache.run(list(range(10, 14)))
    assert cache.run([1]).hit.tolist() == [0]


@pytest.mark.parametrize(("hit_ratio", "hits"), [(0.5, 128), (1.0, 0)])
def test_window_over_the_set_aside(engine: Any, hit_ratio: float, hits: int) -> None:
    # published: a window of 32 KiB over a set-aside of 16 KiB fits at hitRatio 0.5 and thrashes at
    # 1.0. 64 KiB in sets of 16 lines, a quarter of the ways set aside; the lines that are picked
    # are every other one, so that they are spread evenly, and the others stream
    cache = Caches(engine, 32, 16, persisting_ways=4.0)
    window = np.arange(32 * 1024 // 128)
    picked = window // 32 % 2 == 0 if hit_ratio == 0.5 else np.ones(len(window), dtype=bool)
    rank = np.where(picked, PERSISTING, STREAMING)
    other = np.arange(4096, 4096 + 512)
    cache.run(window, rank=rank)
    cache.run(other)
    again = cache.run(window, rank=rank)
    assert int((again.hit[picked] > 0).sum()) == hits


@pytest.mark.parametrize("policy", ["lru", "fifo"])
@pytest.mark.parametrize(("sets", "ways"), [(1, 4), (64, 4), (128, 16), (60, 5)])
def test_equals_pycachesim(engine: Any, policy: str, sets: int, ways: int) -> None:
    # independent: pycachesim, the same random reads and writes, its counts after each of them
    random = np.random.default_rng(sets * ways)
    line = random.integers(0, sets * ways * 2, 3000)
    # Under LRU its stores do not renew a line, and its dirty marks stay where the line was: with
    # two ways, read A, read B, store A, read C drops A, and writes B back. So only reads there.
    writes = random.random(len(line)) < (0.3 if policy == "fifo" else 0)
    memory = MainMemory()
    peer = Cache("L2", sets, ways, 128, policy.upper(), write_back=True, write_allocate=True)
    memory.load_to(peer)
    memory.store_from(peer)
    simulator = CacheSimulator(peer, memory)
    cache = Caches(engine, sets, ways, renewed=policy == "lru")
    hits = misses = evicted = 0
    for one, write in zip(line.tolist(), writes.tolist(), strict=True):
        there = bool((cache.state.line == one).any())
        # pycachesim counts no hits of stores, but their misses, for it loads the line.
        hits, misses = hits + (there and not write), misses + (not there)
        found = cache.run([one], sectors=15, kind=WRITE if write else READ, words=0xFFFFFFFF)
        assert write or bool(found.hit[0]) == there
        evicted += int(found.written[0] > 0)
        (simulator.store if write else simulator.load)(one * 128, length=1)
        assert (peer.backend.HIT_count, peer.backend.MISS_count) == (hits, misses)
        assert peer.backend.EVICT_count == evicted
    assert hits > 500
    assert (evicted > 50) == (policy == "fifo")


def test_a_long_trace_equals_pycachesim(engine: Any) -> None:
    # independent: the whole L2 path with one partition and no hashing, over many epochs
    random = np.random.default_rng(1)
    line = np.concatenate([random.integers(0, 3000, 60_000), np.arange(40_000) % 2500])
    memory = MainMemory()
    peer = Cache("L2", 128, 16, 128, "LRU")
    memory.load_to(peer)
    memory.store_from(peer)
    CacheSimulator(peer, memory).load((line * 128).tolist(), length=1)
    l2 = L2(L2Shape(CacheShape(128, 16)), engine)
    hits = 0
    for first in range(0, len(line), EPOCH):
        part = line[first : first + EPOCH]
        answers, _ = l2.run(lookups(part))
        hits += int((answers.missed == 0).sum())
    assert (hits, len(line) - hits) == (peer.backend.HIT_count, peer.backend.MISS_count)


def lookups(line: np.ndarray, side: Any = 0, kind: Any = READ) -> Lookups:
    """Return accesses to whole lines."""
    n = len(line)
    return Lookups(
        np.asarray(line, dtype=np.int64),
        np.full(n, 15, np.uint8),
        np.full(n, 0xFFFFFFFF, np.uint32),
        np.broadcast_to(np.asarray(kind, np.uint8), n).copy(),
        np.full(n, NORMAL, np.uint8),
        np.broadcast_to(np.asarray(side, np.uint8), n).copy(),
    )


def test_far_reads_leave_a_copy_near(engine: Any) -> None:
    # by hand: read from either side, a line is near on one and forwarded on the other, once
    l2 = L2(l2_shape(1 << 20, 2), engine)
    home = int(place(np.array([5]), l2.shape.cache.sets, l2.shape.run)[0]) % 2
    first, _ = l2.run(lookups(np.array([5]), side=1 - home))
    assert (first.near[0], first.missed[0], first.fetched[0]) == (0, 15, 15)
    again, _ = l2.run(lookups(np.array([5, 5]), side=[1 - home, home]))
    assert again.near.tolist() == [15, 15]
    assert int((l2.state.line == 5).sum()) == 2


def test_writes_go_home(engine: Any) -> None:
    # by hand: from either side, dirty on one; the far write took a line on its own side, in which
    # nothing can be read
    l2 = L2(l2_shape(1 << 20, 2), engine)
    home = int(place(np.array([5]), l2.shape.cache.sets, l2.shape.run)[0]) % 2
    l2.run(lookups(np.array([5, 5]), side=[0, 1], kind=WRITE))
    assert int((l2.state.line == 5).sum()) == 2
    again, _ = l2.run(lookups(np.array([5]), side=1 - home))
    assert (again.near[0], again.missed[0]) == (0, 0)
    assert l2.state.line[l2.state.dirty > 0].tolist() == [5]


def test_dirty_lines_leave_later(engine: Any) -> None:
    # by hand, one set of two ways: 1 is written, 2 read, then 3; by last use 1 would leave. Taken
    # as used 2 later, 1 stays and 2 leaves; 4 and 5 later, 1 is the oldest even so
    cache = Caches(engine, 1, 2, dirty_age=2)
    cache.run([1], kind=WRITE)
    assert cache.run([2, 3, 4, 5]).victim.tolist() == [-1, 2, 1, 3]


def test_cleaned_lines_leave_like_others(engine: Any) -> None:
    # by hand: of two dirty lines where one may be, either is cleaned; of the two, the one that is
    # clean then leaves first, whichever it is
    cache = Caches(engine, 1, 2, dirty_age=50, dirty_ways=1.0)
    cleaned = [c for c in cache.run([1, 2], kind=WRITE).cleaned.tolist() if c >= 0]
    assert cache.run([3]).victim.tolist() == cleaned


events = st.lists(
    st.tuples(
        st.integers(0, 60),
        st.integers(1, 15),
        st.sampled_from([READ, WRITE, ATOMIC]),
        st.sampled_from([STREAMING, NORMAL, PERSISTING]),
        st.sampled_from([0, 0xFF, 0xFF00, 0xFFFFFFFF, 0x12345678]),
        st.integers(0, 1),
    ),
    min_size=1,
    max_size=300,
)


@given(
    events,
    st.booleans(),
    st.sampled_from([32, 64, 128]),
    st.sampled_from([1, 2]),
)
@settings(max_examples=100, deadline=None)
def test_both_engines_count_alike(
    engine: Any, trace: Any, renewed: bool, granularity: int, partitions: int
) -> None:
    # property: answers, write-backs and contents, whatever comes
    shape = l2_shape(
        8192,
        partitions,
        set_aside=2048,
        fetch_granularity=granularity,
        ways=8,
        epoch=37,
    )
    shape = replace(shape, cache=replace(shape.cache, renewed=renewed))
    columns = [np.array(column) for column in zip(*trace, strict=True)]
    line, sectors, kind, rank, words, side = columns
    asked = Lookups(
        line.astype(np.int64),
        sectors.astype(np.uint8),
        words.astype(np.uint32),
        kind.astype(np.uint8),
        rank.astype(np.uint8),
        (side % partitions).astype(np.uint8),
    )
    alike(shape, engine, asked)


def test_both_engines_count_a_long_trace_alike(engine: Any) -> None:
    # property: as above, with more sets than a group has, enough accesses for two threads, and
    # epochs that end within them
    random = np.random.default_rng(2)
    n = 50_000
    shape = l2_shape(1 << 20, 2, set_aside=1 << 18, epoch=7_000, stores_under_way=1 << 15)
    asked = Lookups(
        np.where(random.random(n) < 0.5, random.integers(0, 9000, n), np.arange(n) % 7000),
        random.integers(1, 16, n).astype(np.uint8),
        random.choice([0, 0xFF, 0xFFFF0000, 0xFFFFFFFF], n).astype(np.uint32),
        random.choice([READ, READ, WRITE, ATOMIC], n).astype(np.uint8),
        random.choice([STREAMING, NORMAL, PERSISTING], n).astype(np.uint8),
        random.integers(0, 2, n).astype(np.uint8),
    )
    answers, written = alike(shape, engine, asked)
    assert 0.1 < (answers.missed > 0).mean() < 0.9
    assert len(written.line) > 1000


def alike(shape: L2Shape, engine: Any, asked: Lookups) -> Any:
    """Run accesses twice with NumPy and an engine; return the last answers, which are alike."""
    one, other = L2(shape, "numpy"), L2(shape, engine)
    for _ in range(2):
        (mine, written), (theirs, other_written) = one.run(asked), other.run(asked)
        assert all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))
        # In what order lines are written back is nobody's business.
        assert sorted(np.stack(written).T.tolist()) == sorted(np.stack(other_written).T.tolist())
    assert all(np.array_equal(a, b) for a, b in zip(one.state, other.state, strict=True))
    state = one.state
    assert np.array_equal((state.dirty > 0).sum(axis=1), state.dirty_lines)
    persisting = (state.rank >> 50 == PERSISTING) & (state.line >= 0)
    assert np.array_equal(persisting.sum(axis=1), state.persisting)
    assert (state.dirty_lines <= state.dirty_most).all()
    return mine, written


@given(st.integers(1, 300), st.floats(0.1, 1.0), st.integers(0, 2**40))
def test_neighbouring_lines_collide_late(engine: Any, sets: int, share: float, first: int) -> None:
    # property: every line has a set, and those of a run lie in different ones
    run = max(1, int(share * sets))
    start = first // run * run
    found = place(np.arange(start, start + run), sets, run)
    assert len(set(found.tolist())) == run
    assert (found >= 0).all()
    assert (found < sets).all()
