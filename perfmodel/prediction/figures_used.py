"""How a predicted time follows from a device's figures, and how much each of them matters."""

from dataclasses import replace
from typing import Any, Final

from perfmodel.errors import PerfmodelError
from perfmodel.fields import fields_of
from perfmodel.hardware.figure import Figure
from perfmodel.models.derivation import recording
from perfmodel.models.replay import DecisionError, Derivation, derivation, in_order
from perfmodel.models.roofline import ceilings
from perfmodel.prediction.evaluate import evaluate
from perfmodel.prediction.record import Prediction
from perfmodel.prediction.time_of_traffic import derive_time, recorded_device, time_on
from perfmodel.records import record


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


_STEP: Final = 0.01
"""Change of a figure whose effect is told."""


@record
class UsedFigure:
    """A figure of the device that a prediction comes from."""

    name: str  # field of `perfmodel.hardware.Device`
    figure: Figure  # with unit, kind, source and note
    purpose: str  # "time", or "roofline" where only the roofs need it
    # Change of the time, as a share, where the figure is 1% larger and all other figures stay; None
    # for whole numbers.
    influence: float | None

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        stated = fields_of(self.figure, "value", "unit", "kind", "source", "note", "standard_error")
        told = {"purpose": self.purpose, "influence_of_1_percent": self.influence}
        return {"name": self.name, **stated, **told}


def figures_used(prediction: Prediction, way: Derivation | None = None) -> tuple[UsedFigure, ...]:
    """Return the figures that the time and the roofs of a prediction come from, in order.

    `prediction`: of simulated traffic, what the time comes from beside it. `way`: of this
    prediction, if it is at hand.
    """
    device = prediction.details.device
    way = way or derive_as_far(prediction)
    with recording() as read:
        ceilings(recorded_device(device))
    behind = in_order([each.node for each in read])
    of_roofs = {node.name for node in behind if node.kind == "figure"}
    for_time = way.figures.keys()
    return tuple(
        UsedFigure(
            name,
            figure,
            "time" if name in for_time else "roofline",
            _influence(prediction, way, name) if name in for_time else None,
        )
        for name, figure in device.figures.items()
        if name in for_time | of_roofs
    )


def _influence(prediction: Prediction, way: Derivation, name: str) -> float | None:
    """Return by how much the time changes, as a share, with a figure that is no whole number."""
    details = prediction.details
    value = getattr(details.device, name)
    if not isinstance(value, float):
        return None
    changed: dict[str, Any] = {name: value * (1 + _STEP)}
    try:
        return float(way.replay(**changed)[0] / way.replay()[0]) - 1
    except DecisionError:
        moved, still = replace(details.device, **changed), details.device
        times = (float(time_on(gpu, details, prediction.timing)[0]) for gpu in (moved, still))
        return next(times) / next(times) - 1
