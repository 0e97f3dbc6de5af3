"""The derivation of a prediction: every formula that mattered, with its numbers put in.

Steps come in the order in which one would work them out by hand: what a warp asks for, what that
costs an SM, what caches save, what L2, DRAM and latency need, and how the terms make one time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from perfmodel.kernels.kernel import PIPES
from perfmodel.models.block_waits import DISPATCH_TIME
from perfmodel.models.bursts import BURST_TIME
from perfmodel.models.combined import (
    FRONT_OVERLAP,
    LOADED_TIME,
    MISSING_TIME,
    OVERLAP,
    STAGES_TIME,
    beside_memory,
    front_overlap,
)
from perfmodel.models.formula import Formula
from perfmodel.models.launch import AFTER_TIME, LAST_TIME
from perfmodel.models.lookups import LOOKUPS_TIME
from perfmodel.models.queueing import (
    BANDWIDTH_TIME,
    BURST_WAIT,
    CROWD_TIME,
    MEMORY_TIME,
    QUEUE_TIME,
    SECOND_WAIT,
)
from perfmodel.models.steps import STEPS_TIME, rounds_of_steps
from perfmodel.models.turns import (
    IN_STEP,
    TURNS_OVERLAP,
    TURNS_TIME,
    mixed_pipes,
    queued_pipes,
)
from perfmodel.models.walks import BESIDE_WALK, WALK_TIME
from perfmodel.prediction.record import Prediction
from perfmodel.reports import units
from perfmodel.reports.explain_atomics import atomic_steps, shared_loop_steps
from perfmodel.reports.explain_latency import latency_steps, ramp_steps
from perfmodel.reports.explain_memory import dram_steps, l2_steps
from perfmodel.reports.explain_pipeline import pipeline_steps
from perfmodel.reports.explain_requests import access_shares, all_request_steps
from perfmodel.reports.explain_residency import residency_steps, writeback_steps
from perfmodel.reports.explain_sm import (
    Unit,
    arithmetic_steps,
    counted_by,
    l1_steps,
    launch_steps,
)
from perfmodel.reports.explain_steps import steps_of
from perfmodel.reports.step import NEGLIGIBLE, Step, definition, named, scalar, step

SCHEMA: Final = "perfmodel.explanation/1"
TIME: Final = "Time"
SM_CLOCKS: Final = "clocks of an SM"
"""Start of the title of the step that gives them."""
_ARITHMETIC: Final = frozenset({"issue", *PIPES})
_INVISIBLE: Final = 1e-12
_TOGETHER: Final = definition(
    "all of them, together",
    "s",
    "max(waiting, turns, resources, loaded, lookups, last, after, burst)",
    {
        "waiting": "time of an SM with its waits for loads [s]",
        "turns": "time of warps that wait and compute in turn [s]",
        "resources": "time of all resources [s]",
        "loaded": "time of bandwidth and atomics, at the least [s]",
        "lookups": "time of L2's lookups, atomics and all else [s]",
        "last": "time until the last block ends, at the least [s]",
        "after": "time until the last data arrives, at the least [s]",
        "burst": "time of blocks that ask for their data at once, at the least [s]",
    },
)


def explain(prediction: Prediction) -> tuple[Step, ...]:
    """Return the derivation of a predicted time.

    Parameters
    ----------
    prediction : Prediction

    Returns
    -------
    tuple of Step
        Terms under 1% of the time enter as numbers, without steps of their own. The result of
        the last step is ``prediction.time_s``.
    """
    return tuple(_steps(prediction))


def explanation_record(prediction: Prediction) -> dict[str, Any]:
    """Return the explanation as the JSON object ``perfmodel.explanation/1``.

    It holds the prediction, its steps in order, and the terms that were not derived [s].
    """
    return {
        "schema": SCHEMA,
        "prediction": prediction.to_json(),
        "steps": [found.to_json() for found in explain(prediction)],
        "not_derived_s": left_out(prediction),
    }


def left_out(prediction: Prediction) -> dict[str, float]:
    """Return the terms that `explain` does not derive, being under 1% of the time, largest first.

    Of instruction issue and the arithmetic pipes only the slowest counts.
    """
    if prediction.details.instance.pipeline is not None:
        return {}
    counted = _counted(prediction.terms_s)
    small = {
        name: value
        for name, value in prediction.terms_s.items()
        if name in counted and value < NEGLIGIBLE * prediction.time_s
    }
    return dict(sorted(small.items(), key=lambda item: -item[1]))


def busiest_pipe(terms: Mapping[str, float]) -> str:
    """Return the slowest of instruction issue and the arithmetic pipes."""
    return max(terms.keys() & _ARITHMETIC, key=lambda name: (terms[name], name))


def _counted(terms: Mapping[str, float]) -> set[str]:
    """Return the terms that enter the time: of issue and the pipes only the slowest."""
    return (terms.keys() - _ARITHMETIC) | {busiest_pipe(terms)}


def _steps(prediction: Prediction) -> Iterator[Step]:
    details, terms = prediction.details, prediction.terms_s
    if details.instance.pipeline is not None:
        yield from pipeline_steps(prediction)
        return
    small = left_out(prediction)
    pipe = busiest_pipe(terms)
    unit = counted_by(details)
    yield from launch_steps(details)
    shares, others = access_shares(details, small)
    yield from all_request_steps(details, shares)
    if "l1" not in small:
        yield from l1_steps(details, shares, others, unit)
    if pipe not in small:
        yield from arithmetic_steps(details, pipe, unit)
    if "l2" not in small:
        yield from l2_steps(details)
    if "atomics" in terms and "atomics" not in small:
        yield from atomic_steps(details)
    if "shared-loops" in terms and "shared-loops" not in small:
        yield from shared_loop_steps(details)
    yield from residency_steps(prediction)
    if "dram" not in small:
        yield from dram_steps(details, shares)
    if "writeback" in terms and "writeback" not in small:
        yield from writeback_steps(prediction)
    in_steps = "steps" in details.time.inputs
    waits = in_steps or not {"latency", "stalls"} <= small.keys()
    if in_steps:
        yield from steps_of(details)
    elif waits:
        yield from latency_steps(details)
    if "ramp" not in small:
        yield from ramp_steps(details, derived=waits)
    if "dispatch" in terms and "dispatch" not in small:
        yield from _dispatch_steps(prediction)
    yield from _time_steps(prediction, pipe, unit)


def _dispatch_steps(prediction: Prediction) -> Iterator[Step]:
    given = prediction.details.time.inputs["dispatch"]
    yield step("Dispatch of blocks", DISPATCH_TIME, given)


def _time_steps(prediction: Prediction, pipe: str, unit: Unit) -> Iterator[Step]:
    terms = prediction.terms_s
    arithmetic = sorted((terms.keys() & _ARITHMETIC) - {pipe})
    note = ""
    if arithmetic and "steps" in prediction.details.time.inputs:
        less = ", ".join(f"{name} {units.seconds(terms[name])}" for name in arithmetic)
        note = f"of issue and the pipes only the slowest counts; the others: {less}"
    if "steps" in prediction.details.time.inputs:
        together = _steps_and_memory(prediction, note)
        yield _bandwidth(prediction)
        yield together
        yield from _total(prediction, together.result, unit)
        return
    memory = prediction.details.time.inputs["memory"]
    named = {pipe: terms[pipe]}
    translated = prediction.details.instance.kernel.translated
    model = prediction.details.time
    overlap = scalar(front_overlap(model.traffic, model.chain, prediction.details.instance.kernel))
    if arithmetic:
        names = sorted(queued_pipes(terms, translated))
        queued = {name: terms[name] for name in names if terms[name] > 0}
        yield _power_mean("arithmetic: issue and the slower pipes", queued, TURNS_OVERLAP)
        named = {"arithmetic": scalar(mixed_pipes(terms, translated))}
    own = {**named, "l1_own": scalar(memory["own"])}
    note = "l1_own: L1 without the sectors that L2 gives"
    busy = _power_mean("SM, busy", own, overlap, note)
    yield busy
    yield _bandwidth(prediction)
    yield step(TIME, BURST_WAIT, _chosen(memory, "latency", "burst", "share", "reads", "held"))
    found = {}
    if scalar(memory["share"]) < 1:
        loops = step(TIME, QUEUE_TIME, _chosen(memory, "wait", "bandwidth", "queue", "alone"))
        yield loops
        found["loops"] = loops.result
    if scalar(memory["share"]) > 0:
        blocks = step(TIME, CROWD_TIME, _chosen(memory, "wait", "bandwidth", "p"))
        yield blocks
        found["blocks"] = blocks.result
    of_memory = next(iter(found.values()))
    second = scalar(memory["share"]) * scalar(memory["second"])
    if second > 0:
        yield step(TIME, SECOND_WAIT, _chosen(memory, "found", "stored", "load", "rounds"))
    if len(found) > 1 or second > 0:
        known = {"loops": 0.0} | found | {n: memory[n] for n in ("share", "second")}
        both = step(TIME, MEMORY_TIME, known)
        yield both
        of_memory = both.result
    parts = {"sm": busy.result, "memory": of_memory}
    given = prediction.details.time.inputs
    if "stages" in given:
        yield step(TIME, STAGES_TIME, given["stages"])
    elif "missing" in given and scalar(given["missing"]["dram"]) > 0:
        yield step(TIME, MISSING_TIME, given["missing"])
    for name, value in beside_memory(prediction.details.time.terms_s, given).items():
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
    in_turns = step(TIME, TURNS_TIME, prediction.details.time.inputs["turns"])
    yield in_turns
    values = {
        "waiting": waiting.result,
        "turns": in_turns.result,
        "resources": resources.result,
        "loaded": 0.0,
        "lookups": 0.0,
        "last": 0.0,
        "after": 0.0,
        "burst": 0.0,
    }
    if "loaded" in given:
        loaded = step(TIME, LOADED_TIME, given["loaded"])
        yield loaded
        values["loaded"] = loaded.result
    if "lookups" in given:
        lookups = step(TIME, LOOKUPS_TIME, given["lookups"])
        yield lookups
        values["lookups"] = lookups.result
    if "last" in given:
        last = step(TIME, LAST_TIME, given["last"])
        yield last
        values["last"] = last.result
    if scalar(given["after"]["before"]) > 0:
        after = step(TIME, AFTER_TIME, given["after"])
        yield after
        values["after"] = after.result
    if scalar(given["burst"]["together"] * given["burst"]["reads"]) > 0:
        burst = step(TIME, BURST_TIME, given["burst"])
        yield burst
        values["burst"] = burst.result
    together = step(TIME, _TOGETHER, values)
    yield together
    if "walk" in given:
        walk = step(TIME, WALK_TIME, given["walk"])
        beside = step(TIME, BESIDE_WALK, given["beside-walk"])
        if beside.result > 1.001 * together.result:
            yield walk
            yield beside
        together = beside
    yield from _total(prediction, together.result, unit)


def _steps_and_memory(prediction: Prediction, note: str) -> Step:
    """Return how the blocks' steps and the other resources make one time."""
    inputs = prediction.details.time.inputs
    parts = {
        "steps": scalar(STEPS_TIME(**rounds_of_steps(inputs["steps"]))),
        "bandwidth": scalar(inputs["memory"]["bandwidth"]),
    }
    beside = beside_memory(prediction.details.time.terms_s, inputs)
    parts |= {name: scalar(value) for name, value in beside.items()}
    named_parts = {name.replace("-", "_"): value for name, value in parts.items()}
    return _power_mean("all resources", named_parts, OVERLAP, note)


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
    given = _chosen(memory, "early", "l2", "besides", "dram", "held_up", "crossing")
    return step(TIME, named(BANDWIDTH_TIME, "bandwidth"), given)


def _chosen(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: values[name] for name in names}


def _clocks_note(prediction: Prediction) -> str:
    """Return how many clocks each resource would need alone."""
    unit = counted_by(prediction.details)
    device, terms = prediction.details.device, prediction.terms_s
    factor = prediction.details.time.clock * device.sm_count / unit.total()
    counted = _counted(terms)
    shown = [
        f"{name} {units.number(terms[name] * factor)}"
        for name in sorted(counted, key=lambda name: -terms[name])
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
        source=f"fitted: exponent {power} of `perfmodel.models.combined`",
    )
    return step(TIME, formula, kept, note)
