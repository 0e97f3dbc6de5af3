"""Lanes that meet at an address: counted, expected, and drawn from a histogram."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest

from perfmodel import PerfmodelError
from perfmodel.expressions import parse
from perfmodel.kernels import Access
from perfmodel.kernels.histogram import Histogram, histogram, uniform
from perfmodel.models.requests.contention import (
    AddressSharing,
    counted_conflicts,
    counted_sharing,
    random_conflicts,
)
from perfmodel.models.requests.sampled_places import beyond_sample, without_chance


def by_hand(addresses: list[int]) -> tuple[int, ...]:
    """Count with dictionaries, lane by lane."""
    lanes = Counter(addresses)
    most: dict[int, dict[int, int]] = {32: {}, 64: {}, 128: {}}
    for address, count in lanes.items():
        for granule, found in most.items():
            found[address // granule] = max(found.get(address // granule, 0), count)
    sectors, halves, lines = most[32], most[64], most[128]
    packets = (sum(found.values()) for found in (sectors, lines, halves))
    return len(lanes), len(sectors), len(lines), *packets, max(lanes.values())


def test_counted_conflicts_against_dictionaries() -> None:
    # independent: another algorithm, on patterns and on random lanes with some switched off
    random = np.random.default_rng(7)
    rows = [np.arange(32) * 4, np.zeros(32, int), np.arange(32) % 3 * 4, np.arange(32) // 4 * 32]
    rows += [random.integers(0, most, 32) * 4 for most in (2, 10, 100, 10_000) for _ in range(5)]
    addresses = np.stack(rows)
    active = random.random(addresses.shape) < 0.8
    active[:, 0] = True
    found = counted_conflicts(addresses, active)
    for i, (row, on) in enumerate(zip(addresses, active, strict=True)):
        expected = by_hand(row[on].tolist())
        assert tuple(int(column[i]) for column in found) == expected


def test_the_four_extremes() -> None:
    # property: one address is 32 passes, one line of words 4, a sector each 32
    shapes = {"one": np.zeros(32), "line": np.arange(32) * 4, "sectors": np.arange(32) * 32}
    passes = {name: int(counted_conflicts(a.astype(int)).passes) for name, a in shapes.items()}
    assert passes == {"one": 32, "line": 4, "sectors": 32}


@pytest.mark.parametrize(
    ("bins", "pitch"), [(1, 4), (4, 4), (32, 4), (100, 4), (10**6, 4), (64, 8), (64, 32), (16, 128)]
)
def test_random_conflicts_against_draws(bins: int, pitch: int) -> None:
    # independent: 4000 warps drawn, their lanes counted one by one
    draws = np.random.default_rng(3).integers(0, bins, (4000, 32)) * pitch
    counted = counted_conflicts(draws)
    expected, _ = random_conflicts(uniform(bins), pitch)
    for name, found in expected._asdict().items():
        assert float(found) == pytest.approx(getattr(counted, name).mean(), rel=0.05), name


@pytest.mark.parametrize(
    ("weights", "bins"),
    [("1/(bin + 1)", 1000), ("1/(bin + 1)", 10**7), ("where(bin == 0, 1000, 1)", 10**4)],
)
def test_weighted_conflicts_against_draws(weights: str, bins: int) -> None:
    # independent: the histogram's own draws are checked by the next test
    found = histogram(weighted(parse(weights)), bins, {})
    drawn = found.draw(np.arange(128_000)).reshape(-1, 32)
    assert drawn.min() >= 0
    assert drawn.max() < bins
    counted = counted_conflicts(drawn * 4)
    for name, expected in random_conflicts(found, 4)[0]._asdict().items():
        assert float(expected) == pytest.approx(getattr(counted, name).mean(), rel=0.03), name


def test_draws_follow_the_weights() -> None:
    # property: of 200,000 draws each bin has its share, within five standard deviations
    weights = (5.0, 0.0, 1.0, 3.0, 1.0)
    found = histogram(weighted(weights), 5, {})
    counts = np.bincount(found.draw(np.arange(200_000)), minlength=5)
    share = np.array(weights) / 10
    spread = np.sqrt(200_000 * share * (1 - share))
    assert np.all(np.abs(counts - 200_000 * share) <= 5 * spread)
    assert found.most_likely == pytest.approx(0.5)


def test_histograms_keep_their_mass() -> None:
    # property: whatever is merged, probabilities add up to one over all bins
    zipf = histogram(weighted(parse("(bin + 1)**-1.5")), 3_000_001, {})
    for found, together in itertools.product((zipf, uniform(1000)), (1, 2, 8, 32)):
        merged: Histogram = found.merged(together)
        assert merged.bins == -(-found.bins // together)
        assert float((merged.likely * merged.sizes).sum()) == pytest.approx(1)


def test_lines_of_equally_likely_bins() -> None:
    # derived: all 32 lanes miss a line with probability (1 - 1/lines)**32
    for granules in (1, 3, 50, 10**6):
        expected = granules * (1 - (1 - 1 / granules) ** 32)
        assert float(random_conflicts(uniform(granules), 128)[0].lines) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("weights", "message"),
    [((1.0, 2.0), "2 of them for 3 bins"), (parse("bin - 1"), "must be 0 or more")],
)
def test_weights_that_are_wrong(weights: Any, message: str) -> None:
    with pytest.raises(PerfmodelError, match=message):
        histogram(weighted(weights), 3, {})


def weighted(weights: Any) -> Access:
    return Access("bins", "atomic", parse("random(threadIdx.x, 8)"), weights=weights)


def sampled(blocks: list[int], lanes: slice = slice(None)) -> tuple[AddressSharing, Any, Any]:
    """Return what some blocks of 256 threads show that go to words i % 4096."""
    i = np.array(blocks)[:, None, None] * 256 + np.arange(256).reshape(8, 32)
    addresses = (i % 4096 * 4).reshape(-1, 32)
    active = np.zeros(addresses.shape, dtype=bool)
    active[:, lanes] = True
    return counted_sharing(addresses, active), addresses, active


def test_a_sample_of_few_blocks_goes_to_all_places() -> None:
    # independent: all blocks, counted
    whole, *_ = sampled(list(range(16)))
    seen, addresses, active = sampled([3, 9, 40])
    assert seen.hot.granule[0] == pytest.approx(1 / 12)
    found = beyond_sample(seen, addresses, active, 2.0**20, whole)
    assert found.hot.granule[0] == whole.hot.granule[0] == pytest.approx(1 / 64)
    assert found.addresses[0] == 4096
    assert found.conflicts is seen.conflicts


def test_a_sample_that_chose_its_words_stays_as_it_is() -> None:
    # property: one lane a warp goes to an eighth of the words, and few lanes not to all places
    whole, *_ = sampled(list(range(16)))
    one, addresses, active = sampled([3, 9, 40], slice(0, 1))
    assert beyond_sample(one, addresses, active, 2.0**20, whole) is one
    few, addresses, active = sampled([3, 9, 40])
    assert beyond_sample(few, addresses, active, 1000.0, whole) is few


def sampled_from(shares: Any, lanes: int, spacing: int = 4) -> tuple[AddressSharing, Any, Any]:
    random = np.random.default_rng(11)
    drawn = random.choice(len(shares), size=(lanes // 32, 32), p=shares) * spacing
    active = np.ones(drawn.shape, dtype=bool)
    return counted_sharing(drawn, active), drawn, active


@pytest.mark.parametrize("places", [4096, 1 << 16, 1 << 20])
def test_equally_popular_places_are_so_in_spite_of_a_sample(places: int) -> None:
    # independent: what the lanes were drawn from
    seen, drawn, active = sampled_from(np.full(places, 1 / places), 1 << 14)
    found = without_chance(seen, drawn, active, 4.0 * places, 4)
    assert float(seen.hottest.max()) > 1.8 / places
    assert float(found.hottest.max()) == pytest.approx(1 / places, rel=0.25)
    assert float(found.hot.granule.max()) == pytest.approx(64 / places, rel=0.1)


def test_places_that_are_more_popular_stay_so() -> None:
    # independent: one place of 65536 has a twentieth of the lanes, or a quarter of the places all
    one = np.full(1 << 16, 0.95 / (1 << 16))
    one[777] += 0.05
    seen, drawn, active = sampled_from(one, 1 << 14)
    found = without_chance(seen, drawn, active, 4.0 * len(one), 4)
    assert float(found.hottest.max()) == pytest.approx(0.05, rel=0.1)
    few = np.where(np.arange(1 << 14) < 1 << 12, 1 / (1 << 12), 0.0)
    seen, drawn, active = sampled_from(few, 1 << 14)
    found = without_chance(seen, drawn, active, 4.0 * len(few), 4)
    assert float(found.hot.granule.max()) == pytest.approx(64 / (1 << 12), rel=0.3)


def test_lanes_of_a_warp_that_go_together_are_one_choice() -> None:
    # independent: 512 warps, each at one of 1024 words; some have three by chance
    random = np.random.default_rng(5)
    drawn = np.repeat(random.integers(0, 1024, 512)[:, None] * 4, 32, axis=1)
    active = np.ones(drawn.shape, dtype=bool)
    seen = counted_sharing(drawn, active)
    found = without_chance(seen, drawn, active, 4096.0, 4)
    assert float(seen.hottest.max()) >= 3 / 512
    assert float(found.hottest.max()) == pytest.approx(1 / 1024, rel=0.5)
