"""Opcodes of machine code: the pipe that takes each, and clocks until its result is there."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from perfmodel.packaged import packaged_toml
from perfmodel.records import record

LATENCIES: Final = Path(__file__).with_name("latencies.toml")
OPCODES: Final = Path(__file__).with_suffix(".toml")
_VARIABLE: Final = ("sfu", "conversion", "shuffle")
"""Pipes whose results ptxas has a warp wait for at a barrier, not by a count of clocks."""


@record
class Latencies:
    """Latencies of instructions [clocks]."""

    pipe: Mapping[str, float]  # of an instruction of each pipe
    special: float  # reads of special registers
    # Loads from shared memory, and atomics there.
    shared: float
    shared_atomic: float
    constant: float  # loads of machine code from constant memory: assumed
    branch: float  # until a warp issues behind a branch that is taken
    parting: float  # of a branch at which a warp's lanes part, until they have met again, besides
    begin: float  # of a thread's first instructions, besides
    # Of what a warp's lanes do together.
    redux: float
    match: float
    # 16-bit multiply-accumulates a clock of a warp's products (mma, wmma) on a tensor core.
    warp_macs: float
    group_macs: float  # the same of a warp group's (wgmma) on all tensor cores of an SM


@lru_cache(maxsize=1)
def latencies() -> Latencies:
    """Return the table."""
    found = packaged_toml(LATENCIES)
    return Latencies(
        pipe=MappingProxyType(dict(found["pipe"])),
        **{name: float(clocks) for name, clocks in (found["other"] | found["tensor"]).items()},
    )


@record
class Opcodes:
    """What is known of opcodes."""

    # A key of `PIPES`, "memory" or "tensor"; what is not in it takes an issue slot only.
    pipe: Mapping[int, str]
    # Of accesses to memory: "load" of what is far, "store", "shared" or "shared_atomic".
    access: Mapping[int, str]
    # Clocks until the result is there; None is what global memory takes.
    latency: Mapping[int, float | None]
    # Loads from constant memory, which bring operands of other instructions.
    constant: frozenset[int]


@lru_cache(maxsize=1)
def opcodes() -> Opcodes:
    """Return the table."""
    found = packaged_toml(OPCODES)
    pipe, access, others = (_by_code(found[name]) for name in ("pipe", "access", "latency"))
    known = latencies()
    latency: dict[int, float | None] = {
        code: known.pipe[name] for code, name in pipe.items() if name in _VARIABLE
    }
    for code, name in others.items():
        latency[code] = None if name == "far" else getattr(known, name)
    for code, name in access.items():
        if name != "store":
            latency[code] = None if name == "load" else getattr(known, name)
    return Opcodes(
        MappingProxyType(pipe | dict.fromkeys(access, "memory")),
        MappingProxyType(access),
        MappingProxyType(latency),
        frozenset(found["latency"]["constant"].values()),
    )


def _by_code(table: Mapping[str, Mapping[str, int]]) -> dict[int, str]:
    return {code: name for name, codes in table.items() for code in codes.values()}
