"""An explanation as plain text that fits a terminal, wrapped at equals signs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult

from perfmodel.prediction import Prediction
from perfmodel.reports import units
from perfmodel.reports.binding_text import binding
from perfmodel.reports.explain import explain, left_out
from perfmodel.reports.formula_text import legend, pieces
from perfmodel.reports.prediction_text import doubted, parameters, title
from perfmodel.reports.step import Step
from perfmodel.reports.tables import plain

WIDTH: Final = 100
_NARROWEST: Final = 40
TIME: Final = "Time"
SM_CLOCKS: Final = "clocks of an SM"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of an explanation and what it is: "heading", "step", "note" or "text"."""

    text: str
    kind: str = "text"


@dataclass(frozen=True, slots=True)
class ExplanationReport:
    """An explanation that rich prints in the width of its console."""

    prediction: Prediction

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Print headings bold and notes dim."""
        styles = {"heading": "bold", "note": "dim"}
        for line in explanation_lines(self.prediction, options.max_width):
            yield plain(line.text, styles.get(line.kind, ""))


def explanation_text(prediction: Prediction, width: int = WIDTH) -> str:
    """Return the explanation of a prediction as text.

    Parameters
    ----------
    prediction : Prediction
    width : int
        Columns to wrap at, 40 or more.
    """
    return "\n".join(line.text for line in explanation_lines(prediction, width))


def explanation_lines(prediction: Prediction, width: int = WIDTH) -> Iterator[Line]:
    """Yield the lines of an explanation; the last is the predicted time."""
    width = max(width, _NARROWEST)
    low, high = prediction.interval_s
    yield Line(title(prediction), "heading")
    first = doubted(prediction)
    for reason in first:
        yield from _wrapped(f"warning  {reason}", width)
    yield from _wrapped(
        f"{parameters(prediction) or 'no parameters'}; timed by {prediction.timing}, "
        f"{prediction.cache} L2",
        width,
    )
    yield from _wrapped(
        f"{units.seconds(prediction.time_s)} predicted (90%: {units.span(low, high)}). "
        + binding(prediction),
        width,
    )
    derivation = explain(prediction)
    for step in derivation:
        if step.title.startswith(SM_CLOCKS):
            clocks = f"{units.number(step.result)} {step.title}; {step.note}."
            yield from _wrapped(clocks, width)
    for warning in (w for w in prediction.warnings if w not in first):
        yield from _wrapped(f"warning  {warning}", width)
    explained: set[str] = set()
    for section, steps in groupby(derivation, key=lambda step: step.section):
        if section == TIME:
            yield from _left_out(prediction, width)
        yield Line("")
        for line in textwrap.wrap(section, width, subsequent_indent="  "):
            yield Line(line, "heading")
        for step in steps:
            yield from _step_lines(step, width, explained)


def _left_out(prediction: Prediction, width: int) -> Iterator[Line]:
    small = left_out(prediction)
    if small:
        listed = ", ".join(f"{name} {units.seconds(value)}" for name, value in small.items())
        yield Line("")
        yield from _wrapped(f"Under 1% of the time each, not derived: {listed}.", width)


def _step_lines(step: Step, width: int, explained: set[str]) -> Iterator[Line]:
    parts, cases = pieces(step)
    lines = list(_broken(parts, width))
    shown = parts[1] if len(parts) > 2 else ""
    meaning = ""
    if step.formula.text + shown not in explained:
        explained.add(step.formula.text + shown)
        meaning = legend(step, shown)
    remarks = [*(f"as {case}" for case in cases), *([step.note] if step.note else [])]
    remark = f"({'; '.join(remarks)})" if remarks else ""
    last = lines.pop()
    beside = remark and len(last) + 3 + len(remark) <= width
    # The last line of all is the time and nothing else.
    final = step.section == TIME and step.title == "time"
    if remark and final:
        yield from _wrapped(remark, width, 6, "note")
    yield from (Line(line, "step") for line in lines)
    if final:
        yield Line(last, "step")
        return
    yield Line(f"{last}   {remark}" if beside else last, "step")
    if remark and not beside:
        yield from _wrapped(remark, width, 6, "note")
    if meaning:
        yield from _wrapped(meaning, width, 6, "note")


def _broken(parts: Iterable[str], width: int) -> Iterator[str]:
    """Yield ``a = b = c`` on as few lines as fit, broken before equals signs."""
    first, *rest = parts
    line = f"  {first}"
    for part in rest:
        if len(line) + 3 + len(part) <= width:
            line += f" = {part}"
            continue
        yield from _folded(line, width)
        line = f"      = {part}"
    yield from _folded(line, width)


def _folded(line: str, width: int) -> Iterator[str]:
    indent = " " * (len(line) - len(line.lstrip()))
    yield from textwrap.wrap(
        line.strip(), width, initial_indent=indent, subsequent_indent=" " * 10,
        break_long_words=False,
    )  # fmt: skip


def _wrapped(text: str, width: int, indent: int = 0, kind: str = "text") -> Iterator[Line]:
    space = " " * indent
    for line in textwrap.wrap(text, width, initial_indent=space, subsequent_indent=space):
        yield Line(line, kind)
