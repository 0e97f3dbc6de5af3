"""Where launches lie on the hierarchical roofline: ridge points, attainable rates, nearest roof."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Name
from perfmodel.models.roofline import ATTAINABLE, MEMORY, RIDGE
from perfmodel.prediction.record import Ceiling, Prediction

SCHEMA: Final = "perfmodel.roofline/1"
LEVELS: Final = {"l1": "L1", "l2": "L2", "dram": "DRAM"}
"""How reports call the memory levels, near to far."""


@dataclass(frozen=True, slots=True)
class LevelPoint:
    """A launch at one memory level.

    Attributes
    ----------
    level : str
        "l1", "l2" or "dram".
    intensity : float
        Operations a byte that moves there [FLOP/B].
    attainable : float
        What this level and the arithmetic peak allow [FLOP/s].
    """

    level: str
    intensity: float
    attainable: float


@dataclass(frozen=True, slots=True)
class Placement:
    """A launch on the roofline.

    Attributes
    ----------
    name : str
        Kernel and mapping, such as "gemm:naive".
    precision : str
        Arithmetic ceiling that its operations belong to.
    peak : float or None
        That ceiling [FLOP/s]; None where the GPU has none, as for FP8 before Hopper: such
        operations run on other pipes.
    flop_per_s : float
        Predicted rate.
    points : tuple of LevelPoint
        Near to far; empty if the launch computes nothing.
    nearest : str
        Lowest of its roofs: a level, or the precision; empty if it computes nothing.
    """

    name: str
    precision: str
    peak: float | None
    flop_per_s: float
    points: tuple[LevelPoint, ...]
    nearest: str


def placement(prediction: Prediction) -> Placement:
    """Return where a prediction lies; only under memory roofs, if the GPU has no peak for it."""
    found = prediction.roofline
    ceilings = {c.name: c.value for c in found.ceilings}
    precision = prediction.details.instance.precision
    name = ":".join(filter(None, (prediction.kernel, prediction.mapping)))
    peak = ceilings.get(precision)
    points = tuple(
        LevelPoint(
            level,
            intensity,
            intensity * ceilings[level]
            if peak is None
            else float(ATTAINABLE(peak=peak, intensity=intensity, bandwidth=ceilings[level])),
        )
        for level in MEMORY
        if (intensity := found.intensity[level]) is not None
    )
    roofs = {p.level: p.intensity * ceilings[p.level] for p in points}
    if peak is not None:
        roofs[precision] = peak
    nearest = min(roofs, key=lambda roof: roofs[roof]) if points else ""
    return Placement(name, precision, peak, found.flop_per_s, points, nearest)


def highest_peak(places: Sequence[Placement], ceilings: Sequence[Ceiling]) -> float:
    """Return the highest peak that launches count against; of the GPU if none has any [FLOP/s]."""
    known = [place.peak for place in places if place.peak is not None]
    return max(known or [c.value for c in ceilings if c.kind == "compute"])


def labels(predictions: Sequence[Prediction]) -> list[str]:
    """Return a name for each prediction, with those parameters that tell namesakes apart."""
    names = [placement(p).name for p in predictions]
    found = []
    for name, p in zip(names, predictions, strict=True):
        alike = [q.params for q, other in zip(predictions, names, strict=True) if other == name]
        apart = [k for k, value in p.params.items() if any(q.get(k) != value for q in alike)]
        apart = [k for k in apart if not _follows(p, k, alike)]
        found.append(" ".join([name, *(f"{k}={p.params[k]}" for k in apart)]))
    return found


def _follows(prediction: Prediction, name: str, alike: Sequence[Mapping[str, int | str]]) -> bool:
    """Return whether a parameter has in all launches the value of the one that it defaults to."""
    parameters = prediction.details.instance.kernel.parameters
    default = next(p.default for p in parameters if p.name == name)
    return isinstance(default, Name) and all(q.get(name) == q.get(default.name) for q in alike)


def common_ceilings(predictions: Sequence[Prediction]) -> tuple[Ceiling, ...]:
    """Return the ceilings of the one GPU that all predictions are of.

    Raises
    ------
    PerfmodelError
        If there is no prediction, or they are of several GPUs.
    """
    if not predictions:
        raise PerfmodelError("a roofline needs at least one prediction, not none: give a kernel")
    devices = list(dict.fromkeys(p.device for p in predictions))
    if len(devices) > 1:
        raise PerfmodelError(
            f"one roofline is of one GPU, not of {', '.join(devices)}: draw one for each"
        )
    return predictions[0].roofline.ceilings


def ridge_points(ceilings: Sequence[Ceiling]) -> dict[tuple[str, str], float]:
    """Return the intensity at which each memory roof meets each arithmetic ceiling.

    Returns
    -------
    dict of (str, str) to float
        By arithmetic ceiling and memory level [FLOP/B].
    """
    return {
        (c.name, m.name): float(RIDGE(peak=c.value, bandwidth=m.value))
        for c in ceilings
        if c.kind == "compute"
        for m in ceilings
        if m.kind == "memory"
    }


def precision_name(ceiling: str) -> str:
    """Return how figures call an arithmetic ceiling: ``"FP16 tensor"``."""
    kind, _, unit = ceiling.partition("_")
    return f"{kind.upper()} {unit}".strip()


def limits(
    ceilings: Sequence[Ceiling], places: Sequence[Placement]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the intensities [FLOP/B] and rates [FLOP/s] that a plot of launches spans.

    Launches, ridge points and ceilings lie inside, with room at the left for the names of the
    memory roofs; at least one launch has a point.
    """
    intensities = [p.intensity for place in places for p in place.points]
    ridges = list(ridge_points(ceilings).values())
    left = min(*intensities, min(ridges) / 4) / 12
    slowest = min(c.value for c in ceilings if c.kind == "memory")
    low = min(min(place.flop_per_s for place in places) / 3, left * slowest * 3)
    high = max(c.value for c in ceilings if c.kind == "compute") * 1.7
    return (left, max(*intensities, *ridges) * 2), (low, high)


def roofline_record(predictions: Sequence[Prediction]) -> dict[str, Any]:
    """Return the JSON object ``perfmodel.roofline/1``: ceilings, ridge points and launches."""
    ceilings = common_ceilings(predictions)
    return {
        "schema": SCHEMA,
        "device": predictions[0].device,
        "ceilings": [{"name": c.name, "kind": c.kind, "value": c.value} for c in ceilings],
        "ridge_points": [
            {"compute": compute, "memory": memory, "intensity": intensity}
            for (compute, memory), intensity in ridge_points(ceilings).items()
        ],
        "kernels": [_kernel_record(p) for p in predictions],
    }


def _kernel_record(prediction: Prediction) -> Mapping[str, Any]:
    place = placement(prediction)
    return {
        "kernel": prediction.to_json()["kernel"],
        "precision": place.precision,
        "flop": prediction.roofline.flop,
        "flop_per_s": place.flop_per_s,
        "levels": [
            {
                "level": p.level,
                "intensity": p.intensity,
                "attainable_flop_per_s": p.attainable,
                "share_of_attainable": place.flop_per_s / p.attainable,
            }
            for p in place.points
        ],
        "nearest": place.nearest or None,
    }
