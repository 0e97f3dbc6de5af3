"""Latency and start-up: the chain of one block, its batches of loads, and rounds of blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from perfmodel.models.latency.block_waits import STALL_TIME
from perfmodel.models.latency.chain import (
    BATCH_LATENCY,
    BLOCK_OVERHEAD,
    CLOCKS_PER_INSTRUCTION,
    Batch,
)
from perfmodel.models.latency.latency import LATENCY_TIME, RAMP_TIME
from perfmodel.models.launch.waves import ROUNDS
from perfmodel.prediction.details import Details
from perfmodel.reports.step import Step, definition, named, scalar, step

LATENCY: Final = "Latency"
_CHAIN = definition(
    "time of one block",
    "s",
    "(overhead + max(once*instructions + each*looped, turns*(instructions + looped)))/clock"
    " + loads",
    {
        "turns": "clocks of one instruction of each warp of a scheduler, where warps wait for one "
        "another [clocks]",
        "once": "clocks from one instruction outside loops to the next [clocks]",
        "each": "clocks from one instruction of a loop to the next [clocks]",
        "looped": "instructions of a warp in loops [1]",
        "overhead": "clocks of a block besides loads and instructions [clocks]",
        "instructions": "instructions of a warp outside loops [1]",
        "clock": "SM clock [Hz]",
        "loads": "loads of a block, one batch after the other [s]",
    },
    holds="a block that has its SM to itself",
)

_PACED_CHAIN = definition(
    "time of one block",
    "s",
    "(overhead + max(alone + loops + barriers, turns*(instructions + looped)))/clock + loads",
    {
        "alone": "clocks of a lone warp for what runs once, by the latencies of its instructions "
        "[clocks]",
        "loops": "the same for its loops [clocks]",
        "barriers": "clocks of a block's barriers outside loops [clocks]",
        "turns": "clocks of one instruction of each warp of a scheduler, where warps wait for one "
        "another [clocks]",
        "looped": "instructions of a warp in loops [1]",
        "overhead": "clocks of a block besides loads and instructions [clocks]",
        "instructions": "instructions of a warp outside loops [1]",
        "clock": "SM clock [Hz]",
        "loads": "loads of a block, one batch after the other [s]",
    },
    holds="a block that has its SM to itself",
)


def latency_steps(details: Details) -> Iterator[Step]:
    """Yield the chain of one block, the rounds of blocks, and the times that both make."""
    inputs = details.time.inputs
    overhead, batches, loads, chain = _chain(LATENCY, details)
    yield from (*batches, loads, overhead, chain)
    yield step(LATENCY, ROUNDS, inputs["rounds"])
    yield step(LATENCY, named(STALL_TIME, "time of stalls"), inputs["stalls"])
    yield step(LATENCY, named(LATENCY_TIME, "time of latency"), inputs["latency"])


def batch_steps(section: str, details: Details) -> list[Step]:
    """Return the latency of each batch of loads of a block."""
    chain = details.time.chain
    return [_batch_step(section, batch, scalar(chain.missing)) for batch in chain.batches]


def ramp_steps(details: Details, derived: bool) -> Iterator[Step]:
    """Yield the start-up; `derived` tells whether `latency_steps` has given a block's loads."""
    section = "Start-up"
    overhead, batches, _, _ = _chain(section, details)
    given = details.time.chain.overhead
    values = {
        "warps": scalar(given["warps"]),
        "warp": given["warp"],
        "clock": details.time.clock,
    }
    meanings = {
        "warps": "warps of a block [1]",
        "warp": "clocks to start each warp [clocks]",
        "clock": "SM clock [Hz]",
    }
    if batches:
        values["batch"] = max(found.result for found in batches)
        meanings["batch"] = "latency of the slowest batch of loads [s]"
    text = "warps*warp/clock + batch" if batches else "warps*warp/clock"
    if not derived:
        yield from (*batches, overhead)
    yield step(section, definition("start of a block and its loads", "s", text, meanings), values)
    yield step(section, named(RAMP_TIME, "time of ramp"), details.time.inputs["ramp"])


def _chain(section: str, details: Details) -> tuple[Step, list[Step], Step, Step]:
    """Return a block's overhead, each of its batches of loads, all loads, and the whole chain."""
    chain = details.time.chain
    overhead = step(section, BLOCK_OVERHEAD, chain.overhead)
    batches = batch_steps(section, details)
    parts: list[str] = []
    values: dict[str, float] = {}
    meanings: dict[str, str] = {}
    for found, batch in zip(batches, chain.batches, strict=True):
        prefix = f"{batch.loop}_" if batch.loop else ""
        one = f"{prefix}batch" + (f"_{batch.depth + 1}" if batch.depth else "")
        parts.append(f"{prefix}batches*{one}" if batch.loop else one)
        values[one] = found.result
        after = ", after those that bring its indices" if batch.depth else ""
        meanings[one] = f"latency of a batch of loads{after} [s]"
        if batch.loop:
            values[f"{prefix}batches"] = scalar(batch.count)
            meanings[f"{prefix}batches"] = f"batches of loads in loop {batch.loop} [1]"
    formula = definition("loads of one block", "s", " + ".join(parts) or "0", meanings)
    loads = step(section, formula, values)
    if chain.once is not None:
        paced = {
            "overhead": overhead.result,
            "alone": chain.alone,
            "loops": chain.in_loops,
            "barriers": chain.barriers,
            "instructions": chain.instructions,
            "turns": chain.turns,
            "looped": chain.looped,
            "clock": chain.clock,
            "loads": loads.result,
        }
        return overhead, batches, loads, step(section, _PACED_CHAIN, paced)
    whole = step(
        section,
        _CHAIN,
        {
            "overhead": overhead.result,
            "once": CLOCKS_PER_INSTRUCTION,
            "instructions": chain.instructions,
            "each": chain.clocks_in_loops,
            "turns": chain.turns,
            "looped": chain.looped,
            "clock": chain.clock,
            "loads": loads.result,
        },
    )
    return overhead, batches, loads, whole


def _batch_step(section: str, batch: Batch, missing: float) -> Step:
    """Return the latency of a batch of loads, with where its probabilities come from."""
    filled, fresh = scalar(batch.filled), scalar(batch.fresh)
    return step(
        section,
        named(
            BATCH_LATENCY,
            f"batch of loads, {f'loop {batch.loop}' if batch.loop else 'outside loops'}"
            + (", by the indices just loaded" if batch.depth else "")
            + (f", beside the first of loop {batch.joins}" if batch.joins else ""),
        ),
        batch.inputs,
        f"sectors into L1, a block and batch: {filled:.4g}, so p1 = 1 - exp(-{filled:.4g}); "
        f"L2 reads that miss: {missing:.1%}; new lines, a warp: {fresh:.3g}, so "
        f"p2 = 1 - (1 - {missing:.4g})^{fresh:.3g}",
    )
