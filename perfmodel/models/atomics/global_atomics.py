"""Global atomics: passes through L2's slices, the way there, and turns at one sector.

L2 changes all the addresses of a sector that one packet names in one pass (see
`perfmodel.models.requests.contention`). Four things take time, and the slowest decides:

- the busiest slice makes its passes one after the other;
- a floating-point pass waits for the one before it where both go to one sector;
- the network between SMs and slices takes so many sectors a second;
- an SM sends its packets one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import Device
from perfmodel.kernels.access import DATA_TYPES
from perfmodel.kernels.instance import Instance
from perfmodel.models.agreement import agreed
from perfmodel.models.atomics.locks import LOCK_TIME, lock_inputs
from perfmodel.models.atomics.retries import LOOP_TIME, contenders, loop_inputs
from perfmodel.models.bandwidth.slices import (
    BUSIEST_SLICE,
    PACKET_CLOCKS,
    PACKET_SLOT,
    PASS_TIME,
    SECTOR_CLOCKS,
    most_pieces,
    slice_count,
    slice_slot,
)
from perfmodel.models.formula import Formula
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.contention import GRANULE, Hot
from perfmodel.models.requests.counted_requests import uses_random
from perfmodel.models.requests.warp_requests import Requests

Array = npt.NDArray[Any]

SLICE_TIME = Formula(
    name="time of the busiest slice",
    unit="s",
    text="passes*share*each",
    symbols={
        "passes": "passes of the launch: l2_atomic_sectors [1]",
        "share": "share of them at the busiest slice [1]",
        "each": "time of a pass there [s]",
    },
    holds="enough threads to keep the slice busy",
    source="derived: passes of one slice are serial",
)
FULL_PASSES = Formula(
    name="share of passes through full sectors",
    unit="1",
    text="min(1, max(0, 2*share - 1))",
    symbols={"share": "of the passes' bytes, those that lanes change [1]"},
    holds="lanes side by side, modulo any number: within 6%",
    source="derived: what begins or ends a run fills half a sector in the mean. 31, 12 and 33 "
    "int32 addresses take 6.4, 7.9 and 6.2 clocks a warp: 1.15 for full passes, 1.48 for others "
    "(measurements/h200-atomics/lines.csv)",
)
NETWORK_TIME = Formula(
    name="time of the way to L2",
    unit="s",
    text="passes*cost*((1 - filled)/lone + filled/full)",
    symbols={
        "passes": "passes of the launch: l2_atomic_sectors [1]",
        "cost": "of the type, and of giving the old value back, relative to plain additions [1]",
        "filled": "share of a sector's bytes that a pass changes, beyond one lane's [1]",
        "lone": "sectors a second with one lane each [1/s]",
        "full": "sectors a second with all lanes [1/s]",
    },
    holds="the whole GPU, addresses all over L2",
    source="fitted: dense and sparse additions on an H200 "
    "(measurements/h200-sxm-suite/atomics.csv, atomics-shape.csv)",
)
SEND_CYCLES = Formula(
    name="clocks to send the packets of an SM",
    unit="clocks",
    text="where(s > 1, packets*(s + 1), packets*1.125) + repeats*1.8",
    symbols={
        "packets": "packets to distinct lines of a request, over all requests of an SM [1]",
        "s": "sectors of a packet [1]",
        "repeats": "further packets to the same lines [1]",
    },
    holds="one SM at work; additions that return nothing",
    source="fitted: A100 additions from one SM take 5, 10, 20, 48 and 36 clocks for 1, 2, 4, 16 "
    "and 32 lines, and the same on an H200 (atomics-shape.csv); repeats: one address from one SM",
)
RETURN_COST: Final = 1.4
RETURN_FULL_COST: Final = 1.93
"""Network time of an atomic whose old value is used over one whose is not, one lane a sector and
full sectors: 103 against 74 G sectors a second, and 103 against 54 (atomics-spread.csv, fit rows).
"""
HALF2_COST: Final = 1.38
HALF2_FULL_COST: Final = 1.75
"""The same for half2 against int32: 103 against 74, and 103 against 59 G (atomics-spread.csv)."""
DOUBLE_FULL_COST: Final = 1.32
"""The same for full sectors of float64 against uint64: 105 against 78 G (atomics-spread.csv)."""
WIDE_FLOAT: Final = 2.0
"""A pass through a full sector of float64 over one of float32: 2.31 against 1.15 clocks
(atomics.csv)."""
DOUBLE_SPREAD: Final = 0.66
"""The same with three pieces of 256 B at the slice and more, over one: 1.53 against 2.31 clocks."""
COMPARE_CLOCKS: Final = 1.46
COMPARE_SECTOR_CLOCKS: Final = 2.33
"""Clocks of a slice for a packet of one compare-and-swap, and for each sector of a packet of
several: 1.46 to 1.50; 2.35 and, with two sectors, 4.66 to 4.87 (measurements/h200-cas/shapes.csv).
"""
COMPARE_PAIR_COST: Final = 2.9
COMPARE_LANES_COST: Final = 1.7
"""Network time of such a second sector over an addition's, with one lane each, and how much more
with all: packets take 3.4 clocks of an SM with one sector, 10.2 with two, and 14.7 with all of
their lanes (measurements/h200-cas/rounds.csv)."""
RETURN_LATENCY: Final = 2.0
"""Latency of an atomic that returns over that of a near L2 hit: 530 to 650 clocks against 290, near
and far sides together (atomics-chain.csv, atomics-cas.csv at one address; fit rows)."""
OVERLAP: Final = 6.0
"""Exponent between slice, network and SM; fitted (atomics.csv, fit rows)."""

_FLOATS: Final = np.array([name.startswith(("float", "half")) for name in DATA_TYPES])
_HALVES: Final = np.array([name == "half2" for name in DATA_TYPES])
_DOUBLES: Final = np.array([name == "float64" for name in DATA_TYPES])


class SliceLoad(NamedTuple):
    """How long L2's slices work on an atomic, arrays over configurations.

    Attributes
    ----------
    most : array
        Time of the busiest slice [s].
    even : array
        Time of each, if all had as much to do [s].
    popular : array
        Share of the passes in the most popular 256 B.
    """

    most: Array
    even: Array
    popular: Array


@dataclass(frozen=True, slots=True)
class AtomicTime:
    """Time of one atomic access on its own, arrays over configurations.

    Attributes
    ----------
    position : int
        In the kernel's global requests.
    time_s : array
    parts_s : mapping of str to array
        Time of "slice", "network", "send" and, for compare-and-swap loops, "loop", for locks
        "lock".
    inputs : mapping of str to mapping of str to array
        What went into each part's formula, and into "share" and "pass".
    lookups_s : array
        Time that L2's slices need for it without what it waits for, so that others have to wait:
        see `perfmodel.models.atomics.lookups`. Zero for loops, of which this is not known.
    load, brief : SliceLoad
        With what passes wait for, and without.
    alone_s : array
        Time of the way to L2 without operands and old values.
    """

    position: int
    time_s: Array
    parts_s: Mapping[str, Array]
    inputs: Mapping[str, Mapping[str, Any]]
    lookups_s: Array
    load: SliceLoad
    brief: SliceLoad
    alone_s: Array


def atomic_times(
    instance: Instance, requests: Sequence[Requests], device: Device, balance: Array
) -> list[AtomicTime]:
    """Return the time that L2 needs for each global atomic of a kernel.

    Parameters
    ----------
    instance : Instance
    requests : sequence of Requests
        Of the global accesses.
    device : Device
    balance : array
        Blocks of the busiest SM over the average.
    """
    return [
        _atomic_time(instance, i, r, device, balance)
        for i, r in enumerate(requests)
        # Without a record of sharing no lane that was looked at takes part.
        if r.access.kind == "atomic" and r.sharing is not None and agreed(r.requests > 0)
    ]


def _atomic_time(
    instance: Instance, position: int, r: Requests, device: Device, balance: Array
) -> AtomicTime:
    kind = instance.atomics[instance.kernel.accesses.index(r.access)]
    shared = r.sharing
    assert kind is not None
    assert shared is not None
    dtype = np.atleast_1d(np.asarray(kind.dtype))
    once = np.atleast_1d(np.asarray(kind.aggregated)) > 0
    c = shared.conflicts
    passes = r.requests * np.where(once, 1.0, c.passes)
    compares = r.access.operation in ("cas", "cas-loop")
    packets = r.requests * np.where(once, 1.0, c.halves if compares else c.packets)
    lanes = np.where(once, r.requests, r.active_lanes)
    per_packet = np.maximum(passes / np.maximum(packets, 1e-9), 1.0)
    of_pass = np.maximum(lanes / np.maximum(passes, 1e-9), 1.0)
    filled = np.clip((of_pass * r.width - r.width) / (SECTOR - r.width), 0.0, 1.0)
    partial, rate = device.require("atomic_interval"), device.require("atomic_sector_rate")
    turn_of_float = device.atomic_float_interval or partial
    whole = FULL_PASSES(share=of_pass * r.width / SECTOR)
    # Fewer addresses than a sector has room for fill none.
    whole = np.where(c.addresses * r.width < SECTOR, 0.0, whole)
    # Only additions know what the bits mean.
    adds = r.access.operation in ("add", "increment", "raise")
    floats, doubles = (f[dtype] & adds for f in (_FLOATS, _DOUBLES))
    in_full = (device.atomic_full_interval or partial) * np.where(doubles, WIDE_FLOAT, 1.0)
    each = partial + (in_full - partial) * whole
    if compares:
        several = np.clip(lanes / np.maximum(packets, 1e-9) - 1, 0.0, 1.0)
        more = COMPARE_SECTOR_CLOCKS - COMPARE_CLOCKS
        packet = COMPARE_CLOCKS + several * more + COMPARE_SECTOR_CLOCKS * (per_packet - 1)
        each = packet / per_packet / device.sm_clock
    turn = np.where(floats, np.maximum(turn_of_float, 2 * each * doubles), each)
    hot = _in_flight(r, device)
    slices = slice_count(device)
    most = most_pieces(1 / np.maximum(hot.third, 1e-12), slices)
    share = {"h": hot.granule, "third": hot.third, "most": most}
    busiest = np.maximum(np.atleast_1d(BUSIEST_SLICE(**share)), 1 / slices)
    returns = np.atleast_1d(np.asarray(kind.returns)) > 0
    pieces = np.where(hot.third > 0, most, 1.0)
    slot = slice_slot(each, per_packet, pieces, returns | _HALVES[dtype], filled, device.sm_clock)
    # Additions of doubles stay slower, if less so, and what has two operands stays as it is.
    slot = np.maximum(slot, in_full * np.where(doubles, DOUBLE_SPREAD * whole, 0.0))
    slot = each if compares else slot
    one_pass = {
        "slot": slot,
        "turn": turn,
        "s": per_packet,
        "again": np.minimum(1.0, hot.sector * per_packet / busiest)
        ** (1 + np.clip(pieces - 2, 0.0, 1.0)),
    }
    network = {
        "passes": passes,
        "cost": _compare_cost(per_packet, filled)
        if compares
        else _network_cost(returns, dtype, of_pass, filled),
        "filled": filled,
        "lone": rate,
        "full": device.atomic_full_sector_rate or rate,
    }
    distinct = r.requests * c.lines / device.sm_count
    send = {
        "packets": distinct,
        "s": per_packet,
        "repeats": np.maximum(packets / device.sm_count - distinct, 0.0),
    }
    at_slice = {"passes": passes, "share": busiest, "each": np.atleast_1d(PASS_TIME(**one_pass))}
    parts = {
        "slice": np.atleast_1d(SLICE_TIME(**at_slice)),
        "network": np.atleast_1d(NETWORK_TIME(**network)),
        "send": np.atleast_1d(SEND_CYCLES(**send)) / device.sm_clock * balance,
    }
    inputs: dict[str, Mapping[str, Any]] = {
        "share": share,
        "pass": one_pass,
        "slice": at_slice,
        "network": network,
        "send": send,
    }
    time = together(parts)
    # Nobody else waits for a type's operands, old values, or turns at one sector.
    least = PACKET_SLOT(packet=PACKET_CLOCKS, sector=SECTOR_CLOCKS, s=per_packet)
    brief = at_slice | {"each": np.minimum(at_slice["each"], least / device.sm_clock)}
    alone = network | {"cost": network["cost"] / RETURN_COST if compares else 1.0}
    load, quick = (
        SliceLoad(
            np.atleast_1d(SLICE_TIME(**given)),
            np.atleast_1d(SLICE_TIME(**given | {"share": 1 / slices})),
            hot.granule,
        )
        for given in (at_slice, brief)
    )
    unhindered = np.atleast_1d(NETWORK_TIME(**alone))
    lookups = np.maximum(quick.most, unhindered)
    usual = lanes * shared.hottest
    drawn = r.random and uses_random(instance.expression(r.access.index))
    wanted = contenders(usual, drawn, 1 / np.maximum(shared.hottest, 1e-12))
    blocks = np.asarray(instance.blocks, dtype=float)
    lookups = np.atleast_1d(np.where(passes > 0, lookups, 0.0))
    if r.access.operation in ("lock-loop", "cas-loop"):
        lookups = np.zeros(1)
    if r.access.operation == "lock-loop":
        one_try = (parts["slice"], parts["network"])
        inputs |= lock_inputs(wanted, usual, r.requests, blocks, one_try, device)
        parts["lock"] = np.atleast_1d(LOCK_TIME(**inputs["lock"]))
        time = together(parts)
    if r.access.operation == "cas-loop":
        meet = lanes / np.maximum(r.requests * c.addresses, 1e-9)
        span = np.minimum(shared.addresses, lanes / meet) * shared.pitch
        # Sources state the first reads themselves.
        loads = (a.buffer for a in instance.kernel.accesses if a.kind == "load")
        first = r.requests * c.sectors / rate * (r.access.buffer not in loads)
        once_each = (first, parts["slice"], parts["network"])
        inputs |= loop_inputs(wanted, usual, meet, r.requests, blocks, span, once_each, device)
        parts["loop"] = np.atleast_1d(LOOP_TIME(**inputs["loop"]))
        time = together(parts)
    return AtomicTime(
        position,
        np.where(passes > 0, time, 0.0),
        parts,
        inputs,
        lookups,
        load=load,
        brief=quick,
        alone_s=unhindered,
    )


def together(parts: Mapping[str, Array]) -> Array:
    """Return the time of parts that overlap."""
    stacked = np.stack(np.broadcast_arrays(*parts.values()))
    largest = np.maximum(stacked.max(axis=0), 1e-30)
    return np.asarray(largest * np.sum((stacked / largest) ** OVERLAP, axis=0) ** (1 / OVERLAP))


def _compare_cost(per_packet: Array, filled: Array) -> Array:
    """Return the cost of a sector of compare-and-swaps on its way."""
    second = np.minimum(per_packet - 1, 1.0)
    pair = RETURN_COST + second * (COMPARE_PAIR_COST + COMPARE_LANES_COST * filled)
    return np.asarray(pair / per_packet)


def _network_cost(returns: Array, dtype: Array, of_pass: Array, filled: Array) -> Array:
    """Return the cost of a sector on its way, relative to one of plain additions."""
    # An answer is as long as its lanes are many, whatever their type.
    lanes = np.clip((of_pass - 1) / (SECTOR / 4 - 1), 0.0, 1.0)
    answer = np.where(returns, RETURN_COST + (RETURN_FULL_COST - RETURN_COST) * lanes, 1.0)
    half = np.where(_HALVES[dtype], HALF2_COST + (HALF2_FULL_COST - HALF2_COST) * lanes, 1.0)
    double = np.where(_DOUBLES[dtype], 1 + (DOUBLE_FULL_COST - 1) * filled, 1.0)
    return np.asarray(np.maximum(np.maximum(answer, half), double))


def _in_flight(r: Requests, device: Device) -> Hot:
    """Return the shares of the popular places among the passes that are under way together.

    Threads in order of a grid that reach only a part of the elements at a time concentrate there.
    """
    shared = r.sharing
    assert shared is not None
    if r.random:
        return shared.hot
    resident = device.sm_count * device.max_threads_per_sm
    lanes = np.minimum(np.maximum(r.active_lanes, 1.0), float(resident))
    reached = np.minimum(shared.addresses, lanes * np.minimum(1.0, _addresses_a_lane(r)))
    span = np.maximum(reached * np.maximum(shared.pitch, 1e-9), 1.0)
    some = np.minimum(1.0, np.maximum(GRANULE / span, 1 / np.maximum(reached, 1.0)))
    granule = np.maximum(shared.hot.granule, some)
    others = np.minimum(some, np.maximum(1 - 2 * granule, 0.0))
    return Hot(shared.hot.sector, granule, np.maximum(shared.hot.third, others))


def _addresses_a_lane(r: Requests) -> Array:
    shared = r.sharing
    assert shared is not None
    lanes = r.active_lanes / np.maximum(r.requests, 1.0)
    return np.asarray(shared.conflicts.addresses / np.maximum(lanes, 1.0))
