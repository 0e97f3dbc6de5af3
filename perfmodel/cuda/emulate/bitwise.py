"""What PTX instructions make of the bits and bytes of registers, on arrays."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from perfmodel.arrays import Array


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


def field(a: Array, position: Array, length: Array) -> Array:
    """Return so many bits of values from a place on: ``bfe``."""
    bits = 8 * a.dtype.itemsize
    at = (position & 255).astype(np.int64)
    size = (length & 255).astype(np.int64)
    moved = a >> np.minimum(at, bits - 1).astype(a.dtype)
    # Beyond the highest bit there are signs.
    shifted = np.where((at >= bits) & (a.dtype.kind == "u"), 0, moved).astype(np.int64)
    mask = np.where(size >= 63, -1, (np.int64(1) << np.minimum(size, 62)) - 1)
    found = shifted & mask
    if a.dtype.kind == "i":
        top = np.where((size > 0) & (size < bits), np.int64(1) << np.clip(size - 1, 0, 62), 0)
        found = (found ^ top) - top
    return found.astype(a.dtype)


def inserted(a: Array, b: Array, position: Array, length: Array) -> Array:
    """Return values b with the lowest bits of a put in at a place: ``bfi``."""
    dtype = b.dtype
    bits = 8 * dtype.itemsize
    at = np.minimum((position & 255).astype(np.uint64), np.uint64(63))
    size = np.minimum((length & 255).astype(np.uint64), np.uint64(63))
    mask = ((np.uint64(1) << size) - np.uint64(1)) << at
    found = (a.astype(np.uint64) << at & mask) | (b.astype(np.uint64) & ~mask)
    return (found & np.uint64((1 << bits) - 1)).astype(dtype)


def bit_mask(start: Array, length: Array) -> Array:
    """Return words with so many bits set from a place on, cut off at the word's end: ``bmsk``."""
    at = np.minimum(start.astype(np.uint64), np.uint64(32))
    size = np.minimum(length.astype(np.uint64), np.uint64(32))
    mask = ((np.uint64(1) << size) - np.uint64(1)) << at
    return (mask & np.uint64(0xFFFFFFFF)).astype(np.uint32)


def permuted(a: Array, b: Array, selector: Array) -> Array:
    """Return bytes of two words, chosen by four bits each: ``prmt``."""
    both = a.astype(np.uint64) | b.astype(np.uint64) << np.uint64(32)
    found = np.zeros(np.broadcast_shapes(both.shape, selector.shape), dtype=np.uint64)
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


def dot_of_bytes(a: Array, b: Array, c: Array, kinds: Sequence[str]) -> Array:
    """Return the sum of the products of two words' bytes, and of a third word: ``dp4a``."""
    found = c.astype(np.int64)
    for i in range(4):
        x, y = (
            (word >> np.uint32(8 * i)).astype(np.uint8).view(f"{'i' if k == 's32' else 'u'}1")
            for word, k in zip((a, b), kinds, strict=True)
        )
        found = found + x.astype(np.int64) * y.astype(np.int64)
    return found.astype(np.uint32)


def packed(a: Array, b: Array, c: Array | None = None, *, kind: str) -> Array:
    """Return two numbers as parts of a word, b below a, and what fits of c above: ``cvt.pack``."""
    bits = int(kind[1:])
    least, most = (
        (-(1 << bits - 1), (1 << bits - 1) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)
    )
    # Signs above a part are cut off.
    low, high = (
        np.clip(x, least, most).astype(np.uint32) & np.uint32((1 << bits) - 1) for x in (b, a)
    )
    found = low | high << np.uint32(bits)
    return found if c is None else np.asarray(found | c << np.uint32(2 * bits))


PACKED: Final = frozenset({"u2", "s2", "u4", "s4", "u8", "s8", "u16", "s16"})
"""Types that ``cvt.pack`` saturates to (PTX ISA)."""
PERMUTED: Final = {
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543),
    "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210),
    "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}
"""Selectors that the modes of ``prmt`` stand for (PTX ISA)."""
