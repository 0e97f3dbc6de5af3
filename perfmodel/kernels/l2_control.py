"""L2 control of a launch: set-aside, access policy windows, fetch granularity, compression."""

from __future__ import annotations

from typing import Final, Literal

from perfmodel.records import record

AccessProperty = Literal["normal", "streaming", "persisting"]
"""How L2 treats a line: in its usual order, first to leave, or in the set-aside."""

DEFAULT_FETCH: Final = 64
"""Fetch granularity that the driver starts with [B]."""


@record
class AccessPolicyWindow:
    """A window of addresses whose lines get a property of their own (cudaAccessPolicyWindow)."""

    buffer: str  # buffer that the window starts in
    num_bytes: int  # length [B]; 0 closes the window
    # Share of the window's lines that get `hit_prop`; the others get `miss_prop`.
    hit_ratio: float = 1.0
    hit_prop: AccessProperty = "persisting"
    miss_prop: AccessProperty = "streaming"
    offset: int = 0  # start, from that of the buffer [B]


@record
class L2Control:
    """What a program asks of L2 before the launch; the defaults are those of the driver."""

    set_aside: int = 0  # L2 kept for persisting accesses (cudaLimitPersistingL2CacheSize) [B]
    window: AccessPolicyWindow | None = None  # a stream has one window at a time
    # Least that an L2 miss asks of DRAM (cudaLimitMaxL2FetchGranularity): 32, 64 or 128 [B].
    fetch_granularity: int = DEFAULT_FETCH
    # DRAM bytes that the data would have over those it has compressed; 1 is not compressed.
    compression: float = 1.0


DRIVERS_L2: Final = L2Control()
"""What the driver starts with."""
