"""Layer conditions: what a cache of a given size fetches, by windows of execution that fit it.

Threads that run together touch a footprint; each loop around them, and then each further wave of
blocks, lengthens the window and its footprint. Data is fetched once in the longest window whose
footprint fits the cache, and again in each repetition of that window. This is the layer condition
of stencil models, for any affine access.

A cache's room is lines: threads that each walk rows of their own hold one for every row, and where
those of one iteration find no room the next iteration brings its sectors again.

Replacement is not exact LRU and sets fill unevenly, so reuse does not end abruptly: between two
fitted ratios of footprint to capacity the share kept falls linearly from one to zero. Data that SMs
of both L2 partitions read counts twice.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.models.derivation import skippable
from perfmodel.models.formula import Formula
from perfmodel.models.reuse.groups import Group
from perfmodel.records import record

RESIDENT_SHARE = Formula(
    name="share of a footprint's reuse that a cache keeps",
    unit="1",
    text="min(1, max(0, (high - f/c)/(high - low)))",
    symbols={
        "f": "footprint, where data that both L2 partitions read counts twice [B]",
        "c": "capacity [B]",
        "low": "footprint over capacity at which reuse starts to fail [1]",
        "high": "footprint over capacity at which none is left [1]",
    },
    holds="data that is traversed again and again in the same order",
    source="fitted form: linear between the two ends",
)


_ONE: Final = np.ones(1)


class Knee:
    """Footprint over capacity at which reuse starts to fail, and at which none is left."""

    def __init__(self, stem: str) -> None:
        self.low, self.high = Coefficient(f"{stem}_low"), Coefficient(f"{stem}_high")

    def __call__(self, device: Device) -> tuple[float, float]:
        """Return both on a device."""
        return self.low(device), self.high(device)


reuse_knee: Final = Knee("reuse.reuse_windows.knee")
"""Of data that a launch reads again."""
l1_knee: Final = Knee("reuse.reuse_windows.l1")
"""Of data that loops read again from L1."""
warm_knee: Final = Knee("reuse.reuse_windows.warm")
"""Of data that the next launch reads again."""
dirty_knee: Final = Knee("reuse.reuse_windows.dirty")
"""Of written lines over the room that dirty ones have with a set-aside."""
rewritten_knee: Final = Knee("reuse.reuse_windows.rewritten")
"""Of data that a launch writes again."""


def resident_share(footprint_bytes: Any, capacity: Any, knee: tuple[float, float]) -> Array:
    """Return the share of the reuse that survives, 0 to 1, with a knee such as `reuse_knee`."""
    f, c = np.asanyarray(footprint_bytes, float), np.asanyarray(capacity, float)
    return np.asanyarray(RESIDENT_SHARE(f=f, c=c, low=knee[0], high=knee[1]))


@record
class Window:
    """One step of lengthening: `name` grows from `start` to `stop` values."""

    name: str
    start: Array
    stop: Array


@record
class Iteration:
    """What a group's iterations bring where the lines of one find no room until the next."""

    kept: Array  # share of its lines that the next one finds
    together: Sequence[Group]  # what is asked for at a time: comes anew where lines are lost
    extents: Mapping[str, Array]  # values that each variable takes meanwhile
    abreast: Array  # iterations that this takes in


@record
class Walks:
    """Groups that walk through their data at the same time, and the windows around them."""

    groups: Sequence[Group]
    # values that each variable takes among threads that run together: a box
    base: Mapping[str, Array]
    # lengthening steps, innermost first; the counts are for all groups, and a group that a variable
    # does not concern is not lengthened by it
    windows: Sequence[Window]
    copies: Sequence[Array]  # copies of each group's data that the cache holds
    iterations: Sequence[Iteration | None]  # of each group; None where lines find room
    sequential: Sequence[Collection[str]]  # loops that run before or after each group's


@record
class SharedCache:
    """A cache that several boxes of threads share."""

    capacity: Array  # [B]
    granule: int  # bytes of a fetch
    boxes: Array  # that share it at a time
    # footprint over capacity at which reuse starts to fail, and at which none is left
    knee: tuple[float, float]


def fetched(walks: Walks, cache: SharedCache) -> list[Array]:
    """Return the granules that each group fetches into a cache, for one box and all its windows."""
    windows = [w for w in walks.windows if not skippable(w.stop <= w.start)]
    whole = [_lengthened(g, walks.base, windows, cache.granule) for g in walks.groups]
    sizes = [
        cache.boxes
        * cache.granule
        * summed(f[i] * w for f, w in zip(whole, walks.copies, strict=True))
        for i in range(len(windows) + 1)
    ]
    found = []
    for i, g in enumerate(walks.groups):
        own = [n for n, w in enumerate(windows, 1) if w.name not in walks.sequential[i]]
        around = [windows[n - 1] for n in own]
        some = [0, *own]
        of_own = [whole[i][n] for n in some], [sizes[n] for n in some]
        once = _fetched_by(g, replace(walks, windows=around), cache, *of_own)
        if (iteration := walks.iterations[i]) is not None:
            parts = (part.granules(iteration.extents, cache.granule) for part in iteration.together)
            anew = np.maximum(summed(parts) / iteration.abreast * _repeats(g, around), once)
            once = iteration.kept * once + (1 - iteration.kept) * anew
        found.append(once)
    return found


def _returns(g: Group, name: str) -> Array:
    """Say whether iterations that are not neighbours come to the same data."""
    parted = (part.steps(_ONE) > 1 for part in g.spreads.get(name, ()))
    return reduce(np.logical_or, parted, np.asanyarray(g.strides[name] == 0))


def _repeats(g: Group, windows: Sequence[Window]) -> Array:
    """Return how often windows come to a group's data, the same or other."""
    found = np.asanyarray(1.0)
    for w in windows:
        found = found * (w.stop / w.start if w.name in g.strides else 1.0)
    return found


def _lengthened(
    g: Group, base: Mapping[str, Array], windows: Sequence[Window], granule: int
) -> list[Array]:
    """Return the granules that a group touches in a box, and in it with one window more each."""
    found = [g.granules(base, granule)]
    for level, w in enumerate(windows, start=1):
        counts = _counts(base, windows[:level])
        found.append(g.granules(counts, granule) if g.moves_with(w.name) else found[-1])
    return found


def _counts(base: Mapping[str, Array], windows: Sequence[Window]) -> dict[str, Array]:
    return {**base, **{w.name: w.stop for w in windows}}


def _fetched_by(
    g: Group, walks: Walks, cache: SharedCache, found: Sequence[Array], sizes: Sequence[Array]
) -> Array:
    """Return the granules that a group fetches: those of the longest window that fits, again.

    `found` are its granules in each window, `sizes` the bytes that all groups touch in it.
    """
    capacity, (_, end) = cache.capacity, cache.knee
    outer = _repeats(g, walks.windows)
    result = found[0] * outer
    reached, before = np.ones(1, dtype=bool), sizes[0]
    for level, w in enumerate(walks.windows, start=1):
        longer = w.stop > w.start  # one that lengthens nothing in some launches is none
        if w.name in g.strides:
            outer = outer * w.start / w.stop
            keeps = resident_share(sizes[level], capacity, cache.knee)
            here = found[level]
            if np.any((keeps < 1) & reached):
                # As many iterations as fit, where not all do.
                fit = np.clip(np.floor(w.stop * capacity / sizes[level]), w.start, w.stop)
                # Iterations over the same data fit together, or not at all.
                fit = np.where(sizes[level] > before, fit, w.start)
                some = {**_counts(walks.base, walks.windows[:level]), w.name: fit}
                once = g.granules(some, cache.granule) if g.moves_with(w.name) else here
                part = once * w.stop / fit
                # What only neighbouring iterations share is not lost to those between.
                part = np.where(_returns(g, w.name), np.maximum(part, here), here)
                here = keeps * here + (1 - keeps) * part
            result = np.where(reached & longer, np.minimum(result, here * outer), result)
        reached = reached & (~longer | (sizes[level] <= capacity * end))
        before = np.where(longer, sizes[level], before)
    return np.asanyarray(result)
