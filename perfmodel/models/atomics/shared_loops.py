"""Loops that the compiler makes of shared atomics: load, add, ATOMS.CAST.SPIN, until all won.

One lane of one warp succeeds at a word at a time, and of a warp one lane a bank. A block's most
popular word has its additions made one after the other; a warp goes round as often as most of its
lanes meet in a bank. The slower of the two decides, and where lanes draw their words others delay
a warp here and there that they do not stop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import WARP_SIZE
from perfmodel.kernels.access import DATA_TYPES
from perfmodel.kernels.instance import Instance
from perfmodel.models.agreement import agreed
from perfmodel.models.atomics.retries import contenders
from perfmodel.models.atomics.shared_atomics import turns_of
from perfmodel.models.formula import Formula
from perfmodel.models.requests.warp_requests import Requests

Array = npt.NDArray[Any]

LOOP_CLOCKS = Formula(
    name="clocks from one successful attempt to the next",
    unit="clocks",
    text="max(step*alone/w**0.05 + (1 - step)*max(swap, alone/w**p), "
    "turn*all/w*tries*(1 + tail/rounds))",
    symbols={
        "step": "1 where the warps of a block keep step, so that one of each turn succeeds [1]",
        "alone": "clocks of a try of a lone warp [clocks]",
        "w": "warps of the block that try the address [1]",
        "swap": "clocks from a load to its compare-and-swap [clocks]",
        "p": "how much sooner than the next try of the same warp one of another succeeds [1]",
        "turn": "wavefronts of a try: what it keeps the SM [clocks]",
        "all": "warps of the SM that try anything [1]",
        "tries": "tries for each success [1]",
        "tail": "how much longer the last block of a round takes than the mean [1]",
        "rounds": "waves of blocks, one after the other [1]",
    },
    holds="1 to 64 warps per SM within 15%, some 4 and 8 warps on their own within 35%",
    source="derived: a success undoes the tries whose load came before it. Fitted: `p` (additions "
    "again and again: see `LOOP_SOONER`), `tail` (measurements/atomics/h200-sxm/lines)",
)
LOOP_TRIES = Formula(
    name="attempts per success on a full SM",
    unit="1",
    text="min(w, 0.375*w + 1.25)",
    symbols={"w": "warps of the block that try the address [1]"},
    holds="2.8, 3.9 to 4.2, 6.4 to 6.9 and 12.2 to 12.8 of 4, 8, 16 and 32 warps counted, here "
    "with the clocks between wavefronts in it",
    source="fitted (measurements/atomics/h200-sxm/lines): of the tries of other warps those fail "
    "that are between load and swap at a success, a fixed share of each turn",
)
WARPS_IN_STEP = Formula(
    name="whether the warps of a block stay in lockstep",
    unit="1",
    text="min(1, max(0, 3 - x/lose))",
    symbols={
        "x": "clocks of a try of all warps of the block, over those from a load to its swap [1]",
        "lose": "a third of that from which they lose step [1]",
    },
    holds="threads that add once, and blocks of 1 to 32 warps that add again and again",
    source="fitted: 4 and 8 warps that add once keep step, 16 don't, 12 do of 4 B, not of 8 B; "
    "of those that add again 4 do, and 8 whose lanes have an address of 8 B each "
    "(measurements/atomics/h200-sxm/lines)",
)
LOOP_CHAIN = Formula(
    name="clocks of a warp for its own bank conflicts",
    unit="clocks",
    text="((k*turns*(alone + words - parts))**4 + (sent*turns*(turn + (words - parts)/2))**4)"
    "**0.25",
    symbols={
        "k": "requests of a warp [1]",
        "turns": "rounds of a request: most lanes in a bank [1]",
        "alone": "clocks of a try of a lone warp [clocks]",
        "words": "clocks of a load of all lanes' words [clocks]",
        "parts": "of these, those without a conflict [clocks]",
        "sent": "requests of the blocks of an SM [1]",
        "turn": "wavefronts of a try: what it keeps the SM [clocks]",
    },
    holds="each warp at words of its own, 1 to 32 lanes per word or bank, 1 to 64 warps: median 3%",
    source="derived: one lane a bank wins a round; held against "
    "measurements/atomics/h200-sxm/shared-memory",
)
SHARED_LOOP_TIME = Formula(
    name="time of the compiler's atomic loops in shared memory",
    unit="s",
    text="rounds*where(drawn > 0, (serial**p + chain**p)**(1/p), max(serial, chain))/clock",
    symbols={
        "rounds": "waves of blocks, one after the other [1]",
        "serial": "clocks of a block's additions at its most popular address; of lanes that draw "
        "theirs, what other warps have of them [clocks]",
        "chain": "clocks of a warp's own turns [clocks]",
        "drawn": "1 where lanes draw their addresses at random, else 0 [1]",
        "p": "how much others delay a warp that they do not stop [1]",
        "clock": "SM clock [Hz]",
    },
    holds="blocks of an SM share its time, not their addresses",
    source="derived: one success at a time; `p` fitted "
    "(measurements/atomics/h200-sxm/shared-memory, fit rows)",
)
LOOP_ALONE: Final = (97.0, 115.0)
LOOP_SOONER: Final = (0.26, 0.28)
"""`alone` and `p` of `LOOP_CLOCKS`, for elements of 4 and of 8 B: 95 to 101 and 110 to 122 clocks
for lone warps (shared-atomics.csv); `p` fitted, with what follows, to warps that add again: the
slowest blocks within 5% in the median (the same and atomics/h200-sxm/lines/shared-loops.csv, fit
rows)."""
LOSE_ONCE, LOSE_AGAIN, LOSE_APART = 0.3, 0.18, (0.01, 0.3)
"""`lose` of `WARPS_IN_STEP` for warps that add once, that add again, and that add again with an
address for each lane, by bytes; those of 4 B do not keep step then, and those of 8 B as long as at
first."""
LOOP_SWAP: Final = (44.0, 55.0)
"""`swap` of `LOOP_CLOCKS`: 43 and 52 to 60 clocks of 16 to 32 warps (atomics/h200-sxm/lines)."""
LOOP_TURN: Final = (3.0, 4.25)
LOOP_TURN_APART: Final = (3.0, 6.0)
"""Wavefronts of a try whose lanes meet at one address, and of one whose lanes have 32: one of the
load and two of the swap, 3.2 for 8 B; 2 and 4 (counted by the profiler, the same folder)."""
OTHERS_DELAY: Final = 1.25
"""`p` of `SHARED_LOOP_TIME`; fitted (measurements/atomics/h200-sxm/shared-memory, fit rows)."""
OTHER_WORDS: Final = 1.7
"""Exponent that puts together additions in turn, at words of their own: some warps are at one, some
at another. By choice: 8 sums in turn take 3.4 times what one does
(measurements/atomics/h200-sxm/shared-memory, sources.csv)."""
LOOP_TAIL: Final = 0.15
"""`tail` of `LOOP_CLOCKS`."""
_NATIVE: Final = np.array([name in ("int32", "uint32") for name in DATA_TYPES])


@dataclass(frozen=True, slots=True)
class SharedLoops:
    """The compiler's loops for shared atomics, arrays over configurations.

    Attributes
    ----------
    rounds : array
        Waves of blocks.
    serial : array
        Clocks of a block's additions at its most popular address; of lanes that draw theirs, what
        other warps have of them.
    chain : array
        Clocks of a warp's own turns.
    drawn : bool
        Whether lanes draw their addresses at random.
    clock : float
        SM clock [Hz].
    """

    rounds: Array
    serial: Array
    chain: Array
    drawn: bool
    clock: float

    @property
    def time_s(self) -> Array:
        """Time of all of them [s]."""
        return np.atleast_1d(
            SHARED_LOOP_TIME(
                rounds=self.rounds,
                serial=self.serial,
                chain=self.chain,
                drawn=float(self.drawn),
                p=OTHERS_DELAY,
                clock=self.clock,
            )
        )


def shared_loops(
    instance: Instance, requests: Sequence[Requests], rounds: Array, held: Array, clock: float
) -> SharedLoops | None:
    """Return the loops that the compiler makes of shared atomics; None if there are none.

    Parameters
    ----------
    instance : Instance
    requests : sequence of Requests
        Of the shared accesses.
    rounds : array
        Waves of blocks.
    held : array
        Blocks that share an SM.
    clock : float
        SM clock [Hz].
    """
    serial, fields, chain, drawn = np.zeros(1), np.zeros(1), np.zeros(1), False
    for r in requests:
        looped = is_loop(instance, r)
        if looped is None or r.sharing is None or r.access.operation == "cas-loop":
            continue
        turned = looped * _turns_of_others(instance, r, rounds, held)
        # Fields of records are words of their own; elements side by side are all one array.
        field = (r.sharing.pitch > r.width) & r.random
        serial = serial + np.where(field, 0.0, turned)
        fields = fields + np.where(field, turned, 0.0) ** OTHER_WORDS
        chain = chain + looped * _own_turns(instance, r, held)
        drawn |= r.random
    serial = serial + fields ** (1 / OTHER_WORDS)
    if not agreed(serial + chain > 0):
        return None
    return SharedLoops(rounds, serial, chain, drawn, clock)


def _turns_of_others(instance: Instance, r: Requests, rounds: Array, held: Array) -> Array:
    """Return the clocks of a block's additions at its most popular address.

    Of lanes that draw theirs, those that other warps have of them.
    """
    assert r.sharing is not None
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
    each = loop_clocks(tried, rounds, step=not r.random)
    return np.asanyarray(others * meeting.wanted * each)


def _own_turns(instance: Instance, r: Requests, held: Array) -> Array:
    """Return the clocks of a warp for its own turns; see `LOOP_CHAIN`."""
    own = turns_of(r)
    kind = instance.atomics[instance.kernel.accesses.index(r.access)]
    once = kind is not None and np.asanyarray(kind.aggregated) > 0
    wide = int(r.width == 8)
    sent = r.requests / np.asanyarray(instance.blocks, dtype=float)
    clocks = LOOP_CHAIN(
        k=sent / _warps(instance),
        turns=np.where(once, 1.0, own.turns),
        alone=LOOP_ALONE[wide],
        words=np.maximum(own.words, 1.0 + wide),
        parts=1.0 + wide,
        sent=sent * held,
        turn=LOOP_TURN[wide] + (LOOP_TURN_APART[wide] - LOOP_TURN[wide]) * _spread(_apart(r)),
    )
    return np.asanyarray(clocks)


def _warps(instance: Instance) -> Array:
    """Return the warps of a block."""
    return np.ceil(np.asanyarray(instance.threads_per_block, dtype=float) / WARP_SIZE)


def _apart(r: Requests) -> Array:
    """Return the addresses of a warp."""
    assert r.sharing is not None
    return np.asanyarray(np.maximum(r.sharing.conflicts.addresses, 1.0))


@dataclass(frozen=True, slots=True)
class Meeting:
    """Who wants the most popular address of a block.

    Attributes
    ----------
    wanted : array
        Additions of the block to it.
    warps : array
        Warps of the block that try it at a time.
    """

    wanted: Array
    warps: Array


def meetings_at(instance: Instance, r: Requests) -> Meeting:
    """Return who wants the most popular address of a block."""
    shared = r.sharing
    assert shared is not None
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
    """Return 1 where a shared atomic is a loop, else 0; None if it is no atomic."""
    kind = instance.atomics[instance.kernel.accesses.index(r.access)]
    # Lanes look before they raise a word of 8 B, and few have to.
    if kind is None or r.access.operation in ("raise", "exchange", "cas"):
        return None
    dtype = np.atleast_1d(np.asanyarray(kind.dtype))
    return np.asanyarray(~_NATIVE[dtype] | (r.access.operation == "cas-loop"), dtype=float)


def _spread(apart: Array) -> Array:
    return np.asanyarray(np.log2(apart) / np.log2(WARP_SIZE))


@dataclass(frozen=True, slots=True)
class Tried:
    """Who tries an address of a block, arrays over configurations.

    Attributes
    ----------
    warps, block : array
        Warps of the block that try the address, and all.
    held : array
        Blocks that share an SM.
    once : array
        Whether each thread adds only once.
    apart : array
        Addresses of a warp.
    width : int
        Bytes of an element, 4 or 8.
    """

    warps: Array | float
    block: Array | float
    held: Array | float
    once: Array | bool
    apart: Array | float
    width: int


def loop_clocks(tried: Tried, rounds: Array | float, step: bool = True) -> Array:
    """Return the clocks from one success of a loop to the next; see `LOOP_CLOCKS`.

    Parameters
    ----------
    tried : Tried
    rounds : array
        Waves of blocks.
    step : bool
        Whether warps may keep step: those that draw their addresses do not.
    """
    wide = int(tried.width == 8)
    w, block = np.asanyarray(tried.warps, float), np.asanyarray(tried.block, float)
    # Lanes of a warp win together, but where more than some eight warps try an address.
    own = _spread(np.asanyarray(tried.apart)) / np.maximum(w / 8, 1.0)
    again = np.where(np.asanyarray(tried.apart) < WARP_SIZE, LOSE_AGAIN, LOSE_APART[wide])
    lose = np.where(tried.once, LOSE_ONCE, again)
    kept = np.asanyarray(WARPS_IN_STEP(x=block * LOOP_TURN[wide] / LOOP_SWAP[wide], lose=lose))
    clocks = LOOP_CLOCKS(
        step=kept * float(step),
        alone=LOOP_ALONE[wide],
        w=w,
        swap=LOOP_SWAP[wide],
        p=LOOP_SOONER[wide],
        turn=LOOP_TURN[wide] + (LOOP_TURN_APART[wide] - LOOP_TURN[wide]) * own,
        all=block * tried.held,
        tries=np.asanyarray(LOOP_TRIES(w=w)),
        tail=LOOP_TAIL,
        rounds=np.maximum(rounds, 1.0),
    )
    return np.asanyarray(clocks)
