r"""An explanation as LaTeX: a fragment with one ``align*`` a section, for documents with amsmath.

The fragment needs ``\usepackage{amsmath}`` and nothing else.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from perfmodel.expressions import Node, names, to_sympy
from perfmodel.prediction import Prediction
from perfmodel.reports.explain import explain, left_out_text
from perfmodel.reports.formula_text import handy_values, number, plain_name, quantity, resolved
from perfmodel.reports.prediction_text import parameters, title
from perfmodel.reports.step import Step

_SPECIAL: Final = {
    **{c: f"\\{c}" for c in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


def explanation_latex(prediction: Prediction, steps: Sequence[Step] | None = None) -> str:
    """Return an explanation as LaTeX: a paragraph, an ``align*`` and the notes of each section."""
    return "\n".join(_lines(prediction, steps or explain(prediction))) + "\n"


def _lines(prediction: Prediction, every: Sequence[Step]) -> Iterator[str]:
    yield "% Needs \\usepackage{amsmath}."
    heading = f"{title(prediction)}: {parameters(prediction)}"
    yield f"\\subsection*{{{escaped(heading)}}}"
    for section, group in groupby(every, key=lambda step: step.section):
        steps = list(group)
        yield f"\\paragraph{{{escaped(section)}}}"
        yield "\\begin{align*}"
        yield " \\\\\n".join(" \\\\\n  ".join(_rows(step)) for step in steps)
        yield "\\end{align*}"
        for step in steps:
            _, cases = resolved(step.formula.node, step.values)
            notes = [*(f"as {case}" for case in cases), *([step.note] if step.note else [])]
            if notes:
                about = step.title[:1].upper() + step.title[1:]
                yield f"\\noindent {escaped(about)}: {escaped('; '.join(notes))}.\\par"
    if small := left_out_text(prediction):
        yield f"\\noindent Under 1\\% of the time each: {escaped(small)}."


def _rows(step: Step) -> Iterator[str]:
    """Yield a step's lines of an ``align*``: formula, numbers, result."""
    node, _ = resolved(step.formula.node, step.values)
    used = names(node)
    left = f"\\text{{{escaped(step.title)}}} &="
    result = _quantity(quantity(step.result, step.formula.unit))
    if used:
        yield f"{left} {_latex(node, {name: _symbol(name) for name in used})}"
        values = {name: _number(value) for name, value in handy_values(step).items()}
        left = "&="
        numeric = _latex(node, values)
        if numeric != result.split("\\,")[0]:
            yield f"{left} {numeric}"
    yield f"{left} {result}"


def _latex(node: Node, written: Mapping[str, str]) -> str:
    import sympy

    expression = to_sympy(node)
    symbols = {s: written[s.name] for s in expression.free_symbols}
    return str(sympy.latex(expression, symbol_names=symbols, mul_symbol="dot"))


def _symbol(name: str) -> str:
    shown = plain_name(name)
    return shown if len(shown) == 1 else f"\\mathrm{{{escaped(shown)}}}"


def _number(value: float) -> str:
    mantissa, _, exponent = number(value).partition("e")
    if exponent:
        # Braces keep a power of the whole number from being one of ten only.
        return f"\\left({mantissa} \\times 10^{{{exponent}}}\\right)"
    return f"\\left({mantissa}\\right)" if value < 0 else mantissa


def _quantity(shown: str) -> str:
    value, _, unit = shown.partition(" ")
    mantissa, _, exponent = value.partition("e")
    written = f"{mantissa} \\times 10^{{{exponent}}}" if exponent else mantissa
    if not unit:
        return written
    unit = "\\mu s" if unit == "us" else escaped(unit)
    return f"{written}\\,\\mathrm{{{unit}}}"


def escaped(text: str) -> str:
    """Return text with LaTeX's special characters escaped."""
    return "".join(_SPECIAL.get(character, character) for character in text)
