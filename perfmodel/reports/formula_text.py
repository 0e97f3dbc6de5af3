"""A step as one line of plain text: ``title = formula = formula with numbers = result``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Node, Operation, evaluate, text
from perfmodel.models.formula import Formula
from perfmodel.reports.device_text import figure_value
from perfmodel.reports.step import Origin, Step

_NAME: Final = re.compile(r"[A-Za-z_]\w*(?:\.[xyz])?")
_UNIT: Final = re.compile(r"\[([^\]]*)\]$")
_OPPOSITE: Final = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_SECONDS: Final = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
_DECIMAL: Final = ("", "k", "M", "G", "T", "P")
_EXACT_BELOW: Final = 1e7
_ROUNDING: Final = ("floor", "ceil", "%", "//")
_SMALL: Final = 1e-5
_LEAST: Final = 1e-3
"""Change of a symbol, as a share, and the least elasticity that tells it from no change."""


def number(value: float) -> str:
    """Return four significant digits, whole numbers below ten million as they are."""
    if abs(value) < _EXACT_BELOW and (abs(value) >= 1e3 or value == round(value)):
        return f"{value:.0f}"
    mantissa, _, exponent = f"{value:.4g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def quantity(value: float, unit: str) -> str:
    """Return a number and its unit: seconds and bytes with a prefix, in four digits."""
    if unit == "s":
        name, factor = _time_unit(value)
        return f"{number(value / factor)} {name}"
    if unit in ("B", "B/s") and abs(value) >= 1e6:
        power = 0
        while abs(value) >= 999.95 and power < len(_DECIMAL) - 1:
            value, power = value / 1000, power + 1
        return f"{number(value)} {_DECIMAL[power]}{unit}"
    if unit == "1":
        return number(value)
    return f"{number(value)} {unit.removesuffix('s') if value == 1 else unit}"


def pieces(step: Step) -> tuple[list[str], list[str]]:
    """Return a step's parts between equals signs, and the conditions that chose a case.

    The parts are title, formula, formula with numbers and result, without repetitions.
    """
    node, cases = resolved(step.formula.node, step.values)
    symbolic = tight(text(node)) if cases else tight(step.formula.text)
    numbers = {
        name: number(value) if value >= 0 else f"({number(value)})"
        for name, value in handy_values(step).items()
    }
    numeric = _NAME.sub(lambda match: numbers.get(match[0], match[0]), symbolic)
    found = [
        *(step.title, plain_name(symbolic), numeric),
        quantity(step.result, step.formula.unit),
    ]
    if symbolic == numeric:
        del found[1:3]
    elif numeric in (found[3], found[3].split(" ")[0]):
        del found[2]
    return found, cases


def handy_values(step: Step) -> dict[str, float]:
    """Return a step's values; those of times in the unit of the result where that changes nothing.

    Times and pure numbers make a time, in whatever unit; with bandwidths or clocks it must be s.
    """
    times = {name for name in step.values if unit_of(step.formula, name) == "s"}
    others = {unit_of(step.formula, name) for name in step.values if name not in times}
    if step.formula.unit != "s" or not others <= {"1"}:
        return dict(step.values)
    _, factor = _time_unit(step.result)
    return {name: v / factor if name in times else v for name, v in step.values.items()}


def moves(step: Step, name: str) -> bool:
    """Say whether a step's result changes with a symbol, by a thousandth of its change or more.

    What is rounded to whole numbers may change with each symbol.
    """
    if any(rounding in step.formula.text for rounding in _ROUNDING):
        return True
    more = dict(step.values) | {name: step.values[name] * (1 + _SMALL)}
    try:
        change = float(step.formula(**more)) - step.result
    except PerfmodelError:
        return True
    return abs(change) >= _LEAST * _SMALL * abs(step.result)


def resolved(node: Node, values: Mapping[str, float]) -> tuple[Node, list[str]]:
    """Return an expression with each ``where`` replaced by the case that holds, and the cases."""
    if not isinstance(node, Operation):
        return node, []
    if node.operator == "where":
        condition, first, second = node.operands
        holds = bool(evaluate(condition, values))
        chosen, cases = resolved(first if holds else second, values)
        return chosen, [_case(condition, holds), *cases]
    parts = [resolved(part, values) for part in node.operands]
    rebuilt = Operation(node.operator, tuple(part for part, _ in parts))
    return rebuilt, [case for _, cases in parts for case in cases]


def unit_of(formula: Formula, name: str) -> str:
    """Return the unit in brackets at the end of a symbol's meaning."""
    found = _UNIT.search(formula.symbols[name])
    return found[1] if found else "1"


@dataclass(slots=True)
class Known:
    """What a text has said already: symbols with their meaning, and figures."""

    symbols: set[tuple[str, str]] = field(default_factory=set)
    figures: set[str] = field(default_factory=set)


def origin_text(origin: Origin, known: Known) -> str:
    """Return where a number comes from: "step 3", "dram_bandwidth 3352 GB/s (datasheet)".

    Figures that are known are only named.
    """
    several = "steps" if len(origin.steps) > 1 else "step"
    listed = [f"{several} {', '.join(map(str, origin.steps))}"] if origin.steps else []
    for name, figure in origin.figures.items():
        told = "" if name in known.figures else f" {figure_value(figure)} ({figure.kind})"
        # Of a coefficient, the mechanism and the number: the stage is the step's.
        listed.append(f"{name.split('.', 1)[-1]}{told}")
    known.figures |= origin.figures.keys()
    return ("" if origin.same else "from ") + ", ".join(listed)


def tight(expression: str) -> str:
    """Return an expression with products closed up and ``^`` for powers."""
    closed = re.sub(r" (\*\*|\*|/) ", r"\1", expression)
    return closed.replace("**", "^")


def plain_name(expression: str) -> str:
    """Return an expression with ``in_`` as ``in``: Python's words are names of accesses too."""
    return re.sub(r"\b([A-Za-z]\w*?)_\b", r"\1", expression)


def _case(condition: Node, holds: bool) -> str:
    if not holds and isinstance(condition, Operation) and condition.operator in _OPPOSITE:
        condition = Operation(_OPPOSITE[condition.operator], condition.operands)
        holds = True
    return tight(text(condition)) if holds else f"not ({tight(text(condition))})"


def _time_unit(value: float) -> tuple[str, float]:
    return next((u for u in _SECONDS if abs(value) >= 0.99995 * u[1]), _SECONDS[-1])
