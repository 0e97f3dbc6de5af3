"""Drill: a question with an answer that perfmodel works out, as frozen records."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from perfmodel.drills.sources import Expression, Source


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a worked solution.

    Attributes
    ----------
    say : str
        What is done and why; ``{name}`` stands for the value of a name.
    name : str
        How later lines call the value; empty for a line of words only.
    unit : str
        What the value is shown in.
    source : Source or None
        Where the value comes from.
    """

    say: str
    name: str = ""
    unit: str = ""
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class NumberAnswer:
    """An answer of one number, or of several in order.

    Attributes
    ----------
    values : tuple of Expression
    unit : str
    tolerance : float
        Largest error that is still right, as a share of the value.
    """

    values: tuple[Expression, ...]
    unit: str
    tolerance: float


@dataclass(frozen=True, slots=True)
class WordAnswer:
    """An answer in words: each entry must be named, in any order, by one of its spellings.

    Attributes
    ----------
    words : tuple of tuple of str
        Spellings of each.
    besides : tuple of str
        What may be named as well.
    """

    words: tuple[tuple[str, ...], ...]
    besides: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChoiceAnswer:
    """One of several choices.

    Attributes
    ----------
    choices : tuple of str
    pick : Expression
        Position of the right one, from 0.
    """

    choices: tuple[str, ...]
    pick: Expression


Answer = NumberAnswer | WordAnswer | ChoiceAnswer


@dataclass(frozen=True, slots=True)
class Mistake:
    """A wrong answer that people give, and what to tell them.

    Attributes
    ----------
    value : Expression or None
        The number that they get; None if it is a choice or a word.
    word : str
        The choice or word.
    say : str
    """

    say: str
    value: Expression | None = None
    word: str = ""


@dataclass(frozen=True, slots=True)
class Drill:
    """A question with its worked solution.

    Attributes
    ----------
    id, title, topic : str
    source : str
        Article or document that it follows.
    question : str
    hint : str
    given : tuple of (name, text)
        Numbers that the question states, as quantities.
    steps : tuple of Step
    answer : Answer
    mistakes : tuple of Mistake
    hardware : str
        What the hardware says where it differs from the source; empty where it does not.
    device : str
        GPU that it is about, unless the learner names another; empty if it depends on none.
    file : Path
    """

    id: str
    title: str
    topic: str
    source: str
    question: str
    answer: Answer
    file: Path
    hint: str = ""
    given: tuple[tuple[str, str], ...] = ()
    steps: tuple[Step, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    hardware: str = ""
    device: str = ""
