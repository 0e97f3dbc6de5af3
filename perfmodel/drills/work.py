"""The worked solution of a drill: every number computed when it is asked for."""

from collections.abc import Mapping
from typing import Final

from perfmodel.drills.drill import ChoiceAnswer, Drill, NumberAnswer, Step
from perfmodel.drills.lookup import find
from perfmodel.drills.quantity import Quantity, read_quantity
from perfmodel.drills.sources import Expression, FigureOf, Found, Predicted, Source
from perfmodel.errors import PerfmodelError
from perfmodel.expressions import evaluate
from perfmodel.hardware import load_device
from perfmodel.records import record

DEFAULT_DEVICE: Final = "h100-sxm"


@record
class Line:
    """A step with its number."""

    step: Step
    quantity: Quantity | None = None
    found: Found | None = None  # the same number with where it comes from


@record
class Solution:
    """A worked drill."""

    drill: Drill
    device: str  # GPU that it was worked for; empty if the drill depends on none
    lines: tuple[Line, ...]
    known: Mapping[str, Quantity]  # given numbers and those of the steps
    answer: tuple[Quantity, ...] | tuple[str, ...]  # the right numbers, choice, or words


def depends_on_device(drill: Drill) -> bool:
    """Say whether another GPU may change the solution."""
    return any(
        isinstance(step.source, FigureOf | Predicted) and not step.source.device
        for step in drill.steps
    )


def given(drill: Drill, device: str = "") -> dict[str, Quantity]:
    """Return what the question states, the GPU's name as ``device`` among it."""
    found = {name: read_quantity(text, name) for name, text in drill.given}
    return {**found, "device": Quantity(load_device(_device(drill, device)).title)}


def work(drill: Drill, device: str = "") -> Solution:
    """Work a drill out.

    `device`: GPU in place of the drill's own: a catalogue name or a device file. Raises
    `PerfmodelError` if a step has no value: an unknown kernel, figure, measurement, or an
    impossible number.
    """
    asked = _device(drill, device)
    known = given(drill, device)
    lines = []
    for number, step in enumerate(drill.steps, 1):
        if step.source is None:
            lines.append(Line(step))
            continue
        where = f"drill {drill.id}, step {number}"
        found = _found(step.source, known, asked, drill, where)
        quantity = Quantity(found.value, step.unit or found.unit)
        if step.name:
            known[step.name] = quantity
        lines.append(Line(step, quantity, found))
    return Solution(
        drill=drill,
        device=asked if depends_on_device(drill) else "",
        lines=tuple(lines),
        known=known,
        answer=_answer(drill, known),
    )


def value(expression: Expression, known: Mapping[str, Quantity], where: str) -> float | int:
    """Return the value of an expression over quantities.

    Raises `PerfmodelError` if it has none, or uses a name that stands for words.
    """
    numbers = {n: q.value for n, q in known.items() if not isinstance(q.value, str)}
    try:
        found = evaluate(expression.node, numbers)
    except PerfmodelError as error:
        raise PerfmodelError(f"{where}: {error}") from None
    assert isinstance(found, int | float)
    return int(found) if isinstance(found, bool) else found


def _device(drill: Drill, device: str) -> str:
    return device or drill.device or DEFAULT_DEVICE


def _found(
    source: Source, known: Mapping[str, Quantity], device: str, drill: Drill, where: str
) -> Found:
    def number(expression: Expression) -> float | int:
        return value(expression, known, where)

    try:
        return find(source, number, device, drill.file)
    except PerfmodelError as error:
        message = str(error)
        raise PerfmodelError(
            message if message.startswith(where) else f"{where}: {message}"
        ) from None


def _answer(drill: Drill, known: Mapping[str, Quantity]) -> tuple[Quantity, ...] | tuple[str, ...]:
    where = f"drill {drill.id}, answer"
    answer = drill.answer
    if isinstance(answer, NumberAnswer):
        return tuple(Quantity(value(e, known, where), answer.unit) for e in answer.values)
    if isinstance(answer, ChoiceAnswer):
        position = value(answer.pick, known, where)
        if position != int(position) or not 0 <= position < len(answer.choices):
            raise PerfmodelError(
                f"{where}: pick gives {position}, which is no position of {len(answer.choices)} "
                "choices"
            )
        return (answer.choices[int(position)],)
    return tuple(spellings[0] for spellings in answer.words)
