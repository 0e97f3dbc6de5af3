"""One bound launch, evaluated: its details, and the record of a prediction that they make."""

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from perfmodel.errors import PerfmodelError
from perfmodel.hardware import Device
from perfmodel.kernels import Instance, Kernel
from perfmodel.models.execution import Execution
from perfmodel.models.global_accesses import CacheState, L2Start
from perfmodel.models.grid.geometry import alike, block_shape
from perfmodel.models.launch.occupancy import Occupancy, check_block, most_registers, occupancy
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.time.stage import Timing, time_model
from perfmodel.models.traffic_stage import closed_form_traffic
from perfmodel.prediction.details import Details
from perfmodel.prediction.l2_rules import L2Setting
from perfmodel.prediction.launch_numbers import LaunchNumbers, prediction_from
from perfmodel.prediction.memory_size import check_memory
from perfmodel.prediction.record import Behind, Method, Prediction

Asked = tuple[Sequence[Requests], Sequence[Requests]]
"""Requests of launches, global and shared."""


def evaluate(
    instance: Instance,
    gpu: Device,
    timing: Timing,
    cache: CacheState,
    setting: L2Setting,
    method: Method = "closed-form",
    sets: int = 1,
    asked: Asked | None = None,
) -> Details:
    """Return occupancy, requests, traffic and time of bound launches, without the interval.

    `asked` are the requests of the same launches, if they were counted before.
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
        L2Start(
            setting.control,
            setting.claimed,
            warm=cache == "warm",
            full=not emptied,
            dirty=timing == "graph",
        ),
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
    _check_capability(instance.kernel, gpu)
    threads = prod(triple(instance.block))
    registers, shared = map(np.asanyarray, (instance.registers, instance.shared_bytes))
    check_block(gpu, threads)
    # Read as numbers only where they are refused: programs hold for any that are not.
    if np.any((registers > most_registers(gpu, threads)) | (shared > gpu.shared_per_block_max)):
        check_block(gpu, threads, int(np.max(registers)), int(np.max(shared)))
    return occupancy(gpu, threads, alike(registers), alike(shared))


def _check_capability(kernel: Kernel, gpu: Device) -> None:
    """Refuse a kernel whose instructions a device has not."""
    least = kernel.compute_capability
    if gpu.capability >= least:
        return
    mapping = f" {kernel.mapping}" if kernel.mapping else ""
    raise PerfmodelError(
        f"kernel {kernel.name}{mapping} needs compute capability {'.'.join(map(str, least))} or "
        f"later, and {gpu.name} has {gpu.compute_capability}: choose another "
        f"{'mapping' if mapping else 'kernel'} or GPU"
    )


def prediction_of(
    details: Details, timing: Timing, cache: CacheState, traffic: Method
) -> Prediction:
    """Return the record of an evaluated launch."""
    numbers = LaunchNumbers.of(details).plain()
    chosen, gpu = details.instance.kernel, details.device
    behind = Behind(partial(_known, details), timing, cache)
    return prediction_from(chosen, gpu, numbers, traffic, timing, cache, behind)


def _known(details: Details) -> Details:
    return details


def triple(values: Any) -> tuple[int, int, int]:
    """Return the largest x, y and z of a grid or block of arrays."""
    x, y, z = (int(np.max(value)) for value in values)
    return x, y, z
