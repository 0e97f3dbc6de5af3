"""Evaluation with Python numbers: exact, and quick for a single point."""

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.arrays import Array
from perfmodel.errors import PerfmodelError
from perfmodel.expressions.mixing import mixed, shuffled_arrays
from perfmodel.expressions.nodes import LONGEST_WRITTEN, Name, Node, Number, Operation, shown, text

MOST_PARTS: Final = 128
NEAR_BEST: Final = 0.85


def full_parts(blocks: int, pieces: int, slots: int) -> int:
    """Return the parts of each of `blocks`, which have so many pieces, for so many slots."""
    found = full_parts_arrays(np.array([blocks]), np.array([pieces]), np.array([slots]))
    return int(found[0])


def full_parts_arrays(blocks: Array, pieces: Array, slots: Array) -> npt.NDArray[np.int64]:
    """Return the same for arrays of integers."""
    # From so many pieces on, each part more has fewer of them.
    pieces = np.minimum(pieces, MOST_PARTS**2)
    if np.size(blocks) == np.size(slots) == 1:
        few, place = np.unique(pieces, return_inverse=True)
        shape = np.broadcast_shapes(np.shape(blocks), np.shape(pieces), np.shape(slots))
        return _full_parts(np.ravel(blocks), few, np.ravel(slots))[place].reshape(shape)
    return _full_parts(blocks, pieces, slots)


def _full_parts(blocks: Array, pieces: Array, slots: Array) -> npt.NDArray[np.int64]:
    blocks, pieces, slots = np.broadcast_arrays(blocks, pieces, slots)
    most = np.minimum(pieces, np.minimum(slots, MOST_PARTS))
    numbers = np.arange(1, int(np.max(most, initial=1)) + 1)
    count = numbers.reshape(-1, *(1,) * blocks.ndim)
    each = -(-pieces // count)
    changes = np.ones(each.shape, dtype=bool)
    changes[1:] = each[1:] != each[:-1]
    rounds = blocks * count / slots
    full = np.where(changes & (count <= most), rounds / np.ceil(rounds), 0.0)
    return np.asarray(1 + np.argmax(full >= NEAR_BEST * np.max(full, axis=0), axis=0))


Scalar = int | float

LARGEST_INTEGER: Final = 2**62
LARGEST_SHIFT: Final = 62

# Why an operation has no value; scalars and arrays say it in the same words.
ZERO_DIVISION: Final = "divides by zero; guard it with where(condition, a, b)"
OVERFLOW: Final = "overflows: integers go up to 2**62; use smaller sizes or float values"
FLOAT_OVERFLOW: Final = "overflows: the result is past the largest float"
SHIFT_RANGE: Final = f"shifts by less than 0 or more than {LARGEST_SHIFT}"
LOG_RANGE: Final = "takes log2 of a number that is not positive"
ROOT_RANGE: Final = "takes the root of a negative number"
WHOLE_NUMBERS: Final = "works on bits, so it needs whole numbers; use // or floor first"
PARTS: Final = "cuts less than one: the arguments of full_parts must be 1 or more"
CHOICES: Final = "chooses among fewer than one: the second argument must be 1 or more"
UNDEFINED: Final = "is undefined (infinity less infinity, or the like)"


BITWISE: Final = frozenset({"<<", ">>", "&", "|", "^", "random", "shuffled", "full_parts"})
"""Operations on whole numbers only."""

# Where an operation is undefined: which operand arrays replace, by what, why, and the test.
_Domain = tuple[int, int, str, Callable[..., Any]]
_DIVISION: Final[tuple[_Domain, ...]] = ((1, 1, ZERO_DIVISION, lambda a, b: b == 0),)
_SHIFT: Final[tuple[_Domain, ...]] = (
    (1, 0, SHIFT_RANGE, lambda a, b: (b < 0) | (b > LARGEST_SHIFT)),
)
DOMAINS: Final[dict[str, tuple[_Domain, ...]]] = {
    **dict.fromkeys(("/", "//", "%", "ceil_div"), _DIVISION),
    **dict.fromkeys(("<<", ">>"), _SHIFT),
    "log2": ((0, 1, LOG_RANGE, lambda a: a <= 0),),
    **dict.fromkeys(("random", "shuffled"), ((1, 1, CHOICES, lambda a, b: b < 1),)),
    "full_parts": (
        (0, 1, PARTS, lambda a, b, c: a < 1),
        (1, 1, PARTS, lambda a, b, c: b < 1),
        (2, 1, PARTS, lambda a, b, c: c < 1),
    ),
    "sqrt": ((0, 0, ROOT_RANGE, lambda a: a < 0),),
    "**": (
        (0, 1, ZERO_DIVISION, lambda a, b: (a == 0) & (b < 0)),
        (0, 1, ROOT_RANGE, lambda a, b: (a < 0) & (b != np.trunc(b))),
    ),
}


class NoValueError(Exception):
    """An operation has no value; says why, without naming the expression."""


def named(fault: NoValueError, node: Node) -> PerfmodelError:
    """Return the error that users see: the expression at fault, and why."""
    large = isinstance(node, Operation) and node.size > LONGEST_WRITTEN
    return PerfmodelError(f"{'an expression' if large else shown(text(node))} {fault}")


def evaluate_scalars(node: Node, values: Mapping[str, Scalar]) -> Scalar:
    """Evaluate with a checked Python number for each variable.

    Raises `PerfmodelError` if an operation overflows or is undefined.
    """
    known: dict[Node, Scalar] = {}

    def visit(part: Node) -> Scalar:
        if isinstance(part, Name):
            return values[part.name]
        if part in known:
            return known[part]
        try:
            result = compute(part)
            if isinstance(result, int):
                if not -LARGEST_INTEGER <= result <= LARGEST_INTEGER:
                    raise NoValueError(OVERFLOW)
            elif result != result:
                raise NoValueError(UNDEFINED)
        except NoValueError as fault:
            raise named(fault, part) from None
        known[part] = result
        return result

    def compute(part: Number | Operation) -> Scalar:
        if isinstance(part, Number):
            return part.value
        operands = part.operands
        if part.operator == "where":
            return +visit(operands[1] if visit(operands[0]) else operands[2])
        if part.operator == "and":
            return all(visit(operand) for operand in operands)
        if part.operator == "or":
            return any(visit(operand) for operand in operands)
        arguments = [visit(operand) for operand in operands]
        if part.operator in BITWISE:
            if any(isinstance(value, float) for value in arguments):
                raise NoValueError(WHOLE_NUMBERS)
            arguments = [int(value) for value in arguments]
        for _, _, reason, is_bad in DOMAINS.get(part.operator, ()):
            if is_bad(*arguments):
                raise NoValueError(reason)
        try:
            result: Scalar = FUNCTIONS[part.operator](*arguments)
        except OverflowError:
            raise NoValueError(FLOAT_OVERFLOW) from None
        if isinstance(result, float) and math.isinf(result) and all(map(math.isfinite, arguments)):
            raise NoValueError(FLOAT_OVERFLOW)
        return result

    return visit(node)


def _rounded(function: Callable[[float], int]) -> Callable[[Scalar], int]:
    def checked(a: Scalar) -> int:
        if isinstance(a, float) and math.isinf(a):
            raise NoValueError(OVERFLOW)
        return function(a)

    return checked


def _divide(a: Scalar, b: Scalar) -> float:
    return float(a) / float(b)


def _ceil_div(a: Scalar, b: Scalar) -> Scalar:
    return -(-a // b)


def _shuffled(a: int, b: int) -> int:
    return int(shuffled_arrays(np.array([a]), np.array([b]))[0])


def _power(a: Scalar, b: Scalar) -> Scalar:
    if isinstance(a, int) and isinstance(b, int):
        if abs(a) > 1 and b > LARGEST_SHIFT:
            raise NoValueError(OVERFLOW)  # before Python builds a number of any size
        if b >= 0:
            return int(a**b)
    return float(float(a) ** float(b))


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": _power,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "not": operator.not_,
    "neg": operator.neg,
    "abs": abs,
    "min": min,
    "max": max,
    "floor": _rounded(math.floor),
    "ceil": _rounded(math.ceil),
    "ceil_div": _ceil_div,
    "log2": math.log2,
    "sqrt": math.sqrt,
    "random": mixed,
    "shuffled": _shuffled,
    "full_parts": full_parts,
}
