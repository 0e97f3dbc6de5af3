"""The numbers of one launch that a prediction shows, and the prediction made of them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from perfmodel.hardware import Device
from perfmodel.kernels import Kernel
from perfmodel.models.dram.throughput import OVER_FETCH, OVER_FETCHED
from perfmodel.models.global_accesses import CacheState
from perfmodel.models.launch.occupancy import LIMITERS
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.roofline import ceilings, intensities
from perfmodel.models.time.stage import Timing
from perfmodel.prediction.details import Details
from perfmodel.prediction.interval import largest_term
from perfmodel.prediction.record import (
    Behind,
    Ceiling,
    Method,
    OccupancyResult,
    Prediction,
    RooflineResult,
)
from perfmodel.records import record
from perfmodel.traffic import NUMBERS


@record
class LaunchNumbers:
    """The numbers of one launch: plain ones, or as the models have them, arrays of one."""

    time_s: Any
    terms_s: Mapping[str, Any]
    traffic: Mapping[str, Any]
    params: Mapping[str, Any]
    grid: tuple[Any, ...]
    block: tuple[Any, ...]
    flop: Any
    blocks_per_sm: Any
    warps_per_sm: Any
    fraction: Any
    limiter: Any  # a place in `LIMITERS`
    # Bytes that DRAM reads, and that L2 is asked for, of each load.
    loads: Mapping[str, tuple[Any, Any]]

    @classmethod
    def of(cls, details: Details) -> "LaunchNumbers":
        """Return the numbers of an evaluated launch, as the models have them."""
        instance, occupied = details.instance, details.occupied
        return cls(
            time_s=details.time.time_s,
            terms_s=details.time.terms_s,
            traffic={name: getattr(details.traffic, name) for name in NUMBERS},
            params=instance.values,
            grid=instance.grid,
            block=instance.block,
            flop=instance.flop,
            blocks_per_sm=occupied.blocks_per_sm,
            warps_per_sm=occupied.warps_per_sm,
            fraction=occupied.fraction,
            limiter=np.argmin(occupied.limits, axis=0),
            loads={
                access.name: (access.dram_bytes, access.asked_sectors * SECTOR)
                for access in details.traffic.accesses
                if access.kind == "load"
            },
        )

    def plain(self) -> "LaunchNumbers":
        """Return the same as plain numbers: of each array the first, of sizes the largest."""
        return LaunchNumbers(
            time_s=_first(self.time_s),
            terms_s={name: _first(value) for name, value in self.terms_s.items()},
            traffic={name: _first(value) for name, value in self.traffic.items()},
            params={name: int(np.max(value)) for name, value in self.params.items()},
            grid=tuple(int(np.max(value)) for value in self.grid),
            block=tuple(int(np.max(value)) for value in self.block),
            flop=float(np.max(self.flop)),
            blocks_per_sm=int(self.blocks_per_sm),
            warps_per_sm=int(self.warps_per_sm),
            fraction=float(self.fraction),
            limiter=int(self.limiter),
            loads={name: (_first(a), _first(b)) for name, (a, b) in self.loads.items()},
        )


def _first(value: Any) -> float:
    return float(np.atleast_1d(value)[0])


def prediction_from(
    kernel: Kernel,
    gpu: Device,
    numbers: LaunchNumbers,
    method: Method,
    timing: Timing,
    cache: CacheState,
    behind: Behind,
) -> Prediction:
    """Return the record of a prediction of plain numbers, with what is behind them."""
    moved, total, flop = numbers.traffic, numbers.time_s, numbers.flop
    largest = largest_term(numbers.terms_s)
    (x, y, z), block = numbers.grid, numbers.block
    return Prediction(
        kernel=kernel.name,
        mapping=kernel.mapping or None,
        params={p.name: p.shown(numbers.params[p.name]) for p in kernel.parameters},
        grid=(x, y, z),
        block=(block[0], block[1], block[2]),
        device=gpu.name,
        method=method,
        timing=timing,
        cache=cache,
        time_s=total,
        bottleneck=largest,
        terms_s=numbers.terms_s,
        traffic=moved,
        over_fetch={
            name: float(OVER_FETCH(moved=read, asked=asked))
            for name, (read, asked) in numbers.loads.items()
            if read > OVER_FETCHED * asked > 0
        },
        occupancy=OccupancyResult(
            blocks_per_sm=numbers.blocks_per_sm,
            warps_per_sm=numbers.warps_per_sm,
            fraction=numbers.fraction,
            limiter=LIMITERS[numbers.limiter],
            waves=float(x * y * z) / (gpu.sm_count * numbers.blocks_per_sm),
        ),
        roofline=RooflineResult(
            flop=flop,
            flop_per_s=flop / total,
            intensity=intensities(
                flop,
                moved["global_load_sectors"] + moved["global_store_sectors"],
                moved["l2_read_sectors"] + moved["l2_write_sectors"] + moved["l2_atomic_sectors"],
                moved["dram_read_bytes"] + moved["dram_write_bytes"],
            ),
            ceilings=tuple(
                Ceiling(name, kind, value)  # type: ignore[arg-type]
                for name, (kind, value) in ceilings(gpu).items()
            ),
        ),
        behind=behind,
    )
