"""Blocks that copy ahead: the derivation of their time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from perfmodel.kernels.kernel import PIPES
from perfmodel.models.time.issue import TENSOR_PIPES
from perfmodel.models.time.memory_times import BYTES_TIME
from perfmodel.models.time.pipeline import (
    BUSY_TIME,
    DRAM_TILES,
    L2_STREAMS,
    OVERLAP,
    PARTS_TIME,
    PIPELINE_START,
    PORT_CYCLES,
    ROUNDS,
    TILES_TIME,
    TOGETHER,
    TURNS,
    UNEQUAL_ROUNDS,
    WAITS_TIME,
    slowest_pipe,
)
from perfmodel.prediction.record import Prediction
from perfmodel.reports.step import Step, definition, named, scalar, step

_TILES = "Tiles"
_SM = "SM"
_MEMORY = "L2 and DRAM"
_TIME = "Time"


def pipeline_steps(prediction: Prediction) -> Iterator[Step]:
    """Yield the derivation of a time whose blocks copy ahead."""
    inputs, terms = prediction.details.time.inputs, prediction.terms_s
    unequal = inputs["unequal-rounds"]
    if scalar(unequal["uneven"]) > 1:
        yield step(_TILES, UNEQUAL_ROUNDS, unequal)
    else:
        yield step(_TILES, ROUNDS, inputs["rounds"], _picked(prediction))
    yield step(_TILES, TURNS, inputs["turns"])
    pipes = [name for name in ("issue", *PIPES) if name in terms]
    for name in pipes:
        if name in TENSOR_PIPES:
            yield _tensor_clocks(prediction, name)
        yield step(_SM, named(BUSY_TIME, f"time of {name}"), inputs[name])
    yield step(_SM, PORT_CYCLES, inputs["port-cycles"])
    yield step(_SM, named(BUSY_TIME, "time of port"), inputs["port"])
    if "waits" in terms:
        yield step(_SM, WAITS_TIME, inputs["waits"])
    yield step(_MEMORY, L2_STREAMS, inputs["l2"])
    streams = step(_MEMORY, named(BYTES_TIME, "time of the same as streams"), _bytes(inputs))
    yield streams
    given = {"streams": streams.result, "share": inputs["dram-tiles"]["share"]}
    yield step(_MEMORY, named(DRAM_TILES, "time of dram"), given)
    parts = {name: terms[name] for name in ("port", "l2", "dram")}
    parts["work"] = float(slowest_pipe(terms, pipes))
    parts["waits"] = terms.get("waits", 0.0)
    yield step(_TIME, TILES_TIME, inputs["tiles"])
    first = step(
        _TIME,
        named(TILES_TIME, "time of an SM's first tiles besides their steps"),
        inputs["first-tiles"],
    )
    yield first
    parts["between"] = max(terms["tiles"] - float(first.result), 0.0)
    yield (steps := step(_TIME, TOGETHER, {**parts, "p": OVERLAP}))
    yield step(_TIME, PIPELINE_START, inputs["ramp"])
    added = {
        "launch": "an empty kernel [s]",
        "ramp": "until the first data arrives [s]",
        "first": "first tiles besides their steps [s]",
        "steps": "all steps, and other tiles besides them [s]",
    }
    if "parts" in terms:
        yield step(_TIME, PARTS_TIME, inputs["parts"])
        added["parts"] = "adding up parts [s]"
    whole = definition("time", "s", " + ".join(added), added)
    yield step(_TIME, whole, {**terms, "first": first.result, "steps": steps.result})


def _picked(prediction: Prediction) -> str:
    menus = prediction.details.instance.kernel.menus
    chosen = (f"{name} = {prediction.params[name]}" for menu in menus for name in menu.parameters)
    return f"given, or the fastest of the kernel's menu: {', '.join(chosen)}" if menus else ""


def _tensor_clocks(prediction: Prediction, pipe: str) -> Step:
    """Return the clocks of the tensor cores from the operations of all tiles."""
    details, device = prediction.details, prediction.details.device
    clocks = scalar(details.time.inputs[pipe]["cycles"])
    rate = device.tensor_rate(pipe)
    formula = definition(
        f"{pipe} clocks, an SM",
        "clocks",
        "operations/rate*clock",
        {
            "operations": "operations of all tiles, also where they stick out [1]",
            "rate": "operations a second that all SMs reach on random operands [1/s]",
            "clock": "SM clock [Hz]",
        },
    )
    given: dict[str, Any] = {
        "operations": clocks * rate / details.time.clock,
        "rate": rate,
        "clock": details.time.clock,
    }
    return step(_SM, formula, given)


def _bytes(inputs: Any) -> dict[str, Any]:
    return {name: inputs["dram"][name] for name in ("bytes", "bandwidth")}
