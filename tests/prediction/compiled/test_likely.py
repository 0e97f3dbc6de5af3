"""Likely choices that are kept; expected values are a full sort's."""

import numpy as np

from perfmodel.prediction.compiled.likely import Likely

LEAST = np.random.default_rng(2).integers(1, 50, (12, 40)).astype(float)


def kept(count: int) -> Likely:
    found = Likely.space(len(LEAST), count)
    for at in range(0, len(LEAST), 5):
        found.put(slice(at, at + 5), LEAST[at : at + 5])
    return found


def test_those_that_take_the_least_are_kept_in_their_order() -> None:
    found = kept(7)
    np.testing.assert_array_equal(np.sort(found.least), np.sort(LEAST)[:, :7])
    np.testing.assert_array_equal(found.beyond, np.sort(LEAST)[:, 7])
    np.testing.assert_array_equal(found.least, np.take_along_axis(LEAST, found.place, axis=1))
    assert np.all(np.diff(found.place) > 0)


def test_nothing_is_beyond_all() -> None:
    found = kept(40)
    np.testing.assert_array_equal(found.least, LEAST)
    assert np.all(np.isinf(found.beyond))


def test_the_likeliest_are_those_that_may_be_fastest() -> None:
    found = kept(7)
    most = np.sort(LEAST)[:, 1]  # two at least take no more
    launch, at = found.likeliest(most, 2)
    assert np.bincount(launch).tolist() == [2] * 12
    assert np.all(found.least[launch, at] <= most[launch])
    found.least[launch, at] = np.inf
    again, _ = found.likeliest(np.sort(LEAST)[:, 0] - 1, 7)
    assert not len(again)
