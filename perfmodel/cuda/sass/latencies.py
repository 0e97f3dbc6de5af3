"""Clocks from an instruction's issue to its result, with nothing else to do; data: TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from perfmodel.cuda.parse.syntax import Instruction

TABLE: Final = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True, slots=True)
class Latencies:
    """Latencies of instructions [clocks].

    Attributes
    ----------
    pipe : mapping of str to float
        Of an instruction of each pipe.
    busy : mapping of str to float
        From one instruction of a warp to its next of the same pipe.
    instruction : tuple of (str, frozenset of str, float)
        Opcode, modifiers that must all be there, and latency; the first that fits counts.
    special : float
        Reads of special registers.
    shared, shared_wide, shared_atomic : float
        Loads from shared memory, those of 16 bytes, and atomics there.
    constant : float
        Loads of machine code from constant memory: assumed.
    branch, forward : float
        Until a warp issues behind a branch that is taken; behind one past what a condition skips.
    parting : float
        Of a branch at which a warp's lanes part, until they have met again, besides.
    guard : float
        How much later a comparison's result is there as a guard.
    begin : float
        Of a thread's first instructions, besides.
    warp_macs : float
        16-bit multiply-accumulates a clock of a warp's products (mma, wmma) on a tensor core.
    group_macs : float
        The same of a warp group's (wgmma) on all tensor cores of an SM.
    """

    pipe: Mapping[str, float]
    busy: Mapping[str, float]
    instruction: tuple[tuple[str, frozenset[str], float], ...]
    special: float
    shared: float
    shared_wide: float
    shared_atomic: float
    constant: float
    branch: float
    forward: float
    parting: float
    guard: float
    begin: float
    warp_macs: float
    group_macs: float

    def of(self, instruction: Instruction, pipe: str) -> float:
        """Return the latency of an instruction whose pipe is known."""
        given = frozenset(instruction.modifiers)
        for opcode, modifiers, clocks in self.instruction:
            if opcode == instruction.opcode and modifiers <= given:
                return clocks
        return self.pipe.get(pipe, self.pipe["other"])


@lru_cache(maxsize=1)
def latencies() -> Latencies:
    """Return the table."""
    with TABLE.open("rb") as stream:
        found = tomllib.load(stream)
    return Latencies(
        pipe=MappingProxyType(dict(found["pipe"])),
        busy=MappingProxyType(dict(found["busy"])),
        instruction=tuple(
            (e["opcode"], frozenset(e.get("modifiers", ())), float(e["clocks"]))
            for e in found["instruction"]
        ),
        **{name: float(clocks) for name, clocks in (found["other"] | found["tensor"]).items()},
    )
