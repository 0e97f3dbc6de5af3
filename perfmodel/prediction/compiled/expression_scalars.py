"""Expressions of formulas and kernels as scalars."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any, Final

from perfmodel.expressions.nodes import Name, Node, Number, names
from perfmodel.prediction.compiled.array_functions import NoProgramError, Objects, each
from perfmodel.prediction.compiled.scalars import Scalar, Scalars, kind_of

_OPERATORS: Final = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "//": "floor_divide",
    "%": "remainder",
    "<<": "left_shift",
    ">>": "right_shift",
    "&": "and",
    "|": "or",
    "^": "xor",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
    "==": "equal",
    "!=": "not_equal",
    "neg": "negative",
    "abs": "absolute",
    "min": "minimum",
    "max": "maximum",
    "log2": "log2",
    "sqrt": "sqrt",
    "random": "random",
}
GROWING: Final = {"multiply": "{0} * 1.0 * {1}", "integer_power": "({0} * 1.0)**{1}"} | {
    "left_shift": "{0} * 2.0**{1}"
}
"""Operators whose whole numbers may pass the largest, and how they are written in floats."""


def expression(
    scalars: Scalars, tree: Node, values: Mapping[str, Any], products: list[Any]
) -> Objects:
    """Return an expression of arrays of scalars.

    Truth values that must hold for whole numbers not to overflow are added to `products`.
    """
    used = sorted(names(tree))
    return each(
        lambda *numbers: _Value(scalars, dict(zip(used, numbers, strict=True)), products).of(tree),
        *(values[name] for name in used),
    )


class _Value:
    """The value of an expression's parts, for one scalar a name."""

    def __init__(self, scalars: Scalars, values: Mapping[str, Any], products: list[Any]) -> None:
        self.scalars, self.values, self.products = scalars, values, products
        self.known: dict[Node, Any] = {}

    def of(self, part: Node) -> Any:
        if isinstance(part, Name):
            return self.values[part.name]
        if isinstance(part, Number):
            return part.value
        if part not in self.known:
            self.known[part] = self._operation(part.operator, [self.of(o) for o in part.operands])
        return self.known[part]

    def _operation(self, name: str, operands: list[Any]) -> Any:
        do = self.scalars.apply
        if name == "where":
            return self.scalars.where(operands[0], *map(self._number, operands[1:]))
        if name in ("and", "or"):
            truths = [self.scalars.cast(o, "b") for o in operands]
            return reduce(lambda a, b: do(name, a, b), truths)
        if name == "not":
            return do("not", self.scalars.cast(operands[0], "b"))
        numbers = [self._number(o) for o in operands]
        if name in ("floor", "ceil"):
            whole = kind_of(numbers[0]) == "i"
            return numbers[0] if whole else do("integer", do(name, numbers[0]))
        if name == "ceil_div":
            return do("negative", do("floor_divide", do("negative", numbers[0]), numbers[1]))
        if name == "**":
            return self._power(*numbers)
        if name not in _OPERATORS:
            raise NoProgramError(f"operator {name}")
        if len(numbers) == 1:
            return do(_OPERATORS[name], *numbers)
        return reduce(lambda a, b: self._bounded(_OPERATORS[name], a, b), numbers)

    def _power(self, base: Any, exponent: Any) -> Any:
        if kind_of(base) == kind_of(exponent) == "i":
            if isinstance(exponent, Scalar) or exponent < 0:
                raise NoProgramError("an integer to a power that changes")
            return self._bounded("integer_power", base, exponent)
        floats = (self.scalars.cast(each, "f") for each in (base, exponent))
        return self.scalars.apply("power", *floats)

    def _bounded(self, name: str, first: Any, second: Any) -> Any:
        found = self.scalars.apply(name, first, second)
        if isinstance(found, Scalar) and found.operator in GROWING and found.kind == "i":
            self.products.append(found)
        return found

    def _number(self, value: Any) -> Any:
        """Return truth values as 0 and 1, and anything else as it is."""
        return self.scalars.cast(value, "i") if kind_of(value) == "b" else value
