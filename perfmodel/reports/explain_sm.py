"""The clocks of an SM: L1's stages and fills, and instruction issue, by warp and step of a loop."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from perfmodel.hardware.device import WARP_SIZE
from perfmodel.models.formula import Formula
from perfmodel.models.l1.throughput import L1_CYCLES, waiting_shares
from perfmodel.models.launch.waves import BALANCE
from perfmodel.models.time.issue import (
    ISSUE_CYCLES,
    PIPE_CYCLES,
    issue_slots,
    turns_taken,
    warp_instructions,
)
from perfmodel.models.time.sm_times import SM_TIME
from perfmodel.models.time.steps import step_loop
from perfmodel.prediction.details import Details
from perfmodel.reports import units
from perfmodel.reports.explain_requests import AccessShare
from perfmodel.reports.explain_reuse import Reuse, l1_reuse, reuse_steps, walk_steps
from perfmodel.reports.step import Step, definition, named, scalar, step

L1: Final = "L1 of an SM"
_WARPS = definition(
    "warps",
    "warps",
    "ceil_div(threads, 32)*blocks",
    {"threads": "threads of a block [1]", "blocks": "blocks of the grid [1]"},
)
_SHARE = definition(
    "share",
    "clocks",
    "total/(warps*steps)",
    {
        "total": "clocks over all SMs [clocks]",
        "warps": "warps of the launch [1]",
        "steps": "steps of the loop that a warp makes [1]",
    },
)
# Of one warp and step, where `ISSUE_CYCLES` and `PIPE_CYCLES` count the launch over its SMs.
_ISSUE = Formula(
    "issue clocks",
    "clocks",
    "instructions/schedulers",
    {
        "instructions": "warp instructions [1]",
        "schedulers": "schedulers of an SM, one issue a clock [1/clock]",
    },
    ISSUE_CYCLES.holds,
    ISSUE_CYCLES.source,
)
_PIPE = Formula(
    "pipe clocks",
    "clocks",
    "instructions*32/lanes",
    {
        "instructions": "warp instructions of the pipe [1]",
        "lanes": "lanes of the pipe on an SM [threads/clock]",
    },
    PIPE_CYCLES.holds,
    PIPE_CYCLES.source,
)
_HIT_RATE = definition(
    "L1 hit rate",
    "1",
    "1 - fills/sectors",
    {"fills": "sectors that come from L2 [1]", "sectors": "sectors that the warps ask for [1]"},
)


@dataclass(frozen=True, slots=True)
class Unit:
    """What the clocks of an SM are counted by: a warp, or a warp and step of its busiest loop.

    Attributes
    ----------
    name : str
        "warp", or such as "warp and k-step".
    warps : float
        Warps of the launch.
    steps : float
        Steps of a warp; 1 without loops.
    loop : str or None
        The loop's variable.
    """

    name: str
    warps: float
    steps: float
    loop: str | None

    def total(self) -> float:
        """Return how many there are in the launch."""
        return self.warps * self.steps


def counted_by(details: Details) -> Unit:
    """Return the unit of a launch: its steps, or the loop nest in which most requests are made."""
    instance = details.instance
    weight: dict[str | None, float] = {}
    for r in details.requests:
        weight[r.access.loop] = weight.get(r.access.loop, 0.0) + scalar(r.requests)
    loop = step_loop(instance.kernel) or max(weight, key=lambda name: weight[name], default=None)
    warps = -(-int(scalar(instance.threads_per_block)) // WARP_SIZE) * scalar(instance.blocks)
    steps = 1.0
    for around in instance.kernel.loop_nest(loop):
        steps *= scalar(instance.trips[around.variable])
    if steps <= 1:
        return Unit("warp", warps, 1.0, None)
    step_of = loop if loop == "step" else f"{loop}-step"
    return Unit(f"warp and {step_of}", warps, steps, loop)


def launch_steps(details: Details) -> Iterator[Step]:
    """Yield warps, blocks an SM, waves and balance."""
    section = "Launch"
    instance, device, occupied = details.instance, details.device, details.occupied
    blocks = scalar(instance.blocks)
    threads = scalar(instance.threads_per_block)
    yield step(section, _WARPS, {"threads": threads, "blocks": blocks}, _shape(details))
    limits = {
        name: scalar(value)
        for name, value in (
            ("warps", occupied.by_warps),
            ("blocks", occupied.by_blocks),
            ("registers", occupied.by_registers),
            ("shared_memory", occupied.by_shared),
        )
        if scalar(value) < 1 << 30
    }
    resident = scalar(occupied.blocks_per_sm)
    waves = blocks / (device.sm_count * max(resident, 1.0))
    yield step(
        section,
        definition(
            "blocks an SM",
            "blocks",
            f"min({', '.join(limits)})",
            {name: f"blocks that its {name.replace('_', ' ')} admit [1]" for name in limits},
        ),
        limits,
        f"limited by {occupied.limiter}: {scalar(occupied.warps_per_sm):.0f} of "
        f"{device.max_warps_per_sm} warps, {scalar(occupied.fraction):.0%} occupancy; "
        f"{waves:.3g} waves",
    )
    sms = float(device.sm_count)
    most = f"{math.ceil(blocks / sms)} blocks on one SM, {units.number(blocks / sms)} on average"
    inputs = details.time.inputs
    yield step(section, BALANCE, inputs["balance"], most)
    if scalar(BALANCE(**inputs["l1-balance"])) != scalar(BALANCE(**inputs["balance"])):
        # Blocks cut short by lanes have as many instructions, and fewer wavefronts.
        yield step(section, named(BALANCE, f"{BALANCE.name}, for L1"), inputs["l1-balance"])


def l1_steps(
    details: Details, shares: Sequence[AccessShare], others: Sequence[str], unit: Unit
) -> Iterator[Step]:
    """Yield the clocks of L1 for one warp and step, then for an SM, then its time."""
    nests = l1_reuse(details)
    again = [reuse for reuse in nests if reuse.happens(_asked_of_l1(details, reuse))]
    for reuse in again:
        yield from reuse_steps(L1, reuse, "L1")
    if again:
        yield from walk_steps(L1, details, nests)
    for share in shares:
        access = details.traffic.accesses[share.position]
        cached = details.requests[share.position].access.cache == "l1"
        if access.kind == "load" and cached and scalar(access.sectors) > 0:
            moved = {"fills": access.l1_fill_sectors, "sectors": access.sectors}
            reads = scalar(access.sectors) / max(scalar(access.l1_fill_sectors), 1.0)
            note = f"a sector from L2 serves {units.number(reads)} reads" if reads > 1 else ""
            yield step(L1, named(_HIT_RATE, f"L1 hit rate of {share.label}"), moved, note)
    per = f"a {unit.name}"
    stages: dict[str, float] = {}
    for stage, meaning in L1_CYCLES.symbols.items():
        whole = scalar(details.time.inputs["l1"][stage]) * details.device.sm_count
        found = _stage(details, shares, stage, whole, unit)
        if found is None:
            given = {"total": whole, "warps": unit.warps, "steps": unit.steps}
            formula = named(_SHARE, f"L1 {stage}, {per}")
            found = step(L1, formula, given, meaning.removesuffix(" [clocks]"))
        elif others:
            found = replace(found, note=f"{', '.join(others)}: under 1%")
        stages[stage] = found.result
        yield found
    clocks = step(L1, named(L1_CYCLES, f"L1 clocks, {per}"), stages, _l1_note(stages, unit))
    yield clocks
    yield from _sm_time(L1, "l1", clocks.result, details, unit)


def arithmetic_steps(details: Details, name: str, unit: Unit) -> Iterator[Step]:
    """Yield the clocks and time of instruction issue ("issue") or of one arithmetic pipe."""
    section = "Instruction issue" if name == "issue" else f"Pipe {name}"
    device, traffic = details.device, details.traffic
    turns = turns_taken(details.instance.kernel, details.requests)
    totals = warp_instructions(details.instance, traffic.requests, turns)
    each = {pipe: scalar(count) / unit.total() for pipe, count in totals.items()}
    if name == "issue":
        chosen = {p: scalar(issue_slots(p, count)) for p, count in each.items() if count > 0}
    else:
        chosen = {name: each[name]}
    meanings = {pipe: f"{pipe} instructions, a {unit.name} [1]" for pipe in chosen}
    yield (
        instructions := step(
            section,
            definition(
                f"instructions, a {unit.name}", "instructions", " + ".join(chosen), meanings
            ),
            chosen,
        )
    )
    cycles = scalar(details.time.inputs[name]["cycles"])
    given = {"instructions": instructions.result, "schedulers": device.schedulers_per_sm}
    formula = _ISSUE
    if name != "issue":
        lanes = instructions.result * unit.total() * WARP_SIZE / (device.sm_count * cycles)
        given = {"instructions": instructions.result, "lanes": round(lanes)}
        formula = _PIPE
    per = step(section, named(formula, f"{name} clocks, a {unit.name}"), given)
    yield per
    yield from _sm_time(section, name, per.result, details, unit)


def _sm_time(
    section: str, term: str, clocks: float, details: Details, unit: Unit
) -> Iterator[Step]:
    """Yield the clocks of an SM from those of a warp and step, and the time that they take."""
    steps = {"steps": unit.steps} if unit.loop else {}
    formula = definition(
        "clocks an SM",
        "clocks",
        f"clocks*warps{'*steps' if steps else ''}/SMs",
        {
            "clocks": f"clocks, a {unit.name} [clocks]",
            "warps": "warps of the launch [1]",
            **({"steps": f"steps of {unit.loop} that a warp makes [1]"} if steps else {}),
            "SMs": "SMs [1]",
        },
    )
    sms = float(details.device.sm_count)
    whole = step(section, formula, {"clocks": clocks, "warps": unit.warps, "SMs": sms, **steps})
    yield whole
    given = {**details.time.inputs[term], "cycles": whole.result}
    yield step(section, named(SM_TIME, f"time of {term}"), given)


def _shape(details: Details) -> str:
    sizes = (
        " x ".join(f"{scalar(size):.0f}" for size in dimensions)
        for dimensions in (details.instance.grid, details.instance.block)
    )
    return "grid {}, block {}".format(*sizes)


def _asked_of_l1(details: Details, reuse: Reuse) -> float:
    """Return the sectors that the loads of a block ask of L1."""
    members = (i for g in reuse.groups for i in g.members)
    asked = sum(scalar(details.requests[i].sectors) for i in members)
    return asked / scalar(details.instance.blocks)


def _stage(
    details: Details, shares: Sequence[AccessShare], stage: str, whole: float, unit: Unit
) -> Step | None:
    """Return a stage's clocks for a unit as a sum over accesses; None where that is no sum."""
    field = {"data": "data_wavefronts", "tags": "tag_wavefronts"}.get(stage)
    if field is None:
        return None
    terms: list[str] = []
    values: dict[str, float] = {}
    meanings: dict[str, str] = {}
    total = 0.0
    for share in shares:
        access = details.traffic.accesses[share.position]
        name, clocks = share.symbol, scalar(getattr(access, field)) / unit.total()
        values[name] = clocks
        meanings[name] = f"{field.replace('_', ' ')} of {name} [clocks]"
        terms.append(name)
        # A load that waits for L2 counts as a fill and not as a wavefront.
        if stage == "data" and access.kind == "load" and scalar(access.l1_fill_sectors) > 0:
            every = waiting_shares(details.instance, details.requests, details.traffic.accesses)
            waits = scalar(every[share.position][1])
            values[f"waits_{name}"] = waits
            meanings[f"waits_{name}"] = f"share of {name}'s requests that wait for L2 [1]"
            terms[-1] += f"*(1 - waits_{name})"
            clocks *= 1 - waits
        total += clocks
    if stage == "data" and scalar(details.traffic.shared_wavefronts) > 0:
        values["shared_memory"] = scalar(details.traffic.shared_wavefronts) / unit.total()
        meanings["shared_memory"] = "wavefronts of shared memory [clocks]"
        terms.append("shared_memory")
        total += values["shared_memory"]
    left = whole / unit.total() - total
    if not terms or left < -1e-9 * total:
        return None
    if left > 1e-9 * total:
        values["others"] = left
        meanings["others"] = "the accesses left out [clocks]"
        terms.append("others")
    formula = definition(f"L1 {stage}, a {unit.name}", "clocks", " + ".join(terms), meanings)
    return step(L1, formula, values)


def _l1_note(stages: Mapping[str, float], unit: Unit) -> str:
    """Return which of L1's stages is the busiest, in words."""
    streams = stages["data"] + stages["fills"]
    others = {name: clocks for name, clocks in stages.items() if name not in ("data", "fills")}
    name, most = max(others.items(), key=lambda item: item[1])
    if most > streams:
        busiest = f"L1 {name} take longer than data and fills, {units.number(streams)}"
    elif stages["fills"] > stages["data"]:
        busiest = f"fills from L2 {units.number(stages['fills'])} of them"
    else:
        busiest = f"L1 data stage {units.number(stages['data'])} of them"
    return f"{units.number(max(most, streams))} clocks a {unit.name}: {busiest}"
