"""The derivation of a prediction: every formula that mattered, with its numbers put in.

Steps come in the order in which one would work them out by hand: what a warp asks for, what that
costs an SM, what caches save, what L2, DRAM and latency need, and how the terms make one time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from perfmodel.prediction.record import Prediction
from perfmodel.reports.explain_requests import access_shares, all_request_steps
from perfmodel.reports.step import NEGLIGIBLE, Step

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
    small = {
        name: value
        for name, value in prediction.terms_s.items()
        if value < NEGLIGIBLE * prediction.time_s
    }
    return dict(sorted(small.items(), key=lambda item: -item[1]))


def _steps(prediction: Prediction) -> Iterator[Step]:
    details = prediction.details
    shares, _ = access_shares(details, left_out(prediction))
    yield from all_request_steps(details, shares)
