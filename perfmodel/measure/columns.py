"""Columns of recorded measurements: what they are called, and in which unit they come.

A CSV has the parameters of its sweep first, and then results. Results have the names below or are
described in the session file; parameters are free, but sizes come in bytes and times in
microseconds, so that no number is taken for another.
"""

import re
from types import MappingProxyType
from typing import Final

RESULTS: Final = MappingProxyType(
    {
        "use": "fit or validation: whether anything may be fitted on the row",
        "timing": "profiler (the kernel alone) or events (all between two events around it)",
        "cache": "L2 at the start: cold, warm (as the same launch left it) or dirty",
        "repeats": "launches of which time_us is the median",
        "time_us": "time of a launch [us]",
        "spread": "from the shortest to the longest of the repeats, over their median [1]",
        "clock_mhz": "SM clock while measuring [MHz]",
        "flag": "what went wrong with the row; empty if nothing did",
        "cycles": "SM clocks [1]",
        "global_load_requests": "warp load instructions that reached L1",
        "global_load_sectors": "32 B sectors that they asked for",
        "l1_hit_sectors": "of which L1 had these",
        "global_store_requests": "warp store instructions that reached L1",
        "global_store_sectors": "32 B sectors that they wrote",
        "global_atomic_requests": "warp atomics that return a value",
        "global_atomic_sectors": "32 B sectors that they touched",
        "global_reduction_requests": "warp atomics that return nothing",
        "global_reduction_sectors": "32 B sectors that they touched",
        "l1_requests": "requests into the L1 data stage",
        "l1_tag_wavefronts_load": "passes through the tag stage for global loads",
        "l1_tag_wavefronts_store": "passes through the tag stage for global stores",
        "l1_set_accesses_load": "tag set accesses for global loads",
        "l1_set_conflicts_load": "tag set conflicts for global loads",
        "l1_data_wavefronts": "passes through the data stage",
        "shared_wavefronts": "of which for shared memory",
        "shared_bank_conflicts": "bank conflicts of shared memory",
        "l1_bank_conflicts": "data bank conflicts",
        "l1_bank_reads": "data bank reads",
        "l1_bank_writes": "data bank writes",
        "l1_writeback_cycles": "clocks in which L1 returned data to registers",
        "l1_fill_sectors": "sectors that came from L2 for global loads",
        "l2_read_sectors": "32 B sectors that the SMs read from L2",
        "l2_write_sectors": "32 B sectors that the SMs wrote to L2",
        "l2_atomic_sectors": "32 B sectors of atomics in L2",
        "l2_atomic_requests": "requests of atomics in L2",
        "l2_hit_sectors": "of both, those that L2 had",
        "l2_all_sectors": "L2 sectors of all origins",
        "l2_all_read_sectors": "L2 read sectors of all origins",
        "l2_all_write_sectors": "L2 write sectors of all origins",
        "l2_cycles_elapsed": "L2 clocks, largest of the slices",
        "dram_read_bytes": "bytes read from DRAM [B]",
        "dram_write_bytes": "bytes written to DRAM before the kernel ended [B]",
        "instructions": "warp instructions executed",
        "lsu_instructions": "warp instructions of the load-store pipe",
        "fma_instructions": "warp instructions of the FMA pipe",
        "alu_instructions": "warp instructions of the ALU pipe",
        "issue_cycles": "scheduler clocks that issued, summed over schedulers",
        "sm_cycles_elapsed": "SM clocks, largest of the SMs",
        "sm_cycles_active": "SM clocks with a warp resident, mean of the SMs",
        "warps_active": "warps resident on an SM in an active clock, mean",
        "registers": "registers a thread",
    }
)
"""Known results; ones that a session file describes under ``[columns]`` come on top."""

PROTOCOL: Final = MappingProxyType(
    {
        "use": ("fit", "validation"),
        "timing": ("profiler", "events", "graph"),
        "cache": ("cold", "warm", "dirty"),
    }
)
"""Results that are one of a few words, or empty."""

PLAUSIBLE: Final = MappingProxyType(
    {
        "time_us": (0.1, 1e9),
        "cycles": (1e-3, 1e15),
        "repeats": (1, 1e9),
        "clock_mhz": (50, 10_000),
    }
)
"""Results that are above zero, and between what they may be: beyond, the unit is another.

No launch is over in 100 ns, where an empty kernel takes five times that, or lasts a quarter of an
hour.
"""

WORDS: Final = frozenset({*PROTOCOL, "flag", "source"})
"""Columns that are text whatever they look like."""

INPUTS: Final = ("session", "state", "timing", "cache")
"""Columns that tell one point from another, besides the parameters."""

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_FOREIGN: Final = (
    (re.compile(r"time(_(ns|ms|s|sec|seconds|cycles))?"), "times come in microseconds, as time_us"),
    (re.compile(r"clock(_(hz|khz|ghz))?"), "clocks come in megahertz, as clock_mhz"),
    (
        re.compile(r"(.+_)?([kmgt]i?b|[kmg]i?bytes)", re.IGNORECASE),
        "sizes come in bytes, as bytes or ..._bytes",
    ),
)


def name_fault(name: str) -> str | None:
    """Return what is wrong with a column's name, or None: how it is written, or its unit."""
    if not _NAME.fullmatch(name):
        return "a name is made of letters, digits and '_'"
    return next((why for pattern, why in _FOREIGN if pattern.fullmatch(name)), None)
