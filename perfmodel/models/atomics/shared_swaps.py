"""Compare-and-swap loops in shared memory that are written in the source (atomicCAS).

Unlike compiler-generated loops (`perfmodel.models.atomics.shared_loops`) these use a plain
ATOMS.CAS: all lanes at a word send their operands, one succeeds, and the others repeat the loop
while the finished ones wait, which is branch divergence. A further iteration therefore costs about
twice a first attempt, and failed attempts occupy the banks.

Three times combine: the serial successes of other warps at the block's most popular word, a warp's
own iterations, and the clocks for which all attempts of the SM occupy its banks.
"""

from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.models.agreement import agreed
from perfmodel.models.atomics.shared_atomics import SWAP_CLOCKS, turns_of
from perfmodel.models.atomics.shared_loops import Meeting, meetings_at
from perfmodel.models.execution import Execution
from perfmodel.models.formula import Formula
from perfmodel.models.mechanism import mechanism
from perfmodel.models.requests.warp_requests import Requests

SWAP_CHAIN = Formula(
    name="clocks per request of a single warp",
    unit="clocks",
    text="first + again*max(most - 1, 0)**growth*mixed + bank*(turns - 1)",
    symbols={
        "first": "a load and a successful attempt [clocks]",
        "again": "an iteration of lanes that failed [clocks]",
        "most": "lanes at the most popular address of a request [1]",
        "growth": "exponent of the failing lanes in the time of an iteration [1]",
        "mixed": "factor for random addresses: lanes of other words diverge too [1]",
        "bank": "each further lane at a bank [clocks]",
        "turns": "most lanes at one bank [1]",
    },
    holds="a single warp, 1 to 32 lanes per word: within 8%; random words within 30%",
    source="fitted form: see first, again, growth, mixed and bank",
)
SWAPS_SENT = Formula(
    name="clocks for which attempts occupy the banks of an SM",
    unit="clocks",
    text="loads + turns*swap + again*often*max(c - 1, c*others)*late",
    symbols={
        "loads": "clocks of first reads [clocks]",
        "turns": "serialised lanes at banks, over all requests of an SM [1]",
        "swap": "clocks of a lane's compare-and-swap [clocks]",
        "again": "serialised lanes of further attempts: all lanes where they diverge [1]",
        "often": "further attempts per contending lane [1]",
        "c": "lanes of the block that contend for a word at a time [1]",
        "others": "1 where other warps contend for the word too, else 0 [1]",
        "late": "clocks of a serialised lane of these: diverged lanes may use other banks "
        "concurrently [clocks]",
    },
    holds="1 to 1024 lanes per word: counted 0.32 to 0.5 attempts per contending lane, 0.8 where "
    "two lanes of each warp try in lockstep",
    source="fitted form: see often, often_alone and late",
)
SWAP_TIME = Formula(
    name="time of compare-and-swap loops in shared memory",
    unit="s",
    text="waves*((serial + chain)**2 + sent**2)**0.5/clock",
    symbols={
        "waves": "waves of blocks, one after the other [1]",
        "serial": "clocks of other warps' successes at a block's most popular word [clocks]",
        "chain": "clocks of a warp for its own iterations [clocks]",
        "sent": "clocks for which attempts occupy the banks of an SM [clocks]",
        "clock": "SM clock [Hz]",
    },
    holds="1 to 64 warps per SM, 1 to 4096 words: median 15%, nine in ten within 45%",
    source="derived form; the exponent of 2 is chosen",
)

FIRST: Final = Coefficient("atomics.shared_swaps.first")
FIRST_WIDE: Final = Coefficient("atomics.shared_swaps.first_wide")
AGAIN: Final = Coefficient("atomics.shared_swaps.again")
AGAIN_WIDE: Final = Coefficient("atomics.shared_swaps.again_wide")
GROWTH: Final = Coefficient("atomics.shared_swaps.growth")
MIXED: Final = Coefficient("atomics.shared_swaps.mixed")
BANK: Final = Coefficient("atomics.shared_swaps.bank")
OFTEN: Final = Coefficient("atomics.shared_swaps.often")
OFTEN_ALONE: Final = Coefficient("atomics.shared_swaps.often_alone")
LATE: Final = Coefficient("atomics.shared_swaps.late")


@mechanism(neutral=lambda execution, waves, held: None, evidence=["atomics"])
def shared_swaps(execution: Execution, waves: Array, held: Array) -> Array | None:
    """Return the time of the loops of compare-and-swap that a source writes [s]; None without.

    Arguments as for `perfmodel.models.atomics.shared_loops.shared_loops`.
    """
    device, blocks, warps = execution.device, execution.blocks, execution.warps_per_block
    serial, chain, sent = np.zeros(1), np.zeros(1), np.zeros(1)
    for r in execution.on_chip:
        if r.access.operation != "cas-loop" or r.sharing is None:
            continue
        meeting = meetings_at(execution.instance, r)
        others = 1 - 1 / (warps if r.random else meeting.warps)
        most = np.maximum(r.address_sharing.conflicts.most, 1.0)
        serial = serial + others * meeting.wanted * _chain(r, 1.0, device) / most
        alone = _chain(r, MIXED(device) if r.random else 1.0, device)
        chain = chain + r.requests / blocks / warps * alone
        sent = sent + _sent(r, meeting, warps, held / blocks, device)
    if not agreed(serial + chain > 0):
        return None
    time = SWAP_TIME(waves=waves, serial=serial, chain=chain, sent=sent, clock=device.sm_clock)
    return np.atleast_1d(time)


def _chain(r: Requests, mixed: float, device: Device) -> Array:
    """Return the clocks of a request of a warp alone; see `SWAP_CHAIN`."""
    first, again = (FIRST_WIDE, AGAIN_WIDE) if r.width == 8 else (FIRST, AGAIN)
    return SWAP_CHAIN(
        first=first(device),
        again=again(device),
        most=r.address_sharing.conflicts.most,
        growth=GROWTH(device),
        mixed=mixed,
        bank=BANK(device),
        turns=turns_of(r).turns,
    )


def _sent(r: Requests, meeting: Meeting, warps: Array, of_sm: Array, device: Device) -> Array:
    """Return the clocks that tries keep the banks of an SM, whose share of the work is `of_sm`."""
    lanes = r.active_lanes / np.maximum(r.requests, 1e-9)
    turned = r.requests * turns_of(r).clocks * of_sm
    met = (meeting.warps > 1) | r.random
    return SWAPS_SENT(
        loads=r.requests * turns_of(r).words * of_sm,
        turns=turned,
        swap=SWAP_CLOCKS(device),
        again=r.active_lanes * of_sm if r.random else turned,
        often=np.where(met, OFTEN(device), OFTEN_ALONE(device)),
        c=lanes * warps * r.address_sharing.hottest,
        others=np.asanyarray(met, dtype=float),
        late=LATE(device) if r.random else SWAP_CLOCKS(device),
    )
