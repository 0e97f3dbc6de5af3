"""Derive: the way from a device's figures to the time of a prediction."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from perfmodel.errors import PerfmodelError
from perfmodel.hardware import Device
from perfmodel.hardware.device import quantities
from perfmodel.models.derivation import figure, recording
from perfmodel.models.replay import Derivation, derivation
from perfmodel.prediction.evaluate import evaluate
from perfmodel.prediction.record import Prediction


def derive(prediction: Prediction) -> Derivation:
    """Return how the time of a prediction follows from its device's figures.

    The launch is evaluated once more, by figures that are recorded.

    Raises
    ------
    PerfmodelError
        If its traffic was simulated, not worked out.
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


def recorded_device(device: Device) -> Device:
    """Return a device whose figures are recorded numbers."""
    values: dict[str, Any] = {
        name: figure(name, value)
        for name in quantities()
        if isinstance(value := getattr(device, name), (int, float))
    }
    return replace(device, **values)
