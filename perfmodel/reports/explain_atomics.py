"""Atomics: from the lanes of a warp to passes through L2's slices, with the numbers put in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from perfmodel.models.atomics.global_atomics import OVERLAP, SLICE_TIME, AtomicTime
from perfmodel.models.atomics.locks import LOCK_TIME, WAITING
from perfmodel.models.atomics.retries import FAILING, LOOP_TIME, ROUNDS_TIME, TRIES, TRIP_CLOCKS
from perfmodel.models.atomics.several_atomics import APART, BUSIEST_OF_SEVERAL
from perfmodel.models.atomics.shared_loops import SHARED_LOOP_TIME
from perfmodel.models.atomics.shared_swaps import SWAP_TIME
from perfmodel.models.atomics.to_slices import NETWORK_TIME, SEND_CYCLES
from perfmodel.models.formula import Formula
from perfmodel.models.l2.slices import BUSIEST_SLICE, PASS_TIME
from perfmodel.models.launch.waves import BALANCE
from perfmodel.prediction.details import Details
from perfmodel.reports.step import Step, definition, named, scalar, step

ATOMICS: Final = "Atomics"
_PASSES = definition(
    "passes",
    "1",
    "requests*each",
    {
        "requests": "warp requests of the launch [1]",
        "each": "over the sectors of a request, the lanes at the most popular address of each [1]",
    },
)
_AGAIN: Final = {"again": "time of those that try again, one after the other [s]"}
_SEND_TIME = definition(
    "time of an SM to send",
    "s",
    "clocks/clock*balance",
    {
        "clocks": "clocks to send its packets [clocks]",
        "clock": "SM clock [Hz]",
        "balance": "blocks of the busiest SM over the average [1]",
    },
)


def atomic_steps(details: Details) -> Iterator[Step]:
    """Yield the time of each global atomic, and of all together."""
    times = details.time.atomics
    for found in times:
        access = details.requests[found.position].access
        name = access.name or access.buffer
        yield from _access_steps(
            details, found, ATOMICS if len(times) == 1 else f"{ATOMICS}: {name}"
        )
    given = details.time.inputs
    if len(times) > 1:
        parts = {name: scalar(value) for name, value in given["several"].items()}
        if "slice" not in parts:
            yield step(ATOMICS, definition("time of atomics", "s", "again", _AGAIN), parts)
            return
        yield step(ATOMICS, APART, given["apart"])
        yield step(ATOMICS, BUSIEST_OF_SEVERAL, given["several-slices"])
        power = f"{OVERLAP:g}"
        text = f"again + (slice**{power} + network**{power} + send**{power})**(1/{power})"
        meanings = _AGAIN | {
            n: f"time of the {n} for all others [s]" for n in parts if n != "again"
        }
        yield step(ATOMICS, definition("time of atomics", "s", text, meanings), parts)


def _access_steps(details: Details, found: AtomicTime, section: str) -> Iterator[Step]:
    r = details.requests[found.position]
    given = found.inputs
    if r.sharing is not None:
        passes = scalar(given["slice"]["passes"])
        requests = scalar(r.requests)
        shown = {"requests": requests, "each": passes / requests}
        yield step(section, _PASSES, shown, "the profiler's l2_atomic_sectors")
    yield step(section, BUSIEST_SLICE, given["share"])
    yield step(section, PASS_TIME, given["pass"])
    yield step(section, SLICE_TIME, given["slice"])
    yield step(section, NETWORK_TIME, given["network"])
    sent = step(section, SEND_CYCLES, given["send"])
    yield sent
    balance = scalar(BALANCE(**details.time.inputs["balance"]))
    values = {"clocks": sent.result, "clock": details.time.clock, "balance": balance}
    yield step(section, _SEND_TIME, values)
    if "loop" in found.parts_s:
        yield step(section, FAILING, given["failing"])
        yield step(section, TRIES, given["tries"])
        yield step(section, TRIP_CLOCKS, given["trip"])
        yield step(section, ROUNDS_TIME, given["rounds"])
        yield step(section, LOOP_TIME, given["loop"])
    if "lock" in found.parts_s:
        yield step(section, WAITING, given["waiting"])
        yield step(section, LOCK_TIME, given["lock"])
    parts = {name: scalar(value) for name, value in found.parts_s.items()}
    power = f"{OVERLAP:g}"
    yield step(
        section,
        Formula(
            name="time of atomics",
            unit="s",
            text=f"({' + '.join(f'{name}**{power}' for name in parts)})**(1/{power})",
            symbols={name: f"time of the {name} [s]" for name in parts},
            holds="nearly the largest where one dominates",
            source="fitted: exponent of `perfmodel.models.atomics.global_atomics`",
        ),
        parts,
    )


def shared_loop_steps(details: Details) -> Iterator[Step]:
    """Yield the time of atomics in shared memory that are loops."""
    for name, formula in (("shared-loops", SHARED_LOOP_TIME), ("shared-swaps", SWAP_TIME)):
        if name in details.time.inputs:
            given = details.time.inputs[name]
            yield step("Atomics in shared memory", named(formula, f"time of {name}"), given)
