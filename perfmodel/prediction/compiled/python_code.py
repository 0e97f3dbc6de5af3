"""A program of scalars as a Python function on plain numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from perfmodel.expressions.mixing import mixed
from perfmodel.prediction.compiled.calls import Call
from perfmodel.prediction.compiled.lowering import Guard, Program
from perfmodel.prediction.compiled.scalars import Scalar
from perfmodel.prediction.compiled.writer import Writer, in_order, sources

LARGEST: Final = 2**62
"""Largest whole number that expressions may have."""

BINARY: Final = {
    name: f"({{0}} {sign} {{1}})"
    for name, sign in {
        **{"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//"},
        **{"remainder": "%", "xor": "^", "left_shift": "<<", "right_shift": ">>"},
        **{"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="},
        **{"equal": "==", "not_equal": "!=", "integer_power": "**"},
    }.items()
}
"""Operators that Python's numbers and NumPy's arrays have alike."""
_MATH: Final = ("sqrt", "log", "log2", "exp", "expm1", "log1p", "copysign", "gcd")
_NAMED: Final[dict[str, Any]] = {
    "_power": math.pow,
    "_random": mixed,
    "_divided": lambda a, b: float(np.divide(a, b)),
    "inf": math.inf,
    "nan": math.nan,
    **{f"_{name}": getattr(math, name) for name in _MATH},
}

Function = Callable[..., tuple[Any, ...] | None]


def python_function(program: Program) -> Function:
    """Return a function of the inputs, in order, that gives the outputs; None if a guard fails.

    Raises `ArithmeticError` or `ValueError` where Python's numbers have no value.
    """
    writer = _OnNumbers(program)
    for guard in _cheapest_first(program.guards):
        writer.written.append(("", f"if {writer.failed(guard)}: return None"))
    for product in program.products:
        writer.written.append(("", f"if abs({writer.text(product)}) > {LARGEST}: return None"))
    outputs = "".join(f"{writer.text(value)}, " for value in program.outputs)
    lines = [f"{name} = {text}" if name else text for name, text in writer.written]
    found: Function = function(writer, [*lines, f"return ({outputs})"], _NAMED)
    return found


def _cheapest_first(guards: Sequence[Guard]) -> list[Guard]:
    """Return guards, those first that need the fewest scalars: most launches fail early."""
    needed: dict[Scalar, int] = {}  # of each scalar those that it is made of, as bits
    for place, scalar in enumerate(in_order([guard.value for guard in guards])):
        needed[scalar] = 1 << place
        for source in sources(scalar):
            needed[scalar] |= needed[source]
    return sorted(guards, key=lambda guard: needed[guard.value].bit_count())


def function(writer: Writer, lines: list[str], named: dict[str, Any]) -> Any:
    """Return the function of a writer's inputs that some lines are."""
    text = "\n ".join([f"def predicted({', '.join(writer.names)}):", *lines])
    known: dict[str, Any] = {**named, **writer.calls}
    exec(compile(text + "\n", "<compiled prediction>", "exec"), known)
    return known["predicted"]


class _OnNumbers(Writer):
    operators: ClassVar[Mapping[str, str]] = {
        **BINARY,
        "and": "({0} and {1})",
        "or": "({0} or {1})",
        "negative": "(-{0})",
        "absolute": "abs({0})",
        "not": "(not {0})",
        "float": "float({0})",
        "integer": "int({0})",
        "truth": "({0} != 0)",
        "floor": "({0}//1.0)",
        "ceil": "(-(-{0}//1.0))",
        "rint": "float(round({0}))",
        "sign": "(({0} > 0) - ({0} < 0))",
        "minimum": "({0} if {0} < {1} else {1})",
        "maximum": "({0} if {0} > {1} else {1})",
        "where": "({1} if {0} else {2})",
        "power": "_power({0}, {1})",
        "random": "_random({0}, {1})",
        **{name: f"_{name}({{0}})" for name in _MATH[:6]},
        **{name: f"_{name}({{0}}, {{1}})" for name in _MATH[6:]},
    }

    def pattern(self, scalar: Scalar) -> str:
        name, operands = scalar.operator, scalar.operands
        if name == "divide" and isinstance(operands[1], Scalar) and not _positive(operands[1]):
            return "({0} / {1} if {1} else _divided({0}, {1}))"
        if scalar.kind != "b" and name in ("and", "or"):
            return {"and": "({0} & {1})", "or": "({0} | {1})"}[name]
        return self.operators[name]

    def failed(self, guard: Guard) -> str:
        """Return the condition under which a guard fails."""
        text = self.text(guard.value)
        if isinstance(guard.answer, bool):
            return f"not {text}" if guard.answer else text
        return f"{text} != {guard.answer!r}"

    def called(self, call: Call) -> Any:
        return call.function.of_one

    def if_needed(self, text: str, needed: str) -> str:
        return f"{text} if {needed} else None"


def _positive(value: Scalar) -> bool:
    """Say whether a scalar is surely above 0."""
    return value.operator == "maximum" and any(
        not isinstance(o, Scalar) and o > 0 for o in value.operands
    )
