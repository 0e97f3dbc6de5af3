"""Sets that SMs read again and again, each SM its own part: what L2 loses of them near its size.

Such data is held once. At first a set of most of L2's size loses more than one that has been read
for long, whose lines have found their side and their place; that takes the longer the larger it is.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from perfmodel.models.formula import Formula
from perfmodel.models.residency import DISTANCE, Workings, distance_inputs

YOUNG_SHARE = Formula(
    name="re-reads of private parts before their lines have found their side",
    unit="1",
    text="((before + again)/sqrt(1 + ((before + again)/half)**2)"
    " - before/sqrt(1 + (before/half)**2))/again",
    symbols={
        "again": "times that the launch reads the part again [1]",
        "before": "times that it was read again before the launch [1]",
        "half": "re-reads after which most lines have settled [1]",
    },
    holds="working sets of 48 to 64 MiB on an H200, read 4, 17 and 68 times",
    source="the mean of (1 + (r/half)**2)**-1.5 over the re-reads r; its form is assumed",
)
HALF_SETTLED = Formula(
    name="re-reads after which most of a set has settled",
    unit="1",
    text="3.3*2.0**min(60, (d/c - 0.867)/0.033)",
    symbols={
        "d": "L2 used between two reads of a line [B]",
        "c": "capacity of L2 [B]",
    },
    holds="as `YOUNG_SHARE`",
    source="fitted: DRAM reads of sets of 52 to 64 MiB read 4, 17 and 68 times, 0.05 rms of the "
    "share missed (measurements/h200-l2-sets/counters.csv)",
)
PRIVATE_KNEE = Formula(
    name="re-reads of private parts lost for lack of room",
    unit="1",
    text="young/(1 + 2.0**min(60, (0.8225 - d/c)/0.027))"
    " + (1 - young)*max(min(0.27, 0.75*max(0, (d/c - 0.65)/0.33)**2), min(1, (d/c - 0.972)/0.067))",
    symbols={
        "d": "L2 used between two reads of a line [B]",
        "c": "capacity of L2 [B]",
        "young": "share of the re-reads before lines have found their side [1]",
    },
    holds="working sets of 1 to 256 MiB on an H200, each SM its own part; such data is held once",
    source="fitted: the first part to sets read 3 to 9 times, 0.015 rms "
    "(measurements/h200-sxm/working-set.csv), the other to the re-reads from the 18th on, "
    "and to warm launches (measurements/h200-l2-sets)",
)
LAUNCHES_BEFORE: Final = 3.0
"""Launches before a warm one, for how far private parts have settled: assumed, between the one that
warms L2 up and those of as many repeats."""


def private_misses(
    kept: Any, read: Any, written: Any, capacity: float, passes: Any, before: Any = 0.0
) -> Workings:
    """Work out the same where each SM reads its own part again and again.

    Parameters
    ----------
    kept, read, written, capacity
        As for `normal_misses`.
    passes : array
        Times that the part is read.
    before : array
        Times that it was read again before the launch.
    """
    used = distance_inputs(1.0, kept, read, written)
    room = {"d": np.maximum(DISTANCE(**used), 1.0), "c": capacity}
    age = {
        "again": np.maximum(np.asarray(passes, dtype=float) - 1, 1.0),
        "before": np.asarray(before, dtype=float),
        "half": np.asarray(HALF_SETTLED(**room)),
    }
    young = np.asarray(YOUNG_SHARE(**age))
    return (
        (DISTANCE, used),
        (HALF_SETTLED, room),
        (YOUNG_SHARE, age),
        (PRIVATE_KNEE, room | {"young": young}),
    )
