"""What PTX instructions compute, on arrays: a function from operands to a result for each opcode.

Registers hold bits. An instruction sees them as its type says; arithmetic is the machine's, with
overflow and without exceptions, but for rounding, which is NumPy's.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.cuda.emulate import bitwise

Work = Callable[..., Array]

_TYPES: Final = {
    **{
        f"{k}{b}": np.dtype(f"{'i' if k == 's' else 'u'}{b // 8}")
        for k in "bsu"
        for b in (8, 16, 32, 64)
    },
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "pred": np.dtype(bool),
}
HALVES: Final = frozenset({"s16x2", "u16x2"})
"""Types of registers that hold two integers."""


def dtype_of(kind: str) -> np.dtype[Any] | None:
    """Return how NumPy sees a PTX type, or None for one that is not followed."""
    return _TYPES.get(kind)


def kind_of(modifiers: Sequence[str]) -> str:
    """Return the type that an instruction works on: the last of its modifiers that is one."""
    return next((m for m in reversed(modifiers) if m in _TYPES), "b32")


def type_of(modifiers: Sequence[str]) -> np.dtype[Any]:
    """Return how NumPy sees the type that an instruction works on."""
    return _TYPES[kind_of(modifiers)]


def work(opcode: str, modifiers: tuple[str, ...]) -> Work | None:
    """Return what an instruction computes from its operands, or None if that is not followed."""
    last = modifiers[-1] if modifiers else ""
    if last in HALVES:
        return _in_halves(_whole(opcode, modifiers, _TYPES[last[:3]]), last[:3])
    dtype = type_of(modifiers)
    if dtype.kind == "f":
        return _float(opcode, modifiers)
    return _whole(opcode, modifiers, dtype)


def _whole(opcode: str, modifiers: tuple[str, ...], dtype: np.dtype[Any]) -> Work | None:
    """Return what an instruction computes from integers."""
    if "sat" in modifiers:
        return _saturating(opcode, modifiers, dtype)
    if opcode == "dp4a" and len(modifiers) == 2:
        return partial(bitwise.dot_of_bytes, kinds=modifiers)
    if opcode in ("mul", "mad", "mul24", "mad24"):
        return _product(opcode, modifiers, dtype)
    if opcode in ("div", "rem"):
        return _division(opcode, dtype)
    if opcode in ("shl", "shr"):
        return _shift(opcode, dtype)
    found = _WHOLE.get(opcode)
    if opcode == "prmt" and modifiers[-1] in bitwise.PERMUTED:
        table = np.array(bitwise.PERMUTED[modifiers[-1]], dtype=np.uint32)
        return lambda a, b, mode: bitwise.permuted(a, b, table[mode & np.uint32(3)])
    return _not_negative(found) if found and "relu" in modifiers else found


def _float(opcode: str, modifiers: tuple[str, ...]) -> Work | None:
    """Return what an instruction computes from floating-point numbers."""
    if "xorsign" in modifiers:
        return None
    found = _FLOAT.get(opcode)
    if "NaN" in modifiers:  # what is no number is handed on
        found = {"min": np.minimum, "max": np.maximum}.get(opcode)
    if found is None:
        return None
    if "sat" in modifiers:
        return lambda *given: clamped(found(*given))
    return _not_negative(found) if "relu" in modifiers else found


def clamped(value: Array) -> Array:
    """Return floating-point numbers from 0 to 1: 0 for what is none."""
    return np.asarray(np.fmin(np.fmax(value, value.dtype.type(0)), value.dtype.type(1)))


def _not_negative(found: Work) -> Work:
    def work(*given: Array) -> Array:
        value = found(*given)
        return np.asarray(np.maximum(value, value.dtype.type(0)))

    return work


def _saturating(opcode: str, modifiers: tuple[str, ...], dtype: np.dtype[Any]) -> Work | None:
    """Return a sum or difference of integers that stays in their type's range."""
    if opcode in ("add", "sub"):
        return _saturated(_WHOLE[opcode], dtype)
    if opcode == "mad" and "hi" in modifiers:
        add = _saturated(np.add, dtype)
        return lambda a, b, c: add(_high(a, b), c)
    return None


def _saturated(found: Work, dtype: np.dtype[Any]) -> Work:
    info, wide = np.iinfo(dtype), np.int64
    return lambda *given: np.clip(
        found(*(g.astype(wide) for g in given)), info.min, info.max
    ).astype(dtype)


def _in_halves(found: Work | None, kind: str) -> Work | None:
    """Return what does the same with the halves of 32-bit registers."""
    if found is None:
        return None
    dtype, half, word = _TYPES[kind], np.uint16, np.uint32

    def work(*given: Array) -> Array:
        low, high = (
            found(*((g >> word(by)).astype(half).view(dtype) for g in given)).view(half)
            for by in (0, 16)
        )
        return np.asarray(low.astype(word) | high.astype(word) << word(16))

    return work


def compare(operator: str, a: Array, b: Array) -> Array:
    """Return the result of a comparison, by its name in PTX."""
    unordered = len(operator) == 3 and operator.endswith("u")
    name = operator[:2] if unordered else operator
    if name in ("num", "nan"):
        nan = np.isnan(a) | np.isnan(b)
        return ~nan if name == "num" else nan
    found = _COMPARE.get(name, np.equal)(a, b)
    if a.dtype.kind == "f" and (unordered or name == "ne"):
        nan = np.isnan(a) | np.isnan(b)
        found = found | nan if unordered else found & ~nan
    return np.asarray(found)


def converted(value: Array, to: str, modifiers: Sequence[str]) -> Array:
    """Return values of one type as another, rounded and saturated as the modifiers say."""
    dtype = _TYPES[to]
    whole = next((_ROUNDINGS[m] for m in modifiers if m in _ROUNDINGS), None)
    if value.dtype.kind == "f" and dtype.kind in "iu":
        info = np.iinfo(dtype)
        wide = np.nan_to_num((whole or np.rint)(value).astype(np.float64), nan=0.0)
        inside = np.clip(wide, float(info.min), float(info.max))
        # The largest 64-bit number is no float: those at the edge are set by hand.
        found = np.where(inside >= float(info.max), 0, inside).astype(dtype)
        return np.asarray(np.where(inside >= float(info.max), info.max, found).astype(dtype))
    if dtype.kind == "f":
        found = value.astype(dtype)
        if whole is not None and value.dtype.kind == "f":
            found = whole(found).astype(dtype)
        return clamped(found) if "sat" in modifiers else found
    if "sat" in modifiers:
        info = np.iinfo(dtype)
        value = np.clip(
            value,
            max(info.min, np.iinfo(value.dtype).min),
            min(info.max, np.iinfo(value.dtype).max),
        )
    return value.astype(dtype)


def _product(opcode: str, modifiers: tuple[str, ...], dtype: np.dtype[Any]) -> Work:
    product: Work = np.multiply
    if "wide" in modifiers:
        wide = np.dtype(f"{dtype.kind}{2 * dtype.itemsize}")

        def product(a: Array, b: Array) -> Array:
            return np.asarray(a.astype(wide) * b.astype(wide))

    elif opcode.endswith("24"):
        upper, shift = "hi" in modifiers, dtype.type(8)

        def product(a: Array, b: Array) -> Array:
            # The lower 24 bits of each, with their sign; of 48 bits the upper or lower 32.
            x, y = ((part << shift >> shift).astype(np.int64) for part in (a, b))
            return np.asarray((x * y >> np.int64(16 if upper else 0)).astype(dtype))

    elif "hi" in modifiers:
        product = _high
    return (lambda a, b, c: product(a, b) + c) if opcode.startswith("mad") else product


def _high(a: Array, b: Array) -> Array:
    """Return the upper half of products."""
    dtype = a.dtype
    bits = 8 * dtype.itemsize
    if bits <= 32:
        wide = np.dtype(f"{dtype.kind}8")
        return np.asarray((a.astype(wide) * b.astype(wide) >> wide.type(bits)).astype(dtype))
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    x, y = a.view(np.uint64), b.view(np.uint64)
    low = (x & mask) * (y & mask)
    middle = (x >> half) * (y & mask) + (low >> half)
    other = (x & mask) * (y >> half) + (middle & mask)
    high = (x >> half) * (y >> half) + (middle >> half) + (other >> half)
    if dtype.kind == "i":
        high = high - np.where(a < 0, y, np.uint64(0)) - np.where(b < 0, x, np.uint64(0))
    return np.asarray(high.view(dtype))


def _division(opcode: str, dtype: np.dtype[Any]) -> Work:
    def divide(a: Array, b: Array) -> Array:
        safe = np.where(b == 0, dtype.type(1), b)
        quotient = a // safe
        if dtype.kind == "i":  # towards zero
            quotient = quotient + ((quotient < 0) & (quotient * safe != a)).astype(dtype)
        if opcode == "rem":
            return np.asarray(np.where(b == 0, a, a - quotient * safe))
        return np.asarray(
            np.where(b == 0, dtype.type(-1) if dtype.kind == "i" else np.iinfo(dtype).max, quotient)
        )

    return divide


def _shift(opcode: str, dtype: np.dtype[Any]) -> Work:
    bits = 8 * dtype.itemsize

    def shift(a: Array, by: Array) -> Array:
        if by.ndim == 0 and int(by) < bits:  # an immediate
            return np.asarray(a << dtype.type(by) if opcode == "shl" else a >> dtype.type(by))
        amount = by.astype(np.uint64)
        inside = np.minimum(amount, np.uint64(bits - 1)).astype(dtype)
        if opcode == "shl":
            return np.asarray(np.where(amount >= bits, dtype.type(0), a << inside))
        if dtype.kind == "i":
            return np.asarray(a >> inside)
        return np.asarray(np.where(amount >= bits, dtype.type(0), a >> inside))

    return shift


def fused(a: Array, b: Array, c: Array) -> Array:
    """Return a product and a sum that are rounded once.

    Rounded twice they often cancel to nothing, where the hardware leaves the product's rounding
    error; elsewhere both are alike but for the last bits, and are left as they are.
    """
    found = np.asarray(a * b + c)
    cancelled = found == 0
    if cancelled.any():
        cancelled = cancelled & (a != 0) & (b != 0)  # a product with 0 is exact
    if not cancelled.any():
        return found
    wide = np.longdouble if found.dtype == np.float64 else np.float64
    parts = [np.broadcast_to(x, found.shape)[cancelled].astype(wide) for x in (a, b, c)]
    found[cancelled] = (parts[0] * parts[1] + parts[2]).astype(found.dtype)
    return found


_ROUNDINGS: Final[dict[str, Work]] = {
    "rni": np.rint,
    "rzi": np.trunc,
    "rmi": np.floor,
    "rpi": np.ceil,
}
_COMPARE: Final[dict[str, Work]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    **dict.fromkeys(("lt", "lo"), np.less),
    **dict.fromkeys(("le", "ls"), np.less_equal),
    **dict.fromkeys(("gt", "hi"), np.greater),
    **dict.fromkeys(("ge", "hs"), np.greater_equal),
}
_WHOLE: Final[dict[str, Work]] = {
    "add": np.add,
    "sub": np.subtract,
    "min": np.minimum,
    "max": np.maximum,
    "neg": np.negative,
    "abs": np.abs,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "not": np.invert,
    "cnot": lambda a: (a == 0).astype(a.dtype),
    "sad": lambda a, b, c: np.where(a > b, a - b, b - a) + c,
    "bfe": bitwise.field,
    "bfi": bitwise.inserted,
    "prmt": bitwise.permuted,
    "bmsk": bitwise.bit_mask,
}
_FLOAT: Final[dict[str, Work]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "fma": fused,
    "mad": fused,
    "min": np.fmin,
    "max": np.fmax,
    "neg": np.negative,
    "abs": np.abs,
    "rcp": lambda a: np.divide(a.dtype.type(1), a),
    "sqrt": np.sqrt,
    "rsqrt": lambda a: np.divide(a.dtype.type(1), np.sqrt(a)),
    "sin": np.sin,
    "cos": np.cos,
    "ex2": np.exp2,
    "lg2": np.log2,
    "tanh": np.tanh,
    "copysign": lambda a, b: np.copysign(b, a),
}
