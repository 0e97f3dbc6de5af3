"""Prediction: the frozen answer to "how long does this launch take, and why"."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from perfmodel.fields import fields_of, plain
from perfmodel.models.global_accesses import CacheState
from perfmodel.models.ranges import Differences
from perfmodel.models.time.stage import Timing
from perfmodel.prediction.cautions import cautions
from perfmodel.prediction.circumstances import Circumstances
from perfmodel.prediction.details import Details
from perfmodel.prediction.interval import Uncertainty, uncertainty
from perfmodel.prediction.reliability import Reliability, differences_of
from perfmodel.prediction.time_of_traffic import spread
from perfmodel.records import record

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
    """What a prediction is made from, and what takes longer than it: made when first asked for.

    `compiled` gives the reliability without the details, where a compiled form holds.
    """

    def __init__(
        self,
        evaluated: Callable[[], Details],
        timing: Timing,
        cache: CacheState,
        compiled: Callable[[], Reliability | None] | None = None,
    ) -> None:
        self._evaluated, self._compiled = evaluated, compiled
        self._timing, self._cache = timing, cache

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process gets: no compiled form, which only this one has."""
        return {**self.__dict__, "_compiled": None}

    @cached_property
    def details(self) -> Details:
        """The arrays and records of the launch."""
        return self._evaluated()

    @cached_property
    def _reliability(self) -> Reliability | None:
        return None if self._compiled is None else self._compiled()

    @cached_property
    def circumstances(self) -> Circumstances:
        """What the launch has in common with those that are predicted alike."""
        known = self._reliability
        return Circumstances.of(self.details) if known is None else known.circumstances

    @cached_property
    def differences(self) -> Differences:
        """By how much closed form and simulator differ, plain numbers."""
        if self._reliability is not None:
            return self._reliability.differences
        found = differences_of(self.details, self._cache).numbers()
        return Differences.of([float(np.max(number)) for number in found])

    @cached_property
    def figure_spread(self) -> float:
        """Standard deviation of the time from the device's figures, as a share."""
        if self._reliability is not None:
            return self._reliability.figure_spread
        return spread(self.details, self._timing)


@record(slots=False)
class Prediction:
    """Predicted time of one launch on one GPU.

    Warnings and the interval are made when first asked for: without a compiled form they take
    several times as long as the time.

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
    timing : {"profiler", "events", "graph"}
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
    over_fetch : mapping of str to float
        Bytes that DRAM reads over those that L2 is asked for, of loads for which they are more.
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
    over_fetch: Mapping[str, float]
    occupancy: OccupancyResult
    roofline: RooflineResult
    behind: Behind = field(repr=False, compare=False)

    @property
    def label(self) -> str:
        """Kernel and mapping: ``"gemm coalesced"``."""
        return " ".join(filter(None, (self.kernel, self.mapping)))

    @property
    def details(self) -> Details:
        """The arrays and records behind it."""
        return self.behind.details

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know, a sentence each."""
        behind, closed = self.behind, self.method == "closed-form"
        differences = behind.differences if closed else None
        return tuple(cautions(behind.circumstances, differences, self.terms_s, self.time_s))

    @property
    def figure_spread(self) -> float:
        """Standard deviation of the time from the device's figures, as a share."""
        return self.behind.figure_spread

    @property
    def uncertainty(self) -> Uncertainty:
        """How wrong such predictions are, besides."""
        return uncertainty(self.behind.circumstances, self.bottleneck)

    @cached_property
    def interval_s(self) -> tuple[float, float]:
        """Ends of the 90% interval [s]."""
        return self.uncertainty.interval(self.figure_spread, self.time_s)

    def to_json(self) -> dict[str, Any]:
        """Return the prediction as the stable JSON object ``perfmodel.prediction/1``."""
        name = {"name": self.kernel} | ({"mapping": self.mapping} if self.mapping else {})
        return {
            "schema": "perfmodel.prediction/1",
            "kernel": {**name, **fields_of(self, "params", "grid", "block")},
            **fields_of(self, "device", "method"),
            "protocol": fields_of(self, "timing", "cache"),
            **fields_of(self, "time_s", "interval_s", "bottleneck", "terms_s", "traffic"),
            "occupancy": asdict(self.occupancy),
            "roofline": plain(asdict(self.roofline)),
            **fields_of(self, "warnings"),
            "l2_control": self.behind.circumstances.setting.to_json(),
            **fields_of(self, "over_fetch"),
        }
