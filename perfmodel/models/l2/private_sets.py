"""Sets that SMs read again and again, part by part: what L2 loses of them near its size.

Where each SM has its own part, data is resident once. At first a set of most of L2's size loses
more than one that has been read for long, whose lines have found their side and their place; that
takes the longer the larger it is.

Where blocks move on to what others have read, those that find it catch up with those that fetch it.
In the end blocks run in groups: the first misses for all of them. In step they would miss all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from perfmodel.models.formula import Formula
from perfmodel.models.l2.residency import Streams, distance
from perfmodel.models.l2.slices import H200_SLICES, nearest_measured

Array = npt.NDArray[Any]

YOUNG_SHARE = Formula(
    name="re-reads of private parts before their lines have found their side",
    unit="1",
    text="max(0, (before + again)/sqrt(1 + ((before + again)/half)**2)"
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
    "share missed (measurements/l2/h200-sxm/sets/counters.csv)",
)
PRIVATE_KNEE = Formula(
    name="re-reads of private parts lost for lack of room",
    unit="1",
    text="young/(1 + 2.0**min(60, (0.8225 - d/c)/0.027))"
    " + (1 - young)*max(0.33/(1 + 2.0**min(60, (0.825 - d/c)/0.022)), min(1, (d/c - end)/width))",
    symbols={
        "d": "L2 used between two reads of a line [B]",
        "c": "capacity of L2 [B]",
        "young": "share of the re-reads before lines have found their side [1]",
        "end": "share of L2 from which settled sets lose more [1]",
        "width": "share of L2 beyond, at which they lose all [1]",
    },
    holds="working sets of 1 to 256 MiB on an H200, each SM its own part: resident once",
    source="fitted: the first part to sets read 3 to 9 times, 0.015 rms "
    "(measurements/suite/h200-sxm/foundation/working-set.csv), the other to the re-reads from the "
    "18th on, and to warm launches (measurements/l2/h200-sxm/sets)",
)
SETTLED_END: Final = {94: (0.972, 0.067), 80: (0.96, 0.06)}
"""`end` and `width` of `PRIVATE_KNEE`, by the slices of L2.

Of 80: fitted to times of sets of 38 to 52 MiB of an H100 read 2 to 68 times, cold 6.4% rms where
the others give 6.9, warm 14 and 16; DRAM reads alone would have all of 50 MiB lost, and 0.03
(measurements/dram/h100-sxm/pitches, sets.csv and sets-counters.csv, fit rows).
"""
READ_BEFORE: Final = 6.0
"""Re-reads before a warm launch for how far private parts have settled, over the root of the times
that a launch reads them: a launch settles less of a set the more of them there have been.

Fitted to times of warm sets near L2's size, read 2 to 68 times: 7% rms of those read up to 4 times
on an H200 and 8 of more, 9 and 11 on an H100, where 1.8 launches whatever they read gave 9, 10, 14
and 11 (l2/h200-sxm/sets, dram/h100-sxm/pitches, sets.csv); 17 and 14, not 27 and 17, on another
H100 (l2/h100-sxm/partitions, sets.csv). DRAM reads that were counted of the third to eighth launch,
0.055 rms of the share missed as before for sets read 16 times or more, say less for 2 and 4 times,
0.12 and 0.09 before: the profiler's own work comes between those launches
(latency/h200-sxm/bursts/settling.csv, l2/h200-sxm/blocks/launches.csv).
"""


HALF_DRIFTED = Formula(
    name="re-reads after which most blocks follow others",
    unit="1",
    text="warmth*scale*max(0.02, d/c - 0.71)**power",
    symbols={
        "d": "L2 used between two reads of a line [B]",
        "c": "capacity of L2 [B]",
        "warmth": "0.6 where the launch before has left part of the set: some get ahead [1]",
        "scale": "at 1.71 times L2 [1]",
        "power": "how it grows with the set [1]",
    },
    holds="as `MOVED_KNEE`",
    source="fitted together with it; warm launches: times of 60 to 90 MiB read 6, 25 and 100 times",
)
MOVED_KNEE = Formula(
    name="re-reads of others' parts lost for lack of room",
    unit="1",
    text="(steady + (1 - steady)*young)/(1 + 2.0**min(60, (middle - d/c)/width))",
    symbols={
        "d": "L2 used between two reads of a line [B]",
        "c": "capacity of L2 [B]",
        "young": "share of the re-reads before blocks follow others: see `YOUNG_SHARE` [1]",
        "middle": "share of L2 at which half of the first re-reads miss [1]",
        "width": "share of L2 that halves what is kept, beyond [1]",
        "steady": "share of these that still miss at last [1]",
    },
    holds="sets of 8 to 128 MiB on an H200, two blocks an SM, read 5 to 60 times",
    source="fitted: DRAM reads of sets in which blocks move on by 1 or 2, and by 37: 0.011 and "
    "0.017 rms of the share missed. With all blocks in step after each time, sets of 56 MiB and "
    "more miss all of it (measurements/l2/h200-sxm/common-sets/counters.csv)",
)


class MovedKnee(NamedTuple):
    """Figures of `MOVED_KNEE` (middle, width, steady) and of `HALF_DRIFTED` (scale, power)."""

    middle: Any
    width: Any
    steady: Any
    scale: Any
    power: Any


NEAR: Final = MovedKnee(middle=0.7, width=0.035, steady=0.058, scale=55.0, power=1.6)
"""Blocks that move on to what a close neighbour has read: most are on the same side of L2."""
FAR: Final = MovedKnee(middle=0.6, width=0.033, steady=0.17, scale=32.0, power=1.1)
"""To what blocks further away have read, on either side: more of it is resident on both."""
NEIGHBOURS: Final = 8
"""Blocks in a row on SMs of one side: places.txt, measurements/l2/h200-sxm/sets."""
WARM_DRIFT: Final = 0.6
"""See `HALF_DRIFTED`."""


@dataclass(frozen=True, slots=True)
class Age:
    """How often a set is read again, and how soon that settles it.

    Attributes
    ----------
    again : array
        Times that the launch reads it again.
    before : array
        Times that it was read again before the launch.
    half : array
        Re-reads after which most of it has settled.
    """

    again: Array
    before: Array
    half: Array

    @property
    def young(self) -> Array:
        """Share of the re-reads before the set has settled: see `YOUNG_SHARE`."""
        return np.asanyarray(YOUNG_SHARE(again=self.again, before=self.before, half=self.half))


@dataclass(frozen=True, slots=True)
class PrivateSet:
    """A set of which each SM reads its own part again and again.

    Attributes
    ----------
    used : array
        L2 used between two reads of a line [B].
    capacity : float
        L2 [B].
    age : Age
    end, width : float
        See `PRIVATE_KNEE`.
    """

    used: Array
    capacity: float
    age: Age
    end: float
    width: float

    def lost(self, young: Any) -> Array:
        """Return the share of the re-reads that miss, of which a share is young."""
        room = {"d": self.used, "c": self.capacity}
        return np.asanyarray(PRIVATE_KNEE(**room, young=young, end=self.end, width=self.width))


@dataclass(frozen=True, slots=True)
class MovedSet:
    """A set of which blocks move on to parts that others have read.

    Attributes
    ----------
    used, capacity, age
        As of a `PrivateSet`.
    middle, width, steady : array
        See `MOVED_KNEE`.
    """

    used: Array
    capacity: float
    age: Age
    middle: Array
    width: Array
    steady: Array

    def lost(self, young: Any) -> Array:
        """Return the share of the re-reads that miss, of which a share is young."""
        knee = {"middle": self.middle, "width": self.width, "steady": self.steady}
        return np.asanyarray(MOVED_KNEE(d=self.used, c=self.capacity, young=young, **knee))


def private_set(
    resident: Any,
    streams: Streams,
    capacity: float,
    passes: Any,
    before: Any = 0.0,
    slices: float = H200_SLICES,
) -> PrivateSet:
    """Return a set of which each SM reads its own part again and again.

    Parameters
    ----------
    resident, streams, capacity
        As for `normal_misses`.
    passes : array
        Times that the part is read.
    before : array
        Times that it was read again before the launch.
    slices : float
        Of L2; an H200's by default.
    """
    end, width = SETTLED_END[nearest_measured(slices, SETTLED_END)]
    used = np.maximum(distance(1.0, resident, streams), 1.0)
    age = Age(
        again=np.maximum(np.asanyarray(passes, dtype=float) - 1, 1.0),
        before=np.asanyarray(before, dtype=float),
        half=np.asanyarray(HALF_SETTLED(d=used, c=capacity)),
    )
    return PrivateSet(used, capacity, age, end, width)


def moved_set(
    resident: Any, streams: Streams, capacity: float, passes: Any, near: Any, warm: bool
) -> MovedSet:
    """Return a set of which blocks move on to parts that others have read.

    Parameters
    ----------
    resident, streams, capacity, passes
        As for `private_set`.
    near : array
        Whether close neighbours have read it, see `NEIGHBOURS`.
    warm : bool
        Whether the same launch ran before.
    """
    used = np.maximum(distance(1.0, resident, streams), 1.0)
    knees = zip(NEAR, FAR, strict=True)
    knee = MovedKnee(*(np.where(np.asanyarray(near), *both) for both in knees))
    half = HALF_DRIFTED(
        d=used,
        c=capacity,
        scale=knee.scale,
        power=knee.power,
        warmth=WARM_DRIFT if warm else 1.0,
    )
    again = np.maximum(np.asanyarray(passes, dtype=float) - 1, 1.0)
    age = Age(again=again, before=np.zeros(()), half=np.asanyarray(half))
    return MovedSet(used, capacity, age, knee.middle, knee.width, knee.steady)


def settled_share(one: PrivateSet | MovedSet, even: Any) -> tuple[Array, Array]:
    """Return the share of the re-reads that L2 holds up, not DRAM, and what misses of them.

    Blocks that all run together pass over their parts in step, and each time fewer lines miss: up
    to some time DRAM decides how long one takes, then L2. These are two parts of the launch, one
    after the other: a set of 43 MiB read twice takes 17.8 us, its reads of L2 alone 11 and its
    reads of DRAM alone 10 (measurements/built-in-kernels/h200-sxm/first).

    Parameters
    ----------
    one : PrivateSet or MovedSet
    even : array
        Share missed at which DRAM takes as long as L2.
    """
    age, first, last = one.age, one.lost(1.0), one.lost(0.0)
    over = np.maximum(first - last, 0.0) / np.maximum(even - last, 1e-12)
    # Where (1 + (r/half)**2)**-1.5 of the way is left: `YOUNG_SHARE`.
    until = age.half * np.sqrt(np.maximum(over, 1.0) ** (2 / 3) - 1) - age.before
    until = np.where(last >= even, age.again, np.clip(until, 0.0, age.again))
    later = np.maximum(age.again - until, 1e-9)
    young = replace(age, again=later, before=age.before + until).young
    return 1 - until / age.again, one.lost(young)
