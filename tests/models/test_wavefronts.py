"""L1 wavefronts against clocks and counters of an H200, brute force and limits."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from measured import rows

from perfmodel.models.l1.throughput import L1_CYCLES
from perfmodel.models.requests import wavefronts
from perfmodel.models.requests.coalescing import Box
from perfmodel.models.requests.wavefronts import (
    data_wavefronts,
    pattern_wavefronts,
    tag_bank,
    tag_wavefronts,
)

WARPS = 64  # of a coalescer launch
COPIES = 8  # loads of an L1 pattern, each a line further
LANES = np.arange(32)


def copies(offsets: tuple[int, ...] | np.ndarray) -> np.ndarray:
    """Addresses of the eight loads of the L1 pattern program."""
    return np.asarray(offsets)[None, :] + 128 * np.arange(COPIES)[:, None]


def clocks(offsets: tuple[int, ...] | np.ndarray, width: int) -> float:
    """Clocks a request: the stage of L1 that is busier over all copies."""
    at = copies(offsets)
    return float(max(data_wavefronts(at, width).mean(), tag_wavefronts(at).mean()))


def test_clocks_of_every_l1_pattern() -> None:
    # measured: 621 patterns of 4, 8 and 16 B on an H200; largest error 1.5% when this was written
    cases = rows("l1-patterns")
    assert len(cases) == 621
    for r in cases:
        assert clocks(r["offsets"], r["vector"]) == pytest.approx(r["cycles"], rel=0.02), r


def test_pairs_of_patterns_add_in_each_stage() -> None:
    # measured: 81 pairs of loads of 4 B by turns; largest error 6%
    for r in rows("l1-pairs"):
        first = copies(LANES * r["stride_bytes"])
        second = copies(LANES * r["stride2_bytes"] + (0 if r["stride2_bytes"] else 64))
        moves = r["warp_step_bytes"] * LANES[:, None, None]  # of the 32 warps
        data = sum(data_wavefronts(at + moves, 4).mean() for at in (first, second))
        tags = sum(tag_wavefronts(at + moves).mean() for at in (first, second))
        none = dict.fromkeys(("fills", "port", "sent", "pages"), 0.0)
        found = float(L1_CYCLES(data=data, tags=tags, lanes=2.0, **none))
        assert found == pytest.approx(r["cycles"], rel=0.06), r


@pytest.mark.parametrize("width", [4, 8])
def test_tag_wavefronts_are_the_profilers(width: int) -> None:
    # measured: the profiler's counter, one wavefront a warp of it for the load of the offsets
    cases = rows("coalescer", kernel="coalesce-load", vector=width)
    assert len(cases) == 136
    for r in cases:
        assert tag_wavefronts(r["offsets"]) == r["l1_tag_wavefronts_load"] / WARPS - 1, r


def test_tag_bank_toggles_as_measured() -> None:
    # measured: three lines; they share a bank or not. Bits 6 to 20 of the line address
    for r in rows("tag-banks"):
        assert tag_wavefronts(r["offsets"]) == r["l1_tag_wavefronts_load"] / WARPS - 1, r


def test_tag_bank_is_linear_over_exclusive_or() -> None:
    # property of a hash that toggles banks by bits
    lines = np.random.default_rng(0).integers(0, 1 << 21, (2, 500))
    np.testing.assert_array_equal(
        tag_bank(lines[0] ^ lines[1]), tag_bank(lines[0]) ^ tag_bank(lines[1])
    )
    assert tag_bank(0) == 0
    assert np.bincount(tag_bank(np.arange(1 << 12))).tolist() == [1024] * 4


def test_tag_wavefronts_equal_brute_force() -> None:
    generator = np.random.default_rng(1)
    addresses = generator.integers(0, 1 << generator.integers(7, 26, (300, 1)), (300, 32))
    active = generator.random((300, 32)) < generator.random((300, 1))
    found = tag_wavefronts(addresses, active)
    for at, on, value in zip(addresses, active, found, strict=True):
        banks = defaultdict(set)
        for line in at[on] // 128:
            banks[int(tag_bank(line))].add(int(line))
        assert value == max([len(lines) for lines in banks.values()] + [1])


def test_tag_wavefronts_of_boxes_are_the_mean_over_their_lanes() -> None:
    # independent: lane by lane, at the same base addresses; cut, backward and crossing rows too
    generator = np.random.default_rng(2)
    count = 400
    inner = generator.integers(0, 33, count)
    rows = np.where(inner > 0, generator.integers(1, 33, count) // np.maximum(inner, 1), 1)
    strides = generator.integers(-40_000, 40_000, (2, count)) * 4
    strides[:, ::5] = generator.integers(-40, 40, (2, count // 5)) * 4
    offset, step = generator.integers(0, 128, count) // 4 * 4, 4 << generator.integers(0, 6, count)
    box = Box(inner, strides[0], rows, strides[1])
    _, found = pattern_wavefronts(box, offset, step, 4)
    lane = LANES[None, :]
    m = np.maximum(inner, 1)[:, None]
    inside = lane % m * strides[0][:, None] + lane // m * strides[1][:, None]
    span = np.maximum(np.abs(strides[0]) * inner, np.abs(strides[1]) * np.maximum(rows, 1))
    row = np.abs(np.where(strides[0] == 0, strides[1], strides[0]))
    expected = np.zeros(count)
    for warp, part in zip(wavefronts._WARPS, wavefronts._STEPS, strict=True):
        places = np.floor(part * np.maximum(row // step, 1)).astype(int)
        base = (1 << 40) + offset + warp * span + places * step
        expected += tag_wavefronts(base[:, None] + inside, lane < (inner * rows)[:, None])
    assert np.array_equal(found, expected / len(wavefronts._WARPS))
    assert len(np.unique(found)) > 20


def test_tag_wavefronts_of_rows_are_near_those_of_every_warp_and_step() -> None:
    # independent: all warps that walk down a matrix of so many columns, at every step of a row
    ratios = []
    for columns in (300, 306, 379, 477, 511, 600, 777, 1000, 1111, 1300):
        rows = np.arange(320).reshape(10, 1, 32)
        steps = np.arange(columns).reshape(1, -1, 1)
        every = tag_wavefronts((1 << 40) + 4 * (rows * columns + steps)).mean()
        box = Box(*(np.full(1, n) for n in (32, 4 * columns, 1, 0)))
        _, found = pattern_wavefronts(box, np.zeros(1, int), np.full(1, 4), 4)
        ratios.append(found[0] / every)
    assert np.std(ratios) < 0.035
    assert np.all(np.abs(np.array(ratios) - 1) < 0.08)


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
def test_data_wavefronts_equal_brute_force(width: int) -> None:
    # independent: 32 banks of 4 B; 8 B lanes go by halves, 16 B lanes by quarters of a warp
    generator = np.random.default_rng(width)
    reach = 1 << generator.integers(0, 12, (300, 1))
    addresses = generator.integers(0, reach, (300, 32)) * width
    active = generator.random((300, 32)) < generator.random((300, 1)) + 0.2
    found = data_wavefronts(addresses, width, active)
    group = min(32, 128 // width)
    unit = max(width, 4)
    for at, on, value in zip(addresses, active, found, strict=True):
        clocks = 0
        for start in range(0, 32, group):
            banks = defaultdict(set)
            for lane in range(start, start + group):
                if on[lane]:
                    banks[at[lane] // unit % (128 // unit)].add(at[lane] // unit)
            clocks += max((len(words) for words in banks.values()), default=0)
        assert value == max(clocks, 1)


@pytest.mark.parametrize("width", [4, 8, 16])
def test_data_formula_is_the_count_for_evenly_spaced_lanes(width: int) -> None:
    lanes = 128 // width
    for stride in range(1, 300):
        # derived from 32 banks of 4 B: lanes a multiple of the divisor apart share banks
        expected = width // 4 * np.gcd(stride, lanes)
        assert data_wavefronts(LANES * stride * width, width) == expected, stride
    assert data_wavefronts(LANES * 0, width) == width // 4


def test_known_conflicts() -> None:
    # published: 32 banks, so float columns of a 32-wide tile conflict 32-fold, padded ones not
    assert data_wavefronts(LANES * 32 * 4, 4) == 32
    assert data_wavefronts(LANES * 33 * 4, 4) == 1
    assert data_wavefronts(LANES * 4, 4) == 1
    assert data_wavefronts(LANES * 0, 4) == 1
    assert tag_wavefronts(LANES * 4) == 1


@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
def test_box_data_wavefronts_equal_their_addresses(width: int) -> None:
    # independent of the closed form: the lanes' addresses, counted. One base: any multiple of 128
    generator = np.random.default_rng(width)
    inner = generator.integers(1, 33, 300)
    rows_ = np.minimum(generator.integers(1, 9, 300), 32 // inner)
    stride = generator.integers(0, 70, 300) * width
    pitch = generator.integers(0, 300, 300) * width
    box = Box(inner, stride, rows_, pitch)
    data, tags = pattern_wavefronts(box, np.zeros(1, int), np.full(1, 128), width)
    lane = LANES[None, :]
    at = (lane % inner[:, None]) * stride[:, None] + (lane // inner[:, None]) * pitch[:, None]
    active = lane < (inner * rows_)[:, None]
    if width >= 4:
        np.testing.assert_array_equal(data, data_wavefronts(at + (1 << 30), width, active))
    assert np.all(data >= 1)
    assert np.all((tags >= 1) & (tags <= inner * rows_))


def test_many_patterns_equal_the_same_ones_alone() -> None:
    # property: what a pattern costs does not depend on the patterns beside it
    generator = np.random.default_rng(3)
    inner = generator.choice([32, 16, 8, 5], 200)
    stride = generator.integers(0, 9000, 200) * 4
    pitch = generator.integers(0, 9000, 200) * 4
    offset = generator.integers(0, 32, 200) * 4
    step = 1 << generator.integers(2, 8, 200)
    box = (inner, stride, 32 // inner, pitch, offset, step)
    together = pattern_wavefronts(Box(*box[:4]), *box[4:], 4)
    for i in range(200):
        one = [column[i] for column in box]
        alone = pattern_wavefronts(Box(*one[:4]), *one[4:], 4)
        assert [float(a) for a in alone] == [float(t[i]) for t in together]


@pytest.mark.parametrize("told_by", [48, 63])
def test_patterns_that_came_before_are_found_again(
    told_by: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # independent: the same patterns worked out; by one bit of a key, most have another's place
    monkeypatch.setattr(wavefronts, "_TOLD_BY", told_by)
    generator = np.random.default_rng(4)
    box = [generator.integers(1, 5, 60) * step for step in (1, 4, 1, 128)]
    at = generator.integers(0, 128, 60), np.full(60, 4)
    monkeypatch.setattr(wavefronts, "_KNOWN", {})
    for which in (slice(0, 40), slice(20, 60), slice(0, 60)):
        some = Box(*(column[which] for column in box)), *(column[which] for column in at)
        found = pattern_wavefronts(*some, 4)
        with monkeypatch.context() as fresh:
            fresh.setattr(wavefronts, "_KNOWN", {})
            np.testing.assert_array_equal(found, pattern_wavefronts(*some, 4))
