"""Executions by the residue that they start at, against every execution counted."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perfmodel.models.requests.residues as module
from perfmodel.models import compiled_loops
from perfmodel.models.grid.activity import Span
from perfmodel.models.requests.residues import mean_costs, start_residues

Digits = list[tuple[int, int]]  # of each how many values it has, and how far it moves
SPANS = st.lists(
    st.tuples(
        st.lists(st.tuples(st.integers(1, 4), st.integers(-9, 9)), min_size=1, max_size=3),
        st.floats(0, 1),
        st.floats(0, 1),
    ),
    min_size=1,
    max_size=2,
)


def span_of(at: int, digits: Digits, from_: float, to: float) -> tuple[int, int, list[str]]:
    size = int(np.prod([extent for extent, _ in digits]))
    first, last = sorted((int(from_ * size), int(to * size)))
    return first, last, [f"{at}.{place}" for place in range(len(digits))]


def by_hand(spans: list[tuple[Digits, float, float]], offset: int, unit: int) -> np.ndarray:
    """Counts of one configuration, every combination of the spans' numbers by itself."""
    places = [offset]
    for at, (digits, from_, to) in enumerate(spans):
        first, last, _ = span_of(at, digits, from_, to)
        moves = []
        for number in range(first, last):
            left, move = number, 0
            for extent, step in digits:
                move += left % extent * step * unit
                left //= extent
            moves.append(move)
        places = [place + move for place in places for move in moves]
    return np.bincount([place // unit % (128 // unit) for place in places], minlength=128 // unit)


def columns(
    spans: list[tuple[Digits, float, float]], unit: int, times: int
) -> tuple[list[Span], dict[str, np.ndarray]]:
    found, strides = [], {}
    for at, (digits, from_, to) in enumerate(spans):
        first, last, names = span_of(at, digits, from_, to)
        extents = tuple(np.full(times, float(extent)) for extent, _ in digits)
        start, count = np.full(times, float(first)), np.full(times, float(last - first))
        found.append(Span(names=tuple(names), extents=extents, start=start, count=count))
        for name, (_, step) in zip(names, digits, strict=True):
            strides[name] = np.full(times, float(step * unit))
    return found, strides


@settings(max_examples=150, deadline=None)
@given(SPANS, st.integers(0, 40), st.sampled_from([1, 4, 16, 64]))
def test_counts_equal_every_execution(
    spans: list[tuple[Digits, float, float]], start: int, unit: int
) -> None:
    # independent: executions one by one
    moved, strides = columns(spans, unit, 1)
    found = start_residues(moved, strides, np.array([float(start * unit)]), unit)
    np.testing.assert_array_equal(found, [by_hand(spans, start * unit, unit)])


def test_compiled_loop_counts_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    # independent: arrays of configurations, without the loop
    pytest.importorskip("numba")
    random, some = np.random.default_rng(0), 40
    # of spans with one digit: counts that are fewer than residues, and more
    for unit, sizes in ((1, (2, 3)), (4, (1, 2, 1)), (32, (3,)), (1, (1, 1)), (4, (1, 1, 1))):
        spans, strides = [], {}
        for at, size in enumerate(sizes):
            names = tuple(f"{at}.{place}" for place in range(size))
            extents = tuple(random.integers(1, 40, some) * 1.0 for _ in names)
            whole = np.prod(extents, axis=0)
            start = np.floor(random.random(some) * whole) * (random.random() < 0.5)
            count = np.floor(random.random(some) * (whole - start + 1))
            spans.append(Span(names=names, extents=extents, start=start, count=count))
            strides |= {name: random.integers(-999, 999, some) * unit * 1.0 for name in names}
        offset = random.integers(0, 999, some) * unit * 1.0
        costs = random.integers(1, 99, (2, 5, 128 // unit)) * 1.0
        given = spans, strides, offset, unit, costs, random.integers(0, 5, some)
        expected = mean_costs(*given)
        monkeypatch.setattr(compiled_loops, "_MANY", 1)
        np.testing.assert_array_equal(mean_costs(*given), expected)
        monkeypatch.undo()


@settings(max_examples=150, deadline=None)
@given(SPANS, st.integers(0, 40), st.sampled_from([1, 4, 16, 64, 128]))
def test_mean_costs_equal_every_execution(
    spans: list[tuple[Digits, float, float]], start: int, unit: int
) -> None:
    # independent: executions one by one, each of which costs what its residue does
    counts = by_hand(spans, start * unit, unit)
    moved, strides = columns(spans, unit, 2)
    costs = np.stack([np.arange(len(counts)) + 1.0, np.arange(len(counts)) % 3])[:, None, :]
    expected = costs[:, 0] @ counts / max(counts.sum(), 1)
    for least in (1, 1 << 30) if find_spec("numba") else (1 << 30,):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(compiled_loops, "_MANY", least)
            patched.setattr(compiled_loops, "_FEW", least)
            offset, place = np.full(2, float(start * unit)), np.zeros(2, dtype=int)
            found = mean_costs(moved, strides, offset, unit, costs, place)
        np.testing.assert_array_equal(found, np.stack([expected, expected], axis=1))


@pytest.mark.parametrize("least", [1, 1 << 30])
def test_costs_that_are_not_known_are_not_taken_for_others(
    least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # property: of lanes without a closed form no mean is known, be it by the loop or by arrays
    if least == 1:
        pytest.importorskip("numba")
    monkeypatch.setattr(compiled_loops, "_MANY", least)
    monkeypatch.setattr(compiled_loops, "_FEW", least)
    ones = np.ones(2)
    span = Span(names=("k",), extents=(4 * ones,), start=0 * ones, count=4 * ones)
    costs = np.array([[[1.0] * 32, [np.nan] * 32]])
    found = mean_costs([span], {"k": 4 * ones}, 0 * ones, 4, costs, np.array([0, 1]))
    np.testing.assert_array_equal(found, [[1.0, np.nan]])


def test_loops_that_run_a_fraction_of_their_turns_have_no_compiled_loop() -> None:
    # property: half a turn is no whole number, which the loop counts by
    half = Span(names=("k",), extents=(np.array([2.5]),), start=np.zeros(1), count=np.array([2.5]))
    moves = np.zeros(1, dtype=int), [[np.ones(1, dtype=int)]]
    assert module._one_by_one([half], moves, np.ones((2, 1, 32)), np.zeros(1, dtype=int)) is None


@pytest.mark.parametrize("unit", [1, 4, 16, 128])
def test_one_configuration_is_counted_as_in_a_batch(unit: int) -> None:
    # independent: configurations together double the steps, one alone takes all of a period
    random = np.random.default_rng(unit)
    strides = {name: unit * random.integers(-40, 40, 6) for name in "xy"}
    extents = tuple(random.integers(1, 60, 6) for _ in "xy")
    start, count = random.integers(0, 9, 6), random.integers(1, 2000, 6)
    offset = unit * random.integers(0, 99, 6)

    def counted(some: slice) -> np.ndarray:
        own = tuple(extent[some] for extent in extents)
        span = Span(names=("x", "y"), extents=own, start=start[some], count=count[some])
        by_name = {name: stride[some] for name, stride in strides.items()}
        return start_residues([span], by_name, offset[some], unit)

    apart = np.concatenate([counted(slice(i, i + 1)) for i in range(6)])
    assert np.array_equal(apart, counted(slice(0, 6)))
