"""Steps of an explanation as MathML, which browsers show without help from a script."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup
from sympy.printing.mathml import MathMLPresentationPrinter

from perfmodel.expressions import Node, to_sympy
from perfmodel.reports.formula_text import handy_values, number, pieces, plain_name, resolved
from perfmodel.reports.step import Step

_MINUS: Final = "\N{MINUS SIGN}"
_TIMES: Final = "\N{MULTIPLICATION SIGN}"

Write = Callable[[str], list[tuple[str, str]]]
"""Tags and texts that stand for a symbol: one element, or several in a row."""


@dataclass(frozen=True, slots=True)
class ShownStep:
    """A step as a page shows it.

    Attributes
    ----------
    title : str
    lines : tuple of Markup
        MathML of the formula and of the formula with numbers, each only if it says something new.
    result : str
        With its unit.
    note : str
        Cases that hold and what it means in words.
    step : Step
    """

    title: str
    lines: tuple[Markup, ...]
    result: str
    note: str
    step: Step


def shown_step(step: Step) -> ShownStep:
    """Return a step with its formula, and its formula with numbers, as MathML."""
    parts, cases = pieces(step)
    node, _ = resolved(step.formula.node, step.values)
    values = handy_values(step)
    lines = []
    if len(parts) > 2:
        lines.append(_mathml(node, lambda name: [("mi", plain_name(name))]))
    if len(parts) > 3:
        lines.append(_mathml(node, lambda name: _number(values[name])))
    notes = [*(f"as {case}" for case in cases), *([step.note] if step.note else [])]
    return ShownStep(step.title, tuple(lines), parts[-1], "; ".join(notes), step)


class _Printer(MathMLPresentationPrinter):  # type: ignore[misc]
    """sympy's printer with symbols written as asked."""

    def __init__(self, write: Write) -> None:
        super().__init__({"mul_symbol": "dot"})
        self._write = write

    def _print_Symbol(self, sym: Any, style: str = "plain") -> Any:  # noqa: N802
        parts = [self._element(tag, text) for tag, text in self._write(sym.name)]
        if len(parts) == 1:
            return parts[0]
        row = self.dom.createElement("mrow")
        for part in parts:
            row.appendChild(part)
        return row

    def _element(self, tag: str, text: str) -> Any:
        made = self.dom.createElement(tag)
        if text in "()":  # of one number, which fractions in it do not make taller
            made.setAttribute("stretchy", "false")
        if tag == "msup":  # a power of ten
            for each in ("10", text):
                made.appendChild(self._element("mn", each))
        else:
            made.appendChild(self.dom.createTextNode(text))
        return made


def _mathml(node: Node, write: Write) -> Markup:
    # Only the names that `write` gives are anybody's text, and the printer escapes them.
    return Markup(_Printer(write).doprint(to_sympy(node)))


def _number(value: float) -> list[tuple[str, str]]:
    mantissa, _, exponent = number(value).partition("e")
    written = [("mn", mantissa.replace("-", _MINUS))]
    if exponent:
        written += [("mo", _TIMES), ("msup", exponent.replace("-", _MINUS))]
    # Parentheses keep a power of the whole number from being one of its last part.
    return [("mo", "("), *written, ("mo", ")")] if exponent or value < 0 else written


def symbols(step: Step) -> Mapping[str, str]:
    """Return what each symbol of a step means, by the name that formulas show."""
    return {plain_name(name): step.formula.symbols[name] for name in step.values}
