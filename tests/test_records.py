"""Records, held against what `dataclasses` makes of the same class."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import pytest

from perfmodel.records import record


def _class(decorator: Callable[[Any], Any]) -> Any:
    @decorator
    class Example:
        """With a field of each kind."""

        kind: ClassVar[str] = "example"
        first: int
        label: str = field(compare=False)
        many: list[int] = field(default_factory=list, hash=False)
        secret: float = field(default=1.5, repr=False)
        twice: int = field(init=False, compare=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "twice", 2 * self.first)

        @property
        def thrice(self) -> int:
            return 3 * self.first

    return Example


Ours, Theirs = _class(record), _class(dataclass(frozen=True, slots=True))
GIVEN: list[dict[str, Any]] = [
    {"first": 1, "label": "a"},
    {"first": 1, "label": "b"},
    {"first": 2, "label": "a", "many": [4, 5]},
    {"first": 2, "label": "a", "many": [4, 5], "secret": 2.5},
    {"first": 2.0, "label": "a", "many": [4], "secret": 1.5},
]


@pytest.mark.parametrize("given", GIVEN)
def test_values_text_and_hash(given: dict[str, Any]) -> None:
    ours, theirs = Ours(**given), Theirs(**given)
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert repr(ours) == repr(theirs)
    assert hash(ours) == hash(theirs)
    assert (ours.thrice, ours.kind) == (theirs.thrice, theirs.kind)


def test_equality() -> None:
    assert [[Ours(**a) == Ours(**b) for a in GIVEN] for b in GIVEN] == [
        [Theirs(**a) == Theirs(**b) for a in GIVEN] for b in GIVEN
    ]
    assert Ours(1, "a") != Theirs(1, "a")
    assert Ours(1, "a") != 1


def test_made_by_position_as_well() -> None:
    assert repr(Ours(1, "a", [2], 3.0)) == repr(Theirs(1, "a", [2], 3.0))
    assert list(inspect.signature(Ours).parameters) == list(inspect.signature(Theirs).parameters)
    assert Ours.__match_args__ == Theirs.__match_args__
    assert Ours(1, "a").many is not Ours(1, "a").many
    with pytest.raises(TypeError, match=r"Example\.__init__\(\) missing .* 'label'"):
        Ours(1)


def test_it_is_frozen_and_has_slots_only() -> None:
    made = Ours(1, "a")
    assert not hasattr(made, "__dict__")
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'first'"):
        made.first = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'first'"):
        del made.first
    assert dataclasses.replace(made, first=4).twice == 8


def test_copies() -> None:
    made = Ours(3, "a", [1])
    deep = copy.deepcopy(made)
    assert deep == copy.copy(made) == made
    assert deep.many is not made.many


@record
class One:
    """Of one field."""

    value: object


@record
class Own:
    """With methods of its own."""

    value: int

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 7

    def __repr__(self) -> str:
        return "own"


@record
class Nothing:
    """Without fields."""


def test_pickled_and_hashed_as_of_one_field() -> None:
    assert pickle.loads(pickle.dumps(One((1, 2)))) == One((1, 2))
    assert hash(One(5)) == hash((5,))
    assert hash(One((5, 6))) == hash(((5, 6),))
    assert Nothing() == Nothing()


def test_methods_of_its_own_stay() -> None:
    assert Own(1) == Own(2)
    assert repr(Own(1)) == "own"
    assert hash(Own(1)) == 7


def _with_cache(decorator: Callable[[Any], Any]) -> Any:
    @decorator
    class Example:
        """With keywords only, and with a cached property."""

        name: str = "none"
        size: int
        parts: list[int] = field(default_factory=list)

        @cached_property
        def twice(self) -> int:
            return 2 * self.size

    return Example


def test_without_slots_and_by_keyword() -> None:
    ours = _with_cache(record(slots=False, kw_only=True))
    theirs = _with_cache(dataclass(frozen=True, kw_only=True))
    made, expected = ours(size=3), theirs(size=3)
    assert repr(made) == repr(expected)
    assert dataclasses.asdict(made) == dataclasses.asdict(expected)
    assert made.twice == 6
    assert copy.deepcopy(made) == made == ours(size=3, name="none")
    with pytest.raises(TypeError, match="positional"):
        ours("name", 3)
    with pytest.raises(FrozenInstanceError):
        made.size = 4


@record(eq=False)
class Each:
    """Equal to itself only."""

    value: int


def test_without_equality() -> None:
    each = Each(1)
    assert each != Each(1)
    assert {each: 2}[each] == 2
    assert pickle.loads(pickle.dumps(each)).value == 1
