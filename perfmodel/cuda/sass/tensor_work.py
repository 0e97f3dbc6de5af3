"""Products of matrices on tensor cores: what one instruction of PTX asks of them."""

import re
from typing import Final

from perfmodel.cuda.parse.syntax import Immediate, Instruction
from perfmodel.cuda.sass.opcodes import latencies
from perfmodel.hardware.device import WARP_SIZE

_SHAPE: Final = re.compile(r"m(\d+)n(\d+)k(\d+)")
GROUP: Final = 128
"""Threads of a warp group, which makes a wgmma instruction together."""
_SPARSE: Final = 0.5
"""Share of a sparse product's multiply-accumulates that tensor cores make: of four values of A two
are zero (PTX ISA, sparse matrix storage)."""
_RATE: Final = {
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
    **dict.fromkeys(("e4m3", "e5m2", "s8", "u8", "b1"), "fp8_tensor"),
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


def product_shape(instruction: Instruction) -> tuple[int, int, int] | None:
    """Return m, n and k of a product of matrices, or of its fragments; None of others."""
    shape = next((s for word in instruction.modifiers if (s := _SHAPE.fullmatch(word))), None)
    return None if shape is None else (int(shape[1]), int(shape[2]), int(shape[3]))


def multiply_accumulates(instruction: Instruction) -> float:
    """Return the multiply-accumulates that tensor cores make for an instruction; 0 of others.

    Of all threads that make it: a warp's, of wgmma a warp group's. A sparse product's zeros do not
    count.
    """
    if instruction.opcode not in ("mma", "wgmma", "wmma"):
        return 0.0
    if instruction.opcode != "mma" and not {"mma", "mma_async"} & {*instruction.modifiers}:
        return 0.0
    shape = product_shape(instruction)
    if shape is None:
        return 0.0
    m, n, k = shape
    sparse = any(word.partition("::")[0] == "sp" for word in instruction.modifiers)
    return m * n * k * (_SPARSE if sparse else 1.0)


def tensor_flop(instruction: Instruction) -> tuple[str, float]:
    """Return a product's ceiling, a key of `PRECISIONS`, and its FLOP for a thread; 0 of others."""
    macs = multiply_accumulates(instruction)
    if not macs:
        return "fp32", 0.0
    threads = GROUP if instruction.opcode == "wgmma" else WARP_SIZE
    return _CEILINGS.get(_multiplied(instruction), "fp16_tensor"), 2.0 * macs / threads


def tensor_clocks(instruction: Instruction) -> float:
    """Return the clocks for which a product takes the tensor cores of those that make it.

    Of wgmma all four of an SM, of a warp's product that of its scheduler, which reaches two thirds
    of the rate: see ``[tensor]`` of ``latencies.toml``. 0 of other instructions, and of products of
    doubles, which are counted as instructions of the FP64 pipe.
    """
    kind = _multiplied(instruction)
    macs = multiply_accumulates(instruction) * _RATE.get(kind, 0.0)
    found = latencies()
    rate = found.group_macs if instruction.opcode == "wgmma" else found.warp_macs
    return macs / rate


def waits_for_products(instruction: Instruction) -> bool:
    """Say whether an instruction waits for all wgmma of its warp group: ``wait_group 0``."""
    if instruction.opcode != "wgmma" or "wait_group" not in instruction.modifiers:
        return False
    return all(isinstance(o, Immediate) and o.value == 0 for o in instruction.operands)


def _multiplied(instruction: Instruction) -> str:
    """Return the type that a product multiplies."""
    # Types stand as d, a, b, c; those of a and b are multiplied.
    types = [m for m in instruction.modifiers if m in _RATE or m in ("f32", "f64", "s32")]
    kind = next((m for m in types if m in _RATE and m != "f16"), None)
    return kind or ("f64" if "f64" in types else "f16")


def tensor_counts(instruction: Instruction) -> dict[str, float] | None:
    """Return a product's count for a thread by pipe, as `PIPES` counts; None if it is none."""
    macs = multiply_accumulates(instruction)
    if not macs:
        return None
    kind = _multiplied(instruction)
    if instruction.opcode == "wgmma":
        pipe = _GROUP_PIPES.get(kind, "fp16_tensor")
        # A pipe counts its own type's; of bits, eight for one of eight bits.
        return {pipe: macs / GROUP / (8 if kind == "b1" else 1), "other": 1.0}
    if kind == "f64":
        # Twice the rate of the other pipe (H100 white paper).
        return {"fma64": macs / WARP_SIZE / 2}
    return {"tensor16": macs / WARP_SIZE * _RATE[kind]}
