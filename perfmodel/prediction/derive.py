"""Derive: the way from a device's figures to the time of a prediction."""

from perfmodel.errors import PerfmodelError
from perfmodel.models.derivation import recording
from perfmodel.models.replay import Derivation, derivation
from perfmodel.prediction.evaluate import evaluate
from perfmodel.prediction.record import Prediction
from perfmodel.prediction.time_of_traffic import derive_time, recorded_device


def derive(prediction: Prediction) -> Derivation:
    """Return how the time of a prediction follows from its device's figures.

    The launch is evaluated once more, by figures that are recorded.

    Raises `PerfmodelError` if its traffic was simulated, not worked out.
    """
    if prediction.method == "simulated":
        raise PerfmodelError(
            "the traffic of this prediction was simulated, and follows from no formula: predict it "
            "with closed-form traffic"
        )
    details = prediction.details
    with recording() as decisions:
        found = evaluate(
            details.instance,
            recorded_device(details.device),
            prediction.timing,
            prediction.cache,
            details.setting,
        )
    return derivation(found.time.time_s, decisions)


def derive_as_far(prediction: Prediction) -> Derivation:
    """Return the same of any prediction: of simulated traffic, how the time follows from it."""
    if prediction.method == "simulated":
        details = prediction.details
        return derive_time(details, prediction.timing, details.simulated)
    return derive(prediction)
