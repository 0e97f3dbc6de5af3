"""One bound launch, evaluated: its details, and the record of a prediction that they make."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from perfmodel.hardware import Device
from perfmodel.kernels import Instance
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.models.execution import Execution
from perfmodel.models.global_accesses import CacheState, L2Start
from perfmodel.models.grid.geometry import alike, block_shape
from perfmodel.models.launch.occupancy import Occupancy, check_block, occupancy
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.roofline import ceilings, intensities
from perfmodel.models.time.stage import Timing, time_model
from perfmodel.models.traffic_stage import closed_form_traffic
from perfmodel.prediction.capability import check_capability
from perfmodel.prediction.cautions import cautions
from perfmodel.prediction.details import Details
from perfmodel.prediction.interval import bottleneck
from perfmodel.prediction.l2_rules import L2Setting, l2_setting
from perfmodel.prediction.memory_size import check_memory
from perfmodel.prediction.record import (
    Ceiling,
    Method,
    OccupancyResult,
    Prediction,
    RooflineResult,
)


def evaluate(
    instance: Instance,
    gpu: Device,
    timing: Timing,
    cache: CacheState,
    setting: L2Setting,
    method: Method = "closed-form",
    sets: int = 1,
    asked: tuple[Sequence[Requests], Sequence[Requests]] | None = None,
) -> Details:
    """Return occupancy, requests, traffic and time of bound launches, without the interval.

    `asked` are the requests of the same launches, global and shared, if they were counted before.
    """
    check_memory(instance, gpu)
    occupied = checked_occupancy(instance, gpu)
    shape = block_shape(triple(instance.block))
    emptied = timing == "profiler" and cache == "cold"
    traffic, requests, on_chip = closed_form_traffic(
        instance,
        shape,
        gpu,
        occupied,
        L2Start(setting.control, setting.claimed, warm=cache == "warm", full=not emptied),
        asked,
    )
    notes: tuple[str, ...] = ()
    if method == "simulated":
        from perfmodel.prediction.simulated import simulable, simulated_traffic, simulation_notes

        traffic, simulation = simulated_traffic(
            traffic, instance, occupied, gpu, cache, simulable(setting), sets
        )
        notes = simulation_notes(simulation, instance.kernel)
    time = time_model(Execution(instance, requests, traffic, occupied, gpu, timing, on_chip))
    return Details(
        instance,
        gpu,
        occupied,
        tuple(requests),
        time.traffic,
        time,
        setting,
        notes,
        on_chip=tuple(on_chip),
        simulated=traffic if method == "simulated" else None,
    )


def checked_occupancy(instance: Instance, gpu: Device) -> Occupancy:
    """Return the occupancy of bound launches, which a device must be able to run."""
    check_capability(instance.kernel, gpu)
    threads = prod(triple(instance.block))
    # The largest stand for all: what one block may use has upper limits only.
    registers, shared = int(np.max(instance.registers)), int(np.max(instance.shared_bytes))
    check_block(gpu, threads, registers, shared)
    used = (alike(np.asarray(n)) for n in (instance.registers, instance.shared_bytes))
    return occupancy(gpu, threads, *used)


def prediction_of(
    details: Details, timing: Timing, cache: CacheState, traffic: Method
) -> Prediction:
    """Return the record of an evaluated launch, its interval and its warnings."""
    instance, gpu = details.instance, details.device
    chosen = instance.kernel
    time = details.time
    terms = {name: float(value[0]) for name, value in time.terms_s.items()}
    total = float(time.time_s[0])
    moved = details.traffic.numbers()
    largest = str(bottleneck(terms))
    occupied = details.occupied
    blocks = float(np.max(np.asarray(instance.blocks)))
    blocks_per_sm = int(occupied.blocks_per_sm)
    flop = float(np.max(np.asarray(instance.flop)))
    return Prediction(
        kernel=chosen.name,
        mapping=getattr(chosen, "mapping", None),
        params={
            parameter.name: parameter.shown(int(np.max(instance.values[parameter.name])))
            for parameter in chosen.parameters
        },
        grid=triple(instance.grid),
        block=triple(instance.block),
        device=gpu.name,
        method=traffic,
        timing=timing,
        cache=cache,
        time_s=total,
        bottleneck=largest,
        terms_s=terms,
        traffic=moved,
        occupancy=OccupancyResult(
            blocks_per_sm=blocks_per_sm,
            warps_per_sm=int(occupied.warps_per_sm),
            fraction=float(occupied.fraction),
            limiter=str(occupied.limiter),
            waves=blocks / (gpu.sm_count * blocks_per_sm),
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
        warnings=tuple(cautions(details, traffic, cache)),
        details=details,
    )


def with_l2_control(
    base: Prediction,
    control: L2Control,
    *,
    mig: bool = False,
    mps: bool = False,
    concurrent: Sequence[AccessPolicyWindow] = (),
) -> Prediction:
    """Predict the launch of a closed-form prediction under other L2 control.

    What the SMs ask for is not counted again, so this is many times as fast as `predict`; the
    platform is given as there.

    Raises
    ------
    PerfmodelError
        If CUDA would refuse it.
    """
    details = base.details
    instance, gpu = details.instance, details.device
    setting = l2_setting(control, instance, gpu, mig=mig, mps=mps, concurrent=concurrent)
    asked = (details.requests, details.on_chip)
    found = evaluate(instance, gpu, base.timing, base.cache, setting, asked=asked)
    return prediction_of(found, base.timing, base.cache, "closed-form")


def triple(values: Any) -> tuple[int, int, int]:
    """Return the largest x, y and z of a grid or block of arrays."""
    x, y, z = (int(np.max(value)) for value in values)
    return x, y, z
