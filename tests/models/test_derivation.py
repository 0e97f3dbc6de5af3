"""Recorded numbers: what leaves a node, what a replay gives, and what ends a derivation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.models.derivation import (
    Recorded,
    definition,
    figure,
    is_recording,
    most_turns,
    number,
    recording,
    skippable,
)
from perfmodel.models.formula import Formula
from perfmodel.models.replay import DecisionError, Derivation, derivation

TRANSFER = Formula(
    name="time of a transfer",
    unit="s",
    text="bytes/rate + latency",
    symbols={"bytes": "moved [B]", "rate": "bandwidth [B/s]", "latency": "of the first [s]"},
    holds="always",
    source="derived",
)


def way(work, **figures: float) -> Derivation:
    with recording() as decisions:
        result = work(**{name: figure(name, value) for name, value in figures.items()})
        return derivation(result, decisions)


@given(
    *(st.floats(0.5, 2.0) for _ in range(4)),
    st.lists(st.floats(1.0, 1e6), min_size=1, max_size=4),
)
def test_a_replay_is_the_same_work_again(
    rate: float, latency: float, new_rate: float, new_latency: float, sizes: list[float]
) -> None:
    # property: the same formula and the same functions by the new figures, without a recording
    def work(rate, latency):
        every = TRANSFER(bytes=np.array(sizes), rate=rate, latency=latency)
        longest = np.max(np.stack([np.atleast_1d(every), np.atleast_1d(every * 0.5)]), axis=0)
        return np.where(longest > 1e3, longest**0.9, np.asanyarray(longest, dtype=float)[::-1])

    found = way(work, rate=rate, latency=latency)
    assert set(found.figures) == {"rate", "latency"}
    expected = work(new_rate, new_latency)
    replayed = found.replay(rate=new_rate, latency=new_latency)
    np.testing.assert_allclose(replayed, expected, rtol=1e-14)
    np.testing.assert_array_equal(found.replay(), np.atleast_1d(found.result.value))


def test_a_formula_is_a_node_with_its_symbols() -> None:
    def work(rate, latency):
        return TRANSFER(bytes=64.0, rate=2 * rate, latency=latency) + 1.0

    found = way(work, rate=2.0, latency=3.0)
    (transfer,) = found.formulas
    assert transfer.name == TRANSFER.name
    assert transfer.value == 64 / 4 + 3  # by hand
    assert transfer.named["bytes"] == 64.0
    assert transfer.named["latency"] is found.figures["latency"]
    doubled = transfer.named["rate"]
    assert (doubled.kind, doubled.name, doubled.value) == ("definition", "multiply", 4.0)
    assert [node.kind for node in found.nodes].count("figure") == 2
    # each node stands after those that it is made of
    places = {node: place for place, node in enumerate(found.nodes)}
    for node, place in places.items():
        assert all(places[source] < place for source in node.sources())


def test_what_several_come_out_of() -> None:
    def work(x):
        low, high = np.broadcast_arrays(x, np.zeros(3))
        return (low - high).sum()

    assert way(work, x=2.0).replay(x=5.0) == [15.0]


def test_shapes_that_change() -> None:
    # a square one too, whose transpose has its shape
    def work(x):
        square = np.arange(4.0).reshape(2, 2) * x
        return (square.T - square + square.transpose(1, 0).ravel().reshape(2, 2))[0]

    assert way(work, x=1.0).replay(x=10.0).tolist() == [0.0, 30.0]


@pytest.mark.parametrize("read", [bool, int, float, lambda x: [10, 20, 30][x]])
def test_decisions_must_stay_as_they_were(read) -> None:
    found = way(lambda n: np.zeros(1) + n * (1 + 0 * read(n)), n=1)
    assert found.replay(n=1) == [1]
    with pytest.raises(DecisionError, match="another n the model takes another form"):
        found.replay(n=0)


def test_a_branch_that_stays_is_gone_again() -> None:
    found = way(lambda x: 2 * x if x > 1 else x, x=3.0)
    assert found.replay(x=1.5) == [3.0]
    with pytest.raises(DecisionError):
        found.replay(x=0.5)


def test_an_algorithm_may_be_one_node() -> None:
    @definition
    def in_place(x, y):
        found = np.zeros(2)
        found[0], found[1] = float(x), float(y)
        return found

    assert in_place(1.0, 2.0).tolist() == [1.0, 2.0]
    found = way(lambda x: in_place(x, 7.0), x=3.0)
    assert found.result.name == "in_place"
    assert found.replay(x=4.0).tolist() == [4.0, 7.0]
    assert not found.decisions


@pytest.mark.parametrize(
    "write",
    [
        lambda x: np.full_like(np.zeros(3), x),
        lambda x: np.add(np.ones(1), x, out=np.zeros(1)),
        lambda x: np.atleast_1d(x).__setitem__(0, 2.0),
        lambda x: np.atleast_1d(x).sort(),
        lambda x: np.atleast_1d(x).__iadd__(1.0),
    ],
)
def test_writing_in_place_is_refused(write) -> None:
    with recording(), pytest.raises((TypeError, ValueError), match=r"in place|read-only"):
        write(figure("x", 1.0))


def test_no_program_follows_how_much_there_is() -> None:
    # by hand: of 1, 1, 2 two are distinct, of other numbers one or three, and none decides that
    work = np.unique, np.flatnonzero, np.argwhere
    numbers = figure("numbers", np.array([1.0, 1.0, 2.0]))
    with recording():
        assert [len(each(numbers)) for each in work] == [2, 3, 3]
    with recording(in_parts=True):
        for each in work:
            with pytest.raises(TypeError, match="how much"):
                each(numbers)


def test_it_is_no_key() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        {figure("x", 1.0): 1}


def test_without_a_recording_nothing_is_recorded() -> None:
    assert not is_recording()
    found = TRANSFER(bytes=64.0, rate=2.0, latency=3.0)
    assert type(found) is float
    assert type(TRANSFER(bytes=np.ones(2), rate=2.0, latency=3.0)) is np.ndarray
    with pytest.raises(TypeError, match="no recorded number"):
        derivation(np.ones(1), [])
    with recording():
        assert is_recording()
        assert isinstance(TRANSFER(bytes=64.0, rate=2.0, latency=3.0), Recorded)
    assert not is_recording()


def test_one_number_stays_recorded() -> None:
    assert number(np.full((), 2)) == 2.0
    assert type(number(3)) is float
    kept = number(figure("x", 3))
    assert isinstance(kept, Recorded)
    assert math.isclose(float(kept), 3.0)


def test_a_step_that_changes_nothing_is_recorded_for_others() -> None:
    # property: it may be left out, unless numbers decide that are recorded for other launches too;
    # only that leaves a decision, as a step that is recorded is right for all
    nothing = figure("a", np.array([2.0, 3.0])) > 1
    assert skippable(np.array([True, True]))
    assert not skippable(np.array([True, False]))
    with recording(in_parts=True) as decisions:
        assert skippable(nothing)
        assert not skippable(~nothing)
    assert [decision.answer for decision in decisions] == [True]
    with recording(in_parts=True, general=True) as decisions:
        assert not skippable(nothing)
        assert skippable(np.array([True]))  # no number of a launch decides
    assert not decisions


def test_turns_that_change_nothing_are_of_others() -> None:
    # by hand: the most of all; recorded for programs to a power of two, and for no more than that
    assert most_turns(np.array([2, 5])) == 5
    assert most_turns(np.zeros(0)) == 0
    with recording(in_parts=True) as decisions:
        assert most_turns(figure("turns", np.array([2, 5]))) == 8
    (only,) = decisions
    assert only.answer is False
