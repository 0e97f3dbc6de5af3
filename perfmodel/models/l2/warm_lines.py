"""Warm launches: the share of a launch's data that the same launch before it left in L2.

A repeated launch finds in L2 what was not evicted since its lines were last used. All is found of
footprints up to 0.4 of L2's size, half at about 0.7, and next to nothing at full size. The usable
size is below the capacity because blocks run on other SMs than before, so many lines become
resident in both partitions.

The curve is logistic in footprint over capacity. Lines at random places fill the cache sets
unevenly, by a Poisson distribution, which widens the curve by the variance of the lines per set.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.models.agreement import agreed
from perfmodel.models.formula import Formula
from perfmodel.models.global_accesses import GlobalAccesses
from perfmodel.models.l1.stage import L1
from perfmodel.models.l2.l2_misses import Misses
from perfmodel.models.l2.residency import WAYS
from perfmodel.models.l2.slices import working_share
from perfmodel.models.l2.tables import Table
from perfmodel.models.mechanism import mechanism
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.reuse.groups import atoms_over_sectors
from perfmodel.models.reuse.placement import line_bytes

FOUND_WARM = Formula(
    name="share of a launch's data that a repeated launch finds in L2",
    unit="1",
    text="min(1, (1 + 2**((all - half)/step))/(1 + 2**((min(f/c, 2) - half)/step)))",
    symbols={
        "f": "lines that the launch touches, where data that both L2 partitions read counts twice "
        "[B]",
        "c": "capacity [B]",
        "half": "footprint over capacity at which half is found, the device's or coefficient "
        "warm_half scaled by the share of slices that work [1]",
        "all": Coefficient("l2.warm_lines.warm_all"),
        "step": "footprint over capacity per halving of the loss below [1]",
    },
    holds="strided copies of 0.08 to 1.3 times L2",
    source="fitted form",
)
WARM_HALF: Final = Coefficient("l2.warm_lines.warm_half")
UNEVEN_STEP = Formula(
    name="width of the curve with lines at random places",
    unit="1",
    text="sqrt(even**2 + 0.146*half*r/(w*c))",
    symbols={
        "even": Coefficient("l2.warm_lines.warm_step"),
        "half": "footprint over capacity at which half is found [1]",
        "r": "lines at random places [B]",
        "c": "capacity [B]",
        "w": "ways of a set [1]",
    },
    holds="gathers of 3 to 81 MB, 0 to 0.8 of it at random places: share found within 0.05 rms",
    source="derived: the lines per cache set are Poisson distributed, full on average at `half`, "
    "and a logistic curve of base 2 has (log(2)*sqrt(3)/pi)**2 = 0.146 of their variance; a free "
    "fit to the same gathers gives 0.136 (measurements/gather, runs/kept.csv)",
)


def found_warm(
    footprint_bytes: Any, capacity: Any, at_random: Any, half: float, device: Device
) -> Array:
    """Return the share of its data that a launch finds where the same one has just run, 0 to 1.

    `at_random` are the bytes of those lines that lie at random places, `half` the footprint over
    capacity of which half is left.
    """
    f, c = np.asanyarray(footprint_bytes, float), np.asanyarray(capacity, float)
    step = UNEVEN_STEP.on(device, half=half, r=np.minimum(at_random, 2 * c), c=c, w=float(WAYS))
    return np.asanyarray(FOUND_WARM.on(device, f=f, c=c, half=half, step=step))


@mechanism(neutral=lambda accesses, misses: np.zeros(1), evidence=["l2", "gather"])
def left_by_launch(accesses: GlobalAccesses, misses: Misses) -> Array:
    """Return the share of its data that a launch finds in L2 where the same one has just run."""
    instance, requests = accesses.instance, accesses.requests
    # A line has one tag, however few of its sectors are there.
    sizes = zip(requests, misses.touched, misses.copies, strict=True)
    lines = [line_bytes(instance, r, t) * w for r, t, w in sizes]
    random = summed(n for r, n in zip(requests, lines, strict=True) if r.random)
    device = accesses.device
    half = device.l2_kept_half or WARM_HALF(device) * working_share(device)
    return found_warm(summed(lines), accesses.l2_size, random, half, device)


def without_left(
    accesses: GlobalAccesses, l1: L1, misses: Misses, tables: Sequence[Table], left: Array
) -> tuple[Misses, Array]:
    """Return the misses less what the launch before has left, and the DRAM bytes of others [B]."""
    sectors, dram_bytes = list(misses.sectors), list(misses.dram_bytes)
    brought = atoms_over_sectors(l1.groups, accesses.granule)
    in_step = {i for t in tables if agreed(t.settled > 0) for i in t.members}
    others: Array = np.zeros(1)
    for i, r in enumerate(accesses.requests):
        if r.access.kind != "store":
            touched = misses.touched[i]
            once = np.minimum(touched * brought.get(i, np.ones(1)), dram_bytes[i])
            if i not in in_step:
                others = others + left * (dram_bytes[i] - once)
            dram_bytes[i] = dram_bytes[i] - left * once
            sectors[i] = sectors[i] - left * np.minimum(touched / SECTOR, sectors[i])
    return replace(misses, sectors=sectors, dram_bytes=dram_bytes), others
