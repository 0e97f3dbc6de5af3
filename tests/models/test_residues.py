"""Executions by the residue that they start at, against every execution counted."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.models.grid.activity import Span
from perfmodel.models.requests.residues import mean_costs, residues_of_one, start_residues

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


def by_loop(
    spans: list[Span],
    strides: dict[str, np.ndarray],
    offset: np.ndarray,
    unit: int,
    costs: np.ndarray,
    place: np.ndarray,
) -> np.ndarray:
    """What `mean_costs` gives, by the compiled loop; boxes of lanes, which it does not read, 0."""
    from perfmodel.models.requests.residue_loop import means_by_residue

    names = [*strides]
    parts = [part for span in spans for part in (span.start, span.count, *span.extents)]
    table = np.array([*[0 * offset] * 4, offset, *strides.values(), *parts])
    digits = np.array([len(span.names) for span in spans])
    moved_by = np.array([5 + names.index(name) for span in spans for name in span.names])
    found, whole = means_by_residue(table, place, (digits, moved_by, 5 + len(names)), unit, costs)
    assert whole
    return found


@settings(max_examples=150, deadline=None)
@given(SPANS, st.integers(0, 40), st.sampled_from([1, 4, 16, 64]))
def test_counts_equal_every_execution(
    spans: list[tuple[Digits, float, float]], start: int, unit: int
) -> None:
    # independent: executions one by one
    moved, strides = columns(spans, unit, 1)
    found = start_residues(moved, strides, np.array([float(start * unit)]), unit)
    np.testing.assert_array_equal(found, [by_hand(spans, start * unit, unit)])


@settings(max_examples=150, deadline=None)
@given(SPANS, st.integers(0, 40), st.sampled_from([1, 4, 16, 64, 128]))
def test_mean_costs_equal_every_execution(
    spans: list[tuple[Digits, float, float]], start: int, unit: int
) -> None:
    # independent: executions one by one, each of which costs what its residue does
    counts = by_hand(spans, start * unit, unit)
    moved, strides = columns(spans, unit, 2)
    costs = np.stack([np.arange(len(counts)) + 1.0, np.arange(len(counts)) % 3])[None]
    expected = np.stack([costs[0] @ counts / max(counts.sum(), 1)] * 2, axis=1)
    offset, place = np.full(2, float(start * unit)), np.zeros(2, dtype=int)
    found = mean_costs(moved, strides, offset, unit, costs, place)
    np.testing.assert_array_equal(found, expected)
    if find_spec("numba"):
        looped = by_loop(moved, strides, offset, unit, costs, place)
        np.testing.assert_array_equal(looped, expected)


def test_costs_that_are_not_known_are_not_taken_for_others() -> None:
    # property: of lanes without a closed form no mean is known, be it by the loop or by arrays
    ones = np.ones(2)
    span = Span(names=("k",), extents=(4 * ones,), start=0 * ones, count=4 * ones)
    costs = np.array([[[1.0] * 32] * 2, [[np.nan] * 32] * 2])
    given = [span], {"k": 4 * ones}, 0 * ones, 4, costs, np.array([0, 1])
    for means in (mean_costs, by_loop) if find_spec("numba") else (mean_costs,):
        np.testing.assert_array_equal(means(*given), [[1.0, np.nan]] * 2)


@pytest.mark.parametrize("unit", [1, 4, 16, 128])
def test_one_configuration_is_counted_as_in_a_batch(unit: int) -> None:
    # independent: configurations together double the steps, one alone takes sums of whole turns
    random = np.random.default_rng(unit)
    strides = {name: unit * random.integers(-40, 40, 6) for name in "xy"}
    extents = tuple(random.integers(1, 60, 6) for _ in "xy")
    start, count = random.integers(0, 9, 6), random.integers(1, 2000, 6)
    offset = unit * random.integers(0, 99, 6)

    span = Span(names=("x", "y"), extents=extents, start=start, count=count)
    together = start_residues([span], strides, offset, unit)
    for at in range(6):
        own = [int(extent[at]) for extent in extents]
        steps = [int(strides[name][at]) // unit for name in "xy"]
        moves = [(own, steps, int(start[at]), int(count[at]))]
        alone = residues_of_one(moves, int(offset[at]) // unit, 128 // unit)
        assert alone == together[at].tolist()
