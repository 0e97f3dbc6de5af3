"""Drill: a question with an answer that perfmodel works out, as frozen records."""

from pathlib import Path

from perfmodel.drills.sources import Expression, Source
from perfmodel.records import record


@record
class Step:
    """One line of a worked solution."""

    say: str  # what is done and why; ``{name}`` stands for the value of a name
    name: str = ""  # how later lines call the value; empty for a line of words only
    unit: str = ""  # what the value is shown in
    source: Source | None = None  # where the value comes from


@record
class NumberAnswer:
    """An answer of one number, or of several in order."""

    values: tuple[Expression, ...]
    unit: str
    tolerance: float  # largest error that is still right, as a share of the value


@record
class WordAnswer:
    """An answer in words: each entry must be named, in any order, by one of its spellings."""

    words: tuple[tuple[str, ...], ...]  # spellings of each
    besides: tuple[str, ...] = ()  # what may be named as well


@record
class ChoiceAnswer:
    """One of several choices."""

    choices: tuple[str, ...]
    pick: Expression  # position of the right one, from 0


Answer = NumberAnswer | WordAnswer | ChoiceAnswer


@record
class Mistake:
    """A wrong answer that people give, and what to tell them."""

    say: str
    value: Expression | None = None  # the number that they get; None if it is a choice or a word
    word: str = ""  # the choice or word


@record
class Drill:
    """A question with its worked solution."""

    id: str
    title: str
    topic: str
    source: str  # article or document that it follows
    question: str
    answer: Answer
    file: Path
    hint: str = ""
    given: tuple[tuple[str, str], ...] = ()  # numbers that the question states, as quantities
    steps: tuple[Step, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    # What the hardware says where it differs from the source; empty where it does not.
    hardware: str = ""
    # GPU that it is about, unless the learner names another; empty if it depends on none.
    device: str = ""
