"""Spread: how far a predicted time may be off by the standard errors of its device's figures.

Each figure that states one is moved by it, and the time of the same traffic worked out again; the
changes are taken as independent.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from perfmodel.arrays import Array
from perfmodel.hardware import Device
from perfmodel.models.replay import DecisionError
from perfmodel.models.time.stage import Timing
from perfmodel.prediction.details import Details
from perfmodel.prediction.time_of_traffic import derive_time, time_on


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
