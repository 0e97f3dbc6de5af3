"""Scalars: the values of a program of single numbers, each made once, constants worked out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

import numpy as np

from perfmodel.expressions.mixing import mixed_arrays
from perfmodel.records import record

Kind = Literal["b", "i", "f"]
"""Truth value, integer or float, as NumPy's kinds of types."""


@record(eq=False)
class Scalar:
    """One number of a program."""

    operator: str  # what makes it: a key of `OPERATORS`, "where", "input", "call" or "part"
    # scalars and constants; a name of an input, a `Call` of a call, and of a part its place
    operands: tuple[Any, ...]
    kind: Kind


@record
class Operator:
    """An operator on numbers: NumPy's function, and the kind of the result; None: its operands'."""

    function: Callable[..., Any]
    kind: Kind | None = None


OPERATORS: Final[dict[str, Operator]] = {
    **{
        name: Operator(getattr(np, name))
        for name in (
            *("add", "subtract", "multiply", "floor_divide", "remainder", "negative", "absolute"),
            *("sign", "minimum", "maximum"),
        )
    },
    **{
        name: Operator(getattr(np, name), "f")
        for name in (
            *("divide", "power", "floor", "ceil", "rint", "sqrt", "log", "log2", "exp", "expm1"),
            *("log1p", "copysign"),
        )
    },
    **{
        name: Operator(getattr(np, name), "b")
        for name in ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
    },
    **{name: Operator(getattr(np, name), "i") for name in ("gcd", "left_shift", "right_shift")},
    "integer_power": Operator(np.power, "i"),
    "random": Operator(lambda key, count: mixed_arrays(np.asarray(key), count), "i"),
    "and": Operator(np.bitwise_and),
    "or": Operator(np.bitwise_or),
    "xor": Operator(np.bitwise_xor),
    "not": Operator(np.logical_not, "b"),
    "float": Operator(np.float64, "f"),
    "integer": Operator(np.int64, "i"),
    "truth": Operator(np.bool_, "b"),
}
"""Operators by name, NumPy's where it has one."""

_CASTS: Final[dict[Kind, str]] = {"f": "float", "i": "integer", "b": "truth"}
_KINDS: Final[tuple[Kind, ...]] = ("b", "i", "f")


def kind_of(value: Any) -> Kind:
    """Return the kind of a scalar or constant."""
    if isinstance(value, Scalar):
        return value.kind
    return "b" if isinstance(value, bool) else "i" if isinstance(value, int) else "f"


def widest(operands: Sequence[Any]) -> Kind:
    """Return the kind that holds the values of all operands."""
    return _KINDS[max(_KINDS.index(kind_of(operand)) for operand in operands)]


class Scalars:
    """Makes scalars: the same of the same operands is one, and of constants a constant."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], Scalar] = {}

    def made(self, name: str, operands: Sequence[Any], kind: Kind) -> Scalar:
        """Return the scalar of an operator and operands: the one that there is, if there is one."""
        key = (name, kind, *map(key_of, operands))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Scalar(name, tuple(operands), kind)
        return found

    def apply(self, name: str, *operands: Any) -> Any:
        """Return what an operator gives: a scalar or a constant."""
        stated = OPERATORS[name]
        kind = stated.kind or widest(operands)
        if not any(isinstance(o, Scalar) for o in operands):
            with np.errstate(all="ignore"):
                found = stated.function(*map(_typed, operands))
            return self.cast(found.item(), kind)
        if name in _CASTS.values() and kind_of(operands[0]) == kind:
            return operands[0]
        if name in ("and", "or") and kind == "b":
            return self._joined(name, *operands)
        if len(operands) > 1 and operands[0] is operands[1]:
            if name in ("minimum", "maximum"):
                return operands[0]
            if name in ("equal", "not_equal") and kind_of(operands[0]) != "f":
                return name == "equal"
        for one, other in ((0, 1), (1, 0)) if name == "multiply" else ():
            if operands[one] == 1 and kind_of(operands[other]) == kind:
                return operands[other]
        return self.made(name, operands, kind)

    def _joined(self, name: str, first: Any, second: Any) -> Any:
        decisive = name == "or"  # True decides an `or`, False an `and`
        for one, other in ((first, second), (second, first)):
            if isinstance(one, bool):
                return decisive if one is decisive else other
        return first if first is second else self.made(name, (first, second), "b")

    def where(self, condition: Any, chosen: Any, other: Any) -> Any:
        """Return one of two operands, as a condition says."""
        condition = self.cast(condition, "b")
        kind = widest((chosen, other))
        chosen, other = self.cast(chosen, kind), self.cast(other, kind)
        if not isinstance(condition, Scalar):
            return chosen if condition else other
        if key_of(chosen) == key_of(other):
            return chosen
        return self.made("where", (condition, chosen, other), kind)

    def cast(self, value: Any, kind: Kind) -> Any:
        """Return an operand as of a kind."""
        return value if kind_of(value) == kind else self.apply(_CASTS[kind], value)


def key_of(value: Any) -> Any:
    """Return what tells constants apart: 1 from 1.0 and True, -0.0 from 0.0; NaN is NaN."""
    return value if isinstance(value, Scalar) else (type(value), repr(value))


def _typed(value: Any) -> Any:
    if isinstance(value, bool):
        return np.bool_(value)
    return np.int64(value) if isinstance(value, int) else np.float64(value)
