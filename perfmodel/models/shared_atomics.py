"""Atomics in shared memory: native ones conflict in banks, others loop until their turn comes.

32-bit integers have an instruction of their own: lanes that meet in a bank, at one address or at
several, take a clock each. Where the compiler sees that 1 is added and nothing returned, another
one (ATOMS.POPC.INC) counts the lanes of each address, which then take a clock together: 1.02 to
1.03 clocks a warp at 1 to 3 addresses (measurements/h200-builtins). All other types are loops of
load, add and compare-and-swap that the compiler writes, where one lane of one warp succeeds at a
time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import WARP_SIZE
from perfmodel.kernels.access import DATA_TYPES
from perfmodel.kernels.histogram import uniform
from perfmodel.kernels.instance import Instance
from perfmodel.models.agreement import agreed
from perfmodel.models.contention import random_conflicts
from perfmodel.models.footprint import power_of_two_gcd
from perfmodel.models.formula import Formula
from perfmodel.models.requests import Requests
from perfmodel.models.retries import contenders
from perfmodel.models.wavefronts import BANK_WORD, BANKS

Array = npt.NDArray[Any]

BANK_TURNS = Formula(
    name="clocks of a native shared atomic",
    unit="clocks",
    text="ceil(n/m)*max(1, ceil(min(m, n)*gcd/32))",
    symbols={
        "n": "lanes that take part [1]",
        "m": "elements that they add to [1]",
        "gcd": "greatest common divisor of the elements' distance in words and 32 [1]",
    },
    holds="consecutive lanes modulo m; within 15% with 8 warps or more",
    source="derived: lanes in one bank take turns; held against "
    "measurements/h200-sxm-suite/shared-atomics.csv",
)
WRAPPED_WARPS = Formula(
    name="warps whose lanes pass the end of the elements",
    unit="1",
    text="(32 - gcd)/m",
    symbols={
        "gcd": "greatest common divisor of the elements and 32 [1]",
        "m": "elements of a word each that consecutive threads add to, modulo [1]",
    },
    holds="from 32 elements to the threads of a block",
    source="derived: warps begin at multiples of 32 modulo m, which are multiples of gcd; those "
    "past m - 32 go on at the first element, whose bank another lane has: two turns (1.36 clocks a "
    "warp at 48 elements, 1.29 at 100: measurements/h200-builtins)",
)
LOOP_CLOCKS = Formula(
    name="clocks from one success to the next",
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
        "rounds": "rounds of blocks, one after the other [1]",
    },
    holds="1 to 64 warps an SM within 15%, some 4 and 8 warps on their own within 35%",
    source="derived: a success undoes the tries whose load came before it. Fitted: `p` (additions "
    "again and again: see `LOOP_SOONER`), `tail` (measurements/h200-atomics)",
)
LOOP_TRIES = Formula(
    name="tries for each success of a full SM",
    unit="1",
    text="min(w, 0.375*w + 1.25)",
    symbols={"w": "warps of the block that try the address [1]"},
    holds="2.8, 3.9 to 4.2, 6.4 to 6.9 and 12.2 to 12.8 of 4, 8, 16 and 32 warps counted, here "
    "with the clocks between wavefronts in it",
    source="fitted (measurements/h200-atomics): of the tries of other warps those fail that "
    "are between load and swap at a success, a fixed share of each turn",
)
WARPS_IN_STEP = Formula(
    name="whether the warps of a block keep step",
    unit="1",
    text="min(1, max(0, 3 - x/lose))",
    symbols={
        "x": "clocks of a try of all warps of the block, over those from a load to its swap [1]",
        "lose": "a third of that from which they lose step [1]",
    },
    holds="threads that add once, and blocks of 1 to 32 warps that add again and again",
    source="fitted: 4 and 8 warps that add once keep step, 16 don't, 12 do of 4 B, not of 8 B; "
    "of those that add again 4 do, and 8 whose lanes have an address of 8 B each "
    "(measurements/h200-atomics)",
)
SHARED_LOOP_TIME = Formula(
    name="time of loops in shared memory",
    unit="s",
    text="rounds*turns*each/clock",
    symbols={
        "rounds": "rounds of blocks, one after the other [1]",
        "turns": "additions of a block at its most popular address [1]",
        "each": "from one success to the next [clocks]",
        "clock": "SM clock [Hz]",
    },
    holds="blocks of an SM share its time, not their addresses",
    source="derived: one success at a time",
)
COPIES_TIME = Formula(
    name="clocks of a block with several private copies",
    unit="clocks",
    text="turns*each/c + bins*c*merge",
    symbols={
        "turns": "additions of a block at the most popular bin [1]",
        "each": "from one to the next at one address [clocks]",
        "c": "copies [1]",
        "bins": "bins of a copy [1]",
        "merge": "clocks of a block to clear and add up one bin of one copy [clocks]",
    },
    holds="copies divide the contention evenly",
    source="derived; 0.3 clocks a bin and copy with 256 threads "
    "(measurements/h200-sxm-suite/privatized-histogram.csv)",
)
BEST_COPIES = Formula(
    name="best number of private copies",
    unit="1",
    text="sqrt(turns*each/(bins*merge))",
    symbols={name: COPIES_TIME.symbols[name] for name in ("turns", "each", "bins", "merge")},
    holds="between 1 and the warps of a block",
    source="derived: where the derivative of `COPIES_TIME` by c vanishes",
)

LOOP_ALONE: Final = (97.0, 115.0)
LOOP_SOONER: Final = (0.26, 0.28)
"""`alone` and `p` of `LOOP_CLOCKS`, for elements of 4 and of 8 B: 95 to 101 and 110 to 122 clocks
for lone warps (shared-atomics.csv); `p` fitted, with what follows, to warps that add again: the
slowest blocks within 5% in the median (the same and h200-atomics/shared-loops.csv, fit rows)."""
LOSE_ONCE, LOSE_AGAIN, LOSE_APART = 0.3, 0.18, (0.01, 0.3)
"""`lose` of `WARPS_IN_STEP` for warps that add once, that add again, and that add again with an
address for each lane, by bytes; those of 4 B do not keep step then, and those of 8 B as long as at
first."""
LOOP_SWAP: Final = (44.0, 55.0)
"""`swap` of `LOOP_CLOCKS`: 43 and 52 to 60 clocks of 16 to 32 warps (h200-atomics)."""
LOOP_TURN: Final = (3.0, 4.25)
LOOP_TURN_APART: Final = (3.0, 6.0)
"""Wavefronts of a try whose lanes meet at one address, and of one whose lanes have 32: one of the
load and two of the swap, 3.2 for 8 B; 2 and 4 (counted by the profiler, the same folder)."""
LOOP_TAIL: Final = 0.15
"""`tail` of `LOOP_CLOCKS`."""
AGGREGATED_CLOCKS: Final = 8.0
"""Clocks that an SM takes for each warp that comes to a sum of warps at one address of a block,
where the compiler adds up the warp first. A loop's additions take a clock each after that, so it is
not the addition that lasts. Likely, and assumed, it is the special register that each warp reads
for the address (S2UR in the machine code, outside of loops).

Fitted: blocks of 1024 threads that do so live 1142 clocks, two an SM, and take 0.26 us a round more
than such that only meet (measurements/h200-cas/blocks.csv); 5 to 15 clocks a warp, 9 in the median
(measurements/h200-sxm-suite/privatized.csv, fit rows, int32 in blocks of 1024).
"""
MERGE_CLOCKS: Final = 0.3
"""`merge` of `COPIES_TIME`, blocks of 256 threads."""
_NATIVE: Final = np.array([name in ("int32", "uint32") for name in DATA_TYPES])


def native_wavefronts(r: Requests, aggregated: Any) -> Array:
    """Return the clocks that a shared atomic's requests hold the banks.

    Parameters
    ----------
    r : Requests
        With `sharing`.
    aggregated : array
        1 where the compiler adds up the warp first.
    """
    shared = r.sharing
    assert shared is not None
    lanes = r.active_lanes / np.maximum(r.requests, 1e-9)
    if r.random:
        sizes = np.minimum(np.atleast_1d(shared.addresses), BANKS)
        found = [random_conflicts(uniform(int(m)), BANK_WORD)[0].packets for m in sizes]
        each = np.array([float(f) for f in found])
    else:
        words = np.maximum(shared.pitch / BANK_WORD, 1.0)
        gcd = power_of_two_gcd(np.full(np.shape(words), BANKS), np.asarray(words, dtype=np.int64))
        uniform_lanes = np.where(shared.conflicts.addresses <= 1, 1.0, shared.addresses)
        each = BANK_TURNS(n=lanes, m=np.asarray(uniform_lanes, dtype=float), gcd=gcd * 1.0)
    return np.asarray(r.requests * np.where(np.asarray(aggregated) > 0, 1.0, each))


def aggregated_clocks(instance: Instance, requests: Sequence[Requests], held: Array) -> Array:
    """Return the clocks that a block waits until all warps of its SM have come to their sums.

    Parameters
    ----------
    instance : Instance
    requests : sequence of Requests
        Of the shared accesses.
    held : array
        Blocks that share an SM.
    """
    total = np.zeros(1)
    for r in requests:
        kind = instance.atomics[instance.kernel.accesses.index(r.access)]
        if kind is None:
            continue
        each = np.maximum(np.asarray(instance.runs(r.access.loop), dtype=float), 1.0)
        sums = np.where(np.asarray(kind.aggregated) > 0, r.requests / each, 0.0)
        total = total + AGGREGATED_CLOCKS * sums / np.asarray(instance.blocks, float) * held
    return total


def bank_clocks(instance: Instance, r: Requests) -> Array:
    """Return the clocks that a shared access holds the banks."""
    kind = instance.atomics[instance.kernel.accesses.index(r.access)]
    if kind is None or r.sharing is None:
        return r.data_wavefronts
    counts = r.access.operation == "increment"
    once = r.data_wavefronts if counts else native_wavefronts(r, kind.aggregated)
    words = np.asarray(r.sharing.pitch) / BANK_WORD
    m = np.maximum(np.asarray(r.sharing.addresses, dtype=np.int64), 1)
    wraps = (m >= BANKS) & (m < np.asarray(instance.threads_per_block)) & (words == 1)
    share = WRAPPED_WARPS(gcd=np.gcd(m, BANKS) * 1.0, m=m * 1.0)
    return np.asarray(once * (1 + np.where(wraps & (not r.random), share, 0.0)))


def loop_inputs(
    instance: Instance, requests: Sequence[Requests], rounds: Array, held: Array, clock: float
) -> dict[str, Any] | None:
    """Return what `SHARED_LOOP_TIME` takes for the atomics that are loops; None if there are none.

    Parameters
    ----------
    instance : Instance
    requests : sequence of Requests
        Of the shared accesses.
    rounds : array
        Rounds of blocks.
    held : array
        Blocks that share an SM.
    clock : float
        SM clock [Hz].
    """
    blocks = np.asarray(instance.blocks, dtype=float)
    warps = np.ceil(np.asarray(instance.threads_per_block, dtype=float) / WARP_SIZE)
    total: Array | None = None
    for r in requests:
        kind = instance.atomics[instance.kernel.accesses.index(r.access)]
        if kind is None or r.sharing is None:
            continue
        dtype = np.atleast_1d(np.asarray(kind.dtype))
        loop = ~_NATIVE[dtype] | (r.access.operation == "cas-loop")
        popular = 1 / np.maximum(r.sharing.hottest, 1e-12)
        once = np.asarray(kind.aggregated) > 0
        lanes = np.where(once, r.requests, r.active_lanes)
        wanted = contenders(lanes / blocks * r.sharing.hottest, r.random, popular)
        turns = np.where(loop, wanted, 0.0)
        tried = np.maximum(1.0, warps * np.minimum(1.0, WARP_SIZE * r.sharing.hottest))
        once_each = np.asarray(instance.runs(r.access.loop), dtype=float) <= 1
        lanes_apart = np.maximum(np.asarray(r.sharing.conflicts.addresses, dtype=float), 1.0)
        each = loop_clocks(tried, warps, held, rounds, once_each, lanes_apart, r.width)
        clocks = turns * each
        total = clocks if total is None else total + clocks
        last = {"turns": turns, "each": each}
    if total is None or not agreed(total > 0):
        return None
    if agreed(total != last["turns"] * last["each"]):
        last = {"turns": total, "each": np.ones(1)}
    return {"rounds": rounds, "clock": clock, **last}


def loop_clocks(
    tried: Any, warps: Any, held: Any, rounds: Any, once: Any, apart: Any, width: int
) -> Array:
    """Return the clocks from one success of a loop to the next; see `LOOP_CLOCKS`.

    Parameters
    ----------
    tried : array
        Warps of the block that try the address.
    warps : array
        Warps of the block.
    held : array
        Blocks that share an SM.
    rounds : array
        Rounds of blocks.
    once : array
        Whether each thread adds only once.
    apart : array
        Addresses of a warp.
    width : int
        Bytes of an element, 4 or 8.
    """
    wide = int(width == 8)
    w, block = np.asarray(tried, float), np.asarray(warps, float)
    tries = np.asarray(LOOP_TRIES(w=w))
    # Lanes of a warp win together, but where more than some eight warps try an address.
    own = np.log2(apart) / np.log2(WARP_SIZE) / np.maximum(w / 8, 1.0)
    turn = LOOP_TURN[wide] + (LOOP_TURN_APART[wide] - LOOP_TURN[wide]) * own
    again = np.where(np.asarray(apart) < WARP_SIZE, LOSE_AGAIN, LOSE_APART[wide])
    lose = np.where(once, LOSE_ONCE, again)
    step = np.asarray(WARPS_IN_STEP(x=block * LOOP_TURN[wide] / LOOP_SWAP[wide], lose=lose))
    given = {"alone": LOOP_ALONE[wide], "swap": LOOP_SWAP[wide], "p": LOOP_SOONER[wide]}
    every = {"turn": turn, "all": block * held, "tries": tries, "tail": LOOP_TAIL}
    return np.asarray(LOOP_CLOCKS(**given, **every, rounds=np.maximum(rounds, 1.0), step=step, w=w))


def best_copies(turns: Any, each: Any, bins: Any, warps: Any, merge: float = MERGE_CLOCKS) -> Array:
    """Return how many private copies of a block's bins take the least time.

    Parameters
    ----------
    turns : array
        Additions of a block at the most popular bin.
    each : array
        Clocks from one to the next: 1 for native atomics, `LOOP_CLOCKS` for loops.
    bins : array
        Bins of a copy.
    warps : array
        Warps of a block: more copies than these help nobody.
    merge : float
        Clocks of a block to clear and add up one bin of one copy.
    """
    best = BEST_COPIES(
        turns=np.asarray(turns, dtype=float),
        each=np.asarray(each, dtype=float),
        bins=np.asarray(bins, dtype=float),
        merge=merge,
    )
    return np.asarray(np.clip(best, 1.0, np.asarray(warps, dtype=float)))
