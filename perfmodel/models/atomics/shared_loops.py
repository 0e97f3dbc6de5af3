"""Compiler-generated loops for shared-memory atomics without a native instruction.

The loop is a load, the operation, and ATOMS.CAST.SPIN, until all lanes have succeeded. One lane of
one warp succeeds at a word at a time, and of one warp one lane per bank. Two chains limit it: the
additions of all warps of a block at its most popular word, one after another, and the iterations of
a single warp, as many as its most contended bank has lanes.

With regular addresses the slower chain decides. With random addresses warps delay one another
occasionally without stopping, so the two combine as a power mean with a fitted exponent.
"""

from typing import Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import WARP_SIZE, Device
from perfmodel.kernels.access import DATA_TYPES
from perfmodel.kernels.instance import Instance
from perfmodel.models.agreement import agreed
from perfmodel.models.atomics.loop_clocks import Tried, loop_clocks, loop_costs, spread_of
from perfmodel.models.atomics.retries import contenders
from perfmodel.models.atomics.shared_atomics import turns_of
from perfmodel.models.execution import Execution
from perfmodel.models.formula import Formula
from perfmodel.models.mechanism import mechanism
from perfmodel.models.requests.warp_requests import Requests

LOOP_CHAIN = Formula(
    name="clocks of a warp for its own bank conflicts",
    unit="clocks",
    text="((k*turns*(alone + words - parts))**p + (sent*turns*(turn + (words - parts)/2))**p)"
    "**(1/p)",
    symbols={
        "k": "requests of a warp [1]",
        "turns": "iterations of a request: most lanes at one bank [1]",
        "alone": "clocks of an attempt of a single warp [clocks]",
        "words": "clocks of a load of all lanes' words [clocks]",
        "parts": "the same without bank conflicts [clocks]",
        "sent": "requests of the blocks of an SM [1]",
        "turn": "wavefronts of an attempt: clocks for which it occupies the SM [clocks]",
        "p": Coefficient("atomics.shared_loops.chain_sharp"),
    },
    holds="each warp at words of its own, 1 to 32 lanes per word or bank, 1 to 64 warps: median 3%",
    source="derived: one lane per bank succeeds each iteration; see chain_sharp",
)
SHARED_LOOP_TIME = Formula(
    name="time of the compiler's atomic loops in shared memory",
    unit="s",
    text="waves*where(drawn > 0, (serial**p + chain**p)**(1/p), max(serial, chain))/clock",
    symbols={
        "waves": "waves of blocks, one after the other [1]",
        "serial": "clocks of a block's additions at its most popular address; with random "
        "addresses, those of other warps [clocks]",
        "chain": "clocks of a warp's own iterations [clocks]",
        "drawn": "1 where lanes have random addresses, else 0 [1]",
        "p": Coefficient("atomics.shared_loops.others_delay"),
        "clock": "SM clock [Hz]",
    },
    holds="blocks of an SM share its units, not their addresses",
    source="derived: one success at a time; see others_delay",
)
OTHER_WORDS: Final = Coefficient("atomics.shared_loops.other_words")
_NATIVE: Final = np.array([name in ("int32", "uint32") for name in DATA_TYPES])


@mechanism(neutral=lambda execution, waves, held: None, evidence=["atomics", "suite"])
def shared_loops(execution: Execution, waves: Array, held: Array) -> Array | None:
    """Return the time of the loops that the compiler makes of shared atomics [s]; None without.

    `waves` are those of blocks, of which an SM holds `held` at a time.
    """
    instance, device = execution.instance, execution.device
    serial, fields, chain, drawn = np.zeros(1), np.zeros(1), np.zeros(1), False
    sharp = OTHER_WORDS(device)
    for r in execution.on_chip:
        looped = is_loop(instance, r)
        if looped is None or r.sharing is None or r.access.operation == "cas-loop":
            continue
        turned = looped * _turns_of_others(instance, r, waves, held, device)
        # Fields of records are words of their own; elements side by side are all one array.
        field = (r.address_sharing.pitch > r.width) & r.random
        serial = serial + np.where(field, 0.0, turned)
        fields = fields + np.where(field, turned, 0.0) ** sharp
        chain = chain + looped * _own_turns(instance, r, held, device)
        drawn |= r.random
    serial = serial + fields ** (1 / sharp)
    if not agreed(serial + chain > 0):
        return None
    time = SHARED_LOOP_TIME.on(
        device, waves=waves, serial=serial, chain=chain, drawn=float(drawn), clock=device.sm_clock
    )
    return np.atleast_1d(time)


def _turns_of_others(
    instance: Instance, r: Requests, waves: Array, held: Array, device: Device
) -> Array:
    """Return the clocks of a block's additions at its most popular address.

    Of lanes that draw theirs, those that other warps have of them.
    """
    warps = _warps(instance)
    meeting = meetings_at(instance, r)
    tried = Tried(
        warps=meeting.warps,
        block=warps,
        held=held,
        once=np.asanyarray(instance.runs(r.access.loop), dtype=float) <= 1,
        apart=_apart(r),
        width=r.width,
    )
    others = 1 - 1 / warps if r.random else 1.0
    each = loop_clocks(tried, waves, device, step=not r.random)
    return np.asanyarray(others * meeting.wanted * each)


def _own_turns(instance: Instance, r: Requests, held: Array, device: Device) -> Array:
    """Return the clocks of a warp for its own turns; see `LOOP_CHAIN`."""
    own = turns_of(r)
    kind = instance.atomics[instance.kernel.accesses.index(r.access)]
    once = kind is not None and np.asanyarray(kind.aggregated) > 0
    wide, costs = int(r.width == 8), loop_costs(r.width, device)
    sent = r.requests / np.asanyarray(instance.blocks, dtype=float)
    return LOOP_CHAIN.on(
        device,
        k=sent / _warps(instance),
        turns=np.where(once, 1.0, own.turns),
        alone=costs.alone,
        words=np.maximum(own.words, 1.0 + wide),
        parts=1.0 + wide,
        sent=sent * held,
        turn=costs.turn_of(spread_of(_apart(r))),
    )


def _warps(instance: Instance) -> Array:
    """Return the warps of a block."""
    return np.ceil(np.asanyarray(instance.threads_per_block, dtype=float) / WARP_SIZE)


def _apart(r: Requests) -> Array:
    """Return the addresses of a warp."""
    return np.asanyarray(np.maximum(r.address_sharing.conflicts.addresses, 1.0))


class Meeting(NamedTuple):
    """Who wants the most popular address of a block."""

    wanted: Array  # additions of the block to it
    warps: Array  # warps of the block that try it at a time


def meetings_at(instance: Instance, r: Requests) -> Meeting:
    """Return who wants the most popular address of a block."""
    shared = r.address_sharing
    kind = instance.atomics[instance.kernel.accesses.index(r.access)]
    assert kind is not None
    blocks = np.asanyarray(instance.blocks, dtype=float)
    threads = np.asanyarray(instance.threads_per_block, dtype=float)
    once = np.asanyarray(kind.aggregated) > 0
    lanes = np.where(once, r.requests, r.active_lanes)
    popular = 1 / np.maximum(shared.hottest, 1e-12)
    wanted = contenders(lanes / blocks * shared.hottest, r.random, popular)
    # Lanes of a warp that go to an address together are one warp that tries it.
    full = r.active_lanes / np.maximum(r.requests, 1e-9)
    together = np.maximum(full / np.maximum(shared.conflicts.addresses, 1.0), 1.0)
    warps = np.ceil(threads / WARP_SIZE)
    tried = np.clip(warps * full * shared.hottest / together, 1.0, warps)
    return Meeting(np.asanyarray(wanted), np.asanyarray(tried))


def is_loop(instance: Instance, r: Requests) -> Array | None:
    """Return 1 where a shared atomic is a loop, else 0; None where none needs one."""
    kind = instance.atomics[instance.kernel.accesses.index(r.access)]
    # Lanes look before they raise a word of 8 B, and few have to.
    if kind is None or r.access.operation in ("raise", "exchange", "cas"):
        return None
    dtype = np.atleast_1d(np.asanyarray(kind.dtype))
    return np.asanyarray(~_NATIVE[dtype] | (r.access.operation == "cas-loop"), dtype=float)
