"""Steps of an explanation as MathML, which browsers show without help from a script.

Expressions are written from their own tree, in the order in which the models state them: sympy
would sort and multiply them out, and its MathML printer loses parentheses where told not to.
"""

from collections.abc import Callable
from typing import Final

from markupsafe import Markup

from perfmodel.expressions import Name, Node, Number, Operation
from perfmodel.records import record
from perfmodel.reports.formula_text import (
    Known,
    handy_values,
    number,
    origin_text,
    pieces,
    plain_name,
    resolved,
)
from perfmodel.reports.step import Step

_MINUS: Final = "\N{MINUS SIGN}"
_TIMES: Final = "\N{MULTIPLICATION SIGN}"

# How tightly the parts of an expression hold together; a looser one takes parentheses.
_LOOSE: Final = 0
_SUM: Final = 1
_SCIENTIFIC: Final = 2
_PRODUCT: Final = 3
_POWER: Final = 4
_WHOLE: Final = 5

_INFIX: Final = {
    **{"<": "<", "<=": "≤", ">": ">", ">=": "≥", "==": "=", "!=": "≠", "and": "and", "or": "or"},
    **{"<<": "≪", ">>": "≫", "&": "and", "|": "or", "^": "xor"},
}
"""Operators that stand between operands and always take parentheses."""

_FENCES: Final = {"floor": "⌊⌋", "ceil": "⌈⌉", "abs": "||", "//": "⌊⌋", "ceil_div": "⌈⌉"}


@record
class Written:
    """MathML of an expression, and how tightly it holds together."""

    markup: Markup
    level: int = _WHOLE

    def within(self, level: int) -> Markup:
        """Return it as part of an expression of a level, in parentheses if it is looser."""
        return self.markup if self.level >= level else _fenced("()", self.markup)


Leaf = Callable[[str], Written]
"""What stands for a variable."""


@record
class ShownStep:
    """A step as a page shows it: its result with unit, and in a note the cases that hold.

    `lines` are MathML of the formula and of the formula with numbers, each only if it says
    something new.
    """

    title: str
    lines: tuple[Markup, ...]
    result: str
    note: str
    step: Step

    @property
    def symbols(self) -> dict[str, str]:
        """What each symbol means, by the name that formulas show."""
        return {plain_name(name): self.step.formula.symbols[name] for name in self.step.values}

    @property
    def origins(self) -> str:
        """Where the numbers come from that other steps or the GPU's figures give."""
        known = Known()
        found = self.step.origins.items()
        return "; ".join(f"{plain_name(name)}: {origin_text(o, known)}" for name, o in found)

    @property
    def effect(self) -> str:
        """By how much the time changes with 1% more of the result; empty if that is unknown."""
        return "" if self.step.elasticity is None else f"{self.step.elasticity:+.2f}%"


def shown_step(step: Step) -> ShownStep:
    """Return a step with its formula, and its formula with numbers, as MathML."""
    parts, cases = pieces(step)
    node, _ = resolved(step.formula.node, step.values)
    values = handy_values(step)
    lines = []
    if len(parts) > 2:
        lines.append(mathml(node, lambda name: Written(element("mi", plain_name(name)))))
    if len(parts) > 3:
        lines.append(mathml(node, lambda name: _number(values[name])))
    notes = [*(f"as {case}" for case in cases), *([step.note] if step.note else [])]
    return ShownStep(step.title, tuple(lines), parts[-1], "; ".join(notes), step)


def mathml(node: Node, leaf: Leaf) -> Markup:
    """Return an expression as presentation MathML; `leaf` is what stands for a variable."""
    return _written(node, leaf).markup


def _written(node: Node, leaf: Leaf) -> Written:
    if isinstance(node, Number):
        return _number(node.value)
    if isinstance(node, Name):
        return leaf(node.name)
    return _operation(node, [_written(operand, leaf) for operand in node.operands])


def _operation(node: Operation, parts: list[Written]) -> Written:
    operator, first = node.operator, parts[0]
    if operator in ("+", "-"):
        sign = "+" if operator == "+" else _MINUS
        return Written(_row(first.markup, _mo(sign), parts[1].within(_SCIENTIFIC)), _SUM)
    if operator == "neg":
        return Written(_row(_mo(_MINUS), first.within(_PRODUCT)), _SUM)
    if operator in ("*", "%"):
        sign, level = ("·", _PRODUCT) if operator == "*" else ("mod", _SCIENTIFIC)
        both = (first.within(_PRODUCT), _mo(sign), parts[1].within(_PRODUCT))
        return Written(_row(*both), level)
    if operator == "/":
        return Written(_fraction(parts), _POWER)
    if operator == "**":
        return _power(node, parts)
    if operator == "sqrt":
        return Written(element("msqrt", first.markup))
    if operator in _FENCES:
        inside = _fraction(parts) if len(parts) > 1 else first.markup
        return Written(_fenced(_FENCES[operator], inside))
    if operator in _INFIX:
        between = _mo(_INFIX[operator])
        return Written(_row(*_joined([part.within(_SUM) for part in parts], between)), _LOOSE)
    log = element("msub", element("mi", "log"), element("mn", "2"))
    name = log if operator == "log2" else element("mi", operator)
    return Written(_row(name, _fenced("()", *_joined([p.markup for p in parts], _mo(",")))))


def _power(node: Operation, parts: list[Written]) -> Written:
    exponent = node.operands[1]
    if isinstance(exponent, Operation) and exponent.operator == "/":
        above, below = exponent.operands
        if above == Number(1) and isinstance(below, Number):
            base = element("mrow", parts[0].markup)
            if below.value == 2:
                return Written(element("msqrt", base))
            return Written(element("mroot", base, _number(below.value).markup))
    return Written(element("msup", parts[0].within(_WHOLE), parts[1].markup), _POWER)


def _fraction(parts: list[Written]) -> Markup:
    return element("mfrac", *(part.markup for part in parts))


def _number(value: float) -> Written:
    mantissa, _, exponent = number(abs(value)).partition("e")
    written = Written(element("mn", mantissa))
    if exponent:
        power = element("mn", exponent.replace("-", _MINUS))
        ten = element("msup", element("mn", "10"), power)
        written = Written(_row(written.markup, _mo(_TIMES), ten), _SCIENTIFIC)
    return Written(_row(_mo(_MINUS), written.markup), _SUM) if value < 0 else written


def _fenced(fences: str, *inside: Markup) -> Markup:
    return _row(_mo(fences[0]), *inside, _mo(fences[1]))


def _joined(parts: list[Markup], between: Markup) -> list[Markup]:
    return [each for part in parts for each in (between, part)][1:]


def element(tag: str, *children: Markup | str) -> Markup:
    """Return an element; text is escaped."""
    return Markup(f"<{tag}>{{}}</{tag}>").format(Markup("").join(children))


def _row(*parts: Markup) -> Markup:
    return element("mrow", *parts)


def _mo(text: str) -> Markup:
    return element("mo", text)
