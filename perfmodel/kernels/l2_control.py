"""L2 control of a launch: set-aside, access policy windows, fetch granularity, compression."""

from typing import Final, Literal

from perfmodel.records import record

AccessProperty = Literal["normal", "streaming", "persisting"]
"""How L2 treats a line: in its usual order, first to leave, or in the set-aside."""

DEFAULT_FETCH: Final = 64
"""Fetch granularity that the driver starts with [B]."""


@record
class AccessPolicyWindow:
    """A window of addresses whose lines get a property of their own (cudaAccessPolicyWindow).

    Attributes
    ----------
    buffer : str
        Buffer that the window starts in.
    num_bytes : int
        Length [B]; 0 closes the window.
    hit_ratio : float
        Share of the window's lines that get `hit_prop`; the others get `miss_prop`.
    hit_prop : {"persisting", "streaming", "normal"}
    miss_prop : {"streaming", "normal"}
    offset : int
        Start, from that of the buffer [B].
    """

    buffer: str
    num_bytes: int
    hit_ratio: float = 1.0
    hit_prop: AccessProperty = "persisting"
    miss_prop: AccessProperty = "streaming"
    offset: int = 0


@record
class L2Control:
    """What a program asks of L2 before the launch; the defaults are those of the driver.

    Attributes
    ----------
    set_aside : int
        L2 kept for persisting accesses (cudaLimitPersistingL2CacheSize) [B].
    window : AccessPolicyWindow or None
        A stream has one window at a time.
    fetch_granularity : {32, 64, 128}
        Least that an L2 miss asks of DRAM (cudaLimitMaxL2FetchGranularity) [B].
    compression : float
        DRAM bytes that the data would have over those it has compressed; 1 is not compressed.
    """

    set_aside: int = 0
    window: AccessPolicyWindow | None = None
    fetch_granularity: int = DEFAULT_FETCH
    compression: float = 1.0


DRIVERS_L2: Final = L2Control()
"""What the driver starts with."""
