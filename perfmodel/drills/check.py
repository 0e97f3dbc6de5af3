"""Whether an answer is right: numbers within a tolerance, choices, and words in any order."""

import re
from collections.abc import Sequence
from typing import Final

from perfmodel.drills.drill import ChoiceAnswer, Mistake, NumberAnswer, WordAnswer
from perfmodel.drills.quantity import UNITS, Quantity, dimension, factor, read_quantity
from perfmodel.drills.work import Solution, value
from perfmodel.errors import PerfmodelError, shown
from perfmodel.records import record

LONGEST: Final = 500
"""Characters of an answer."""

_ROUNDING: Final = 1e-9
"""Share by which arithmetic on the same numbers may differ."""
_SEPARATORS: Final = re.compile(r"[,;&()→]|->|\s\+\s|\s/\s|\band\b")
_CALL: Final = re.compile(r"\([^()]*\)\s*;?\s*$")
_NAMED: Final = re.compile(r"^[A-Za-z_][\w.>-]*\s*==?\s*(?=\S)")
_THOUSANDS: Final = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?![0-9,])")


@record
class Verdict:
    """What an answer is worth."""

    answer: str  # as given
    right: bool
    # Largest relative error of the numbers; None for words and choices, or where 0 is right.
    error: float | None = None
    mistake: Mistake | None = None  # the known mistake that a wrong answer is


def check(solution: Solution, answer: str) -> Verdict:
    """Hold an answer against a worked drill.

    `answer`: ``"1.07ms"``, ``"25%"``, ``"32, 1, 32"``, a choice or its letter, or names. Raises
    `PerfmodelError` if it is none of that: another unit, too many numbers, no choice.
    """
    given = answer.strip()
    if not given or len(given) > LONGEST:
        raise PerfmodelError(f"--answer must have 1 to {LONGEST} characters, not {len(given)}")
    if not given.isprintable():
        raise PerfmodelError(f"--answer {shown(given)} is no printable text on one line")
    kind = solution.drill.answer
    if isinstance(kind, NumberAnswer):
        return _numbers(solution, kind, given)
    if isinstance(kind, ChoiceAnswer):
        return _chosen(solution, kind, given)
    return _words(solution, kind, given)


def wanted_unit(answer: NumberAnswer) -> str:
    """Return what units an answer in numbers may have: ``"a time: s, ms, us or ns"``."""
    kind = dimension(answer.unit)
    if kind in _NAMES:
        units = [u for u in UNITS if UNITS[u][0] == kind and u.isascii() and u != "KB"]
        listed = f"{', '.join(units[:-1])} or {units[-1]}"
        return f"{_NAMES[kind]}: {listed}"
    if kind == "share":
        return "a share: 25%, 0.25 or 1/4"
    if kind == "times":
        return "how many times: 4, 4x or 7/2"
    return f"a number{f' of {answer.unit}' if answer.unit else ''}"


_NAMES: Final = {
    "seconds": "a time",
    "bytes": "an amount of data",
    "bytes/second": "a bandwidth",
    "operations/second": "a rate",
    "hertz": "a frequency",
}


def _numbers(solution: Solution, kind: NumberAnswer, given: str) -> Verdict:
    given = _NAMED.sub("", given)  # num_bytes = 0
    if len(kind.values) == 1 and _THOUSANDS.match(given):
        given = given.replace(",", "")
    parts = [part for part in re.split(r"[,;]", given.strip("()[]")) if part.strip()]
    if len(parts) != len(kind.values):
        wanted = len(kind.values)
        many = f"{wanted} numbers are asked for: separate them by commas"
        raise PerfmodelError(
            f"--answer {shown(given)} gives {_numbered(len(parts))}, but "
            f"{many if wanted > 1 else 'one number is asked for'}"
        )
    found = [_in_unit(part, kind) for part in parts]
    right = [_number(q) for q in solution.answer]
    if _close(found, right, kind.tolerance):
        return Verdict(given, True, _error(found, right))
    for mistake in solution.drill.mistakes:
        if mistake.value is not None and len(found) == 1:
            wrong = value(mistake.value, solution.known, f"drill {solution.drill.id}, mistake")
            if _close(found, [wrong], max(kind.tolerance, 0.01)):
                return Verdict(given, False, _error(found, right), mistake)
    return Verdict(given, False, _error(found, right))


def _numbered(count: int) -> str:
    return "one number" if count == 1 else f"{count or 'no'} numbers"


def _in_unit(part: str, kind: NumberAnswer) -> float:
    """Return a number in SI, after a look at its unit."""
    quantity = read_quantity(part, "--answer")
    assert not isinstance(quantity.value, str)
    number, unit, asked = quantity.value, quantity.unit, dimension(kind.unit)
    if asked in _NAMES:
        if not unit and number == 0:
            return 0.0
        if dimension(unit) != asked or not unit:
            came = "has no unit" if not unit else f"is in {unit}"
            raise PerfmodelError(f"--answer {shown(part.strip())} {came}: give {wanted_unit(kind)}")
        return number
    if asked == "share":
        if unit not in ("", "%") or (not unit and number > 1):
            raise PerfmodelError(
                f"--answer {shown(part.strip())} is no share: give {wanted_unit(kind)}"
            )
        return number
    if asked == "times":
        if unit and dimension(unit) != "times":
            raise PerfmodelError(
                f"--answer {shown(part.strip())} is no factor: give {wanted_unit(kind)}"
            )
        return number
    if not kind.unit and unit == "%":
        return number  # a hitRatio of 50%
    if unit and _singular(unit) != _singular(kind.unit):
        raise PerfmodelError(
            f"--answer {shown(part.strip())} is in {unit}: give {wanted_unit(kind)}"
        )
    return number * factor(unit)


def _singular(noun: str) -> str:
    return noun.casefold().removesuffix("s")


def _number(quantity: Quantity | str) -> float:
    assert isinstance(quantity, Quantity)
    assert not isinstance(quantity.value, str)
    return float(quantity.value)


def _close(found: Sequence[float], right: Sequence[float], tolerance: float) -> bool:
    return all(
        abs(f - r) <= (tolerance + _ROUNDING) * abs(r) for f, r in zip(found, right, strict=True)
    )


def _error(found: Sequence[float], right: Sequence[float]) -> float | None:
    errors = [abs(f / r - 1) for f, r in zip(found, right, strict=True) if r]
    return max(errors) if errors else None


def _chosen(solution: Solution, kind: ChoiceAnswer, given: str) -> Verdict:
    plain = [_plain(choice) for choice in kind.choices]
    letter = given.casefold().rstrip(").")
    if _plain(given) in plain:
        place = plain.index(_plain(given))
    elif len(letter) == 1 and letter.isascii() and 0 <= ord(letter) - ord("a") < len(plain):
        place = ord(letter) - ord("a")
    else:
        last = chr(ord("a") + len(plain) - 1)
        raise PerfmodelError(
            f"--answer {shown(given)} is none of the choices: give a letter from a to {last}, "
            "or a choice as it is written"
        )
    chosen = kind.choices[place]
    right = chosen == solution.answer[0]
    return Verdict(given, right, mistake=None if right else _known(solution, chosen))


def _words(solution: Solution, kind: WordAnswer, given: str) -> Verdict:
    parts = [p for p in _SEPARATORS.split(given) if p.strip()]
    if len(parts) == 1 and len(kind.words) > 1:
        parts = given.split()
    right = _all_named(kind, [given]) or _all_named(kind, parts)
    return Verdict(given, right, mistake=None if right else _known(solution, given))


def _all_named(kind: WordAnswer, parts: Sequence[str]) -> bool:
    """Return whether all that is wanted is named, and nothing else but what may be."""
    spelled = [set[str]().union(*map(_forms, spellings)) for spellings in kind.words]
    besides = set[str]().union(*map(_forms, kind.besides))
    named = [{i for i, known in enumerate(spelled) if _forms(part) & known} for part in parts]
    beside = all(_forms(p) & besides for p, found in zip(parts, named, strict=True) if not found)
    return beside and set[int]().union(*named) == {*range(len(spelled))}


def _known(solution: Solution, wrong: str) -> Mistake | None:
    forms = _forms(wrong)
    return next((m for m in solution.drill.mistakes if m.word and _plain(m.word) in forms), None)


def _forms(word: str) -> set[str]:
    """Return a word as it is compared: whole, and without arguments and what it is a member of."""
    name = _CALL.sub("", word.strip())
    member = re.split(r"::|->|\.(?=[A-Za-z_])", name)[-1]
    return {_plain(word), _plain(name), _plain(member)} - {""}


def _plain(word: str) -> str:
    """Return a word without case, spaces and signs; the point in 8.0 stays."""
    return re.sub(r"[^0-9a-z.]", "", word.casefold()).strip(".")
