"""Simulated launches: the trace simulator's counts by a kernel's name, and as `Traffic`.

Imported only when asked for, so that predictions by closed forms start as fast as they do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from perfmodel.errors import PerfmodelError
from perfmodel.fields import fields_of
from perfmodel.hardware import Device
from perfmodel.kernels import Instance, Kernel, bind, check_bounds
from perfmodel.kernels.access import RETRYING
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.models.global_accesses import CacheState
from perfmodel.models.launch.occupancy import Occupancy
from perfmodel.prediction.conditions import device_of, kernel_of
from perfmodel.prediction.evaluate import checked_occupancy
from perfmodel.prediction.l2_rules import L2Setting, l2_setting
from perfmodel.records import record
from perfmodel.trace.cache import Engine
from perfmodel.trace.counts import Simulation
from perfmodel.trace.launch import Progress, Residency
from perfmodel.trace.simulate import Simulator, check_launch
from perfmodel.trace.simulate import seconds as estimated_seconds
from perfmodel.traffic import Traffic

PATIENCE: Final = 7.5
"""Simulation of one prediction that is run whole [s]; longer ones are sampled."""


@record
class SimulatedLaunch:
    """A simulated launch and what it was."""

    kernel: str
    mapping: str | None
    params: Mapping[str, int | str]
    device: Device
    cache: CacheState
    control: L2Control
    seed: int
    simulation: Simulation
    # What of L2 control has no effect, and what the simulator does not count.
    notes: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Kernel and mapping: ``"gemm coalesced"``."""
        return " ".join(filter(None, (self.kernel, self.mapping)))

    def hit_rates(self, level: str) -> list[float]:
        """Return the hit rate of "l1" or "l2" in each part where anything was asked."""
        series = self.simulation.series
        pairs = zip(series[f"{level}_sectors"], series[f"{level}_hits"], strict=True)
        return [hits / asked for asked, hits in pairs if asked]

    def to_json(self) -> dict[str, Any]:
        """Return it as the JSON object ``perfmodel.simulation/1``."""
        found = self.simulation
        return {
            "schema": "perfmodel.simulation/1",
            "kernel": {"name": self.kernel}
            | ({"mapping": self.mapping} if self.mapping else {})
            | fields_of(self, "params"),
            "device": self.device.name,
            "cache": self.cache,
            "l2": asdict(self.control),
            "seed": self.seed,
            **fields_of(found, "sampled", "sets", "error", "interrupted"),
            "traffic": totals(found),
            "dirty_left_bytes": found.dirty_left_bytes,
            "accesses": [asdict(a) for a in found.accesses],
            "buffers": [asdict(b) for b in found.buffers],
            **fields_of(self, "notes"),
            "series": {name: list(values) for name, values in found.series.items()},
        }


def simulate(
    kernel: str | Path | Kernel,
    *,
    mapping: str | None = None,
    device: str | Path | Device = "h100-sxm",
    cache: CacheState = "cold",
    control: L2Control | None = None,
    mig: bool = False,
    mps: bool = False,
    concurrent: Sequence[AccessPolicyWindow] = (),
    seed: int = 0,
    sample: float = 1.0,
    sets: int = 1,
    engine: Engine = "auto",
    progress: Progress | None = None,
    **params: int | str,
) -> SimulatedLaunch:
    """Count what a launch moves, access by access.

    `kernel`, `mapping`, `device`, `cache` and `**params`: as for `perfmodel.predict`. `control`:
    set-aside, window, fetch granularity and compression. `mig` and `mps`: as for
    `perfmodel.predict`. `concurrent`: refused if they persist: see `simulable`. `seed`: decides
    what the hardware decides by hashes that are not known. `sample`: share of the launch to run,
    over 0 to 1. `sets`: simulate one of so many sets of L2, which stands for the others. `engine`:
    who counts; the counts are equal. `progress`: told the share that is done.

    Raises `PerfmodelError` for anything unknown, out of range or impossible, in one line.
    """
    chosen, gpu, instance = prepare(kernel, mapping, device, params)
    asked = control or L2Control()
    setting = l2_setting(asked, instance, gpu, mig=mig, mps=mps, concurrent=concurrent)
    control = simulable(setting)
    occupied = checked_occupancy(instance, gpu)
    caches = Simulator(gpu, control, seed=seed, engine=engine, sets=sets)
    found = _run(caches, instance, occupied, cache, sample, progress)
    return SimulatedLaunch(
        kernel=chosen.name,
        mapping=chosen.mapping or None,
        params={p.name: p.shown(int(np.max(instance.values[p.name]))) for p in chosen.parameters},
        device=gpu,
        cache=cache,
        control=control,
        seed=seed,
        simulation=found,
        notes=(*setting.warnings, *retry_notes(chosen)),
    )


def simulable(setting: L2Setting) -> L2Control:
    """Return L2 control that a simulation can apply: that of a launch that runs alone.

    Raises `PerfmodelError` if other kernels' windows take part of the set-aside: their accesses are
    not known.
    """
    if setting.claimed:
        raise PerfmodelError(
            "concurrent windows cannot be simulated, for a simulated launch runs alone: leave "
            "--concurrent out, or use `perfmodel predict --traffic closed-form`"
        )
    return setting.control


def prepare(
    kernel: str | Path | Kernel,
    mapping: str | None,
    device: str | Path | Device,
    params: Mapping[str, int | str],
) -> tuple[Kernel, Device, Instance]:
    """Return kernel, device and instance, after checking that the launch can run."""
    chosen, gpu = kernel_of(kernel, mapping), device_of(device)
    instance = bind(chosen, params)
    check_launch(instance)
    check_bounds(instance)
    return chosen, gpu, instance


def simulated_traffic(
    closed: Traffic,
    instance: Instance,
    occupied: Occupancy,
    gpu: Device,
    cache: CacheState,
    control: L2Control,
    sets: int,
) -> tuple[Traffic, Simulation]:
    """Return the traffic as the simulator counts it, and the simulation, of one configuration.

    What is no count of moved data stays as the closed forms have it: clocks of L1's stages, shared
    memory, and the costs of scattered reads and partial stores.

    Raises `KeyboardInterrupt` if it was interrupted: half a simulation makes no prediction.
    """
    check_launch(instance)
    share = min(1.0, PATIENCE / max(estimated_seconds(instance), 1e-9))
    found = _run(Simulator(gpu, control, sets=sets), instance, occupied, cache, share, None)
    if found.interrupted:
        raise KeyboardInterrupt
    numbers: dict[str, Any] = {n: np.full(1, value) for n, value in totals(found).items()}
    accesses = tuple(
        replace(
            access,
            requests=np.full(1, count.requests),
            sectors=np.full(1, count.sectors),
            lines=np.full(1, count.lines),
            l1_fill_sectors=np.full(1, count.sectors - count.l1_hit_sectors),
            dram_bytes=np.full(1, count.dram_read_sectors * 32.0),
            sampled=None,
        )
        for access, count in zip(closed.accesses, found.accesses, strict=True)
    )
    values: dict[str, Any] = {**numbers, "accesses": accesses}
    return replace(closed, **values), found


def simulation_notes(found: Simulation, kernel: Kernel) -> tuple[str, ...]:
    """Return what a prediction must say about its simulation: samples, and what is not counted."""
    notes = []
    if found.sampled < 1 or found.sets < 1:
        parts = [f"{found.sampled:.2%} of the launch"] if found.sampled < 1 else []
        if found.sets < 1:
            parts.append(f"one of {round(1 / found.sets)} sets of L2")
        error = "" if found.error is None else f"; its bytes +/- {found.error:.1%}"
        notes.append(f"the simulator counted a sample: {', '.join(parts)}{error}")
    return (*notes, *retry_notes(kernel))


def retry_notes(kernel: Kernel) -> tuple[str, ...]:
    """Return the note on loops that try again, if a kernel has one."""
    if not any(a.operation in RETRYING for a in kernel.accesses):
        return ()
    return (
        "of loops of compare-and-swap and of locks the simulator counts the first try of each "
        "lane, not the tries that follow one that lost",
    )


def totals(found: Simulation) -> dict[str, float]:
    """Return what a simulation counted under the names of `Traffic`."""
    return {
        "global_load_requests": found.total("requests", "load"),
        "global_load_sectors": found.total("sectors", "load"),
        "global_store_requests": found.total("requests", "store"),
        "global_store_sectors": found.total("sectors", "store"),
        "global_atomic_requests": found.total("requests", "atomic"),
        "l1_hit_sectors": found.total("l1_hit_sectors", "load"),
        "l2_read_sectors": found.total("l2_sectors", "load"),
        "l2_write_sectors": found.total("l2_sectors", "store"),
        "l2_atomic_sectors": found.total("l2_passes", "atomic"),
        "l2_hit_rate": found.l2_hit_rate,
        "dram_read_bytes": found.dram_read_bytes,
        "dram_write_bytes": found.dram_write_bytes,
    }


def _run(
    caches: Simulator,
    instance: Instance,
    occupied: Occupancy,
    cache: CacheState,
    sample: float,
    progress: Progress | None,
) -> Simulation:
    check_launch(instance, sample)
    residency = Residency(int(occupied.blocks_per_sm), int(occupied.l1_size))
    runs = 2 if cache == "warm" else 1
    for done in range(runs):

        def tell(share: float, done: int = done) -> None:
            if progress:
                progress((done + share) / runs)

        found = caches.launch(instance, residency, share=sample, progress=tell)
        if found.interrupted:
            break
    return found
