"""Boxes of lanes that cost the same wherever they start, against each worked out by itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.models.requests import recounts
from perfmodel.models.requests.coalescing import Box, warp_granules
from perfmodel.models.requests.recounts import _costs, _near, _recounted, recounted

STRIDE = st.one_of(st.integers(-40, 40), st.integers(-3000, 3000), st.integers(1 << 20, 1 << 40))
BOX = st.tuples(st.integers(1, 32), STRIDE, st.integers(1, 32), STRIDE)


@settings(max_examples=60, deadline=None)
@given(st.lists(BOX, min_size=1, max_size=12), st.booleans())
def test_equal_boxes_cost_the_same(boxes: list[tuple[int, int, int, int]], kept: bool) -> None:
    # independent: every box at every residue, with the rows as far apart as they are
    inner, inner_stride, rows, row_stride = np.array(boxes, dtype=float).T
    box = Box(inner, 4 * inner_stride, rows, 4 * row_stride)
    some = _near(box)
    starts = np.arange(0, 128, 4)[None, :]
    expected = [
        sum(
            warp_granules(*(column[:, None] for column in box), starts + shift, granule, granule)
            for shift in (0, 16)
        )
        for granule in (32, 128)
    ]
    with pytest.MonkeyPatch.context() as patched:
        if not kept:
            patched.setattr(recounts, "_MOST_KNOWN", 0)
        found = [_costs(some, 4, (0, 16)).swapaxes(0, 1) for _ in range(2)]
    for each in found:
        np.testing.assert_array_equal(each, np.broadcast_arrays(*expected))


def test_rows_some_lines_further_apart_are_one_box() -> None:
    # by hand: rows of 64 B, 1000 and 1008 lines apart, and 1008 lines and 4 B
    box = Box(np.full(3, 16.0), np.full(3, 4.0), np.full(3, 2.0), np.array([0, 1024, 1028]) + 128e3)
    pitch = _near(box).row_stride
    assert pitch[0] == pitch[1] != pitch[2]


@pytest.mark.parametrize("unit", [1, 4, 16])
def test_compiled_loop_counts_the_same(unit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # independent: arrays of configurations, without the loop
    pytest.importorskip("numba")
    random, some = np.random.default_rng(unit), 40

    def drawn(low: int, high: int, times: int = 1) -> np.ndarray:
        return times * random.integers(low, high, some) * 1.0

    # of spans with one digit: counts that are fewer than residues, and more
    for sizes in ((2, 3), (1, 2, 1), (3,), (1, 1), (1, 1, 1)):
        names = [f"{at}.{place}" for at, size in enumerate(sizes) for place in range(size)]
        spans, left = [], [*names]
        for size in sizes:
            own, left = tuple(left[:size]), left[size:]
            extents = [drawn(1, 40) for _ in own]
            whole = np.prod(extents, axis=0)
            start = np.floor(random.random(some) * whole) * (random.random() < 0.5)
            count = 1 + np.floor(random.random(some) * (whole - start))
            spans.append((own, start, count, extents))
        box = [drawn(1, 33), drawn(-40, 41, 4), drawn(1, 5), drawn(-999, 999, 4)]
        columns = [*box, *(drawn(-999, 999, unit) for _ in (0, *names))]
        means = drawn(1, 9), drawn(1, 9)
        given = random.random(some) < 0.8, means, columns, tuple(names), spans, [0, 16]
        monkeypatch.setattr(recounts, "worth_loop", lambda module, rows: False)
        expected = recounted(*given)
        monkeypatch.setattr(recounts, "worth_loop", lambda module, rows: True)
        np.testing.assert_array_equal(recounted(*given), expected)
        half = [(own, start, count + 0.5, extents) for own, start, count, extents in spans]
        found = recounted(*given[:4], half, [0, 16])  # no whole number, which the loop counts by
        monkeypatch.undo()
        np.testing.assert_array_equal(found, recounted(*given[:4], half, [0, 16]))
        for fully, moved in ((expected, spans), (found, half)):
            alone = [one_alone(at, *given[:4], moved) for at in range(some)]
            np.testing.assert_array_equal(np.transpose(alone), fully)


def one_alone(
    at: int,
    which: np.ndarray,
    means: Sequence[np.ndarray],
    columns: Sequence[np.ndarray],
    names: tuple[str, ...],
    spans: Sequence[tuple[tuple[str, ...], np.ndarray, np.ndarray, list[np.ndarray]]],
) -> tuple[float, float]:
    """Return what plain numbers of one configuration give, as arrays of one do too."""
    own = [
        (n, start[at], count[at], [e[at] for e in extents]) for n, start, count, extents in spans
    ]
    given = (which[at], (means[0][at], means[1][at]), [c[at] for c in columns], names, own, [0, 16])
    found = _recounted(*given)
    arrays = [(n, s[None], c[None], [e[None] for e in es]) for n, s, c, es in own]
    ones = [c[None] for c in given[2]]
    some = recounted(given[0], (given[1][0], given[1][1]), ones, names, arrays, [0, 16])
    np.testing.assert_array_equal(found, [np.ravel(each)[0] for each in some])
    return found
