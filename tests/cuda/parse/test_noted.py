"""Arithmetic that is noted, against the arithmetic itself.

Expected (property): the same result, to the last bit, or none where a comparison comes out
otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.cuda.parse.noted import Notes, Repeated, exactly


def work(numbers: Sequence[Any]) -> tuple[Any, ...]:
    a, b, c, d = numbers
    total = sum([a, b / 3, c * 2]) if a < b else a - c
    most = max([a, b, c, 0.5], key=lambda n: (n, 1))
    counted = round(total + most, 2)
    turns = c // 4 + c % 4 - (-d)
    return (("fp32", None, counted), min(a, turns), round(most), 7)


positive = st.floats(0.1, 1e6)


@settings(max_examples=300, deadline=None)
@given(st.tuples(*[positive] * 4), st.tuples(*[positive] * 4))
def test_done_again_it_gives_the_same(first: tuple[float, ...], second: tuple[float, ...]) -> None:
    notes = Notes(first)
    again = notes.function(work(notes.inputs))
    assert repr(again(*first)) == repr(work(first))
    found = again(*second)
    assert found is None or repr(found) == repr(work(second))


def test_it_is_none_where_something_is_decided_otherwise() -> None:
    # by hand: 1 < 2, 3 < 2 is not
    notes = Notes([1.0, 2.0])
    a, b = notes.inputs
    again = notes.function((a if a < b else b, "less"))
    assert again(1.5, 2.0) == (1.5, "less")
    assert again(3.0, 2.0) is None


@pytest.mark.parametrize("read", [exactly, lambda n: {n: 1} and n.value, lambda n: n and n.value])
def test_what_is_read_holds_for_that_alone(read: Any) -> None:
    # by hand: a key of a dictionary is the number itself; a truth value is that of others too
    notes = Notes([3.0])
    again = notes.function((read(notes.inputs[0]),))
    assert again(3.0) == (3.0,)
    assert again(0.0) is None


def test_what_has_no_step_is_refused() -> None:
    (a,) = Notes([3.0]).inputs
    for read in (
        float,
        int,
        lambda n: np.asarray([1.0]) + n,
        lambda n: n + np.float64(1),
        lambda n: n**2,
    ):
        with pytest.raises(TypeError):
            read(a)
    with pytest.raises(TypeError, match="has no text"):
        Notes([]).function(([],))


def test_a_function_is_made_of_the_third_launch_and_kept_by_what_it_depends_on() -> None:
    # by hand: of three launches the third is noted, the next two go by that
    done: list[int] = []

    def counted(numbers: Sequence[Any]) -> tuple[Any, ...]:
        done.append(1)
        return (numbers[0] * 2,)

    kept = Repeated()
    assert [kept.result("key", [n], counted) for n in (1.0, 2.0, 3.0)] == [(2.0,), (4.0,), (6.0,)]
    assert len(done) == 4  # once more to note it
    assert [kept.result("key", [n], counted) for n in (4.0, 5.0)] == [(8.0,), (10.0,)]
    assert len(done) == 4
    assert kept.result("another", [6.0], counted) == (12.0,)
    assert len(done) == 5
