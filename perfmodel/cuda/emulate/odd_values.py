"""Odd values: which operands of divisions, reciprocals and roots take the long way, and what it is.

What rounds correctly refines an approximation, which fails for zeros, infinities, subnormal and
extreme numbers. Machine code checks for them and calls a function; one lane is enough for its warp.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.cuda.emulate.machine import Active, Machine, Step
from perfmodel.cuda.parse.once import once
from perfmodel.cuda.parse.syntax import Function, Instruction
from perfmodel.kernels.doubt import SURE, Doubt
from perfmodel.packaged import packaged_toml
from perfmodel.records import record

TABLE: Final = Path(__file__).with_suffix(".toml")
_ALL: Final = 64
"""Executions of an instruction that are looked at, each one; then every seventh."""
_EVERY: Final = 7
_OFTEN: Final = 0.1
"""Share of the warps from which on it is said."""
_MOST_NOTES: Final = 2
OddShares = Mapping[int, Mapping[str, float]]
"""By instruction, the share of its warps that takes each way of odd values."""


@record
class Way:
    """What a warp does besides for some odd values."""

    values: str  # one of "zero", "extreme" and "subnormal"
    counts: Mapping[str, float]  # machine instructions by pipe
    clocks: float  # until the result is there, besides


@lru_cache(maxsize=1)
def _table() -> tuple[tuple[str, frozenset[str], Way], ...]:
    entries = packaged_toml(TABLE)["way"]
    return tuple(
        (
            e["opcode"],
            frozenset(e["modifiers"]),
            Way(e["values"], MappingProxyType(dict(e["counts"])), float(e["clocks"])),
        )
        for e in entries
    )


def ways(instruction: Instruction) -> tuple[Way, ...]:
    """Return the ways of odd values that an instruction has besides the usual one."""
    given = frozenset(instruction.modifiers)
    if "ftz" in given:
        return ()
    return tuple(
        way
        for opcode, modifiers, way in _table()
        if opcode == instruction.opcode and modifiers <= given
    )


@once
def with_ways(function: Function) -> bool:
    """Say whether anything of a function has ways of odd values."""
    return any(ways(i) for i in function.instructions)


def odd_lanes(instruction: Instruction, operands: Sequence[Array]) -> dict[str, Array]:
    """Return which lanes take which way: numbers of lanes by the names of `Way.values`.

    The checks are those of machine code of sm_90 (nvcc 13.0). FCHK, which checks divisions of 32
    bits, was asked for all pairs of exponents: it lets pass exponents from 25 above and from 2 to
    251 below the line, as far as those of quotients are from -124 to 126 (measurements/
    instructions/h200-sxm/slow-paths, divisions.csv).
    """
    single = instruction.modifiers[-1] == "f32"
    divides = instruction.opcode == "div"
    bits = [_bits(o) for o in operands]
    if divides:
        odd = _odd_quotients_32(bits) if single else _odd_quotients_64(operands, bits)
    else:
        odd = (_odd_32 if single else _odd_64)(instruction.opcode, bits[0])
    lanes = np.flatnonzero(odd)
    if not lanes.size:
        return {}
    values = [np.abs(o[lanes]) for o in operands]
    zero = np.any([(v == 0) | ~np.isfinite(v) for v in values], axis=0)
    if not divides:
        if instruction.opcode == "rcp":
            zero |= values[0] < np.finfo(values[0].dtype).tiny
        else:
            zero |= operands[0][lanes] < 0
    small = np.zeros_like(zero)
    if divides and single:
        tiny = np.finfo(np.float32).tiny
        with np.errstate(all="ignore"):
            least = np.minimum(np.minimum(*values), values[0] / values[1])
        small = ~zero & (least < tiny)
    named = {"zero": zero, "subnormal": small, "extreme": ~zero & ~small}
    return {name: lanes[mask] for name, mask in named.items() if mask.any()}


def _bits(value: Array) -> Array:
    value = np.ascontiguousarray(value)
    return value.view(np.dtype(f"u{value.dtype.itemsize}"))


def _odd_quotients_32(bits: Sequence[Array]) -> Array:
    high, low = ((b >> np.uint32(23)) & np.uint32(255) for b in bits)
    # Numbers without a sign: what is under the least is far above the largest.
    odd = (high - np.uint32(25) > 229) | (low - np.uint32(2) > 249)
    return np.asarray(odd | (high - low + np.uint32(124) > 250))


def _odd_quotients_64(operands: Sequence[Array], bits: Sequence[Array]) -> Array:
    with np.errstate(all="ignore"):
        result = _bits(np.divide(*operands))
    high, low, end = ((b >> np.uint64(52)) & np.uint64(2047) for b in (*bits, result))
    # The upper halves are compared as floats of 32 bits, in which the largest are no numbers.
    return np.asarray((high < 54) | (end - np.uint64(1) > 2038) | (low > 2039))


def _odd_32(opcode: str, value: Array) -> Array:
    if opcode == "sqrt":
        return np.asarray(value - np.uint32(0x0D000000) > np.uint32(0x727FFFFF))
    exponent = (value >> np.uint32(23)) & np.uint32(255)
    return np.asarray(exponent - np.uint32(1) > 251)


def _odd_64(opcode: str, value: Array) -> Array:
    top = (value >> np.uint64(32)).astype(np.uint32)
    if opcode == "sqrt":
        return np.asarray(top - np.uint32(0x03500000) >= np.uint32(0x7CA00000))
    if opcode == "rsqrt":
        return np.asarray(top - np.uint32(0x00100000) >= np.uint32(0x7FE00000))
    return np.asarray((top + np.uint32(0x300402)) & np.uint32(0x7FFFFFFF) < np.uint32(0x400402))


@dataclass(slots=True)
class OddValues:
    """How many warps took each way of odd values, and how many came there."""

    warps: dict[int, dict[str, float]] = field(default_factory=dict)  # by instruction and way
    came: dict[int, float] = field(default_factory=dict)  # by instruction, all warps that ran it

    def watched(self, machine: Machine, at: int, instruction: Instruction, run: Step) -> Step:
        """Return a step that also counts who takes which way."""
        if not ways(instruction):
            return run
        dtype = np.dtype(np.float64 if instruction.modifiers[-1] == "f64" else np.float32)
        getters = [machine.getter(o, dtype) for o in instruction.operands[1:]]
        turn = 0

        def watching(active: Active) -> None:
            nonlocal turn
            turn += 1
            if turn <= _ALL or turn % _EVERY == 0:
                size = len(active.lanes)
                operands = [np.broadcast_to(get(active), (size,)) for get in getters]
                self.came[at] = self.came.get(at, 0.0) + active.warps
                for name, lanes in odd_lanes(instruction, operands).items():
                    taken = self.warps.setdefault(at, {})
                    warps = len(np.unique(active.lanes[lanes] >> 5))
                    taken[name] = taken.get(name, 0.0) + warps
            run(active)

        return watching

    def shares(self) -> dict[int, dict[str, float]]:
        """Return the share of an instruction's warps that take each way."""
        return {
            at: {name: n / self.came[at] for name, n in taken.items()}
            for at, taken in self.warps.items()
        }


def odd_counts(instruction: Instruction, taken: Mapping[str, float]) -> dict[str, float]:
    """Return the machine instructions that odd values add, by pipe, for each warp on average."""
    found: dict[str, float] = {}
    for way in ways(instruction):
        for pipe, n in way.counts.items():
            found[pipe] = found.get(pipe, 0.0) + n * taken.get(way.values, 0.0)
    return found


def odd_clocks(instruction: Instruction, taken: Mapping[str, float]) -> float:
    """Return the clocks that a lone warp waits besides, on average, at an instruction."""
    return sum(way.clocks * taken.get(way.values, 0.0) for way in ways(instruction))


def odd_doubt(
    issued: Mapping[tuple[str, str | None], float],
    added: Mapping[str | None, tuple[float, float]],
    runs: Mapping[str | None, float],
) -> Doubt:
    """Return how far the time may be off if other content has no such values, or only them.

    As far as the instructions are: at most, for a kernel may wait for memory instead.

    `issued` has instructions by pipe and loop, of a turn each, with those that odd values add;
    `added` by `odd_added`, of each; `runs`, how often each loop's body runs.
    """
    total = sum(n * runs[loop] for (_, loop), n in issued.items())
    taken = sum(n * runs[loop] for loop, (n, _) in added.items())
    most = sum(n * runs[loop] for loop, (_, n) in added.items())
    return Doubt(total / (total - taken), 1.0 + (most - taken) / total) if taken else SURE


def odd_added(instruction: Instruction, taken: Mapping[str, float]) -> tuple[float, float]:
    """Return the instructions that odd values add if they are often, and if all warps had one."""
    often = min(max(taken.values(), default=0.0), 1.0)
    if often < _OFTEN:
        return 0.0, 0.0
    added = sum(odd_counts(instruction, taken).values())
    return added, added / often


def odd_notes(function: Function, shares: OddShares) -> list[str]:
    """Return in words where warps often take the long way of odd values, most often first."""
    often = {at: min(max(taken.values(), default=0.0), 1.0) for at, taken in shares.items()}
    places = sorted((at for at in often if often[at] >= _OFTEN), key=lambda at: -often[at])
    return [
        f"{function.instructions[at].name} at PTX line {function.instructions[at].line}: a lane of "
        f"{often[at]:.0%} of the warps holds 0 or a number out of range, for which it calls a "
        "function; approximate division and roots (--use_fast_math) do not"
        for at in places[:_MOST_NOTES]
    ]
