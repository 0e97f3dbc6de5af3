"""Products of matrices on tensor cores: what one instruction of PTX asks of them."""

from __future__ import annotations

import re
from typing import Final

from perfmodel.frontends.ptx.syntax import Instruction

_SHAPE: Final = re.compile(r"m(\d+)n(\d+)k(\d+)")
_WARP: Final = 32
_GROUP: Final = 128
"""Threads that a wgmma instruction is of."""
_MULTIPLIED: Final = {
    **dict.fromkeys(("f16", "bf16"), 1.0),
    "tf32": 2.0,
    **dict.fromkeys(("e4m3", "e5m2", "s8", "u8"), 0.5),
    **dict.fromkeys(("s4", "u4"), 0.25),
    **dict.fromkeys(("b1",), 1 / 16),
}
"""Time of a multiply-accumulate over that of 16-bit ones: NVIDIA H100 white paper, dense rates."""
_GROUP_PIPES: Final = {
    "f16": "fp16_tensor",
    "bf16": "bf16_tensor",
    "tf32": "tf32_tensor",
    "e4m3": "fp8_tensor",
    "e5m2": "fp8_tensor",
    "s8": "fp8_tensor",
    "u8": "fp8_tensor",
}
_CEILINGS: Final = {
    "f16": "fp16_tensor",
    "bf16": "bf16_tensor",
    "tf32": "tf32_tensor",
    "e4m3": "fp8_tensor",
    "e5m2": "fp8_tensor",
    "s8": "int8_tensor",
    "u8": "int8_tensor",
    "f64": "fp64_tensor",
}


def multiply_accumulates(instruction: Instruction) -> int:
    """Return the multiply-accumulates of all threads that make the instruction; 0 of others."""
    if instruction.opcode not in ("mma", "wgmma", "wmma"):
        return 0
    if instruction.opcode != "mma" and not {"mma", "mma_async"} & {*instruction.modifiers}:
        return 0
    shape = next((s for m in instruction.modifiers if (s := _SHAPE.fullmatch(m))), None)
    if shape is None:
        return 0
    m, n, k = (int(part) for part in shape.groups())
    return m * n * k


def tensor_flop(instruction: Instruction) -> tuple[str, float]:
    """Return a product's ceiling, a key of `PRECISIONS`, and its FLOP for a thread; 0 of others."""
    macs = multiply_accumulates(instruction)
    if not macs:
        return "fp32", 0.0
    threads = _GROUP if instruction.opcode == "wgmma" else _WARP
    return _CEILINGS.get(_multiplied(instruction), "fp16_tensor"), 2.0 * macs / threads


def _multiplied(instruction: Instruction) -> str:
    """Return the type that a product multiplies."""
    # Types stand as d, a, b, c; those of a and b are multiplied.
    types = [m for m in instruction.modifiers if m in _MULTIPLIED or m in ("f32", "f64", "s32")]
    kind = next((m for m in types if m in _MULTIPLIED and m != "f16"), None)
    return kind or ("f64" if "f64" in types else "f16")


def tensor_counts(instruction: Instruction) -> dict[str, float] | None:
    """Return a product's count for a thread by pipe, as `PIPES` counts; None if it is none.

    Parameters
    ----------
    instruction : Instruction
    """
    macs = multiply_accumulates(instruction)
    if not macs:
        return None
    kind = _multiplied(instruction)
    if instruction.opcode == "wgmma":
        return {_GROUP_PIPES.get(kind, "fp16_tensor"): macs / _GROUP, "other": 1.0}
    if kind == "f64":
        # Twice the rate of the other pipe (H100 white paper).
        return {"fma64": macs / _WARP / 2}
    return {"tensor16": macs / _WARP * _MULTIPLIED[kind]}
