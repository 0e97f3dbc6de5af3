"""Floats that NumPy has no type for: bfloat16, FP8, and registers that hold two narrow floats.

They are worked on as 32-bit floats and rounded to the nearest, ties to even, as PTX says.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.cuda.emulate import values
from perfmodel.cuda.emulate.machine import Active, Machine, Step
from perfmodel.cuda.parse.syntax import Instruction, Vector

_FLOAT: Final = np.dtype(np.float32)
_BITS: Final = {"f16": 16, "bf16": 16, "e4m3": 8, "e5m2": 8}
"""Bits of each type; a register of two is called by its type and x2."""
NARROW: Final = frozenset({"bf16", *(f"{kind}x2" for kind in _BITS)})
"""Types of registers that are read and written here."""
NARROW_WORK: Final = frozenset(
    {"add", "sub", "mul", "fma", "min", "max", "neg", "abs", "ex2", "tanh"}
)
"""Arithmetic that they have."""


def narrow_step(machine: Machine, instruction: Instruction) -> Step | None:
    """Return arithmetic on narrow floats, or None if it is not followed."""
    *how, kind = instruction.modifiers
    work = values.work(instruction.opcode, (*how, "f32"))
    (write,) = machine.setters(instruction.operands[0])
    if work is None:
        return None
    held = np.dtype(f"u{_width(kind) // 8}")
    reads = [machine.getter(o, held) for o in instruction.operands[1:]]

    def run(active: Active) -> None:
        parts = zip(*(unpacked(read(active), kind) for read in reads), strict=True)
        found = [np.asarray(work(*part), dtype=_FLOAT) for part in parts]
        write(packed(found, kind), active)

    return run


def narrow_conversion(machine: Machine, instruction: Instruction) -> Step | None:
    """Return a conversion from or to narrow floats, or None if it is not followed.

    Of two sources the first is the upper half.
    """
    to, source = instruction.modifiers[-2:]
    target, *sources = instruction.operands
    if any(isinstance(o, Vector) for o in instruction.operands):
        return None
    (write,) = machine.setters(target)
    read: Callable[[Active], list[Array]]
    if source in NARROW:
        get = machine.getter(sources[0], np.dtype(f"u{_width(source) // 8}"))

        def read(active: Active) -> list[Array]:
            return unpacked(get(active), source)

    else:
        dtype = values.dtype_of(source)
        if dtype is None or len(sources) != _count(to):
            return None
        gets = [machine.getter(o, dtype) for o in reversed(sources)]

        def read(active: Active) -> list[Array]:
            return [get(active).astype(_FLOAT) for get in gets]

    if to in NARROW:
        if source in NARROW and _count(to) != _count(source):
            return None
        return lambda active: write(packed(read(active), to), active)
    if values.dtype_of(to) is None or _count(source) != 1:
        return None
    modifiers = instruction.modifiers
    return lambda active: write(values.converted(read(active)[0], to, modifiers), active)


def unpacked(value: Array, kind: str) -> list[Array]:
    """Return the floats that a register holds, the lowest first."""
    one = kind.removesuffix("x2")
    bits = _BITS[one]
    mask = (1 << bits) - 1
    return [
        _widened((value.astype(np.uint32) >> np.uint32(bits * i)) & np.uint32(mask), one)
        for i in range(_count(kind))
    ]


def packed(parts: list[Array], kind: str) -> Array:
    """Return the register that holds some floats, the lowest first, rounded to a narrow type."""
    one = kind.removesuffix("x2")
    found = np.zeros((), dtype=np.uint32)
    for i, part in enumerate(parts):
        found = found | _narrowed(np.ascontiguousarray(part), one) << np.uint32(_BITS[one] * i)
    return np.asarray(found).astype(np.dtype(f"u{_width(kind) // 8}"))


def _count(kind: str) -> int:
    return 2 if kind.endswith("x2") else 1


def _width(kind: str) -> int:
    return _BITS[kind.removesuffix("x2")] * _count(kind)


def _widened(bits: Array, kind: str) -> Array:
    """Return the 32-bit floats that some bits stand for."""
    if kind == "bf16":
        return (bits << np.uint32(16)).view(_FLOAT)
    if kind == "e4m3":
        return _E4M3[bits]
    # e5m2 is the upper half of f16.
    half = bits << np.uint32(8) if kind == "e5m2" else bits
    return half.astype(np.uint16).view(np.float16).astype(_FLOAT)


def _narrowed(value: Array, kind: str) -> Array:
    """Return the bits of 32-bit floats rounded to a narrow type."""
    if kind == "f16":
        return value.astype(np.float16).view(np.uint16).astype(np.uint32)
    if kind == "e4m3":
        size = np.abs(np.nan_to_num(value, nan=0.0))
        place = np.searchsorted(_BETWEEN, size, side="left").astype(np.uint32)
        return np.asarray(place | np.signbit(value).astype(np.uint32) << np.uint32(7))
    bits = value.view(np.uint32)
    if kind == "e5m2":
        bits = value.astype(np.float16).view(np.uint16).astype(np.uint32)
    dropped = np.uint32(8 if kind == "e5m2" else 16)
    even = (bits >> dropped) & np.uint32(1)
    half = np.uint32((1 << int(dropped) - 1) - 1)
    # What is no number stays none: rounding would carry it over into zero.
    return np.asarray(np.where(np.isnan(value), bits, bits + half + even)) >> dropped


def _e4m3() -> Array:
    """Return the floats that the 256 bit patterns of E4M3 stand for (PTX ISA)."""
    bits = np.arange(256)
    exponent, fraction = bits >> 3 & 15, bits & 7
    size = np.where(
        exponent == 0, fraction * 2.0**-9, (8 + fraction) * 2.0 ** (exponent.astype(float) - 10)
    )
    size = np.where((exponent == 15) & (fraction == 7), np.nan, size)
    return np.asarray(np.where(bits & 128, -size, size).astype(_FLOAT))


_E4M3: Final = _e4m3()
_BETWEEN: Final = (_E4M3[:126] + _E4M3[1:127]) / 2
"""Where the next larger of the finite numbers is nearer; larger ones saturate."""
