"""Clocks from an instruction's issue to its result, with nothing else to do; data: TOML."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from perfmodel.packaged import packaged_toml
from perfmodel.records import record

TABLE: Final = Path(__file__).with_suffix(".toml")


@record
class Latencies:
    """Latencies of instructions [clocks]."""

    pipe: Mapping[str, float]
    """Of an instruction of each pipe."""
    special: float
    """Reads of special registers."""
    shared: float
    shared_atomic: float
    """Loads from shared memory, and atomics there."""
    constant: float
    """Loads of machine code from constant memory: assumed."""
    branch: float
    """Until a warp issues behind a branch that is taken."""
    parting: float
    """Of a branch at which a warp's lanes part, until they have met again, besides."""
    begin: float
    """Of a thread's first instructions, besides."""
    redux: float
    match: float
    """Of what a warp's lanes do together."""
    warp_macs: float
    """16-bit multiply-accumulates a clock of a warp's products (mma, wmma) on a tensor core."""
    group_macs: float
    """The same of a warp group's (wgmma) on all tensor cores of an SM."""


@lru_cache(maxsize=1)
def latencies() -> Latencies:
    """Return the table."""
    found = packaged_toml(TABLE)
    return Latencies(
        pipe=MappingProxyType(dict(found["pipe"])),
        **{name: float(clocks) for name, clocks in (found["other"] | found["tensor"]).items()},
    )
