"""What decides each scalar of a program that is run for pairs: the launch, the choice or both."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from perfmodel.prediction.compiled.lowering import Program
from perfmodel.prediction.compiled.scalars import Scalar
from perfmodel.prediction.compiled.writer import in_order, sources

LAUNCH: Final = 1
CHOICE: Final = 2
PAIR: Final = 3
"""What decides a scalar: bits, so that those of what it is made of go together."""


def sides(program: Program, choices: Collection[str]) -> dict[Scalar, int]:
    """Return what decides each scalar of a program whose inputs of some names are choices."""
    found: dict[Scalar, int] = {}
    for scalar in in_order(program.ends):
        found[scalar] = 0
        if scalar.operator == "input":
            found[scalar] = CHOICE if scalar.operands[0] in choices else LAUNCH
        for source in sources(scalar):
            found[scalar] |= found[source]
    return found


def part_of(program: Program, decided: Mapping[Scalar, int], side: int) -> Program:
    """Return a program with the guards and products of one side, and the outputs of pairs."""
    guards = tuple(guard for guard in program.guards if decided[guard.value] == side)
    products = tuple(product for product in program.products if decided[product] == side)
    return Program(program.inputs, guards, products, program.outputs if side == PAIR else ())
