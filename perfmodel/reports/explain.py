"""The derivation of a prediction: every formula that mattered, with its numbers put in.

Steps come in the order in which one would work them out by hand: what a warp asks for, what that
costs an SM, what caches save, what L2, DRAM and latency need, and how the terms make one time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from perfmodel.models.latency.block_waits import DISPATCH_TIME
from perfmodel.prediction.record import Prediction
from perfmodel.reports.explain_atomics import atomic_steps, shared_loop_steps
from perfmodel.reports.explain_latency import latency_steps, ramp_steps
from perfmodel.reports.explain_memory import dram_steps, l2_steps
from perfmodel.reports.explain_pipeline import pipeline_steps
from perfmodel.reports.explain_requests import access_shares, all_request_steps
from perfmodel.reports.explain_residency import residency_steps, writeback_steps
from perfmodel.reports.explain_sm import (
    arithmetic_steps,
    counted_by,
    l1_steps,
    launch_steps,
)
from perfmodel.reports.explain_steps import steps_of
from perfmodel.reports.explain_time import busiest_pipe, counted_terms, time_steps
from perfmodel.reports.step import NEGLIGIBLE, Step, step

SCHEMA: Final = "perfmodel.explanation/1"


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
    counted = counted_terms(prediction.terms_s)
    small = {
        name: value
        for name, value in prediction.terms_s.items()
        if name in counted and value < NEGLIGIBLE * prediction.time_s
    }
    return dict(sorted(small.items(), key=lambda item: -item[1]))


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
    yield from time_steps(prediction, pipe, unit)


def _dispatch_steps(prediction: Prediction) -> Iterator[Step]:
    given = prediction.details.time.inputs["dispatch"]
    yield step("Dispatch of blocks", DISPATCH_TIME, given)
