"""Likely choices of launches; expected values are a full sort's."""

import numpy as np

from perfmodel.prediction.compiled.likely import Likely

LEAST = np.random.default_rng(2).integers(1, 50, (12, 40)).astype(float)
SORTED = np.sort(LEAST, axis=1)


def likely(kept: int) -> Likely:
    return Likely.of(LEAST, SORTED[:, kept - 1])


def test_those_that_take_the_least_are_kept_in_their_order() -> None:
    found = likely(7)
    for launch, row in enumerate(LEAST):
        places = found.place[found.launch == launch]
        assert places.tolist() == np.flatnonzero(row <= SORTED[launch, 6]).tolist()
    np.testing.assert_array_equal(found.least, LEAST[found.launch, found.place])
    assert np.all(np.isinf(found.time))


def test_those_above_a_time_are_the_others() -> None:
    # property: with those up to that time they are all
    some, others = likely(7), Likely.of(LEAST, SORTED[:, 19], SORTED[:, 6])
    assert np.all(others.least > SORTED[others.launch, 6])
    both, every = Likely.joined([some, others]), likely(20)
    found = sorted(zip(both.launch, both.place, both.least, strict=True))
    assert found == [*zip(every.launch, every.place, every.least, strict=True)]


def test_the_first_is_the_first_of_those_that_take_the_least() -> None:
    found = likely(7)
    some = found.first(12)
    assert found.launch[some].tolist() == [*range(12)]
    np.testing.assert_array_equal(found.place[some], LEAST.argmin(axis=1))


def test_the_next_are_those_that_may_be_faster_than_the_best() -> None:
    found = likely(40).in_order()
    assert np.all(np.diff(found.least.reshape(12, 40), axis=1) >= 0)
    every = np.arange(len(found.launch))
    most = SORTED[:, 1]  # two at least take no more
    some = found.next(most, every, 2)
    assert np.bincount(found.launch[some]).tolist() == [2] * 12
    found.time[some] = found.least[some] + 60
    np.testing.assert_array_equal(found.best(12), SORTED[:, 0] + 60)
    # all others, but for one that takes the same time as the one before it
    every[2] = 1
    assert found.next(found.best(12), every, 40).tolist() == sorted({*every} - {*some, 2})
    assert not len(found.next(SORTED[:, 0] - 1, every, 40))
