"""Drills as reports: the gallery, a question, and a worked solution; and the same as JSON."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from shlex import quote
from typing import Any, Final

from perfmodel.drills import (
    ChoiceAnswer,
    Drill,
    NumberAnswer,
    Solution,
    Verdict,
    WordAnswer,
    depends_on_device,
    given,
)
from perfmodel.drills.check import wanted_unit
from perfmodel.drills.quantity import Quantity, dimension, factor
from perfmodel.drills.sources import Expression
from perfmodel.drills.tables import PLACEHOLDER
from perfmodel.drills.work import Line
from perfmodel.fields import fields_of
from perfmodel.reports import units
from perfmodel.reports.lines import Cell, Indented, Piece, plain, stack
from perfmodel.reports.tables import beside, labelled, table

_AUTOMATIC: Final = {
    "seconds": units.seconds,
    "bytes": units.data,
    "bytes/second": units.bandwidth,
    "operations/second": units.flop_rate,
}
_BASE: Final = frozenset({"s", "B", "B/s", "FLOP/s"})


def quantity(found: Quantity) -> str:
    """Return a quantity with four digits in its unit; base units get the prefix that suits."""
    value, unit = found
    if isinstance(value, str):
        return value
    kind = dimension(unit)
    if unit == "B" and value == int(value) and abs(value) < 1e5:
        return f"{value:.0f} B"  # small sums of sectors are read as they are
    if unit in _BASE:
        return _AUTOMATIC[kind](value)
    scaled = value / factor(unit)
    written = f"{scaled:,.4g}" if abs(scaled) < 1e4 or scaled != int(scaled) else f"{scaled:,.0f}"
    if "e" in written:
        written = f"{scaled:.4g}"
    if unit == "%":
        return f"{written}%"
    if kind == "times":
        return f"{written} times"
    noun = unit.removesuffix("s") if kind == "count" and scaled == 1 else unit
    return f"{written} {noun}".rstrip()


def filled(text: str, known: Mapping[str, Quantity]) -> str:
    """Return a text with the values of its placeholders put in."""

    def shown(match: re.Match[str]) -> str:
        found = known[match[1]]
        return quantity(Quantity(found.value, match[2]) if match[2] else found)

    return PLACEHOLDER.sub(shown, text)


def drills_report(
    drills: Sequence[Drill], numbers: Sequence[int], total: int, own: Sequence[str] = ()
) -> Piece:
    """Return the gallery of `total` drills: a table for each topic of those to show.

    `own` are the files of the learner's drills, which the command that asks them needs too.
    """
    pairs = list(zip(numbers, drills, strict=True))
    rows: list[list[str | Cell | None]] = []
    for topic in dict.fromkeys(drill.topic for drill in drills):
        rows += [[None] * 3, [None, plain(topic, "bold"), None]]
        for n, each in pairs:
            if each.topic == topic:
                mark = " *" if each.hardware else ""
                rows.append([str(n), each.title + mark, each.source])
    shown = f"{len(drills)} of {total} drills" if len(drills) < total else f"{total} drills"
    return stack(
        table(["no", "drill", "from"], rows, "rll"),
        "",
        plain(f"{shown}. * The source and the hardware disagree; the solution says by how much."),
        plain(f"{_command(numbers[0], own)} asks; --answer X checks; --solution shows how."),
    )


def question_report(drill: Drill, number: int, device: str, own: Sequence[str] = ()) -> Piece:
    """Return a question, what its answer looks like, and how to answer; `own` as above."""
    known = given(drill, device)
    parts: list[Piece | str] = [
        _heading(drill, number),
        "",
        plain(filled(drill.question, known)),
    ]
    if isinstance(drill.answer, ChoiceAnswer):
        parts += ["", *_choices(drill.answer)]
    lines = [("answer", _wanted(drill))]
    if drill.hint:
        lines.append(("hint", filled(drill.hint, known)))
    lines += _gpu(drill, device)
    parts += [
        "",
        labelled(lines),
        "",
        plain(f"{_command(number, own)} --answer X"),
    ]
    return stack(*parts)


def solution_report(
    solution: Solution,
    number: int,
    verdict: Verdict | None,
    following: tuple[int, Drill] | None,
    device: str = "",
    own: Sequence[str] = (),
) -> Piece:
    """Return a worked solution, after what an answer was worth if one was given.

    `following` is the drill to go on with, and `device` as the learner named it; `own` as above.
    """
    drill = solution.drill
    parts: list[Piece | str] = [_heading(drill, number), ""]
    if verdict is not None:
        parts += [*_verdict(solution, verdict), ""]
    else:
        parts += [plain(filled(drill.question, solution.known)), ""]
    parts += _worked(solution)
    parts.append(labelled([("answer", right_answer(solution)), *_gpu(drill, device)]))
    if drill.hardware:
        parts += ["", labelled([("hardware", filled(drill.hardware, solution.known))])]
    if following is not None:
        parts += ["", plain(_next(drill, following, own))]
    return stack(*parts)


def right_answer(solution: Solution) -> str:
    """Return the right answer as text."""
    answer = ", ".join(
        quantity(each) if isinstance(each, Quantity) else each for each in solution.answer
    )
    kind = solution.drill.answer
    if isinstance(kind, NumberAnswer) and kind.tolerance:
        answer += f" (within {100 * kind.tolerance:.3g}%)"
    return answer


def drill_summary(drill: Drill, number: int) -> dict[str, Any]:
    """Return a drill of the gallery as plain data."""
    return {
        "number": number,
        **fields_of(drill, "id", "title", "topic", "source"),
        "hardware_disagrees": bool(drill.hardware),
    }


def drill_record(
    drill: Drill,
    number: int,
    device: str,
    solution: Solution | None = None,
    verdict: Verdict | None = None,
) -> dict[str, Any]:
    """Return a question as the JSON object ``perfmodel.drill/1``, with its solution if there is."""
    known = given(drill, device)
    kind = drill.answer
    asked: dict[str, Any] = {"wanted": _wanted(drill)}
    if isinstance(kind, NumberAnswer):
        asked |= {"kind": "number", "count": len(kind.values), "unit": kind.unit}
        asked |= {"tolerance": kind.tolerance}
    elif isinstance(kind, ChoiceAnswer):
        asked |= {"kind": "choice", "choices": list(kind.choices)}
    else:
        asked |= {"kind": "words", "count": len(kind.words)}
    record = {
        "schema": "perfmodel.drill/1",
        **drill_summary(drill, number),
        "question": filled(drill.question, known),
        "hint": filled(drill.hint, known),
        "device_matters": depends_on_device(drill),
        "answer": asked,
    }
    if solution is not None:
        record["device"] = solution.device or None
        record["solution"] = {
            "answer": [
                {"value": a.value, "text": quantity(a)} if isinstance(a, Quantity) else {"text": a}
                for a in solution.answer
            ],
            "steps": [_step_record(line, solution) for line in solution.lines],
            "hardware": filled(drill.hardware, solution.known),
        }
    if verdict is not None:
        assert solution is not None
        record["given"] = verdict.answer
        record["right"] = verdict.right
        record["error"] = verdict.error
        record["mistake"] = filled(verdict.mistake.say, solution.known) if verdict.mistake else None
    return record


def _step_record(line: Line, solution: Solution) -> dict[str, Any]:
    found, step = line.found, line.step
    record: dict[str, Any] = {"say": filled(step.say, solution.known), "name": step.name or None}
    if isinstance(step.source, Expression):
        record["expression"] = step.source.text
    if line.quantity is not None and found is not None and not found.rows:
        record |= {
            "value": line.quantity.value,
            "text": quantity(line.quantity),
            "origin": found.origin,
        }
    if found is not None and found.rows:
        record["rows"] = [list(row) for row in found.rows]
    return record


def _heading(drill: Drill, number: int) -> Piece:
    source = f"; {drill.source}" if drill.source else ""
    return stack(plain(f"{number}. {drill.title}", "bold"), plain(f"{drill.topic}{source}", "dim"))


def _choices(answer: ChoiceAnswer) -> Iterator[Piece | str]:
    for place, choice in enumerate(answer.choices):
        yield Indented(plain(f"{chr(ord('a') + place)}) {choice}"), 2)


def _wanted(drill: Drill) -> str:
    kind = drill.answer
    if isinstance(kind, ChoiceAnswer):
        return f"a letter from a to {chr(ord('a') + len(kind.choices) - 1)}, or the choice"
    if isinstance(kind, WordAnswer):
        count = len(kind.words)
        return "a name or word" if count == 1 else f"{count} names, in any order, commas between"
    several = f"{len(kind.values)} values in order, commas between, each " * (len(kind.values) > 1)
    allowed = f"; within {100 * kind.tolerance:.3g}%" if kind.tolerance else "; exact"
    return f"{several}{wanted_unit(kind)}{allowed}"


def _gpu(drill: Drill, device: str) -> list[tuple[str, str]]:
    if depends_on_device(drill):
        title = given(drill, device)["device"].value
        return [("GPU", f"{title} (another: --device NAME)")]
    return [("GPU", "the answer depends on none: --device changes nothing")] if device else []


def _verdict(solution: Solution, verdict: Verdict) -> Iterator[Piece | str]:
    if verdict.right:
        off = (
            f" ({units.percent(verdict.error)} off)"
            if verdict.error and verdict.error > 5e-4
            else ""
        )
        yield plain(f"Right: {verdict.answer}{off}.", "bold green")
        return
    off = ""
    if verdict.error is not None:
        off = f", {units.percent(verdict.error)} off" if verdict.error < 10 else ", far off"
    yield plain(f"Not {verdict.answer}{off}.", "bold red")
    if verdict.mistake is not None:
        yield plain(filled(verdict.mistake.say, solution.known))


def _worked(solution: Solution) -> Iterator[Piece | str]:
    # Values are put in as they were when the step was reached: all names are defined once.
    for number, line in enumerate(solution.lines, 1):
        yield beside(f"{number}. ", plain(filled(line.step.say, solution.known)))
        found = line.found
        if found is not None and found.rows:
            head, *rows = found.rows
            yield Indented(table(head, rows, "r" * len(head)), 3)
        elif found is not None and line.quantity is not None:
            yield Indented(plain(_formula(line, solution.known)), 3)
            if found.origin:
                yield Indented(plain(found.origin, "dim"), 3)
        yield ""


def _formula(line: Line, known: Mapping[str, Quantity]) -> str:
    """Return ``name = expression = with numbers = value``, without what says nothing new."""
    assert line.quantity is not None
    parts = [line.step.name] if line.step.name else []
    if isinstance(line.step.source, Expression):
        text = line.step.source.text
        with_numbers = re.sub(r"[A-Za-z_][A-Za-z0-9_]*", partial(_put_in, known=known), text)
        parts += list(dict.fromkeys([text, with_numbers]))
    value = quantity(line.quantity)
    return " = ".join([*parts, value] if not parts or parts[-1] != value else parts)


def _put_in(name: re.Match[str], known: Mapping[str, Quantity]) -> str:
    if name[0] not in known:
        return name[0]
    text = quantity(known[name[0]])
    return f"({text})" if "/" in text else text


def _next(drill: Drill, following: tuple[int, Drill], own: Sequence[str]) -> str:
    number, after = following
    command = _command(number, own)
    if after.topic != drill.topic:
        return f"Next topic, {after.topic}: {command} ({after.title})"
    return f"Next: {command} ({after.title})"


def _command(number: int, own: Sequence[str]) -> str:
    return " ".join(["perfmodel drill", *(f"--drills {quote(o)}" for o in own), str(number)])
