"""Which figures of a device a predicted time comes from, and how much each of them matters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from perfmodel.hardware.figure import Figure
from perfmodel.hardware.watched import watched
from perfmodel.models.roofline import ceilings
from perfmodel.prediction.evaluate import evaluate
from perfmodel.prediction.interval import time_on
from perfmodel.prediction.record import Prediction

_STEP: Final = 0.01
"""Change of a figure whose effect is told."""


@dataclass(frozen=True, slots=True)
class UsedFigure:
    """A figure of the device that a prediction reads.

    Attributes
    ----------
    name : str
        Field of `perfmodel.hardware.Device`.
    figure : Figure
        With unit, kind, source and note.
    purpose : str
        "time", or "roofline" where only the roofs need it.
    influence : float or None
        Change of the time, as a share, where the figure is 1% larger and all other figures and the
        traffic stay; None for whole numbers, which change the traffic as well.
    """

    name: str
    figure: Figure
    purpose: str
    influence: float | None

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "name": self.name,
            "value": self.figure.value,
            "unit": self.figure.unit,
            "kind": self.figure.kind,
            "source": self.figure.source,
            "note": self.figure.note,
            "standard_error": self.figure.standard_error,
            "purpose": self.purpose,
            "influence_of_1_percent": self.influence,
        }


def figures_used(prediction: Prediction) -> tuple[UsedFigure, ...]:
    """Return the figures that the closed forms read for a prediction, in the device's order.

    Parameters
    ----------
    prediction : Prediction
        Of simulated traffic, what its time model and the closed forms beside it read.
    """
    device = prediction.details.device
    seen, read = watched(device)
    evaluate(
        prediction.details.instance,
        seen,
        prediction.timing,
        prediction.cache,
        prediction.details.setting,
    )
    for_time = frozenset(read)
    ceilings(seen)
    influences = _influences(prediction, for_time)
    return tuple(
        UsedFigure(name, figure, "time" if name in for_time else "roofline", influences.get(name))
        for name, figure in device.figures.items()
        if name in read
    )


def _influences(prediction: Prediction, names: frozenset[str]) -> Mapping[str, float]:
    """Return by how much the time changes, as a share, with each figure that is no whole number."""
    details = prediction.details
    device = details.device
    found = {}
    for name in names:
        value = getattr(device, name)
        if isinstance(value, float):
            changed: dict[str, Any] = {name: value * (1 + _STEP)}
            time = time_on(replace(device, **changed), details, prediction.timing)
            found[name] = time / time_on(device, details, prediction.timing) - 1
    return found
