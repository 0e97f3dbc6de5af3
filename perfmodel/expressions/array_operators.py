"""Operators on NumPy arrays: their functions, bounds of results, and where they are undefined."""

from collections.abc import Callable
from functools import reduce
from typing import Any, Final

import numpy as np

from perfmodel.expressions.mixing import mixed_arrays, shuffled_arrays
from perfmodel.expressions.scalars import LARGEST_SHIFT, full_parts_arrays


def _power_bound(base: int, exponent: int) -> int:
    return int(base ** min(exponent, LARGEST_SHIFT + 1)) if base > 1 else 1


def _bits_bound(a: int, b: int) -> int:
    return 1 << max(a, b).bit_length()


def _remainder(a: Any, b: Any) -> Any:
    """Return ``np.remainder(a, b)``; of whole numbers in floats, many times as fast."""
    if b.ndim == 0 and a.dtype.kind == b.dtype.kind == "i":
        return a - a // b * b  # NumPy divides by one integer in half the time that "%" takes
    if a.dtype.kind != "f" or not (_whole(a) and _whole(b)):
        return np.remainder(a, b)
    # a/b is further from the next whole number than it is rounded, so that floor is right.
    return a - np.floor(a / b) * b


def _whole(values: Any) -> bool:
    """Say whether floats are whole numbers under 2**52."""
    return bool(np.all(np.abs(values) < 2**52) and np.all(values == np.floor(values)))


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.true_divide,
    "//": np.floor_divide,
    "%": _remainder,
    "**": np.power,
    "<<": np.left_shift,
    ">>": np.right_shift,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "==": np.equal,
    "!=": np.not_equal,
    "neg": np.negative,
    "abs": np.absolute,
    "min": lambda *arrays: reduce(np.minimum, arrays),
    "max": lambda *arrays: reduce(np.maximum, arrays),
    "floor": np.floor,
    "ceil": np.ceil,
    "ceil_div": lambda a, b: -(-a // b),
    "log2": np.log2,
    "sqrt": np.sqrt,
    "random": mixed_arrays,
    "shuffled": shuffled_arrays,
    "full_parts": full_parts_arrays,
}

# Of |result|, from the operands' bounds; operators that are not here give floats.
BOUNDS: Final[dict[str, Callable[..., int]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a,
    "%": lambda a, b: b,
    "ceil_div": lambda a, b: a,
    "**": _power_bound,
    "<<": lambda a, b: a << min(b, LARGEST_SHIFT),
    ">>": lambda a, b: a,
    "&": _bits_bound,
    "|": _bits_bound,
    "^": _bits_bound,
    "neg": lambda a: a,
    "abs": lambda a: a,
    "min": max,
    "max": max,
    "random": lambda a, b: b,
    "shuffled": lambda a, b: b,
    "full_parts": lambda a, b, c: max(b, 1),
}

# How to compute in floats what may wrap around 2**64 in integers.
APPROXIMATE: Final[dict[str, Callable[..., Any]]] = {
    "*": np.multiply,
    "**": np.power,
    "<<": lambda a, b: a * np.exp2(b),
}
