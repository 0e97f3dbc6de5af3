"""Quotients as products by reciprocals, where last bits decide nothing.

A division takes as long as ten products, and most are by a constant or by what is worked out once.
"""

from __future__ import annotations

from typing import Any, Final

from perfmodel.prediction.compiled.lowering import Program
from perfmodel.prediction.compiled.scalars import Scalar, Scalars
from perfmodel.prediction.compiled.writer import in_order, sources

_ROUNDED: Final = frozenset({"floor", "ceil", "rint", "floor_divide", "remainder", "copysign"})
"""Operators of floats that last bits may change by more than they are."""


def by_reciprocals(program: Program) -> Program:
    """Return a program whose outputs are nearly the same: to some last bits."""
    order = [*in_order(program.ends)]
    exact: set[Scalar] = set()
    for scalar in reversed(order):
        if scalar in exact or scalar.kind != "f" or scalar.operator in _ROUNDED:
            exact.update(sources(scalar))
    do, made = Scalars(), dict[Scalar, Any]()
    for scalar in order:
        operands = [made.get(o, o) if isinstance(o, Scalar) else o for o in scalar.operands]
        if scalar.operator == "divide" and scalar not in exact:
            made[scalar] = do.apply("multiply", operands[0], do.apply("divide", 1.0, operands[1]))
        elif any(new is not old for new, old in zip(operands, scalar.operands, strict=True)):
            made[scalar] = do.made(scalar.operator, operands, scalar.kind)
    outputs = tuple(made.get(o, o) if isinstance(o, Scalar) else o for o in program.outputs)
    return Program(program.inputs, program.guards, program.products, outputs)
