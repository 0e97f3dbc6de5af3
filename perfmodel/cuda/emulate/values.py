"""What PTX instructions compute, on arrays: a function from operands to a result for each opcode.

Registers hold bits. An instruction sees them as its type says; arithmetic is the machine's, with
overflow and without exceptions, but for rounding, which is NumPy's.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array

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
    kind = kind_of(modifiers)
    dtype = _TYPES[kind]
    if dtype.kind == "f":
        return _FLOAT.get(opcode)
    if opcode in ("mul", "mad", "mul24", "mad24"):
        return _product(opcode, modifiers, dtype)
    if opcode in ("div", "rem"):
        return _division(opcode, dtype)
    if opcode in ("shl", "shr"):
        return _shift(opcode, dtype)
    return _WHOLE.get(opcode)


def compare(operator: str, a: Array, b: Array) -> Array:
    """Return the result of a comparison, by its name in PTX."""
    unordered = len(operator) == 3 and operator.endswith("u")
    name = operator[:2] if unordered else operator
    if name in ("num", "nan"):
        nan = np.isnan(a) | np.isnan(b)
        return ~nan if name == "num" else nan
    found = _COMPARE.get(name, np.equal)(a, b)
    if unordered and a.dtype.kind == "f":
        found = found | np.isnan(a) | np.isnan(b)
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
        return np.clip(found, 0, 1) if "sat" in modifiers else found
    if "sat" in modifiers:
        info = np.iinfo(dtype)
        value = np.clip(
            value,
            max(info.min, np.iinfo(value.dtype).min),
            min(info.max, np.iinfo(value.dtype).max),
        )
    return value.astype(dtype)


def population(value: Array) -> Array:
    """Return the bits that are set in each value."""
    return np.bitwise_count(value).astype(np.uint32)


def leading(value: Array) -> Array:
    """Return the zeros above the highest set bit of each unsigned value."""
    bits = 8 * value.dtype.itemsize
    found = value.copy()
    shift = 1
    while shift < bits:
        found |= found >> value.dtype.type(shift)
        shift *= 2
    return (bits - np.bitwise_count(found)).astype(np.uint32)


def reversed_bits(value: Array) -> Array:
    """Return the bits of each 32 or 64-bit value in reverse."""
    each = np.ascontiguousarray(value).view(np.uint8).reshape(-1, value.dtype.itemsize)
    bits = np.unpackbits(each, axis=1, bitorder="little")[:, ::-1]
    return np.packbits(bits, axis=1, bitorder="little").view(value.dtype).reshape(value.shape)


def _product(opcode: str, modifiers: tuple[str, ...], dtype: np.dtype[Any]) -> Work:
    product: Work = np.multiply
    if "wide" in modifiers:
        wide = np.dtype(f"{dtype.kind}{2 * dtype.itemsize}")

        def product(a: Array, b: Array) -> Array:
            return np.asarray(a.astype(wide) * b.astype(wide))

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


def _field(a: Array, position: Array, length: Array) -> Array:
    bits = 8 * a.dtype.itemsize
    at = (position & 255).astype(np.int64)
    size = (length & 255).astype(np.int64)
    moved = a >> np.minimum(at, bits - 1).astype(a.dtype)
    shifted = np.where(at >= bits, 0, moved).astype(np.int64)
    mask = np.where(size >= 63, -1, (np.int64(1) << np.minimum(size, 62)) - 1)
    found = shifted & mask
    if a.dtype.kind == "i":
        top = np.where((size > 0) & (size < bits), np.int64(1) << np.clip(size - 1, 0, 62), 0)
        found = (found ^ top) - top
    return found.astype(a.dtype)


def _insert(a: Array, b: Array, position: Array, length: Array) -> Array:
    dtype = b.dtype
    bits = 8 * dtype.itemsize
    at = np.minimum((position & 255).astype(np.uint64), np.uint64(63))
    size = np.minimum((length & 255).astype(np.uint64), np.uint64(63))
    mask = ((np.uint64(1) << size) - np.uint64(1)) << at
    found = (a.astype(np.uint64) << at & mask) | (b.astype(np.uint64) & ~mask)
    return (found & np.uint64((1 << bits) - 1)).astype(dtype)


def _bit_mask(start: Array, length: Array) -> Array:
    """Return words with so many bits set from a place on, cut off at the word's end: ``bmsk``."""
    at = np.minimum(start.astype(np.uint64), np.uint64(32))
    size = np.minimum(length.astype(np.uint64), np.uint64(32))
    mask = ((np.uint64(1) << size) - np.uint64(1)) << at
    return (mask & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def _permuted(a: Array, b: Array, selector: Array) -> Array:
    both = a.astype(np.uint64) | b.astype(np.uint64) << np.uint64(32)
    found = np.zeros(a.shape, dtype=np.uint64)
    for i in range(4):
        choice = selector.astype(np.uint64) >> np.uint64(4 * i) & np.uint64(15)
        byte = both >> (choice & np.uint64(7)) * np.uint64(8) & np.uint64(255)
        sign = np.where(byte & np.uint64(128), np.uint64(255), np.uint64(0))
        found |= np.where(choice & np.uint64(8), sign, byte) << np.uint64(8 * i)
    return found.astype(np.uint32)


def logic_of_three(a: Array, b: Array, c: Array, table: int) -> Array:
    """Return the bits that an ``lop3`` table gives for three operands."""
    a, b, c = np.broadcast_arrays(a, b, c)
    found = np.zeros_like(a)
    for row in range(8):
        if table >> row & 1:
            parts = [x if row >> (2 - i) & 1 else ~x for i, x in enumerate((a, b, c))]
            found |= parts[0] & parts[1] & parts[2]
    return found


def funnel(low: Array, high: Array, by: Array, left: bool, clamp: bool) -> Array:
    """Return 32 bits of a 64-bit value that is shifted: ``shf``."""
    both = low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)
    amount = by.astype(np.uint64)
    amount = np.minimum(amount, np.uint64(32)) if clamp else amount & np.uint64(31)
    moved = (both << amount) >> np.uint64(32) if left else both >> amount
    return moved.astype(np.uint32)


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
    "bfe": _field,
    "bfi": _insert,
    "prmt": _permuted,
    "bmsk": _bit_mask,
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
