"""Coalescing: by hand, against brute force, and both engines alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from brute_force import Case, granules, totals
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.kernels.instance import Instance
from perfmodel.trace.addresses import Generator
from perfmodel.trace.coalescer import Lines, atomic_groups, coalesce, ordered
from perfmodel.trace.layout import lay_out
from perfmodel.trace.program import batches, program

ENGINES = ("numpy", "numba")


def lanes(*addresses: int) -> tuple[np.ndarray, np.ndarray]:
    """Return one request of the first lanes; the others take no part."""
    address = np.zeros((1, 32), dtype=np.int64)
    active = np.zeros((1, 32), dtype=bool)
    address[0, : len(addresses)] = addresses
    active[0, : len(addresses)] = True
    return address, active


def found(lines: Lines) -> list[tuple[int, int]]:
    return list(zip(lines.line.tolist(), lines.sectors.tolist(), strict=True))


@pytest.mark.parametrize("engine", ENGINES)
def test_miniature_of_four_lanes(engine: Any) -> None:
    # by hand: floats 0 to 3 are in one line; rows of 32 floats are in four, a sector of each
    assert found(coalesce(*lanes(0, 4, 8, 12), 4, engine=engine)) == [(0, 0b0001)]
    strided = coalesce(*lanes(0, 128, 256, 384), 4, engine=engine)
    assert found(strided) == [(0, 1), (1, 1), (2, 1), (3, 1)]
    # 32 B apart: one line, all four sectors; the same address four times: one sector
    assert found(coalesce(*lanes(0, 32, 64, 96), 4, engine=engine)) == [(0, 0b1111)]
    assert found(coalesce(*lanes(100, 100, 100, 100), 4, engine=engine)) == [(0, 0b1000)]
    # the order of lanes does not matter
    assert found(coalesce(*lanes(160, 0, 128, 32), 4, engine=engine)) == [(0, 0b11), (1, 0b11)]


@pytest.mark.parametrize("engine", ENGINES)
def test_words_that_a_store_fills(engine: Any) -> None:
    # by hand: 4 B fill a word, 16 B four; two lanes of 2 B fill one together, one alone does not
    assert coalesce(*lanes(4, 12), 4, True, engine).words.tolist() == [0b1010]
    assert coalesce(*lanes(16), 16, True, engine).words.tolist() == [0b11110000]
    assert coalesce(*lanes(0, 2, 4), 2, True, engine).words.tolist() == [0b01]
    assert coalesce(*lanes(8, 9, 10, 11, 13), 1, True, engine).words.tolist() == [0b100]
    assert coalesce(*lanes(4, 12), 4, False, engine).words.tolist() == [0]


requests = st.tuples(
    st.sampled_from([1, 2, 4, 8, 16]),
    st.lists(
        st.lists(
            st.one_of(st.none(), st.integers(0, 40), st.integers(0, 2**40)),
            min_size=32,
            max_size=32,
        ),
        min_size=1,
        max_size=6,
    ),
)


@given(requests)
@settings(max_examples=200, deadline=None)
def test_distinct_sectors_and_lines(case: tuple[int, list[list[int | None]]]) -> None:
    # independent: sets of granules, lane by lane
    width, drawn = case
    address = np.array([[width * (lane or 0) for lane in row] for row in drawn], dtype=np.int64)
    active = np.array([[lane is not None for lane in row] for row in drawn])
    by_engine = [coalesce(address, active, width, True, engine) for engine in ENGINES]  # type: ignore[arg-type]
    for field, other in zip(*by_engine, strict=True):
        assert np.array_equal(field, other)
    lines = by_engine[0]
    for r, row in enumerate(drawn):
        mine = [width * lane for lane in row if lane is not None]
        some = lines.request == r
        assert int(some.sum()) == granules(mine, 128)
        assert sum(int(m).bit_count() for m in lines.sectors[some]) == granules(mine, 32)
        covered = {a + byte for a in mine for byte in range(width)}
        words = sum(all(4 * w + b in covered for b in range(4)) for w in {a // 4 for a in covered})
        assert sum(int(m).bit_count() for m in lines.words[some]) == words


@pytest.mark.parametrize("engine", ENGINES)
def test_atomics_group_by_address(engine: Any) -> None:
    def groups(address: np.ndarray, active: np.ndarray | None = None) -> tuple[int, int, int]:
        return atomic_groups(ordered(address, active, engine), engine)

    # by hand: 32 lanes on one address; on 2; and 3 lanes of which two share
    one = np.zeros((1, 32), dtype=np.int64)
    assert groups(one) == (1, 32, 32)
    assert groups(np.arange(32).reshape(1, 32) % 2 * 4) == (2, 16, 16)
    assert groups(np.arange(32).reshape(1, 32) % 2 * 32) == (2, 16, 32)
    assert groups(*lanes(0, 4, 4)) == (2, 2, 2)
    assert groups(one, np.zeros((1, 32), bool)) == (0, 0, 0)
    assert groups(np.concatenate([one, one])) == (2, 64, 64)


@pytest.mark.parametrize("engine", ENGINES)
def test_lanes_in_order(engine: Any) -> None:
    # property: NumPy's sort, of more requests than are sorted together, those that are in order
    # already between others
    random = np.random.default_rng(3)
    address = random.integers(-(2**40), 2**40, (1000, 32))
    address[::3].sort(axis=1)
    active = random.random(address.shape) < 0.9
    expected = np.sort(np.where(active, address, np.iinfo(np.int64).max), axis=1)
    assert np.array_equal(ordered(address, active, engine), expected)
    assert np.array_equal(ordered(address, None, engine), np.sort(address, axis=1))


@given(requests)
@settings(max_examples=100, deadline=None)
def test_both_engines_group_atomics_alike(case: tuple[int, list[list[int | None]]]) -> None:
    # property
    address = np.array([[4 * (lane or 0) for lane in row] for row in case[1]], dtype=np.int64)
    active = np.array([[lane is not None for lane in row] for row in case[1]])
    one, other = (atomic_groups(ordered(address, active, e), e) for e in ENGINES)  # type: ignore[arg-type]
    assert one == other


shapes = st.sampled_from([(32, 1, 1), (256, 1, 1), (16, 16, 1), (8, 8, 2), (48, 1, 1), (7, 5, 1)])
steps = st.integers(-40, 200)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    coefficients = {
        name: draw(steps)
        for name in ("threadIdx.x", "threadIdx.y", "blockIdx.x", "k0", "k1")
        if draw(st.booleans()) or name == "threadIdx.x"
    }
    loops = tuple(draw(st.lists(st.integers(1, 3), max_size=2)))
    coefficients = {n: c for n, c in coefficients.items() if n[0] != "k" or int(n[1]) < len(loops)}
    return Case(
        block=draw(shapes),
        grid=(draw(st.integers(1, 4)), draw(st.integers(1, 3)), 1),
        trips=loops,
        offset=100_000,
        coefficients=coefficients,
        limits=draw(st.sampled_from([{}, {"x": 50}, {"x": 33, "y": 20}])),
        element=draw(st.sampled_from([1, 2, 4, 8, 12, 16])),
    )


@given(cases())
@settings(max_examples=60, deadline=None)
def test_kernels_ask_for_what_brute_force_counts(case: Case) -> None:
    # independent: tests/models/brute_force.py, one thread after the other
    instance = case.instance()
    assert counted(instance) == totals(case)


def counted(instance: Instance, slots: int = 3) -> dict[str, int]:
    generator = Generator(instance, lay_out(instance))
    sums = dict.fromkeys(("requests", "sectors", "lines", "active_lanes"), 0)
    for wave in generator.waves(slots):
        for batch in batches(program(instance), 2):
            for piece in range(generator.pieces(0)):
                asked = generator.requests(0, piece, wave, batch.loops, batch.iterations)
                sums["requests"] += asked.requests
                sums["sectors"] += sum(int(m).bit_count() for m in asked.sectors)
                sums["lines"] += len(asked.line)
                sums["active_lanes"] += asked.lanes
    return sums
