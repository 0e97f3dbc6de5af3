"""An explanation as plain text that fits a terminal, wrapped at equals signs."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from perfmodel.prediction import Prediction
from perfmodel.records import record
from perfmodel.reports import units
from perfmodel.reports.access_title import access_lines
from perfmodel.reports.binding_text import binding
from perfmodel.reports.explain import NEGLIGIBLE, explain, left_out, terms_text
from perfmodel.reports.formula_text import Known, moves, origin_text, pieces, plain_name
from perfmodel.reports.lines import PLAIN, Look, Words, plain, stack
from perfmodel.reports.littles_law_text import in_flight_line
from perfmodel.reports.prediction_text import doubted, over_fetch_text, parameters, title
from perfmodel.reports.step import Step

WIDTH: Final = 100
_NARROWEST: Final = 40
_INDENT: Final = "     "
_READING: Final = (
    "Steps are numbered; +0.50%: the time is that much longer with 1% more of the step's result."
)


@record
class ExplanationReport:
    """An explanation in the width of what it is printed on; see `explain` for `full`."""

    prediction: Prediction
    full: bool = False
    steps: Sequence[Step] | None = None  # those of `explain`, if they are at hand

    def lines(self, width: int, look: Look = PLAIN) -> list[str]:
        """Return its lines, headings bold and notes dim."""
        steps = self.steps or explain(self.prediction, full=self.full)
        return stack(*explanation_lines(self.prediction, steps, width)).lines(width, look)


def explanation_text(
    prediction: Prediction, width: int = WIDTH, steps: Sequence[Step] | None = None
) -> str:
    """Return the explanation of a prediction as text, wrapped at `width` columns, 40 or more."""
    steps = steps or explain(prediction)
    return "\n".join(line.text for line in explanation_lines(prediction, steps, width))


def explanation_lines(
    prediction: Prediction, steps: Sequence[Step], width: int = WIDTH
) -> Iterator[Words]:
    """Yield the lines of an explanation; the last is the predicted time."""
    width = max(width, _NARROWEST)
    yield from _heading(prediction, width)
    known = Known()
    for section, group in groupby(steps, key=lambda step: step.section):
        yield plain("")
        yield from _wrapped(section, width, style="bold", hanging="  ")
        for step in group:
            if step is steps[-1]:
                yield from _last_lines(step, width, known)
            else:
                yield from _step_lines(step, width, known)


def _heading(prediction: Prediction, width: int) -> Iterator[Words]:
    yield plain(title(prediction), "bold")
    first = doubted(prediction)
    for reason in first:
        yield from _wrapped(f"warning  {reason}", width)
    yield from _wrapped(
        f"{parameters(prediction) or 'no parameters'}; timed by {prediction.timing}, "
        f"{prediction.cache} L2",
        width,
    )
    yield from _wrapped(
        f"{units.seconds(prediction.time_s)} predicted "
        f"(90%: {units.span(*prediction.interval_s)}). " + binding(prediction),
        width,
    )
    yield from _wrapped(_alone(prediction), width)
    for warning in (w for w in prediction.warnings if w not in first):
        yield from _wrapped(f"warning  {warning}", width)
    for access in access_lines(prediction.details):
        yield from _wrapped(access, width, hanging="    ")
    if (wasted := over_fetch_text(prediction)) is not None:
        yield from _wrapped(f"over-fetch  {wasted}", width)
    if (short := in_flight_line(prediction)) is not None:
        yield from _wrapped(short, width)
    yield from _wrapped(_READING, width)


def _alone(prediction: Prediction) -> str:
    """Return how long each resource would need alone, and which of them matter least."""
    small = left_out(prediction)
    terms = sorted(prediction.terms_s.items(), key=lambda item: (-item[1], item[0]))
    large = terms_text((name, value) for name, value in terms if name not in small)
    said = f"Alone, each would need: {large}."
    if not small:
        return said
    return f"{said} Under {NEGLIGIBLE:.0%} of the time each: {terms_text(small.items())}."


def _step_lines(step: Step, width: int, known: Known) -> Iterator[Words]:
    parts, cases = pieces(step)
    effect = "" if step.elasticity is None else f"{step.elasticity:+.2f}%"
    number = f"{step.number:3d} {effect:>6}  "
    yield from map(plain, _broken([number + parts[0], *parts[1:]], width))
    yield from _wrapped(_meaning(step, cases, known), width, _INDENT, "dim")


def _last_lines(step: Step, width: int, known: Known) -> Iterator[Words]:
    """Yield the time: its line is the last, and has nothing else."""
    yield from _wrapped(_meaning(step, [], known), width, _INDENT, "dim")
    parts, _ = pieces(step)
    yield from map(plain, _broken([f"  {parts[0]}", *parts[1:]], width))


def _meaning(step: Step, cases: Sequence[str], known: Known) -> str:
    """Return what the symbols mean, where not said before, and where their numbers come from.

    Those that change nothing, such as all but the largest of several times, need no words.
    """
    found = [*(f"as {case}" for case in cases), *([step.note] if step.note else [])]
    moving = [name for name in step.formula.symbols if moves(step, name)]
    for name, meaning in step.formula.symbols.items():
        origin = step.origins.get(name)
        if moving and name not in moving:
            continue
        words = []
        # A step that gives the number says what it is.
        if (name, meaning) not in known.symbols and not (origin and origin.same and origin.steps):
            words.append(meaning.removesuffix(" [1]"))
            known.symbols.add((name, meaning))
        if origin:
            words.append(origin_text(origin, known))
        if words:
            found.append(f"{plain_name(name)}: {', '.join(words)}")
    if moving and len(moving) < len(step.formula.symbols):
        found.append("the rest changes nothing here")
    return "; ".join(found)


def _broken(parts: Iterable[str], width: int) -> Iterator[str]:
    """Yield ``a = b = c`` on as few lines as fit, broken before equals signs."""
    first, *rest = parts
    line = first
    for part in rest:
        if len(line) + 3 + len(part) <= width:
            line += f" = {part}"
            continue
        yield from _folded(line, width)
        line = f"{_INDENT}= {part}"
    yield from _folded(line, width)


def _folded(line: str, width: int) -> Iterator[str]:
    indent = " " * (len(line) - len(line.lstrip()))
    yield from textwrap.wrap(
        line.strip(), width, initial_indent=indent, subsequent_indent=" " * 8,
        break_long_words=False,
    )  # fmt: skip


def _wrapped(
    text: str, width: int, indent: str = "", style: str = "", hanging: str = ""
) -> Iterator[Words]:
    for line in textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent + hanging
    ):
        yield plain(line, style)
