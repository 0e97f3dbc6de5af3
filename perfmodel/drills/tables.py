"""Drill files: from their tables to checked `Drill` records, and finding a drill by number or id.

Every error is a `PerfmodelError` of one line that starts with `where` and names the key.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from perfmodel.drills.drill import (
    Answer,
    ChoiceAnswer,
    Drill,
    Mistake,
    NumberAnswer,
    Step,
    WordAnswer,
)
from perfmodel.drills.quantity import check_unit, read_quantity
from perfmodel.drills.sources import READERS, Expression, name, read_expression, read_source, text
from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.expressions import Number
from perfmodel.packaged import packaged_toml
from perfmodel.tables import check_keys, word
from perfmodel.text_files import parse_toml, read_text

MOST_DRILLS: Final = 200
"""Drills of a file."""
MOST_STEPS: Final = 40
"""Steps of a drill, and its mistakes and choices."""

PLACEHOLDER: Final = re.compile(r"\{([A-Za-z][A-Za-z0-9_]*)(?::([^{}]{1,31}))?\}")
"""``{name}`` or ``{name:unit}`` in a text."""

FILE_KEYS: Final = ("topic", "source", "drill")
DRILL_KEYS: Final = (
    *("id", "title", "topic", "source", "question", "hint", "device", "given", "step", "answer"),
    *("mistake", "hardware"),
)
_REQUIRED: Final = ("id", "title", "question", "answer")
ANSWER_KEYS: Final = ("value", "unit", "tolerance", "words", "besides", "choices", "right", "pick")
STEP_KEYS: Final = ("say", "name", "unit", *READERS)
MISTAKE_KEYS: Final = ("value", "word", "say")
_TOLERANCE: Final = 0.02
"""Share by which a number may be off where its drill states none: chosen."""
_BUILT_IN_NAMES: Final = frozenset({"device"})


def drills_from_table(table: Mapping[str, Any], file: Path, where: str) -> list[Drill]:
    """Return the drills of a file's content.

    `table`: ``topic`` and ``source``, which hold where a drill has none of its own, and ``drill``:
    a list of drills as ``library/README.md`` describes them; `file`: the file, beside which kernel
    files lie; `where`: start of the error messages. Raises `PerfmodelError` if anything is missing,
    unknown or wrong.
    """
    check_keys(table, FILE_KEYS, ("drill",), where)
    entries = table["drill"]
    if not isinstance(entries, list) or not 1 <= len(entries) <= MOST_DRILLS:
        raise PerfmodelError(
            f"{where}: drill must be a list of 1 to {MOST_DRILLS} tables, each under [[drill]], "
            f"not {shown(entries)}"
        )
    common = {key: table[key] for key in ("topic", "source") if key in table}
    found = []
    for number, entry in enumerate(entries, 1):
        check_keys(entry, DRILL_KEYS, _REQUIRED, f"{where}, drill {number}")
        found.append(_drill(common | entry, file, f"{where}, drill {number}"))
    return found


def _drill(table: Mapping[str, Any], file: Path, where: str) -> Drill:
    identity = word(table["id"], f"{where}: id")
    where = f"{where} ({identity})"
    given = _given(table, where)
    question = _said(table["question"], set(given), f"{where}: question")
    steps: list[Step] = []
    known = set(given)
    for number, entry in enumerate(_list(table, "step", where), 1):
        step = _step(entry, known, f"{where}, step {number}")
        steps.append(step)
        if step.name:
            known.add(step.name)
    answer = _answer(table["answer"], known, f"{where}, answer")
    return Drill(
        id=identity,
        title=text(table["title"], f"{where}: title", most=80),
        topic=text(table.get("topic", "other"), f"{where}: topic", most=40),
        source=text(table.get("source", ""), f"{where}: source", empty=True),
        question=question,
        hint=_said(table.get("hint", ""), set(given), f"{where}: hint"),
        answer=answer,
        file=file,
        given=tuple(given.items()),
        steps=tuple(steps),
        mistakes=tuple(
            _mistake(entry, answer, known, f"{where}, mistake {number}")
            for number, entry in enumerate(_list(table, "mistake", where), 1)
        ),
        hardware=_said(table.get("hardware", ""), known, f"{where}: hardware"),
        device=text(table.get("device", ""), f"{where}: device", empty=True),
    )


def _given(table: Mapping[str, Any], where: str) -> dict[str, str]:
    found: dict[str, str] = {}
    value = table.get("given", {})
    if not isinstance(value, Mapping) or len(value) > MOST_STEPS:
        raise PerfmodelError(f"{where}: given must be a table of numbers, not {shown(value)}")
    for key, number in value.items():
        place = f"{where}, given {shown(key)}"
        _new_name(key, found, place)
        if isinstance(number, bool) or not isinstance(number, int | float | str):
            raise PerfmodelError(f"{place} must be a number or a quantity, not {shown(number)}")
        found[key] = number if isinstance(number, str) else repr(number)
        read_quantity(found[key], place)
    return found


def _step(entry: object, known: Collection[str], where: str) -> Step:
    table = check_keys(entry, STEP_KEYS, ("say",), where)
    kinds = [kind for kind in READERS if kind in table]
    if len(kinds) > 1:
        raise PerfmodelError(f"{where} has {' and '.join(kinds)}: a step takes one of them")
    called = ""
    if "name" in table:
        if not kinds or kinds == ["trace"]:
            raise PerfmodelError(
                f"{where} has a name, but no number: add one of "
                f"{', '.join(k for k in READERS if k != 'trace')}"
            )
        called = _new_name(table["name"], known, f"{where}: name")
    unit = text(table.get("unit", ""), f"{where}: unit", empty=True, most=32)
    source = (
        read_source(kinds[0], table[kinds[0]], known, f"{where}, {kinds[0]}") if kinds else None
    )
    return Step(
        say=_said(table["say"], {*known, *([called] if called else [])}, f"{where}: say"),
        name=called,
        unit=check_unit(unit, f"{where}: unit"),
        source=source,
    )


def _answer(entry: object, known: Collection[str], where: str) -> Answer:
    table = check_keys(entry, ANSWER_KEYS, (), where)
    kinds = [kind for kind in ("value", "words", "choices") if kind in table]
    if len(kinds) != 1:
        came = " and ".join(kinds) if kinds else "none"
        raise PerfmodelError(f"{where} must have one of value, words and choices, not {came}")
    allowed = {
        "value": ("value", "unit", "tolerance"),
        "words": ("words", "besides"),
        "choices": ("choices", "right", "pick"),
    }[kinds[0]]
    for key in table:
        if key not in allowed:
            raise PerfmodelError(f"{where}: {key} does not go with {kinds[0]}: take it out")
    if kinds[0] == "words":
        besides = _words(table["besides"], f"{where}: besides") if "besides" in table else ()
        return WordAnswer(
            words=_words(table["words"], f"{where}: words"),
            besides=tuple(word for spellings in besides for word in spellings),
        )
    if kinds[0] == "choices":
        return _choice(table, known, where)
    tolerance = table.get("tolerance", _TOLERANCE)
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float):
        raise PerfmodelError(f"{where}: tolerance must be a share, not {shown(tolerance)}")
    if not 0 <= tolerance < 1:
        raise PerfmodelError(f"{where}: tolerance must be from 0 to below 1, not {tolerance}")
    values = table["value"] if isinstance(table["value"], list) else [table["value"]]
    if not 1 <= len(values) <= 8:
        raise PerfmodelError(f"{where}: value must be one to 8 numbers, not {len(values)}")
    unit = text(table.get("unit", ""), f"{where}: unit", empty=True, most=32)
    return NumberAnswer(
        values=tuple(read_expression(v, known, f"{where}: value") for v in values),
        unit=check_unit(unit, f"{where}: unit"),
        tolerance=float(tolerance),
    )


def _words(value: object, where: str) -> tuple[tuple[str, ...], ...]:
    entries = value if isinstance(value, list) else [value]
    found = []
    for entry in entries:
        spellings = entry if isinstance(entry, list) else [entry]
        if not spellings:
            raise PerfmodelError(f"{where} has an empty list of spellings")
        found.append(tuple(text(s, where, most=100) for s in spellings))
    if not 1 <= len(found) <= MOST_STEPS:
        raise PerfmodelError(f"{where} must be a list of 1 to {MOST_STEPS} words")
    return tuple(found)


def _choice(table: Mapping[str, Any], known: Collection[str], where: str) -> ChoiceAnswer:
    choices = table["choices"]
    if not isinstance(choices, list) or not 2 <= len(choices) <= 26:
        raise PerfmodelError(f"{where}: choices must be a list of 2 to 26, not {shown(choices)}")
    words = tuple(text(choice, f"{where}: choices", most=200) for choice in choices)
    if len(set(words)) < len(words):
        raise PerfmodelError(f"{where}: choices has one of them twice")
    if ("right" in table) == ("pick" in table):
        raise PerfmodelError(
            f"{where} needs right (the choice) or pick (an expression for its position from 0)"
        )
    if "pick" in table:
        return ChoiceAnswer(words, read_expression(table["pick"], known, f"{where}: pick"))
    right = text(table["right"], f"{where}: right", most=200)
    if right not in words:
        raise PerfmodelError(f"{where}: right {shown(right)} is no choice{nearest(right, words)}")
    position = words.index(right)
    return ChoiceAnswer(words, Expression(str(position), Number(position)))


def _mistake(entry: object, answer: Answer, known: Collection[str], where: str) -> Mistake:
    table = check_keys(entry, MISTAKE_KEYS, ("say",), where)
    if ("value" in table) != isinstance(answer, NumberAnswer) or (
        ("word" in table) == ("value" in table)
    ):
        raise PerfmodelError(f"{where} needs value for an answer in numbers, else word")
    value = read_expression(table["value"], known, f"{where}: value") if "value" in table else None
    wrong = text(table.get("word", ""), f"{where}: word", empty=True)
    if isinstance(answer, ChoiceAnswer) and wrong not in answer.choices:
        raise PerfmodelError(
            f"{where}: word {shown(wrong)} is no choice{nearest(wrong, answer.choices)}"
        )
    return Mistake(_said(table["say"], known, f"{where}: say"), value, wrong)


def _said(value: object, known: Collection[str], where: str) -> str:
    """Return a text whose placeholders are all known."""
    found = text(value, where, empty=True)
    names = {*known, *_BUILT_IN_NAMES}
    for match in PLACEHOLDER.finditer(found):
        if match[1] not in names:
            raise PerfmodelError(
                f"{where}: {shown(match[0])} names nothing known by then{nearest(match[1], names)}"
            )
        check_unit(match[2] or "", where)
    if re.search(r"[{}]", PLACEHOLDER.sub("", found)):
        raise PerfmodelError(f"{where}: braces stand for values, as {{name}} or {{name:GB}}")
    return found


def _new_name(value: object, known: Collection[str], where: str) -> str:
    found = name(value, where)
    if found in known or found in _BUILT_IN_NAMES:
        raise PerfmodelError(f"{where}: the name {found!r} is taken")
    return found


def _list(table: Mapping[str, Any], key: str, where: str) -> Sequence[object]:
    entries = table.get(key, [])
    if not isinstance(entries, list) or len(entries) > MOST_STEPS:
        raise PerfmodelError(
            f"{where}: {key} must be a list of at most {MOST_STEPS} tables, each under "
            f"[[drill.{key}]], not {shown(entries)}"
        )
    return entries


LIBRARY: Final = Path(__file__).parent / "library"
MOST_FILES: Final = 100
"""Files of a folder of drills."""


def load_drills(extra: Sequence[str | Path] = ()) -> tuple[Drill, ...]:
    """Return the drills in their order: the package's, then those of users' files or folders.

    A drill's number is its place in this tuple, from 1. `extra`: drill files, or folders of which
    all ``*.toml`` are read in the order of their names. Raises `PerfmodelError` if a file is
    missing or wrong, or two drills have one id.
    """
    found = list(_builtin())
    taken = {drill.id: drill for drill in found}
    for path in map(Path, extra):
        for file in _files(path):
            for drill in read_drills(file):
                if drill.id in taken:
                    raise PerfmodelError(
                        f"drill file {str(file)!r}: the id {drill.id!r} is taken by a drill of "
                        f"{taken[drill.id].file.name}: choose another"
                    )
                taken[drill.id] = drill
                found.append(drill)
    return tuple(found)


def read_drills(path: str | Path) -> list[Drill]:
    """Return the drills of one file.

    Raises `PerfmodelError` if it cannot be read, is no TOML, or states something wrong.
    """
    path = Path(path)
    where = f"drill file {str(path)!r}"
    if path.parent == LIBRARY:
        table = packaged_toml(path, where)
    else:
        table = parse_toml(read_text(path, where, "drill"), where)
    return drills_from_table(table, path, where)


def find_drill(drills: Sequence[Drill], name: str) -> int:
    """Return the place from 0 of the drill with a number from 1, or an id.

    Raises `PerfmodelError` if there is none.
    """
    if name.isdecimal() and len(name) < 10:
        if 1 <= int(name) <= len(drills):
            return int(name) - 1
        raise PerfmodelError(
            f"there is no drill {name}: numbers go from 1 to {len(drills)}; "
            "perfmodel drill lists them"
        )
    ids = [drill.id for drill in drills]
    if name not in ids:
        hint = nearest(name, ids) or "; perfmodel drill lists them"
        raise PerfmodelError(f"unknown drill {shown(name)}{hint}")
    return ids.index(name)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(path.glob("*.toml"))
    if not found:
        raise PerfmodelError(f"folder {str(path)!r} has no drill files (*.toml): name another")
    if len(found) > MOST_FILES:
        raise PerfmodelError(f"folder {str(path)!r} has {len(found)} files: at most {MOST_FILES}")
    return found


@lru_cache(maxsize=1)
def _builtin() -> tuple[Drill, ...]:
    return tuple(drill for file in _files(LIBRARY) for drill in read_drills(file))
