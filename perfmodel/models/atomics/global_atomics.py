"""Global atomics: passes through L2's slices, the way there, and turns at one sector.

L2 changes all the addresses of a sector that one packet names in one pass (see
`perfmodel.models.requests.contention`). Four things take time, and the slowest decides:

- the busiest slice makes its passes one after the other;
- a floating-point pass waits for the one before it where both go to one sector;
- the network between SMs and slices takes so many sectors a second;
- an SM sends its packets one after the other.

What a pass takes stands in `slice_passes`, what sending and the network take in `to_slices`. Loops
of compare-and-swap (`retries`) and locks (`locks`) do all of it again and again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import WARP_SIZE, Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.agreement import agreed
from perfmodel.models.atomics.locks import LOCK_TIME, lock_inputs
from perfmodel.models.atomics.packets import (
    Packets,
    moves_on,
    packets_of,
    popular_places,
)
from perfmodel.models.atomics.retries import (
    LOOP_TIME,
    blocks_at_work,
    contenders,
    first_reads,
    loop_inputs,
    way_of_tries,
)
from perfmodel.models.atomics.slice_passes import pass_inputs
from perfmodel.models.atomics.to_slices import (
    NETWORK_TIME,
    SEND_CYCLES,
    network_inputs,
    send_inputs,
    unhindered,
)
from perfmodel.models.formula import Formula
from perfmodel.models.l2.slices import (
    BUSIEST_SLICE,
    PACKET_CLOCKS,
    PACKET_SLOT,
    PASS_TIME,
    SECTOR_CLOCKS,
    most_pieces,
    slice_count,
)
from perfmodel.models.requests.drawn_places import uses_random
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
RETURN_LATENCY: Final = 2.0
"""Latency of an atomic that returns over that of a near L2 hit: 530 to 650 clocks against 290, near
and far sides together (atomics-chain.csv, atomics-cas.csv at one address; fit rows)."""
OVERLAP: Final = 6.0
"""Exponent between slice, network and SM; fitted (atomics.csv, fit rows)."""


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
    assert kind is not None
    assert r.sharing is not None
    dtype = np.atleast_1d(np.asanyarray(kind.dtype))
    returns = np.atleast_1d(np.asanyarray(kind.returns)) > 0
    aggregated = np.atleast_1d(np.asanyarray(kind.aggregated)) > 0
    compares = r.access.operation in ("cas", "cas-loop")
    sent = packets_of(r, aggregated, compares)
    hot = popular_places(r, device)
    slices = slice_count(device)
    pieces = 1 / np.maximum(hot.third, 1e-12)
    most = np.where(
        moves_on(r, device), most_pieces(pieces, slices, turns=True), most_pieces(pieces, slices)
    )
    share = {"h": hot.granule, "third": hot.third, "most": most}
    busiest = np.maximum(np.atleast_1d(BUSIEST_SLICE(**share)), 1 / slices)
    one_pass = pass_inputs(r, sent, dtype, returns, hot, most, busiest, device)
    each = np.atleast_1d(PASS_TIME(**one_pass))
    at_slice = {"passes": sent.passes, "share": busiest, "each": each}
    network = network_inputs(sent, dtype, returns, compares, device)
    send = send_inputs(sent, r.requests * r.sharing.conflicts.lines, device)
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
    # Nobody else waits for a type's operands, old values, or turns at one sector.
    least = PACKET_SLOT(packet=PACKET_CLOCKS, sector=SECTOR_CLOCKS, s=sent.sectors)
    load, brief = (
        SliceLoad(
            np.atleast_1d(SLICE_TIME(**at_slice | {"each": one})),
            np.atleast_1d(SLICE_TIME(**at_slice | {"each": one, "share": 1 / slices})),
            hot.granule,
        )
        for one in (each, np.minimum(each, least / device.sm_clock))
    )
    alone = np.atleast_1d(NETWORK_TIME(**unhindered(network, compares)))
    if r.access.operation in ("lock-loop", "cas-loop"):
        lookups = np.zeros(1)
        name, time, given = _again(instance, r, sent, parts, device)
        inputs |= given
        parts[name] = time
    else:
        lookups = np.atleast_1d(np.where(sent.passes > 0, np.maximum(brief.most, alone), 0.0))
    return AtomicTime(
        position,
        np.where(sent.passes > 0, together(parts), 0.0),
        parts,
        inputs,
        lookups,
        load=load,
        brief=brief,
        alone_s=alone,
    )


def _again(
    instance: Instance, r: Requests, sent: Packets, once: Mapping[str, Array], device: Device
) -> tuple[str, Array, dict[str, dict[str, Any]]]:
    """Return "lock" or "loop", the time of all tries, and what went into it.

    `once` holds the time of the parts of one try of every lane [s].
    """
    shared = r.sharing
    assert shared is not None
    usual = sent.lanes * shared.hottest
    drawn = r.random and uses_random(instance.expression(r.access.index))
    wanted = contenders(usual, drawn, 1 / np.maximum(shared.hottest, 1e-12))
    blocks = blocks_at_work(instance, r)
    tries = (once["slice"], once["network"])
    conflicts = shared.conflicts
    meet = sent.lanes / np.maximum(r.requests * conflicts.addresses, 1e-9)
    if r.access.operation == "lock-loop":
        # Of a full warp, however few lanes the last one has.
        full = np.maximum(meet, np.minimum(sent.lanes, WARP_SIZE) * shared.hottest)
        given = lock_inputs(wanted, usual, full, r.requests, blocks, tries, device)
        return "lock", np.atleast_1d(LOCK_TIME(**given["lock"])), given
    span = np.minimum(shared.addresses, sent.lanes / meet) * shared.pitch
    # Sources state the first reads themselves.
    loads = (a.buffer for a in instance.kernel.accesses if a.kind == "load")
    first = first_reads(r.requests * conflicts.lines, r.requests * conflicts.sectors, device)
    once_each = (
        first * (r.access.buffer not in loads),
        once["slice"],
        way_of_tries(sent, meet, device),
    )
    given = loop_inputs(wanted, usual, meet, r.requests, blocks, span, once_each, device)
    return "loop", np.atleast_1d(LOOP_TIME(**given["loop"])), given


def together(parts: Mapping[str, Array]) -> Array:
    """Return the time of parts that overlap."""
    stacked = np.stack(np.broadcast_arrays(*parts.values()))
    largest = np.maximum(stacked.max(axis=0), 1e-30)
    return np.asanyarray(largest * np.sum((stacked / largest) ** OVERLAP, axis=0) ** (1 / OVERLAP))
