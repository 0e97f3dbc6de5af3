"""Lines that find no way in their set of L2: sums over the binomial distribution, term by term."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perfmodel.hardware import load_device
from perfmodel.models.l2.set_overflow import UNEVEN, UNEVEN_SHARE, overflow, random_overflow

H200 = load_device("h200-sxm")


def chance(trials: int, share: float, found: int) -> float:
    """Return the probability of so many successes."""
    return math.comb(trials, found) * share**found * (1 - share) ** (trials - found)


def in_order(lines: float, picked: float, ways: int) -> float:
    """Return the share of the lines of a set whose others leave none of its ways."""
    low = math.floor(lines)
    fuller = (lines - low) * (low + 1) / lines  # lines that lie in sets of one more than the rest
    few, many = (sum(chance(n, picked, k) for k in range(ways, n + 1)) for n in (low - 1, low))
    return (1 - fuller) * few + fuller * many


@pytest.mark.parametrize(
    ("lines", "picked", "ways"), [(20, 0.5, 16), (24, 0.6, 12), (17.5, 0.9, 15), (12, 0.3, 8)]
)
def test_lines_read_in_order(lines: float, picked: float, ways: int) -> None:
    # independent: whole terms, of the three kinds of sets
    more, some = float(UNEVEN(H200)), float(UNEVEN_SHARE(H200))
    kinds = ((lines - more, some), (lines, 1 - 2 * some), (lines + more, some))
    expected = sum(share * n / lines * in_order(n, picked, ways) for n, share in kinds)
    assert float(overflow(lines, picked, ways, H200)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("lines", "picked", "ways"), [(20, 0.5, 12), (24, 0.6, 12), (12, 0.3, 8)])
def test_lines_read_at_random(lines: int, picked: float, ways: int) -> None:
    # independent: of k lines in a set all but as many as it has ways are gone
    lost = sum(max(0, k - ways) * chance(lines, picked, k) for k in range(lines + 1))
    found = float(random_overflow(lines, picked, ways))
    assert found == pytest.approx(lost / (lines * picked), rel=1e-6)


def test_parts_of_a_way_are_between() -> None:
    # derived: fractions of ways are interpolated
    found = np.asarray(overflow(20.0, 0.5, np.array([9.0, 9.25, 10.0]), H200))
    assert found[1] == pytest.approx(0.75 * found[0] + 0.25 * found[2])
