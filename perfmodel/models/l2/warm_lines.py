"""Warm lines: what a launch finds in L2 of what the same one before it has touched."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.models.formula import Formula
from perfmodel.models.l2.residency import WAYS

Array = npt.NDArray[Any]

WARM_HELD = Formula(
    name="share of a launch's data that the next one finds in L2",
    unit="1",
    text="min(1, (1 + 2**((0.4 - half)/step))/(1 + 2**((min(f/c, 2) - half)/step)))",
    symbols={
        "f": "lines that the launch touches, data that both L2 sides read counted twice [B]",
        "c": "capacity [B]",
        "half": "footprint over capacity of which half is left, the device's or `WARM_HALF` by "
        "`perfmodel.models.l2.slices.working_share` [1]",
        "step": "footprint over capacity that halves what little is lost before [1]",
    },
    holds="strided copies of 5 to 79 MB on an H200: 0.02 rms, 0.05 on 40 points never fitted on",
    source="fitted: DRAM reads of the third and fourth launch in a row, blocks of which fall on "
    "other SMs (measurements/h200-states/kept.csv, fit rows); all of less than 0.4 is kept",
)
WARM_HALF: Final = 0.713
WARM_STEP: Final = 0.0365
"""See `WARM_HELD`. Reads of 16 B a lane keep more: all of 42 MB, 0.67 of an H200's L2. By their
times copies of 16 B a lane lose the last of it later, on an H100 at 1.2 times L2."""
UNEVEN_STEP = Formula(
    name="footprint over capacity that halves what little is lost, with lines at random places",
    unit="1",
    text="sqrt(even**2 + 0.146*half*r/(w*c))",
    symbols={
        "even": "the same of lines in order, which fill all sets alike [1]",
        "half": "footprint over capacity of which half is left [1]",
        "r": "lines at random places [B]",
        "c": "capacity [B]",
        "w": "ways of a set [1]",
    },
    holds="gathers of 3 to 81 MB, 0 to 0.8 of it at random places: kept within 0.05 rms",
    source="derived: the lines of a set are Poisson, full on average at `half`, and a logistic "
    "curve of base 2 has (log(2)*sqrt(3)/pi)**2 = 0.146 of their variance; left free, a fit to the "
    "same gathers asks for 0.136 (measurements/h200-gather-runs/kept.csv)",
)


def warm_held(
    footprint_bytes: Any, capacity: Any, at_random: Any = 0.0, half: float = WARM_HALF
) -> Array:
    """Return the share of its data that a launch finds where the same one has just run, 0 to 1.

    `at_random` are the bytes of those lines that lie at random places, `half` the footprint over
    capacity of which half is left.
    """
    sizes = {"f": np.asanyarray(footprint_bytes, float), "c": np.asanyarray(capacity, float)}
    step = UNEVEN_STEP(
        even=WARM_STEP,
        half=half,
        r=np.minimum(at_random, 2 * sizes["c"]),
        c=sizes["c"],
        w=float(WAYS),
    )
    return np.asanyarray(WARM_HELD(**sizes, half=half, step=step))
