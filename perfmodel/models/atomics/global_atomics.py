"""Global atomics: throughput of the L2 slices, of the network to them, and of an SM's packets.

An atomic executes in the L2 slice that holds its address. One transaction updates all the addresses
of one sector that one packet names (`perfmodel.models.requests.contention`). Four resources limit
the rate, and the slowest decides:

- the busiest slice executes its transactions one after another;
- a floating-point transaction waits for the previous one to the same sector;
- the network between SMs and slices carries a limited number of sectors per second;
- an SM sends its packets one after another.

The time of a transaction is in `perfmodel.models.atomics.slice_passes`, that of sending and of the
network in `perfmodel.models.atomics.to_slices`. Compare-and-swap loops
(`perfmodel.models.atomics.retries`) and spin locks (`perfmodel.models.atomics.locks`) repeat all of
it.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import WARP_SIZE, Device
from perfmodel.kernels.access import RETRYING
from perfmodel.kernels.instance import Instance
from perfmodel.models.agreement import agreed
from perfmodel.models.atomics.locks import spin_locks
from perfmodel.models.atomics.retries import (
    Contention,
    LoopTime,
    blocks_at_work,
    cas_loops,
    contenders,
    first_reads,
    way_of_tries,
)
from perfmodel.models.atomics.slice_passes import SlicePass, slice_pass
from perfmodel.models.atomics.to_slices import (
    RETURN_COST,
    Packets,
    busiest_slice,
    network_cost,
    network_time,
    operands_of,
    packets_of,
    send_time,
)
from perfmodel.models.execution import Execution
from perfmodel.models.formula import Formula
from perfmodel.models.l2.slices import packet_slot, slice_count
from perfmodel.models.power_mean import power_mean
from perfmodel.models.requests.random_places import uses_random
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.records import record

SLICE_TIME = Formula(
    name="time of the busiest slice",
    unit="s",
    text="passes*share*each",
    symbols={
        "passes": "atomic transactions of the launch: l2_atomic_sectors [1]",
        "share": "share of them at the busiest slice [1]",
        "each": "time of a transaction there [s]",
    },
    holds="enough threads to keep the slice busy",
    source="derived: transactions of one slice are serial",
)
RETURN_LATENCY: Final = Coefficient("atomics.global_atomics.return_latency")
OVERLAP: Final = Coefficient("atomics.global_atomics.overlap")


@record
class SliceLoad:
    """Time of the busiest slice for an atomic, and of each if all had as much to do [s]."""

    most: Array
    even: Array


@record
class AtomicTime:
    """Time of one atomic access on its own, arrays over configurations."""

    position: int  # in the kernel's global requests
    time_s: Array
    network_s: Array  # of the way to L2
    send_s: Array  # of an SM to send
    tries: Array | None  # attempts per lane of a loop or lock; None where it is done with once
    slice_pass: SlicePass  # a pass through the busiest slice
    popular: Array  # share of the passes in the most popular 256 B
    load: SliceLoad  # with what passes wait for
    brief: SliceLoad  # without
    alone_s: Array  # of the way to L2 without operands and old values
    # What L2's slices need without what the atomic waits for, so that others have to wait: see
    # `perfmodel.models.atomics.tag_lookups`. Zero for loops, of which this is not known.
    lookups_s: Array


def atomic_times(execution: Execution, balance: Array) -> list[AtomicTime]:
    """Return the time that L2 needs for each global atomic of a kernel.

    `balance` is the blocks of the busiest SM over the mean.
    """
    return [
        _atomic_time(execution, i, r, balance)
        for i, r in enumerate(execution.requests)
        # Without a record of sharing no lane that was looked at takes part.
        if r.access.kind == "atomic" and r.sharing is not None and agreed(r.requests > 0)
    ]


def _atomic_time(execution: Execution, position: int, r: Requests, balance: Array) -> AtomicTime:
    instance, device = execution.instance, execution.device
    operands = operands_of(instance, r)
    sent = packets_of(r, operands)
    busiest = busiest_slice(r, device)
    one = slice_pass(r, sent, operands, busiest, device)
    cost = network_cost(sent, operands, device)
    network_s = network_time(sent, cost, device)
    load = _slice_load(sent, busiest.share, one.time_s, device)
    send_s = send_time(sent, r.requests * r.address_sharing.conflicts.lines, device) * balance
    # Nobody else waits for a type's operands, old values, or turns at one sector.
    least = packet_slot(sent.sectors, device)
    brief_pass_s = np.minimum(one.time_s, least / device.sm_clock)
    brief = _slice_load(sent, busiest.share, brief_pass_s, device)
    alone_cost = cost / RETURN_COST(device) if operands.compares else 1.0
    alone_s = network_time(sent, alone_cost, device)
    parts = [load.most, network_s, send_s]
    tries = None
    lookups_s = np.atleast_1d(np.where(sent.passes > 0, np.maximum(brief.most, alone_s), 0.0))
    if r.access.operation in RETRYING:
        loops = _loops(instance, r, sent, load.most, network_s, device)
        tries = loops.tries
        parts.append(loops.time_s)
        lookups_s = np.zeros(1)
    return AtomicTime(
        position,
        time_s=np.where(sent.passes > 0, power_mean(parts, OVERLAP(device)), 0.0),
        network_s=network_s,
        send_s=send_s,
        tries=tries,
        slice_pass=one,
        popular=busiest.hot.granule,
        load=load,
        brief=brief,
        alone_s=alone_s,
        lookups_s=lookups_s,
    )


def _slice_load(sent: Packets, share: Array, pass_s: Array, device: Device) -> SliceLoad:
    """Return the load of the slice that makes a share of an atomic's passes, and the mean."""
    most, even = (
        np.atleast_1d(SLICE_TIME(passes=sent.passes, share=part, each=pass_s))
        for part in (share, 1 / slice_count(device))
    )
    return SliceLoad(most, even)


def _loops(
    instance: Instance,
    r: Requests,
    sent: Packets,
    slice_s: Array,
    network_s: Array,
    device: Device,
) -> LoopTime:
    """Return all tries of a loop or lock; the times given are of one try of each lane [s]."""
    shared = r.address_sharing
    conflicts = shared.conflicts
    usual = sent.lanes * shared.hottest
    drawn = r.random and uses_random(instance.expression(r.access.index))
    wants = Contention(
        wanted=contenders(usual, drawn, 1 / np.maximum(shared.hottest, 1e-12)),
        usual=usual,
        together=sent.lanes / np.maximum(r.requests * conflicts.addresses, 1e-9),
        requests=r.requests,
        blocks=blocks_at_work(instance, r),
    )
    if r.access.operation == "lock-loop":
        # Of a full warp, however few lanes the last one has.
        full = np.maximum(wants.together, np.minimum(sent.lanes, WARP_SIZE) * shared.hottest)
        return spin_locks(replace(wants, together=full), slice_s, network_s, device)
    span = np.minimum(shared.addresses, sent.lanes / wants.together) * shared.pitch
    # Sources state the first reads themselves.
    loads = (a.buffer for a in instance.kernel.accesses if a.kind == "load")
    first = first_reads(r.requests * conflicts.lines, r.requests * conflicts.sectors, device)
    first = first * (r.access.buffer not in loads)
    send_s = way_of_tries(sent, wants.together, device)
    return cas_loops(wants, span, first, slice_s, send_s, device)
