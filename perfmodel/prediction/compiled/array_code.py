"""A program of scalars as a function on arrays, of one number a launch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.prediction.compiled.calls import Call
from perfmodel.prediction.compiled.expression_scalars import GROWING
from perfmodel.prediction.compiled.lowering import Guard, Program
from perfmodel.prediction.compiled.python_code import BINARY, LARGEST, function
from perfmodel.prediction.compiled.scalars import OPERATORS, Scalar
from perfmodel.prediction.compiled.writer import Writer

_ONE: Final = ("floor", "ceil", "rint", "sign", "sqrt", "log", "log2", "exp", "expm1", "log1p")
_TWO: Final = ("minimum", "maximum", "power", "copysign", "gcd")
_NAMED: Final[dict[str, Any]] = {
    "_every": lambda *inputs: np.ones(np.broadcast_shapes(*map(np.shape, inputs)), dtype=bool),
    "_where": np.where,
    "_absolute": np.absolute,
    "_whole": np.int64,
    "_float": np.float64,
    "_random": OPERATORS["random"].function,
    "inf": np.inf,
    "nan": np.nan,
    **{f"_{name}": getattr(np, name) for name in (*_ONE, *_TWO)},
}
_VARIABLE: Final = re.compile(r"\b[vtc]\d+\b")

ArrayFunction = Callable[..., tuple[Array, tuple[Any, ...]]]


def array_function(program: Program) -> ArrayFunction:
    """Return a function of the inputs, in order, that says of which launches the outputs hold.

    It gives truth values and the outputs, arrays or plain numbers.

    Raises `NoProgramError` if it calls a function that takes one launch at a time.
    """
    writer = _OnArrays(program)
    for guard in program.guards:
        writer.holds(guard)
    for product in program.products:
        writer.holds_whole(product)
    outputs = "".join(f"{writer.text(value)}, " for value in program.outputs)
    lines = _reusing([*writer.written, ("", f"return ok, ({outputs})")])
    every = f"ok = _every({', '.join(writer.names)})"
    found: ArrayFunction = function(writer, [every, *lines], _NAMED)
    return found


def _reusing(assignments: list[tuple[str, str]]) -> Iterable[str]:
    """Yield lines in which a name is taken again once it is not needed: memory stays in caches."""
    last: dict[str, int] = {}
    for place, (name, text) in enumerate(assignments):
        for each in (name, *_VARIABLE.findall(text)):
            last[each] = place
    free: list[str] = []
    slots: dict[str, str] = {}
    for place, (name, text) in enumerate(assignments):
        used = set(_VARIABLE.findall(text))
        line = _VARIABLE.sub(lambda found: slots[found.group()], text)
        free += [slots[each] for each in used if last[each] == place]
        if not name:
            yield line
            continue
        slots[name] = free.pop() if free else f"s{len(slots)}"
        yield f"{slots[name]} = {line}"
        if last[name] == place:
            free.append(slots[name])


class _OnArrays(Writer):
    operators: ClassVar[Mapping[str, str]] = {
        **BINARY,
        "and": "({0} & {1})",
        "or": "({0} | {1})",
        "negative": "(-{0})",
        "absolute": "_absolute({0})",
        "not": "(~{0})",
        "float": "_float({0})",
        "integer": "{0}.astype(_whole)",
        "truth": "({0} != 0)",
        "where": "_where({0}, {1}, {2})",
        **{name: f"_{name}({{0}})" for name in _ONE},
        **{name: f"_{name}({{0}}, {{1}})" for name in (*_TWO, "random")},
    }

    def holds(self, guard: Guard) -> None:
        """Write that launches must meet a guard."""
        text = self.text(guard.value)
        if isinstance(guard.answer, bool):
            met = text if guard.answer else f"~{text}"
        else:
            met = f"({text} == {guard.answer!r})"
        self.written.append(("", f"ok &= {met}"))

    def holds_whole(self, product: Scalar) -> None:
        """Write that a whole number must not overflow: in floats, which do not wrap."""
        text = GROWING[product.operator].format(*map(self.text, product.operands))
        self.written.append(("", f"ok &= _absolute({text}) <= {LARGEST}.0"))

    def called(self, call: Call) -> Any:
        call.function.check_rows()
        return call.function.of_rows

    def if_needed(self, text: str, needed: str) -> str:
        return text
