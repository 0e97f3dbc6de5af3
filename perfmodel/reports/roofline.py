"""Where launches lie on the hierarchical roofline: ridge points, attainable rates, nearest roof."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any, Final

from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Name
from perfmodel.hardware import Device
from perfmodel.models.roofline import ATTAINABLE, MEMORY, RIDGE
from perfmodel.prediction.record import Ceiling, Prediction
from perfmodel.records import record
from perfmodel.reports import units
from perfmodel.reports.tables import Table

LEVELS: Final = {"l1": "L1", "l2": "L2", "dram": "DRAM"}
"""How reports call the memory levels, near to far."""


@record
class LevelPoint:
    """A launch at one memory level: FLOP/B that moves there, and the FLOP/s that it allows."""

    level: str
    intensity: float
    attainable: float


@record
class Placement:
    """A launch on the roofline."""

    name: str  # kernel and mapping, such as "gemm:naive"
    precision: str  # arithmetic ceiling that its operations belong to
    # that ceiling [FLOP/s]; None where the GPU has none, as for FP8 before Hopper: such operations
    # run on other pipes
    peak: float | None
    flop_per_s: float  # predicted rate
    points: tuple[LevelPoint, ...]  # near to far; empty if the launch computes nothing
    nearest: str  # lowest of its roofs: a level, or the precision; empty if it computes nothing


@record
class Roofline:
    """Launches of one GPU under its roofs: what text, table, figure and JSON show."""

    device: Device
    ceilings: tuple[Ceiling, ...]
    # each with a label that tells it from the others; those that compute nothing too
    launches: tuple[tuple[str, Placement], ...]
    # whether the launches are versions of one kernel, each an arrow from the one before
    arrows: bool = False

    @property
    def memory(self) -> dict[str, float]:
        """Bandwidths by level [B/s]."""
        return {c.name: c.value for c in self.ceilings if c.kind == "memory"}

    @property
    def peaks(self) -> dict[str, float]:
        """Arithmetic ceilings [FLOP/s]."""
        return {c.name: c.value for c in self.ceilings if c.kind == "compute"}

    @property
    def title(self) -> str:
        """What it is a roofline of."""
        return f"Hierarchical roofline of {self.device.title}"

    @property
    def text(self) -> str:
        """Where the launches lie, in words."""
        told = "; ".join(
            f"{label} {units.flop_rate(place.flop_per_s)}, nearest roof {roof_name(place.nearest)}"
            for _, label, place in self.drawn
        )
        return f"{told}."

    @property
    def drawn(self) -> list[tuple[int, str, Placement]]:
        """Number, label and place of the launches that compute something."""
        numbered = enumerate(self.launches, 1)
        return [(number, label, place) for number, (label, place) in numbered if place.points]

    @property
    def faster(self) -> dict[int, float]:
        """How many times the rate of the version before each has, by number; without the first."""
        if not self.arrows:
            return {}
        return {
            number: place.flop_per_s / before.flop_per_s
            for (_, _, before), (number, _, place) in pairwise(self.drawn)
        }

    def lowest(self, place: Placement) -> LevelPoint:
        """Return a launch's point under its lowest memory roof."""
        return min(place.points, key=lambda point: point.intensity * self.memory[point.level])

    @property
    def nothing(self) -> list[str]:
        """Labels of the launches that compute nothing."""
        return [label for label, place in self.launches if not place.points]

    @property
    def used(self) -> dict[str, float]:
        """Arithmetic ceilings that launches count against [FLOP/s]."""
        mine = {place.precision for _, _, place in self.drawn}
        return {name: peak for name, peak in self.peaks.items() if name in mine}

    @property
    def highest(self) -> float:
        """The highest peak that launches count against; of the GPU if none has any [FLOP/s]."""
        return max((self.used or self.peaks).values())

    def limits(self, peaks: Mapping[str, float]) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the intensities [FLOP/B] and rates [FLOP/s] that a plot with `peaks` spans.

        Launches, ridge points and ceilings lie inside, with room at the left for the names of the
        memory roofs; at least one launch has a point.
        """
        intensities = [p.intensity for _, _, place in self.drawn for p in place.points]
        ridges = [peak / bandwidth for peak in peaks.values() for bandwidth in self.memory.values()]
        left = min(*intensities, min(ridges) / 4) / 12
        slowest = min(place.flop_per_s for _, _, place in self.drawn)
        low = min(slowest / 3, left * min(self.memory.values()) * 3)
        return (left, max(*intensities, *ridges) * 2), (low, max(peaks.values()) * 1.7)

    def table(self) -> Table:
        """Return a row for each launch and roof: intensity, what is attainable, what is reached."""
        rows = []
        for number, label, place in self.drawn:
            roofs = [(p.level, units.number(p.intensity), p.attainable) for p in place.points]
            if place.peak is not None:
                roofs.append((place.precision, "", place.peak))
            launch = (str(number), label, roof_rate(place.flop_per_s, place.precision))
            for roof, intensity, attainable in roofs:
                reached = units.percent(place.flop_per_s / attainable)
                near = "nearest roof" if roof == place.nearest else ""
                allowed = roof_rate(attainable, place.precision)
                shown = (roof_name(roof), intensity, allowed, reached, near)
                rows.append((*launch, *shown))
                launch = ("", "", "")
        columns = ("#", "kernel", "predicted", "roof", "FLOP/B", "attainable", "reached", "")
        note = ""
        if self.nothing:
            listed = ", ".join(self.nothing)
            note = f"{listed}: no floating-point operations, so no place on the roofline"
        return Table("Points under their roofs", columns, tuple(rows), note, "rlrlrrrl")


def roofline(predictions: Sequence[Prediction], arrows: bool = False) -> Roofline:
    """Return predictions on the roofline of their GPU, called by `labels`.

    `arrows` says that each is the next version of the one before.

    Raises `PerfmodelError` if there is no prediction, or they are of several GPUs.
    """
    ceilings = common_ceilings(predictions)
    launches = zip(labels(predictions), map(placement, predictions), strict=True)
    return Roofline(predictions[0].details.device, ceilings, tuple(launches), arrows)


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

    Raises `PerfmodelError` if there is no prediction, or they are of several GPUs.
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
    """Return the intensity at which each memory roof meets each arithmetic ceiling [FLOP/B]."""
    return {
        (c.name, m.name): float(RIDGE(peak=c.value, bandwidth=m.value))
        for c in ceilings
        if c.kind == "compute"
        for m in ceilings
        if m.kind == "memory"
    }


def roof_name(ceiling: str) -> str:
    """Return how reports call a roof: ``"L1"``, or ``"FP16 tensor"``."""
    kind, _, unit = ceiling.partition("_")
    return LEVELS.get(ceiling, f"{kind.upper()} {unit}".strip())


def roof_rate(rate: float, *ceilings: str) -> str:
    """Return a rate of the operations that ceilings are of: ``"1.98 POP/s"`` if of integers only.

    `rate`: operations a second.
    """
    shown = units.flop_rate(rate)
    whole = all(name.startswith("int") for name in ceilings)
    return shown.replace("FLOP/s", "OP/s") if whole else shown


def roofline_record(predictions: Sequence[Prediction]) -> dict[str, Any]:
    """Return the JSON object ``perfmodel.roofline/1``: ceilings, ridge points and launches."""
    ceilings = common_ceilings(predictions)
    return {
        "schema": "perfmodel.roofline/1",
        "device": predictions[0].device,
        "ceilings": [asdict(ceiling) for ceiling in ceilings],
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
