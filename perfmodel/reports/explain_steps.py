"""Blocks that work in steps: the waits of a step, the work between, and blocks in turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from perfmodel.hardware.device import SCHEDULERS
from perfmodel.models.latency.latency import LATENCY_TIME
from perfmodel.models.time.step_work import (
    OPERANDS_TIME,
    WARPS_TIME,
    operands_beside,
    strands_at_work,
    warps_times,
    work_times,
)
from perfmodel.models.time.steps import (
    AHEAD_TIME,
    BLOCK_TIME,
    STEP_WAIT,
    STEPS_TIME,
    block_ahead,
    block_queue,
    oldest_block,
    rounds_of_steps,
    step_loop,
)
from perfmodel.models.time.turns import AFTER_OLDEST
from perfmodel.prediction.details import Details
from perfmodel.reports.explain_latency import batch_steps
from perfmodel.reports.step import Step, named, scalar, step

STEPS: Final = "Steps"


def steps_of(details: Details) -> Iterator[Step]:
    """Yield how long blocks take that wait for their data and compute in turn.

    The last step is the time of the busiest SM's blocks.
    """
    given = details.time.inputs["steps"]
    loop = step_loop(details.instance.kernel)
    yield from batch_steps(STEPS, details)
    yield step(STEPS, named(STEP_WAIT, f"wait of a step of {loop}"), given)
    yield step(STEPS, named(LATENCY_TIME, "time of latency"), details.time.inputs["latency"])
    held = scalar(given["held"])
    warps = held * scalar(given["warps"]) / SCHEDULERS
    strands = int(scalar(strands_at_work(given, np.asarray(warps))))
    *_, queue = warps_times(given, strands)
    yield step(
        STEPS,
        named(WARPS_TIME, "time of a warp beside others"),
        queue,
        f"a scheduler has {warps:g} warps with {scalar(given['strands']):g} strands each",
    )
    if scalar(given["operands"]):
        turn = WARPS_TIME(**queue) * given["warps"] / SCHEDULERS
        yield step(STEPS, OPERANDS_TIME, operands_beside(given, np.asarray(turn)))
    rounds = rounds_of_steps(given)
    yield step(STEPS, BLOCK_TIME, _queue(given, held), f"{held:g} blocks, as many as an SM holds")
    if scalar(rounds["tail"]):
        left = scalar(rounds["tail"])
        yield step(
            STEPS,
            named(BLOCK_TIME, "time of a block of the last round"),
            _queue(given, left),
            f"{left:g} blocks",
        )
    yield step(STEPS, STEPS_TIME, rounds)
    ahead = block_ahead(given)
    if scalar(AHEAD_TIME(**ahead)) > scalar(STEPS_TIME(**rounds)):
        yield step(STEPS, AHEAD_TIME, ahead)
    oldest = oldest_block(given)
    if held >= scalar(given["blocks"]) and scalar(AFTER_OLDEST(**oldest)) > _slower(rounds, ahead):
        yield step(STEPS, AFTER_OLDEST, oldest)


def _slower(rounds: Mapping[str, Any], ahead: Mapping[str, Any]) -> float:
    return max(scalar(STEPS_TIME(**rounds)), scalar(AHEAD_TIME(**ahead)))


def _queue(given: Mapping[str, Any], blocks: float) -> dict[str, Any]:
    wait = given["steps"] * STEP_WAIT(**given)
    return block_queue(wait, work_times(given, range(1, int(blocks) + 1)), np.full(1, blocks))
