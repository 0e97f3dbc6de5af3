"""L2 capacity misses of a working set that each SM re-reads part by part, its own part every time.

Private data is used by SMs of one L2 partition, so it is resident once and can fill nearly all of
L2. In the first passes lines still move to the partition and set where they stay, and a set of more
than about 0.8 of L2 loses more than one that has been read for long. The closer the set is to L2's
size, the more passes that takes.

The formula mixes two curves of the re-reads missed, one of a set read a few times and one of a
settled set, by the share of re-reads that come before the set has settled. Sets whose blocks move
on to other parts: `perfmodel.models.l2.rotated_sets`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.models.formula import Formula
from perfmodel.models.l2.residency import Streams, distance
from perfmodel.models.l2.slices import nearest_measured, slice_count
from perfmodel.records import record

YOUNG_SHARE = Formula(
    name="share of re-reads of private data before the set has settled",
    unit="1",
    text="max(0, (before + again)/sqrt(1 + ((before + again)/half)**2)"
    " - before/sqrt(1 + (before/half)**2))/again",
    symbols={
        "again": "times that the launch reads the part again [1]",
        "before": "re-reads before the launch [1]",
        "half": "re-reads after which most lines have settled in their set and partition [1]",
    },
    holds="working sets of 0.8 to 1.07 times L2, read 4, 17 and 68 times",
    source="assumed: the mean of (1 + (r/half)**2)**-1.5 over the re-reads r",
)
HALF_SETTLED = Formula(
    name="re-reads after which most of a set has settled in L2",
    unit="1",
    text="scale*2.0**min(60, (d/c - start)/doubles)",
    symbols={
        "d": "L2 used between two reads of a line [B]",
        "c": "capacity of L2 [B]",
        "scale": Coefficient("l2.private_sets.settled_scale"),
        "start": Coefficient("l2.private_sets.settled_from"),
        "doubles": Coefficient("l2.private_sets.settled_doubles"),
    },
    holds="as the share of re-reads before the set has settled",
    source="fitted form",
)
PRIVATE_KNEE = Formula(
    name="miss share of re-reads of private data",
    unit="1",
    text="young/(1 + 2.0**min(60, (middle - d/c)/halves))"
    " + (1 - young)*max(most/(1 + 2.0**min(60, (later - d/c)/lasts)), min(1, (d/c - end)/width))",
    symbols={
        "d": "L2 used between two reads of a line [B]",
        "c": "capacity of L2 [B]",
        "young": "share of the re-reads before the set has settled [1]",
        "middle": Coefficient("l2.private_sets.young_middle"),
        "halves": Coefficient("l2.private_sets.young_width"),
        "most": Coefficient("l2.private_sets.settled_most"),
        "later": Coefficient("l2.private_sets.settled_middle"),
        "lasts": Coefficient("l2.private_sets.settled_width"),
        "end": "share of L2 from which settled sets lose more [1]",
        "width": "share of L2 beyond, at which they lose all [1]",
    },
    holds="working sets of 0.02 to 4 times L2, each SM its own part: resident in one partition",
    source="fitted form: one knee for sets read a few times, one for settled sets",
)
SETTLED_END_94: Final = Coefficient("l2.private_sets.settled_end_94")
SETTLED_LAST_94: Final = Coefficient("l2.private_sets.settled_last_94")
SETTLED_END_80: Final = Coefficient("l2.private_sets.settled_end_80")
SETTLED_LAST_80: Final = Coefficient("l2.private_sets.settled_last_80")
READ_BEFORE: Final = Coefficient("l2.private_sets.read_before")


@record
class PartedSet:
    """A set that blocks read again and again, each its own part, and what L2 loses of it."""

    used: Array  # L2 used between two reads of a line [B]
    capacity: float  # L2 [B]
    again: Array  # times that the launch reads it again
    before: Array  # times that it was read again before the launch
    half: Array  # re-reads after which most of it has settled
    knee: Formula
    shape: Mapping[str, Any]  # what the knee takes besides
    device: Device

    @property
    def young(self) -> Array:
        """Share of the re-reads before the set has settled: see `YOUNG_SHARE`."""
        return YOUNG_SHARE(again=self.again, before=self.before, half=self.half)

    def lost(self, young: Any) -> Array:
        """Return the share of the re-reads that miss, of which a share is young."""
        room = {"d": self.used, "c": self.capacity}
        return np.asanyarray(self.knee.on(self.device, **room, young=young, **self.shape))


def private_set(
    resident: Any, streams: Streams, capacity: float, passes: Any, before: Any, device: Device
) -> PartedSet:
    """Return a set of which each SM reads its own part again and again.

    Of `passes` of the launch, and so many re-reads `before` it; the rest as `normal_misses`. How
    it ends goes by the slices of L2, 94 or 80.
    """
    used = np.maximum(distance(1.0, resident, streams, device), 1.0)
    half = HALF_SETTLED.on(device, d=used, c=capacity)
    ends = {94: (SETTLED_END_94, SETTLED_LAST_94), 80: (SETTLED_END_80, SETTLED_LAST_80)}
    end, width = ends[nearest_measured(slice_count(device), ends)]
    return PartedSet(
        used=used,
        capacity=capacity,
        again=np.maximum(np.asanyarray(passes, dtype=float) - 1, 1.0),
        before=np.asanyarray(before, dtype=float),
        half=np.asanyarray(half),
        knee=PRIVATE_KNEE,
        shape={"end": end(device), "width": width(device)},
        device=device,
    )


def settled_share(one: PartedSet, even: Any) -> tuple[Array, Array]:
    """Return the share of the re-reads that L2 holds up, not DRAM, and what misses of them.

    Blocks that all run together pass over their parts in step, and each time fewer lines miss: up
    to some time DRAM decides how long one takes, then L2, from a share missed `even` on. These are
    two parts of the launch, one after the other: a set of 43 MiB read twice takes 17.8 us, its
    reads of L2 alone 11 and its reads of DRAM alone 10 (measurements/built-in-kernels, first).
    """
    first, last = one.lost(1.0), one.lost(0.0)
    over = np.maximum(first - last, 0.0) / np.maximum(even - last, 1e-12)
    # Where (1 + (r/half)**2)**-1.5 of the way is left: `YOUNG_SHARE`.
    until = one.half * np.sqrt(np.maximum(over, 1.0) ** (2 / 3) - 1) - one.before
    until = np.where(last >= even, one.again, np.clip(until, 0.0, one.again))
    later = np.maximum(one.again - until, 1e-9)
    young = replace(one, again=later, before=one.before + until).young
    return 1 - until / one.again, one.lost(young)
