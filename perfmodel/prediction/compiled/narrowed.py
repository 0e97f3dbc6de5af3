"""A program for launches in some ranges that decide alike: shorter, and quicker on vectors.

What the ranges decide is left out, as is what only launches need that decide otherwise. Whole
numbers that floats hold exactly are floats: processors have no vectors of whole quotients.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from perfmodel.prediction.compiled.array_functions import NoProgramError
from perfmodel.prediction.compiled.calls import Call
from perfmodel.prediction.compiled.lowering import Guard, Program
from perfmodel.prediction.compiled.python_code import LARGEST
from perfmodel.prediction.compiled.ranges import (
    COMPARISONS,
    Range,
    decided,
    range_of,
    range_of_constant,
)
from perfmodel.prediction.compiled.scalars import Scalar, Scalars, key_of, kind_of
from perfmodel.prediction.compiled.writer import in_order, sources

_EXACT: Final = 2**52
"""Whole numbers up to here are floats too."""
_AS_FLOATS: Final = frozenset(
    {
        *("add", "subtract", "multiply", "negative", "absolute", "minimum", "maximum"),
        *("where", "floor_divide", "remainder", "integer"),
    }
)
"""Operators whose whole numbers floats give as well, of exact operands where the result is."""
_WHOLE: Final = ("floor", "ceil", "rint")


def narrowed(
    program: Program, ranges: Mapping[str, Range], assumed: Mapping[Scalar, bool]
) -> Program:
    """Return the program of launches whose inputs are in ranges and whose truth values are known.

    It holds for no others, and gives the same as `program` where it holds.

    Raises `NoProgramError` if `program` holds for none of them.
    """
    scalars = Scalars()
    some, every = (_Narrowing(ranges, known, scalars) for known in (assumed, {}))
    guards = [(some.again(guard.value), guard.answer) for guard in program.guards]
    products = dict.fromkeys(map(some.again, program.products))
    outputs = tuple(map(some.again, program.outputs))
    for name, (low, high) in ranges.items():
        number = scalars.made("input", (name,), "i")
        guards.append((scalars.apply("greater_equal", number, int(low)), True))
        guards.append((scalars.apply("less_equal", number, int(high)), True))
    guards += [(every.again(scalar), assumed[scalar]) for scalar in some.taken]
    kept: dict[tuple[Any, ...], Guard] = {}
    for value, answer in guards:
        if isinstance(value, Scalar):
            kept.setdefault((value, answer), Guard(value, answer))
        elif value != answer:
            raise NoProgramError("guards that hold for no launch")
    unsure = (p for p in products if isinstance(p, Scalar) and not some.below(p, LARGEST))
    return Program(program.inputs, tuple(kept.values()), tuple(unsure), outputs)


class _Narrowing:
    """Makes each scalar of a program anew, or a constant of it."""

    def __init__(
        self, ranges: Mapping[str, Range], assumed: Mapping[Scalar, bool], scalars: Scalars
    ) -> None:
        self.scalars = scalars
        self.of_inputs = ranges
        self.assumed = assumed
        self.made: dict[Scalar, Any] = {}
        self.calls: dict[Any, Scalar] = {}
        self.ranges: dict[Scalar, Range | None] = {}
        self.taken: dict[Scalar, None] = {}  # of those assumed, what others were made of

    def again(self, value: Any) -> Any:
        """Return a scalar of the program made anew, of its kind, or the constant that it is."""
        if not isinstance(value, Scalar):
            return value
        for scalar in in_order([value], self.made, self._needed):
            self.made[scalar] = self._made(scalar)
        return self.scalars.cast(self.made[value], value.kind)

    def below(self, value: Any, most: float) -> bool:
        """Say whether a scalar made anew, or a constant, surely is no larger, either sign."""
        found = self._range(value)
        return found is not None and -most <= found[0] and found[1] <= most

    def _needed(self, scalar: Scalar) -> Iterator[Scalar]:
        """Yield the scalars that one is made of, where those assumed decide for some."""
        if scalar in self.assumed:
            return
        operands = scalar.operands
        if scalar.operator == "where" and operands[0] in self.assumed:
            yield from _scalars(operands[0], operands[1 if self.assumed[operands[0]] else 2])
        elif scalar.operator in ("and", "or") and scalar.kind == "b":
            decisive = [o for o in operands if self.assumed.get(o) is (scalar.operator == "or")]
            yield from _scalars(*(decisive[:1] or operands))
        else:
            yield from sources(scalar)

    def _made(self, scalar: Scalar) -> Any:
        name, operands = scalar.operator, scalar.operands
        if scalar in self.assumed:
            self.taken[scalar] = None
            return self.assumed[scalar]
        if name == "call":
            return self._called(operands[0])
        if name == "part":
            call, place = self.made[operands[0]], operands[1]
            if not isinstance(call, Scalar):
                return call[place]
            return self.scalars.made("part", (call, place), scalar.kind)
        if name == "input":
            number = self.scalars.made(name, operands, scalar.kind)
            return self._float(number) if self._exact(number) else number
        given = [self.made.get(o, False) if isinstance(o, Scalar) else o for o in operands]
        if name == "where":
            if not isinstance(given[0], Scalar):
                return given[1 if given[0] else 2]
        elif name in ("and", "or") and scalar.kind == "b":
            return self.scalars.apply(name, *given)
        return self._typed(scalar, given)

    def _called(self, call: Call) -> Any:
        """Return a call of the same function, or its results where nothing given is a scalar."""
        kinds = map(kind_of, call.operands)
        given = (self.made.get(o, o) if isinstance(o, Scalar) else o for o in call.operands)
        operands = tuple(self.scalars.cast(o, k) for o, k in zip(given, kinds, strict=True))
        needed = self.made[call.needed] if isinstance(call.needed, Scalar) else call.needed
        if not any(isinstance(operand, Scalar) for operand in operands):
            return call.function.of_one(*operands)
        key = (call.function, *map(key_of, operands), key_of(needed))
        if key not in self.calls:
            self.calls[key] = Scalar("call", (Call(call.function, operands, needed),), "f")
        return self.calls[key]

    def _typed(self, scalar: Scalar, given: list[Any]) -> Any:
        """Return an operation on operands made anew, whose whole numbers may be floats."""
        name, kinds = scalar.operator, [kind_of(operand) for operand in scalar.operands]
        numbers = given[1:] if name == "where" else given
        if scalar.kind == "i" and name in _AS_FLOATS and self._holds(scalar, numbers):
            return self._whole(name, given)
        compared = name in COMPARISONS and ("f" in kinds or all(map(self._exact, numbers)))
        if scalar.kind == "f" or compared:
            floats = [*map(self._float, numbers)]
            return self._plain(name, [given[0], *floats] if name == "where" else floats)
        pairs = zip(kinds, given, strict=True)
        whole = [self.scalars.cast(o, "i") if k == "i" else o for k, o in pairs]
        found = self._plain(name, whole)
        if _lowest_bit(scalar) and (self._range(whole[0]) or (0, 0))[0] > 0:
            found = self._plain("maximum", [found, 1])  # which tells its range
        return self._float(found) if scalar.kind == "i" and self._exact(found) else found

    def _holds(self, scalar: Scalar, numbers: list[Any]) -> bool:
        """Say whether floats hold a whole number, and those that it is made of."""
        ranges = [self._range(number) for number in numbers]
        given = [None, *ranges] if scalar.operator == "where" else ranges
        found = range_of(scalar, given)
        if scalar.operator in ("floor_divide", "remainder"):
            divisor = ranges[1]
            if divisor is None or divisor[0] <= 0:
                return False
        if scalar.operator == "integer" and (ranges[0] is None or ranges[0][0] < 0):
            return False
        exact = scalar.operator == "integer" or all(map(self._exact, numbers))
        return exact and found is not None and max(map(abs, found)) <= _EXACT

    def _whole(self, name: str, given: list[Any]) -> Any:
        """Return a whole number as a float, never of -0."""
        if name == "where":
            return self._plain(name, [given[0], self._float(given[1]), self._float(given[2])])
        numbers = [self._float(number) for number in given]
        if name == "negative":
            return self._plain("subtract", [0.0, *numbers])
        if name == "integer":
            return self._positive(self._rounded(numbers[0]))
        if name in ("floor_divide", "remainder"):
            first, second = numbers
            quotient = self._plain("floor", [self._plain("divide", numbers)])
            if name == "floor_divide":
                return quotient
            return self._plain("subtract", [first, self._plain("multiply", [quotient, second])])
        found = self._plain(name, numbers)
        below = any((self._range(number) or (-1, 0))[0] < 0 for number in numbers)
        return self._positive(found) if name == "multiply" and below else found

    def _rounded(self, number: Any) -> Any:
        """Return a number that is not below 0 without its fraction."""
        whole = isinstance(number, Scalar) and number.operator in _WHOLE
        return number if whole else self._plain("floor", [number])

    def _positive(self, number: Any) -> Any:
        """Return 0 for -0."""
        found = self._range(number)
        zero = found is None or found[0] <= 0 <= found[1]
        return self._plain("add", [number, 0.0]) if zero else number

    def _plain(self, name: str, operands: list[Any]) -> Any:
        """Return an operation, a constant or an operand where ranges tell."""
        if name == "where":
            return self.scalars.where(*operands)
        if any(isinstance(o, Scalar) for o in operands):
            if name in COMPARISONS:
                found = decided(name, *map(self._range, operands))
                if found is not None:
                    return found
            if name in ("minimum", "maximum"):
                less = decided("less_equal", *map(self._range, operands))
                more = decided("greater_equal", *map(self._range, operands))
                if less or more:
                    kind = "f" if "f" in map(kind_of, operands) else kind_of(operands[0])
                    return self.scalars.cast(operands[bool(less) is (name == "maximum")], kind)
        return self.scalars.apply(name, *operands)

    def _float(self, value: Any) -> Any:
        return self.scalars.cast(value, "f")

    def _exact(self, value: Any) -> bool:
        return self.below(value, _EXACT)

    def _range(self, value: Any) -> Range | None:
        """Return the range of a scalar made anew, or of a constant."""
        if not isinstance(value, Scalar):
            return range_of_constant(value)
        for scalar in in_order([value], self.ranges):
            if scalar.operator == "input":
                self.ranges[scalar] = self.of_inputs[scalar.operands[0]]
                continue
            numbers = () if scalar.operator in ("call", "part") else scalar.operands
            given = [
                self.ranges[o] if isinstance(o, Scalar) else range_of_constant(o) for o in numbers
            ]
            self.ranges[scalar] = range_of(scalar, given)
        return self.ranges[value]


def _lowest_bit(scalar: Scalar) -> bool:
    """Say whether a scalar is a whole number's lowest bit: `x & -x`."""
    first, *others = scalar.operands
    negative = scalar.operator == "and" and scalar.kind == "i" and others[0]
    return (
        isinstance(negative, Scalar)
        and negative.operator == "negative"
        and negative.operands[0] is first
    )


def _scalars(*values: Any) -> Iterator[Scalar]:
    return (value for value in values if isinstance(value, Scalar))
