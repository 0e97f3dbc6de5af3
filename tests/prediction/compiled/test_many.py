"""Many launches by programs: when programs are made, and where their outputs go."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from perfmodel.prediction.compiled import calls, many


class Form:
    """A program by its function of arrays."""

    def __init__(self, made: Any) -> None:
        self.made = self.of_many = self.of_arrays = made
        self.screen = None


def test_launches_left_by_several_calls_are_worth_a_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # by hand: 40 launches a call are 100 in the third, which none is made before
    asked: list[int] = []
    programs: Any = SimpleNamespace(known=[], names=("n",), left=0.0)
    programs.learn_of = lambda launches, evaluated, usual: asked.append(len(launches))
    monkeypatch.setattr(many, "_WORTH", 100)
    columns = {"n": np.arange(40)}
    for expected in (0, 0, 1):
        assert many.prepare(programs, columns, lambda instance: None, 40) == ()
        assert len(asked) == expected
    assert programs.left == 0


def test_a_program_of_many_launches_is_of_no_more_than_are_recorded_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # property: others would be left out, although the program is to hold for them too
    asked: list[int] = []
    programs: Any = SimpleNamespace(known=[], names=("n",), left=0.0)
    programs.learn_of = lambda launches, evaluated, usual: asked.append(len(launches))
    monkeypatch.setattr(many, "_WORTH", 100)
    many.prepare(programs, {"n": np.arange(4000)}, lambda instance: None, 4000)
    assert 200 < asked[0] <= calls.ROWS


def test_a_program_that_holds_for_nothing_new_is_taken_back() -> None:
    # by hand: of 40,000 launches the first program holds for the even ones, the next for none, and
    # the call makes no third
    asked: list[int] = []
    known: list[Any] = []
    programs: Any = SimpleNamespace(known=known, names=("n",), left=0.0, dropped=0)

    def learn(launches: list[dict[str, int]], evaluated: Any, usual: int) -> bool:
        asked.append(sum(each["n"] % 2 == 0 for each in launches[:usual]))
        even = not known
        known.insert(0, Form(lambda n: (n % 2 == 0 if even else n < 0, (n * 1.0,))))
        return True

    def drop() -> None:
        del known[0]
        programs.dropped += 1

    programs.learn_of, programs.drop_latest = learn, drop
    some = many.prepare(programs, {"n": np.arange(2048)}, lambda instance: None, 40_000)
    assert len(some) == len(known) == programs.dropped == 1
    assert asked[0] > 0 == asked[1]  # those without a program decide


def test_blocks_say_of_which_launches_none_is_held() -> None:
    # by hand: of 6 launches the first program is asked for 3, and holds for none
    function, screen = (lambda n: (n < 0, (n * 1.0,))), (lambda n: (n % 2 == 0, ()))
    programs: Any = [(None, function, screen), (None, lambda n: (n >= 0, (n * 2.0,)), None)]
    first, *others = many.blocks(programs, [np.arange(6)])
    assert np.arange(6)[first.places].tolist() == [0, 2, 4]
    assert not first.held.any()
    assert sum(block.held.sum() for block in others) == 6


@pytest.mark.parametrize("places", [slice(2, 5), np.array([2, 3, 4])])
@pytest.mark.parametrize("value", [np.array([7.0, 8.0, 9.0]), 7.0])
def test_outputs_go_where_the_program_holds(places: Any, value: Any) -> None:
    # by hand: of places 2 to 4 the middle one is not held
    block = many.Block(None, places, np.array([True, False, True]), ())  # type: ignore[arg-type]
    column = np.zeros(6)
    block.put(value, column)
    last = 7.0 if np.ndim(value) == 0 else 9.0
    assert column.tolist() == [0, 0, 7.0, 0, last, 0]


def test_blocks_ask_each_program_for_what_is_left() -> None:
    # by hand: one program holds for even numbers, the next for those over 5
    def of(holds: Any) -> Any:
        return None, lambda numbers: (holds(numbers), (numbers * 1.0,)), None

    numbers = np.arange(10)
    found = np.full(10, np.nan)
    every = [of(lambda n: n % 2 == 0), of(lambda n: n > 5)]
    for block in many.blocks(every, [numbers]):
        block.put(block.outputs[0], found)
    expected = [0, np.nan, 2, np.nan, 4, np.nan, 6, 7, 8, 9]
    np.testing.assert_array_equal(found, expected)


def test_a_program_is_run_for_those_that_its_screen_lets_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # by hand: of 0 to 9 the first program may hold for multiples of 3 and does for even ones, three
    # at a time; the columns that a screen gives are written again at its next call
    monkeypatch.setattr(many, "_BLOCK", 3)
    asked: list[int] = []
    kept = np.zeros(4, dtype=bool)

    def screen(numbers: Any) -> Any:
        kept[: len(numbers)] = numbers % 3 == 0
        return kept[: len(numbers)], ()

    def first(numbers: Any) -> Any:
        asked.extend(numbers.tolist())
        return numbers % 2 == 0, (numbers * 1.0,)

    every: Any = [(None, first, screen), (None, lambda n: (n > 6, (n * 10.0,)), None)]
    found = np.full(10, np.nan)
    for block in many.blocks(every, [np.arange(10)]):
        block.put(block.outputs[0], found)
    assert asked == [0, 3, 6, 9]
    expected = [0, *[np.nan] * 5, 6, 70, 80, 90]
    np.testing.assert_array_equal(found, expected)


def test_no_program_is_asked_for_no_launches() -> None:
    # by hand: the first program holds for all, and the second would fail
    known = [Form(lambda n: (n >= 0, (n * 1.0,))), Form(lambda n: 1 / len(n))]
    programs: Any = SimpleNamespace(known=known, names=("n",))
    shares: Any = many._shares(programs, {"n": np.arange(4)})
    assert [shares[form].tolist() for form in known] == [[True] * 4, [False] * 4]


def test_more_guards_are_asked_where_few_let_too_many_through() -> None:
    # by hand: the screen lets all of 8 through, of which others have served 2; the program holds
    # for 5 of the rest, which is enough, or for 3
    screened, parted = (lambda n: (n >= 0, ())), object()
    given: list[Any] = []
    form: Any = SimpleNamespace(screen=screened, parted=lambda c: given.append(c[0]) or parted)
    numbers = np.arange(8)
    assert many._screen(form, [numbers], numbers > 1, numbers > 2) is screened
    assert many._screen(form, [numbers], numbers > 1, numbers > 4) is parted
    assert [column.tolist() for column in given] == [[2, 3, 4, 5, 6, 7]]
