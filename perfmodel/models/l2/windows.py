"""Access policy windows: lines marked persisting or streaming, and what misses of each.

A window marks a share hitRatio of its lines persisting; the others get missProp, usually streaming.
Persisting lines beyond the set-aside compete as normal lines do. Streaming lines are the first to
be evicted: while anything else uses L2, their re-reads miss, except where concurrent blocks ask for
a line that is outstanding. Without other traffic they evict only one another, and lines left by
earlier kernels keep their place.

Persisting lines are resident in one partition. SMs that read their own parts of a set with many
pinned lines cross partitions more often, which costs bandwidth of L2 and DRAM in proportion to the
pinned share of L2.
"""

from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.kernels.l2_control import L2Control
from perfmodel.models.formula import Formula
from perfmodel.models.l2 import residency
from perfmodel.models.l2.set_overflow import overflow, random_overflow

STREAMING_MISSES = Formula(
    name="miss share of streaming lines with L2 full of other data",
    unit="1",
    text="1 - 2.0**-min(60, scale*(16*streaming/c)**power*(size/c)**larger)",
    symbols={
        "streaming": "bytes of the buffer marked streaming [B]",
        "size": "bytes of the buffer [B]",
        "c": "capacity of L2 [B]",
        "scale": Coefficient("l2.windows.streaming_scale"),
        "power": Coefficient("l2.windows.streaming_power"),
        "larger": Coefficient("l2.windows.streaming_size_power"),
    },
    holds="sets of 0.4 to 1.3 times L2 that are read alone: streaming lines evict one another "
    "first, so normal lines that nobody reads stay, launch after launch",
    source="fitted form",
)
IN_WAVE = Formula(
    name="share of re-reads of streaming lines merged with an outstanding fill, in order",
    unit="1",
    text="max(0, 1 - size/(2*together))**2",
    symbols={
        "size": "bytes of the table [B]",
        "together": "bytes of it that concurrent blocks request [B]",
    },
    holds="tables of 0.25 to 12 MiB with a write, a copy and a read: DRAM reads within 0.05 of "
    "the share missed; streaming lines survive nothing else there",
    source="measured: DRAM reads grow in proportion to small tables, and all re-reads miss from "
    "twice the bytes requested concurrently; no coefficient of its own (measurements/l2, "
    "before/small.csv)",
)
DRAWN_IN_WAVE = Formula(
    name="share of random reads of streaming lines merged with an outstanding fill",
    unit="1",
    text="1 - (1 - 2.0**(-1.4427*min(x, 40)))/x",
    symbols={"x": "concurrent reads of one place, on average [1]"},
    holds="gathers of tables of 8 to 40 MiB within 0.1 of the share missed",
    source="derived: of a Poisson number of concurrent reads of a place the first misses "
    "(measurements/l2, before/random.csv)",
)
OWN_STREAMING = Formula(
    name="miss share of streaming lines with L2 holding the same launch's lines",
    unit="1",
    text="1/(1 + 2.0**min(60, (middle - size/c)/width))",
    symbols={
        "size": "bytes of the buffer [B]",
        "c": "capacity of L2 [B]",
        "middle": Coefficient("l2.windows.own_middle"),
        "width": Coefficient("l2.windows.own_width"),
    },
    holds="sets of 0.4 to 1.07 times L2 that are read alone: lines that were there before the "
    "window stay, launch after launch. A copy or a kernel that has just written the set leaves "
    "less of it from 40 MiB on, and then more re-reads miss",
    source="fitted form",
)
PINNED = Formula(
    name="additional time of private data with persisting lines set aside",
    unit="1",
    text="slope*max(0, min(picked, set_aside)/c - start)*min(1, max(0, size/c - fits)/rise)",
    symbols={
        "picked": "bytes marked persisting that stay in L2 [B]",
        "set_aside": "bytes of the ways set aside [B]",
        "size": "bytes of the set [B]",
        "c": "capacity of L2 [B]",
        "slope": Coefficient("l2.windows.pinned_slope"),
        "start": Coefficient("l2.windows.pinned_start"),
        "fits": Coefficient("l2.windows.pinned_fits"),
        "rise": Coefficient("l2.windows.pinned_rise"),
    },
    holds="sets of 0.67 to 1.6 times L2, each block its own part; a set that fits L2 loses "
    "nothing. Tables that all SMs read are in the loss of writes with a set-aside",
    source="fitted form",
)
EMPTY_START: Final = Coefficient("l2.windows.empty_start")
EMPTY_RISE: Final = Coefficient("l2.windows.empty_rise")


def marked(control: L2Control, buffer: str, size: Array) -> tuple[Array, Array]:
    """Return the shares of a buffer's lines that its window marks persisting, and streaming."""
    window = control.window
    none = np.zeros(1)
    if window is None or window.buffer != buffer:
        return none, none
    inside = _window_bytes(control, buffer, size) / np.maximum(size, 1.0)
    picked = _picked(control)
    hit, missed = inside * picked, inside * (1 - picked)
    persisting = hit if window.hit_prop == "persisting" and control.set_aside else none
    streaming = hit if window.hit_prop == "streaming" else none
    streaming = streaming + (missed if window.miss_prop == "streaming" else none)
    return np.asanyarray(persisting), np.asanyarray(streaming)


def spilled_share(
    control: L2Control,
    buffer: str,
    size: Array,
    random: bool,
    claimed: float,
    capacity: float,
    device: Device,
) -> Array:
    """Return the share of a buffer's persisting lines for which the set-aside has no room.

    `claimed` are bytes of it that concurrent kernels keep; lines come to places of a set in turn,
    or at random.
    """
    ways = residency.granted_ways(control.set_aside, capacity)
    way = capacity / residency.WAYS
    inside = _window_bytes(control, buffer, size) / way
    if random:
        return random_overflow(inside, _picked(control), ways, claimed / way)
    return overflow(inside, _picked(control), ways - claimed / way, device)


def streaming_misses(
    size: Array, streaming: Array, capacity: float, full: bool, warm: bool, device: Device
) -> Array:
    """Return the share of re-reads of streaming lines that miss with nothing else passing by.

    L2 is full of others' lines at the start, or empty; warm, it holds what the same launch left.
    """
    if warm:
        return np.asanyarray(OWN_STREAMING.on(device, size=size, c=capacity))
    if full:
        return np.asanyarray(
            STREAMING_MISSES.on(device, streaming=streaming, size=size, c=capacity)
        )
    start, rise = EMPTY_START(device), EMPTY_RISE(device)
    return np.asanyarray(np.clip((size / capacity - start) / rise, 0.0, 1.0))


def _picked(control: L2Control) -> Array:
    if control.window is None:
        return np.zeros(1)
    return residency.picked_share(control.window.hit_ratio)


def _window_bytes(control: L2Control, buffer: str, size: Array) -> Array:
    """Return the bytes of a buffer that lie in the window."""
    window = control.window
    if window is None or window.buffer != buffer:
        return np.zeros(1)
    return np.asanyarray(np.clip(size - window.offset, 0.0, float(window.num_bytes)))
