"""Prediction: the frozen answer to "how long does this launch take, and why"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property
from typing import Any, Final, Literal

from perfmodel.models.dram.throughput import OVER_FETCH, over_fetch
from perfmodel.models.global_accesses import CacheState
from perfmodel.models.time.stage import Timing
from perfmodel.prediction.cautions import cautions
from perfmodel.prediction.details import Details
from perfmodel.prediction.interval import Uncertainty, spread, uncertainty
from perfmodel.records import record

SCHEMA: Final = "perfmodel.prediction/1"
Method = Literal["closed-form", "simulated"]


@record
class OccupancyResult:
    """Occupancy of one launch.

    Attributes
    ----------
    blocks_per_sm : int
        Resident blocks of an SM.
    warps_per_sm : int
        Resident warps of an SM.
    fraction : float
        Of the warps that an SM can hold.
    limiter : str
        Resource that runs out first: "warps", "blocks", "registers" or "shared memory".
    waves : float
        Blocks of the grid over the blocks that all SMs hold.
    """

    blocks_per_sm: int
    warps_per_sm: int
    fraction: float
    limiter: str
    waves: float


@record
class Ceiling:
    """A bound of the roofline.

    Attributes
    ----------
    name : str
        Memory level, or precision.
    kind : {"memory", "compute"}
    value : float
        In B/s for a memory level, in FLOP/s for arithmetic.
    """

    name: str
    kind: Literal["memory", "compute"]
    value: float


@record
class RooflineResult:
    """Where a launch lies on the hierarchical roofline.

    Attributes
    ----------
    flop : float
        Useful floating-point operations.
    flop_per_s : float
        Predicted rate [FLOP/s].
    intensity : mapping of str to float or None
        FLOP per byte at "l1", "l2" and "dram"; None where no byte moves there.
    ceilings : tuple of Ceiling
    """

    flop: float
    flop_per_s: float
    intensity: Mapping[str, float | None]
    ceilings: tuple[Ceiling, ...]


class Behind:
    """What a prediction is made from, and what takes longer than it: made when first asked for."""

    def __init__(
        self,
        evaluated: Callable[[], Details],
        bottleneck: str,
        method: Method,
        timing: Timing,
        cache: CacheState,
    ) -> None:
        self._evaluated, self._bottleneck = evaluated, bottleneck
        self._method, self._timing, self._cache = method, timing, cache

    @cached_property
    def details(self) -> Details:
        """The arrays and records of the launch."""
        return self._evaluated()

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know, a sentence each."""
        return tuple(cautions(self.details, self._method, self._cache))

    @cached_property
    def figure_spread(self) -> float:
        """Standard deviation of the time from the device's figures, as a share."""
        return spread(self.details, self._timing)

    @cached_property
    def uncertainty(self) -> Uncertainty:
        """How wrong such predictions are, besides."""
        return uncertainty(self.details, self._bottleneck)


@record(slots=False)
class Prediction:
    """Predicted time of one launch on one GPU.

    Warnings and the interval take several times as long as the time, and are made when first asked
    for.

    Attributes
    ----------
    kernel : str
        Its name.
    mapping : str or None
        Variant of a built-in kernel.
    params : mapping of str to int or str
        All parameters, defaults filled in.
    grid : tuple of three int
        Blocks in x, y and z.
    block : tuple of three int
        Threads of a block in x, y and z.
    device : str
        Name of the GPU.
    method : {"closed-form", "simulated"}
        Who counted the traffic.
    timing : {"profiler", "events"}
        What is timed.
    cache : {"cold", "warm"}
        What L2 holds at the start.
    time_s : float
        Predicted time [s].
    bottleneck : str
        Name of the largest term.
    terms_s : mapping of str to float
        Seconds that each resource would need alone.
    traffic : mapping of str to float
        What moves in the whole launch: requests, sectors, bytes [B].
    occupancy : OccupancyResult
    roofline : RooflineResult
    behind : Behind
        What it was made from, for explanations.
    """

    kernel: str
    mapping: str | None
    params: Mapping[str, int | str]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    device: str
    method: Method
    timing: Timing
    cache: CacheState
    time_s: float
    bottleneck: str
    terms_s: Mapping[str, float]
    traffic: Mapping[str, float]
    occupancy: OccupancyResult
    roofline: RooflineResult
    behind: Behind = field(repr=False, compare=False)

    @property
    def details(self) -> Details:
        """The arrays and records behind it."""
        return self.behind.details

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know, a sentence each."""
        return self.behind.warnings

    @property
    def figure_spread(self) -> float:
        """Standard deviation of the time from the device's figures, as a share."""
        return self.behind.figure_spread

    @cached_property
    def interval_s(self) -> tuple[float, float]:
        """Ends of the 90% interval [s]."""
        return self.behind.uncertainty.interval(self.figure_spread, self.time_s)

    def to_json(self) -> dict[str, Any]:
        """Return the prediction as the stable JSON object ``perfmodel.prediction/1``."""
        name = {"name": self.kernel} | ({"mapping": self.mapping} if self.mapping else {})
        return {
            "schema": SCHEMA,
            "kernel": {
                **name,
                "params": dict(self.params),
                "grid": list(self.grid),
                "block": list(self.block),
            },
            "device": self.device,
            "method": self.method,
            "protocol": {"timing": self.timing, "cache": self.cache},
            "time_s": self.time_s,
            "interval_s": list(self.interval_s),
            "bottleneck": self.bottleneck,
            "terms_s": dict(self.terms_s),
            "traffic": dict(self.traffic),
            "occupancy": {
                "blocks_per_sm": self.occupancy.blocks_per_sm,
                "warps_per_sm": self.occupancy.warps_per_sm,
                "fraction": self.occupancy.fraction,
                "limiter": self.occupancy.limiter,
                "waves": self.occupancy.waves,
            },
            "roofline": {
                "flop": self.roofline.flop,
                "flop_per_s": self.roofline.flop_per_s,
                "intensity": dict(self.roofline.intensity),
                "ceilings": [
                    {"name": c.name, "kind": c.kind, "value": c.value}
                    for c in self.roofline.ceilings
                ],
            },
            "warnings": list(self.warnings),
            "l2_control": self.details.setting.to_json(),
            "over_fetch": {
                access.name: float(OVER_FETCH(**given)[0])
                for access in self.details.traffic.accesses
                if (given := over_fetch([access])) is not None
            },
        }
