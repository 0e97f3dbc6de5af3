"""Random numbers of an expression: the same for numbers and arrays, in range, and even."""

import numpy as np
import pytest

from perfmodel.errors import PerfmodelError
from perfmodel.expressions import evaluate, parse
from perfmodel.expressions.mixing import mixed


def test_published_values() -> None:
    # published: SplitMix64 from seed 0 (reference implementation by S. Vigna, public domain)
    first = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert [mixed(key, 1 << 62) for key in range(3)] == [(v >> 2) for v in first]


@pytest.mark.parametrize("count", [1, 2, 7, 1000, 2**40, 2**62])
def test_numbers_and_arrays_agree_and_stay_in_range(count: int) -> None:
    node = parse("random(i, n)")
    keys = np.array([0, 1, 2, 31, 2**31, 2**61, 12345678901])
    found = evaluate(node, {"i": keys, "n": count})
    assert found.tolist() == [evaluate(node, {"i": int(k), "n": count}) for k in keys]
    assert np.array_equal(found, evaluate(node, {"i": keys, "n": np.full(len(keys), count)}))
    assert found.min() >= 0
    assert found.max() < count


def test_evenly_spread() -> None:
    # property: counts of a uniform choice scatter by the root of their mean; 5 sigma
    found = evaluate(parse("random(i, 100)"), {"i": np.arange(100_000)})
    counts = np.bincount(found, minlength=100)
    assert np.abs(counts - 1000).max() < 5 * np.sqrt(1000)
    # neighbours are not related: the mean of their products is that of independent numbers
    x = found - found.mean()
    assert abs(np.mean(x[1:] * x[:-1])) / np.var(x) < 5 / np.sqrt(len(x))


@pytest.mark.parametrize("count", [0, -3])
def test_nothing_to_choose_from(count: int) -> None:
    for key in (1, np.array([1, 2])):
        with pytest.raises(PerfmodelError, match="chooses among fewer than one"):
            evaluate(parse("random(i, n)"), {"i": key, "n": count})


@pytest.mark.parametrize("count", [1, 2, 3, 8, 1000, 1025])
def test_shuffled_numbers_are_all_numbers(count: int) -> None:
    # property: a permutation, the same for numbers and arrays, of larger keys again
    node = parse("shuffled(i, n)")
    found = evaluate(node, {"i": np.arange(count), "n": count})
    assert sorted(found) == list(range(count))
    assert found[:20].tolist() == [
        evaluate(node, {"i": i, "n": count}) for i in range(min(20, count))
    ]
    assert np.array_equal(found, evaluate(node, {"i": np.arange(count, 2 * count), "n": count}))


def test_shuffled_numbers_follow_no_pattern() -> None:
    # property: neighbours are not related, nor is a number to its key; 5 sigma
    count = 100_003
    x = evaluate(parse("shuffled(i, n)"), {"i": np.arange(count), "n": count}) - (count - 1) / 2
    for other in (np.roll(x, 1), np.roll(x, 2), np.arange(count) - (count - 1) / 2):
        assert abs(np.mean(x * other)) / np.var(x) < 5 / np.sqrt(count)
    with pytest.raises(PerfmodelError, match="chooses among fewer than one"):
        evaluate(parse("shuffled(i, n)"), {"i": 1, "n": 0})
