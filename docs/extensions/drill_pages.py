"""All drills with their solutions as Markdown, written while the site is built.

`docs/drills.md` includes the file. It is made from the library that `perfmodel drill` asks from, so
that every number on the page is worked out by the version that the site is of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

import perfmodel
from perfmodel.drills import Drill, NumberAnswer, Solution, load_drills, work
from perfmodel.drills.quantity import Quantity
from perfmodel.drills.work import value
from perfmodel.reports.drill_text import drill_record, filled, quantity, right_answer

TARGET = "generated/include/drills.md"
SUFFIXES = (".py", ".toml", ".xz")  # of models, kernels, figures, drills and recordings
_SPECIAL = re.compile(r"([*_<>|\[\]#])")


def drills_markdown() -> str:
    """Return all drills, a heading a topic, each solution in a section that opens."""
    numbered = list(enumerate(load_drills(), 1))
    lines: list[str] = []
    for topic, drills in groupby(numbered, key=lambda pair: pair[1].topic):
        lines += [f"## {topic.capitalize()}", ""]
        for number, drill in drills:
            lines += _drill(drill, number)
    return "\n".join(lines) + "\n"


def _drill(drill: Drill, number: int) -> Iterator[str]:
    solution = work(drill)
    record = drill_record(drill, number, "", solution)
    yield from (f"### {number}. {_text(drill.title)}", "", _text(record["question"]), "")
    for place, choice in enumerate(record["answer"].get("choices", ())):
        yield f"- {chr(ord('a') + place)}) {_text(choice)}"
    yield from ("", f"*{_text(drill.source)}.* `perfmodel drill {drill.id}`", "")
    if drill.hint:
        yield from (":::{dropdown} Hint", _text(record["hint"]), ":::", "")
    yield from (":::{dropdown} Solution", *_solution(solution, record), ":::", "")


def _solution(solution: Solution, record: dict[str, Any]) -> Iterator[str]:
    for step in record["solution"]["steps"]:
        yield f"1. {_text(step['say'])}"
        if "rows" in step:
            yield from ("", *(f"   {line}" for line in _table(step["rows"])))
        elif "text" in step:
            parts = [step["name"], step.get("expression"), step["text"]]
            yield from ("", f"   `{' = '.join(dict.fromkeys(filter(None, parts)))}`")
            if step["origin"]:
                yield from ("", f"   {_text(step['origin'])}")
        yield ""
    yield from (f"**Answer: {_text(right_answer(solution))}**", "")
    if said := record["solution"]["hardware"]:
        yield from (f"**Hardware:** {_text(said)}", "")
    yield from _mistakes(solution)


def _mistakes(solution: Solution) -> Iterator[str]:
    """Yield what is told to those who give a known wrong answer."""
    for mistake in solution.drill.mistakes:
        wrong = mistake.word
        answer = solution.drill.answer
        if mistake.value is not None:
            assert isinstance(answer, NumberAnswer)
            found = value(mistake.value, solution.known, f"drill {solution.drill.id}")
            wrong = quantity(Quantity(found, answer.unit))
        yield from (f"*Not {_text(wrong)}:* {_text(filled(mistake.say, solution.known))}", "")


def _table(rows: list[list[str]]) -> Iterator[str]:
    head, *rest = rows
    yield f"| {' | '.join(map(_text, head))} |"
    yield "|" + "---:|" * len(head)
    yield from (f"| {' | '.join(map(_text, row))} |" for row in rest)
    yield ""


def _text(text: str) -> str:
    """Return plain text as Markdown on one line; what is in backticks stays."""
    parts = " ".join(str(text).split()).split("`")
    plain = (_SPECIAL.sub(r"\\\1", part) if i % 2 == 0 else part for i, part in enumerate(parts))
    return "`".join(plain)


def write(app: Sphinx) -> None:
    """Write the page's part, unless it is newer than all that it is made from."""
    target = Path(app.srcdir) / TARGET
    package = Path(perfmodel.__file__).parent
    sources = [Path(__file__), *(p for p in package.rglob("*.*") if p.suffix in SUFFIXES)]
    newest = max(path.stat().st_mtime for path in sources)
    if not target.is_file() or target.stat().st_mtime < newest:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(drills_markdown(), "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx when to write it."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
