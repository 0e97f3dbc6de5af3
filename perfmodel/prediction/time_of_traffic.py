"""The time of a prediction's traffic: on another device, or derived from its own one's figures."""

from dataclasses import replace
from typing import Any

from perfmodel.arrays import Array
from perfmodel.hardware.device import Device, quantities
from perfmodel.models.derivation import figure, recording
from perfmodel.models.execution import Execution
from perfmodel.models.replay import Derivation, derivation
from perfmodel.models.time.stage import TimeModel, Timing, time_model
from perfmodel.prediction.details import Details
from perfmodel.traffic import Traffic


def time_on(device: Device, details: Details, timing: Timing) -> Array:
    """Return the time of a prediction's traffic with other figures of its device [s]."""
    return _time(device, details, details.traffic, timing).time_s


def derive_time(details: Details, timing: Timing, traffic: Traffic | None = None) -> Derivation:
    """Return how the time follows from the device's figures, whatever the traffic follows from.

    `traffic`: by default what `details` have, where reads of several SMs are merged already.
    """
    device = recorded_device(details.device)
    with recording() as decisions:
        found = _time(device, details, traffic or details.traffic, timing)
    return derivation(found.time_s, decisions)


def recorded_device(device: Device) -> Device:
    """Return a device whose figures and coefficients are recorded numbers."""
    values: dict[str, Any] = {
        name: figure(name, value)
        for name in quantities()
        if isinstance(value := getattr(device, name), (int, float))
    }
    found = device.coefficients
    fitted = {name: figure(name, value) for name, value in found.values.items()}
    return replace(device, coefficients=replace(found, values=fitted), **values)


def _time(device: Device, details: Details, traffic: Traffic, timing: Timing) -> TimeModel:
    return time_model(
        Execution(
            details.instance,
            details.requests,
            traffic,
            details.occupied,
            device,
            timing,
            details.on_chip,
        )
    )
