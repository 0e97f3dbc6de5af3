"""Global atomics: passes through L2's slices, the way there, and turns at one sector.

L2 changes all the addresses of a sector that one packet names in one pass (see
`perfmodel.models.requests.contention`). Four things take time, and the slowest decides:

- the busiest slice makes its passes one after the other;
- a floating-point pass waits for the one before it where both go to one sector;
- the network between SMs and slices takes so many sectors per second;
- an SM sends its packets one after the other.

What a pass takes stands in `slice_passes`, what sending and the network take in `to_slices`. Loops
of compare-and-swap (`retries`) and locks (`locks`) do all of it again and again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import WARP_SIZE, Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.agreement import agreed
from perfmodel.models.atomics.locks import SpinLocks, spin_locks
from perfmodel.models.atomics.packets import (
    Packets,
    busiest_slice,
    operands_of,
    packets_of,
)
from perfmodel.models.atomics.retries import (
    CasLoops,
    Contention,
    blocks_at_work,
    cas_loops,
    contenders,
    first_reads,
    way_of_tries,
)
from perfmodel.models.atomics.slice_passes import SlicePass, slice_pass
from perfmodel.models.atomics.to_slices import network, send_time
from perfmodel.models.formula import Formula
from perfmodel.models.l2.slices import packet_slot, slice_count
from perfmodel.models.requests.drawn_places import uses_random
from perfmodel.models.requests.warp_requests import Requests

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
RETURN_LATENCY: Final = Coefficient("atomics.global_atomics.return_latency")
OVERLAP: Final = Coefficient("atomics.global_atomics.overlap")


@dataclass(frozen=True, slots=True)
class SliceLoad:
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
    slice_s, network_s, send_s : array
        Time of the busiest slice, of the way there, and of an SM to send.
    tries_s : array or None
        Time of all tries of a loop of compare-and-swap or of a spin lock; None for others, of
        which each lane is done with once.
    loops : CasLoops, SpinLocks or None
        What those tries are.
    slice_pass : SlicePass
        A pass through the busiest slice.
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
    slice_s: Array
    network_s: Array
    send_s: Array
    tries_s: Array | None
    loops: CasLoops | SpinLocks | None
    slice_pass: SlicePass
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
    assert r.sharing is not None
    operands = operands_of(instance, r)
    sent = packets_of(r, operands)
    busiest = busiest_slice(r, device)
    one = slice_pass(r, sent, operands, busiest, device)
    way = network(sent, operands, device)
    pass_s, network_s = one.time_s, way.time_s
    slice_s = _slice_time(sent, busiest.share, pass_s)
    send_s = send_time(sent, r.requests * r.sharing.conflicts.lines, device) * balance
    # Nobody else waits for a type's operands, old values, or turns at one sector.
    least = packet_slot(sent.sectors, device)
    brief_pass_s = np.minimum(pass_s, least / device.sm_clock)
    brief_s = _slice_time(sent, busiest.share, brief_pass_s)
    alone_s = way.unhindered(operands.compares, device).time_s
    parts = [slice_s, network_s, send_s]
    loops = tries_s = None
    lookups_s = np.atleast_1d(np.where(sent.passes > 0, np.maximum(brief_s, alone_s), 0.0))
    if r.access.operation in ("lock-loop", "cas-loop"):
        loops = _loops(instance, r, sent, slice_s, way.time_s, device)
        tries_s = loops.time_s
        parts.append(tries_s)
        lookups_s = np.zeros(1)
    hot = busiest.hot.granule
    return AtomicTime(
        position,
        time_s=np.where(sent.passes > 0, together(device, *parts), 0.0),
        slice_s=slice_s,
        network_s=network_s,
        send_s=send_s,
        tries_s=tries_s,
        loops=loops,
        slice_pass=one,
        lookups_s=lookups_s,
        load=SliceLoad(slice_s, _slice_time(sent, _even(device), pass_s), hot),
        brief=SliceLoad(brief_s, _slice_time(sent, _even(device), brief_pass_s), hot),
        alone_s=alone_s,
    )


def _slice_time(sent: Packets, share: Any, each: Array) -> Array:
    """Return the time of a slice that makes a share of an atomic's passes [s]."""
    return np.atleast_1d(SLICE_TIME(passes=sent.passes, share=share, each=each))


def _even(device: Device) -> float:
    """Return the share of the passes at each slice, if all had as much to do."""
    return 1 / slice_count(device)


def _loops(
    instance: Instance,
    r: Requests,
    sent: Packets,
    slice_s: Array,
    network_s: Array,
    device: Device,
) -> CasLoops | SpinLocks:
    """Return all tries of a loop or lock; the times given are of one try of each lane [s]."""
    shared = r.sharing
    assert shared is not None
    wants = _contention(instance, r, sent)
    if r.access.operation == "lock-loop":
        # Of a full warp, however few lanes the last one has.
        full = np.maximum(wants.together, np.minimum(sent.lanes, WARP_SIZE) * shared.hottest)
        return spin_locks(replace(wants, together=full), slice_s, network_s, device)
    span = np.minimum(shared.addresses, sent.lanes / wants.together) * shared.pitch
    conflicts = shared.conflicts
    # Sources state the first reads themselves.
    loads = (a.buffer for a in instance.kernel.accesses if a.kind == "load")
    first = first_reads(r.requests * conflicts.lines, r.requests * conflicts.sectors, device)
    first = first * (r.access.buffer not in loads)
    send_s = way_of_tries(sent, wants.together, device)
    return cas_loops(wants, span, first, slice_s, send_s, device)


def _contention(instance: Instance, r: Requests, sent: Packets) -> Contention:
    """Return how many lanes want the same word."""
    shared = r.sharing
    assert shared is not None
    usual = sent.lanes * shared.hottest
    drawn = r.random and uses_random(instance.expression(r.access.index))
    return Contention(
        wanted=contenders(usual, drawn, 1 / np.maximum(shared.hottest, 1e-12)),
        usual=usual,
        together=sent.lanes / np.maximum(r.requests * shared.conflicts.addresses, 1e-9),
        requests=r.requests,
        blocks=blocks_at_work(instance, r),
    )


def together(device: Device, *parts: Array) -> Array:
    """Return the time of parts that overlap."""
    stacked = np.stack(np.broadcast_arrays(*parts))
    largest = np.maximum(stacked.max(axis=0), 1e-30)
    p = OVERLAP(device)
    return np.asanyarray(largest * np.sum((stacked / largest) ** p, axis=0) ** (1 / p))
