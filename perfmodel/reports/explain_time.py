"""The last part of a derivation: how the terms of a prediction make one time."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import Any, Final

from perfmodel.kernels.kernel import PIPES
from perfmodel.models.formula import Formula
from perfmodel.models.latency.meeting import MEETING_TIME, PASSES_TIME, meeting_inputs
from perfmodel.models.time.bursts import BURST_TIME
from perfmodel.models.time.combined import (
    FRONT_OVERLAP,
    MISSING_TIME,
    OVERLAP,
    STAGES_TIME,
    beside_memory,
    front_overlap,
)
from perfmodel.models.time.launch import AFTER_TIME
from perfmodel.models.time.least_time import LeastTime
from perfmodel.models.time.queueing import (
    BANDWIDTH_TIME,
    BURST_WAIT,
    CROWD_TIME,
    MEMORY_TIME,
    QUEUE_TIME,
    SECOND_WAIT,
)
from perfmodel.models.time.stage import TimeModel
from perfmodel.models.time.turns import (
    AFTER_OLDEST,
    IN_STEP,
    IN_TURN,
    ONCE_TIME,
    TURNS_OVERLAP,
    TURNS_TIME,
    mixed_pipes,
    queued_pipes,
)
from perfmodel.models.time.walks import WALK_TIME
from perfmodel.prediction.record import Prediction
from perfmodel.reports import units
from perfmodel.reports.explain_sm import (
    Unit,
    counted_by,
)
from perfmodel.reports.step import NEGLIGIBLE, Step, close, definition, named, scalar, step

TIME: Final = "Time"
SM_CLOCKS: Final = "clocks of an SM"
"""Start of the title of the step that gives them."""
_ARITHMETIC: Final = frozenset({"issue", *PIPES})
_INVISIBLE: Final = 1e-12
"""Share of a power mean below which a part is not shown: chosen, far beyond the digits that are."""
_TOGETHER: Final = {
    "so_far": "time of all resources with the walk [s]",
    "waiting": "time of an SM with its waits for loads [s]",
    "turns": "time of warps that wait and compute in turn [s]",
    "resources": "time of all resources [s]",
    "loaded": "time of bandwidth and atomics, at the least [s]",
    "lookups": "time of L2's lookups, atomics and all else [s]",
    "last": "time until the last block ends, at the least [s]",
    "after": "time until the last data arrives, at the least [s]",
    "burst": "time of blocks that ask for their data at once, at the least [s]",
}
"""What the time of all resources together is the largest of."""


def busiest_pipe(terms: Mapping[str, float]) -> str:
    """Return the slowest of instruction issue and the arithmetic pipes."""
    return max(terms.keys() & _ARITHMETIC, key=lambda name: (terms[name], name))


def counted_terms(terms: Mapping[str, float]) -> set[str]:
    """Return the terms that enter the time: of issue and the pipes only the slowest."""
    return (terms.keys() - _ARITHMETIC) | {busiest_pipe(terms)}


def time_steps(prediction: Prediction, pipe: str, unit: Unit) -> Iterator[Step]:
    """Yield how the terms make one time.

    Parameters
    ----------
    prediction : Prediction
    pipe : str
        The slowest of issue and the arithmetic pipes.
    unit : Unit
        What the clocks of an SM are counted by.
    """
    if "steps" in prediction.details.time.inputs:
        yield _bandwidth(prediction)
        together = yield from _steps_and_memory(prediction, pipe)
        yield from _total(prediction, together.result, unit)
        return
    terms, model = prediction.terms_s, prediction.details.time
    given, kernel = model.inputs, prediction.details.instance.kernel
    overlap = scalar(front_overlap(model.traffic, model.chain, kernel))
    named = {pipe: terms[pipe]}
    if terms.keys() & _ARITHMETIC - {pipe}:
        names = sorted(queued_pipes(terms, kernel.translated))
        queued = {name: terms[name] for name in names if terms[name] > 0}
        yield _power_mean("arithmetic: issue and the slower pipes", queued, TURNS_OVERLAP)
        named = {"arithmetic": scalar(mixed_pipes(terms, kernel.translated))}
    own = {**named, "l1_own": scalar(given["memory"]["own"])}
    note = "l1_own: L1 without the sectors that L2 gives"
    busy = _power_mean("SM, busy", own, overlap, note)
    yield busy
    yield _bandwidth(prediction)
    of_memory = yield from _memory_steps(given["memory"])
    # Blocks that meet have queued for their SM already.
    parts = {} if given["memory"]["queued"] else {"sm": busy.result}
    parts["memory"] = of_memory
    if "stages" in given:
        yield step(TIME, STAGES_TIME, given["stages"])
    elif "missing" in given and scalar(given["missing"]["dram"]) > 0:
        yield step(TIME, MISSING_TIME, given["missing"])
    for name, value in beside_memory(model.terms_s, given).items():
        parts[name.replace("-", "_")] = scalar(value)
    resources = _power_mean("all resources", parts, OVERLAP)
    yield resources
    of_sm = {**named, "l1": terms["l1"]}
    if overlap == FRONT_OVERLAP:
        of_sm["stalls"] = terms["stalls"]
    else:
        front = _power_mean("SM, issue and L1", of_sm, overlap)
        yield front
        of_sm = {"front": front.result, "stalls": terms["stalls"]}
    waiting = _power_mean("SM, waiting for loads", of_sm, FRONT_OVERLAP)
    yield waiting
    if scalar(given["in-step"]["far"]) > 0:
        yield step(TIME, IN_STEP, given["in-step"])
    for name, formula in {"oldest": AFTER_OLDEST, "in-turn": IN_TURN, "once": ONCE_TIME}.items():
        if name in given:
            yield step(TIME, formula, given[name])
    in_turns = step(TIME, TURNS_TIME, given["turns"])
    yield in_turns
    values = {"waiting": waiting.result, "turns": in_turns.result, "resources": resources.result}
    yield from _total(prediction, (yield from _least_times(values, model)), unit)


def _memory_steps(memory: Mapping[str, Any]) -> Generator[Step, None, float]:
    """Yield how L2, DRAM and the waits for both make one time, and return it [s]."""
    yield step(TIME, BURST_WAIT, _chosen(memory, "latency", "burst", "share", "reads", "held"))
    return (yield from _queues(memory))


def _queues(memory: Mapping[str, Any]) -> Generator[Step, None, float]:
    """Yield how waits and bandwidth make one time, and return it [s]."""
    found = {}
    if scalar(memory["share"]) < 1:
        loops = step(TIME, QUEUE_TIME, _chosen(memory, "wait", "bandwidth", "queue", "alone"))
        yield loops
        found["loops"] = loops.result
        if memory["queued"] and scalar(memory["again"]) > 0:
            passes = step(TIME, MEETING_TIME, meeting_inputs(memory, passes=True))
            yield passes
            parts = found | {"passes": passes.result, "again": memory["again"]}
            loops = step(TIME, PASSES_TIME, parts)
            yield loops
            found["loops"] = loops.result
    if scalar(memory["share"]) > 0:
        blocks = step(TIME, CROWD_TIME, _chosen(memory, "wait", "bandwidth", "p"))
        if memory["queued"]:
            # The longer of both is shown: blocks that meet overlap no better than others.
            meeting = step(TIME, MEETING_TIME, meeting_inputs(memory))
            blocks = max(blocks, meeting, key=lambda found: found.result)
        yield blocks
        found["blocks"] = blocks.result
    second = scalar(memory["share"]) * scalar(memory["second"])
    if second > 0:
        yield step(TIME, SECOND_WAIT, _chosen(memory, "found", "stored", "load", "rounds"))
    if len(found) == 1 and second <= 0:
        return next(iter(found.values()))
    both = step(TIME, MEMORY_TIME, {"loops": 0.0} | found | _chosen(memory, "share", "second"))
    yield both
    return both.result


def _least_times(values: dict[str, float], model: TimeModel) -> Generator[Step, None, float]:
    """Yield what the time is at the least, in the model's order, and return it [s].

    `values` are the times so far of which the largest counts.
    """
    for least in model.least:
        found = step(TIME, least.formula, least.inputs)
        if not least.adds:
            if _happens(least):
                yield found
                values[least.name] = found.result
            continue
        yield (together := _largest(values))
        if not close(found.result, together.result):
            yield step(TIME, WALK_TIME, model.inputs[least.name])
            yield found
        values = {"so_far": found.result}
    if len(values) > 1:
        yield (together := _largest(values))
    return max(values.values())


def _happens(least: LeastTime) -> bool:
    """Say whether a least time is more than a part of the time so far, which needs no step."""
    if least.formula is AFTER_TIME:
        return scalar(least.inputs["before"]) > 0
    if least.formula is BURST_TIME:
        return scalar(least.inputs["outside"] * least.inputs["reads"]) > 0
    return True


def _largest(values: Mapping[str, float]) -> Step:
    symbols = {name: _TOGETHER[name] for name in values}
    formula = definition("all of them, together", "s", f"max({', '.join(symbols)})", symbols)
    return step(TIME, formula, values)


def _steps_and_memory(prediction: Prediction, pipe: str) -> Generator[Step, None, Step]:
    """Yield how the blocks' steps and the other resources make one time, and return the last."""
    inputs, terms = prediction.details.time.inputs, prediction.terms_s
    arithmetic = sorted((terms.keys() & _ARITHMETIC) - {pipe})
    less = ", ".join(f"{name} {units.seconds(terms[name])}" for name in arithmetic)
    note = f"of issue and the pipes only the slowest counts; the others: {less}" if less else ""
    queued = yield from _queues(inputs["in-steps"])
    beside = beside_memory(prediction.details.time.terms_s, inputs)
    parts = {name.replace("-", "_"): scalar(value) for name, value in beside.items()}
    together = _power_mean("all resources", {"steps": queued, **parts}, OVERLAP, note)
    yield together
    return together


def _total(prediction: Prediction, together: float, unit: Unit) -> Iterator[Step]:
    """Yield clocks a step and the time, from what all resources need together [s]."""
    terms, device = prediction.terms_s, prediction.details.device
    yield step(
        TIME,
        definition(
            f"{SM_CLOCKS}, a {unit.name}",
            "clocks",
            "together*clock*SMs/(warps*steps)" if unit.loop else "together*clock*SMs/warps",
            {
                "together": "time of all resources together [s]",
                "clock": "SM clock [Hz]",
                "SMs": "SMs [1]",
                "warps": "warps of the launch [1]",
                **({"steps": f"steps of {unit.loop} that a warp makes [1]"} if unit.loop else {}),
            },
        ),
        {
            "together": together,
            "clock": prediction.details.time.clock,
            "SMs": device.sm_count,
            "warps": unit.warps,
            "steps": unit.steps,
        },
        _clocks_note(prediction),
    )
    floor = device.figures["launch_floor" if prediction.timing == "profiler" else "event_floor"]
    yield step(
        TIME,
        definition(
            "time",
            "s",
            "launch + ramp + together",
            {
                "launch": "an empty kernel [s]",
                "ramp": "a block's start and its first loads [s]",
                "together": "time of all resources together [s]",
            },
        ),
        {**terms, "together": together},
        f"launch: the time of an empty kernel by {prediction.timing}, {floor.kind} with "
        f"{'cold' if prediction.timing == 'profiler' else 'warm'} caches; here they are "
        f"{prediction.cache}",
    )


def _bandwidth(prediction: Prediction) -> Step:
    """Return the step of the slower of L2 and DRAM."""
    memory = prediction.details.time.inputs["memory"]
    given = _chosen(memory, "early", "l2", "besides", "dram", "held_up", "sides")
    return step(TIME, named(BANDWIDTH_TIME, "bandwidth"), given)


def _chosen(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: values[name] for name in names}


def _clocks_note(prediction: Prediction) -> str:
    """Return how many clocks each resource would need alone."""
    unit = counted_by(prediction.details)
    device, terms = prediction.details.device, prediction.terms_s
    factor = prediction.details.time.clock * device.sm_count / unit.total()
    counted = counted_terms(terms)
    shown = [
        f"{name} {units.number(terms[name] * factor)}"
        for name in sorted(counted, key=lambda name: (-terms[name], name))
        if terms[name] >= NEGLIGIBLE * prediction.time_s
    ]
    return f"alone, each would need: {', '.join(shown)}"


def _power_mean(title: str, parts: Mapping[str, float], exponent: float, note: str = "") -> Step:
    """Return the step of a power mean; parts that no digit of it shows are left out."""
    largest = max(parts.values())
    kept = {n: v for n, v in parts.items() if (v / largest) ** exponent >= _INVISIBLE}
    gone = [f"{name} {units.seconds(parts[name])}" for name in parts if name not in kept]
    if gone:
        note = f"{note}; " if note else ""
        note += f"too small to show: {', '.join(gone)}"
    power = f"{exponent:g}"
    if len(kept) == 1:
        text = next(iter(kept))
    else:
        text = f"({' + '.join(f'{name}**{power}' for name in kept)})**(1/{power})"
    formula = Formula(
        name=title,
        unit="s",
        text=text,
        symbols={name: f"time of {name} alone [s]" for name in kept},
        holds="nearly the largest where one dominates, more where several are near",
        source=f"fitted: exponent {power} of `perfmodel.models.time.combined`",
    )
    return step(TIME, formula, kept, note)
