"""The time of a prediction's traffic: on another device, derived from its figures, and its spread.

The spread is how far the time may be off by the standard errors of its device's figures: each that
states one is moved by it, and the time of the same traffic worked out again; the changes are taken
as independent.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from perfmodel.arrays import Array
from perfmodel.hardware.device import Device, quantities
from perfmodel.models.derivation import figure, recording
from perfmodel.models.execution import Execution
from perfmodel.models.replay import DecisionError, Derivation, derivation
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


def spread(details: Details, timing: Timing) -> float:
    """Return the standard deviation of a predicted time from the device's figures, as a share."""
    device = details.device
    moved = moved_figures(device)
    if not moved:
        return 0.0
    way = derive_time(details, timing)
    # Not the predicted time: of this traffic, reads are merged already.
    times = [float(way.replay()[0])]
    for name, value in moved.items():
        if name not in way.figures:
            continue
        change: dict[str, Any] = {name: value}
        try:
            again = float(way.replay(**change)[0])
        except DecisionError:
            again = float(time_on(replace(device, **change), details, timing)[0])
        times.append(again)
    return spread_of(times)


def moved_times(details: Details, timing: Timing) -> list[Array]:
    """Return the times that `spread_of` takes, of evaluated launches: arrays."""
    device = details.device
    moved = [replace(device, **{name: value}) for name, value in moved_figures(device).items()]
    return [time_on(each, details, timing) for each in (device, *moved)]


def spread_of(times: Sequence[float]) -> float:
    """Return the spread of a time, the first, that figures moved one by one make the others."""
    return math.hypot(*(time / times[0] - 1 for time in times[1:]))


def moved_figures(device: Device) -> dict[str, Any]:
    """Return the figures that have a standard error, by name, each larger by it."""
    return {
        name: getattr(device, name) * (1 + figure.standard_error / figure.value)
        for name, figure in device.figures.items()
        if figure.standard_error and figure.value and isinstance(getattr(device, name), float)
    }
