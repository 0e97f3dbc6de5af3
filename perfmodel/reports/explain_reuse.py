"""Which window of reuse a cache holds: the footprints of longer and longer stretches of a launch.

The windows are those of `perfmodel.models.l1.l1_fills` and `perfmodel.models.l2.l2_misses`;
here they get names, and their footprints are set beside the capacity one by one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.models.global_accesses import GlobalAccesses, L2Start
from perfmodel.models.grid.geometry import block_shape
from perfmodel.models.l1.l1_fills import FOUND, alike, block_fills, loop_windows
from perfmodel.models.l2.l2_misses import block_windows, side_copies
from perfmodel.models.launch.waves import side_by_side
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.reuse.groups import Group, grouped, loads_by_l1, thread_extents
from perfmodel.models.reuse.reuse_windows import KNEE, RESIDENT_SHARE, Window
from perfmodel.prediction.details import Details
from perfmodel.reports import units
from perfmodel.reports.step import Step, named, scalar, step

Array = npt.NDArray[Any]
_ONE: Final = np.ones(1)


@dataclass(frozen=True, slots=True)
class Reuse:
    """How a cache meets a launch.

    Attributes
    ----------
    groups : tuple of Group
        Accesses that it caches.
    base : mapping of str to array
        Values that each variable takes among threads that run together.
    windows : tuple of Window
        Lengthening steps, innermost first.
    weights : tuple of array
        Copies of each group's data that it holds.
    sharing : array
        Boxes like `base` that share it.
    capacity : float
        Bytes.
    together : str
        What `base` is, in words.
    """

    groups: tuple[Group, ...]
    base: dict[str, Array]
    windows: tuple[Window, ...]
    weights: tuple[Array, ...]
    sharing: Array
    capacity: float
    together: str

    def footprint(self, level: int) -> float:
        """Return the bytes that the first `level` windows touch."""
        parts = (
            g.granules(self._counts(level), SECTOR) * SECTOR * w
            for g, w in zip(self.groups, self.weights, strict=True)
        )
        return scalar(self.sharing * sum(parts, np.zeros(1)))

    def happens(self, asked: float) -> bool:
        """Return whether any sector is used again, of `asked` for one box and all its windows."""
        counts = self._counts(len(self.windows))
        distinct = sum(scalar(g.granules(counts, SECTOR)) for g in self.groups)
        return distinct < 0.999 * asked

    def _counts(self, level: int) -> dict[str, Array]:
        return self.base | {window.name: window.stop for window in self.windows[:level]}


def l1_reuse(details: Details) -> list[Reuse]:
    """Return how L1 meets the loads of the blocks that share an SM; none if it caches nothing.

    One for what is outside of loops, and one for each loop that has none around: loops that follow
    each other fill L1 one at a time.
    """
    requests = details.requests
    groups = tuple(loads_by_l1(requests, grouped(requests)))
    instance = details.instance
    sharing = side_by_side(details.occupied.resident, instance.blocks, details.device.sm_count)
    count = int(scalar(sharing))
    who = "the block of an SM" if count == 1 else f"the {count} blocks of an SM"
    roots = (None, *(loop.variable for loop in instance.kernel.loops if loop.parent is None))
    found = []
    for root in roots:
        windows = tuple(loop_windows(instance, root))
        names: set[str | None] = {w.name for w in windows} if root else {None}
        nest = tuple(g for g in groups if requests[g.members[0]].access.loop in names)
        if not nest:
            continue
        found.append(
            Reuse(
                nest,
                thread_extents(requests, groups),
                windows,
                (_ONE,) * len(nest),
                np.atleast_1d(sharing),
                scalar(details.occupied.l1_size),
                f"{who} in loop {root}" if root and len(roots) > 2 else who,
            )
        )
    return found


def l2_reuse(details: Details) -> Reuse | None:
    """Return how L2 meets a wave of blocks; None if no access is affine."""
    groups = tuple(grouped(details.requests))
    if not groups:
        return None
    blocks = np.asarray(details.instance.blocks, dtype=float)
    together = np.minimum(blocks, details.device.sm_count * details.occupied.resident)
    wave = int(scalar(together))
    box, growth = block_windows(details.instance, together)
    return Reuse(
        groups,
        box | thread_extents(details.requests, groups),
        (*loop_windows(details.instance), *growth),
        tuple(side_copies(g, details.requests, box, details.device) for g in groups),
        _ONE,
        float(details.device.l2_size),
        f"a wave of {wave} blocks" if wave < scalar(blocks) else "all blocks",
    )


def reuse_steps(section: str, reuse: Reuse, cache: str) -> Iterator[Step]:
    """Yield the share of reuse kept in the longest window that fits a cache, and in the next."""
    low, high = KNEE
    described = reuse.together
    kept: Step | None = None
    for level in range(len(reuse.windows) + 1):
        if level:
            window = reuse.windows[level - 1]
            if scalar(window.stop) <= scalar(window.start):
                continue
            described = _longer(described, window)
        size = reuse.footprint(level)
        fits = size <= reuse.capacity * low
        verb = "holds" if fits else "holds part of"
        verb = "cannot hold" if size >= reuse.capacity * high else verb
        note = (
            f"{cache} {verb} what {described} touch{'es' if _singular(described) else ''}: "
            f"{units.capacity(size)} of {units.capacity(reuse.capacity)}"
        )
        if level and not fits:
            some = math.floor(scalar(window.stop) * reuse.capacity / size)
            if some > scalar(window.start):
                what = "blocks" if window.name.startswith("blockIdx.") else "iterations"
                note += f"; about {some} of {scalar(window.stop):.0f} {what} fit at a time"
        formula = named(RESIDENT_SHARE, f"share of reuse that {cache} keeps")
        given = {"f": size, "c": reuse.capacity, "low": low, "high": high}
        found = step(section, formula, given, note)
        if not fits:
            if kept is not None:
                yield kept
            yield found
            return
        kept = found
    if kept is not None:
        yield kept


def walk_steps(section: str, details: Details, found: Sequence[Reuse]) -> Iterator[Step]:
    """Yield what a block of an SM finds of data that those beside it read too, if any do."""
    instance, device = details.instance, details.device
    reuse = found[0]
    groups = [g for r in found for g in r.groups]
    shared = (alike(instance, g, reuse.sharing, device) for g in groups)
    several = max((scalar(n) for still, n in shared if not np.all(still)), default=1.0)
    if several <= 1.0:
        return
    x, y, z = (int(np.max(n)) for n in instance.block)
    start = L2Start(details.setting.control)
    accesses = GlobalAccesses(
        instance, block_shape((x, y, z)), details.requests, device, details.occupied, start
    )
    fills = block_fills(accesses, groups)
    walk = scalar(sum(fills, np.zeros(1))) * SECTOR
    note = f"up to {units.number(several)} blocks of an SM read the same"
    yield step(section, FOUND, {"capacity": reuse.capacity, "walk": max(walk, 1.0)}, note)


def _longer(described: str, window: Window) -> str:
    if window.name.startswith("blockIdx."):
        return f"all blocks along {window.name[-1]}"
    together = described.split(" over ", maxsplit=1)[0]
    return f"{together} over {int(scalar(window.stop))} iterations of {window.name}"


def _singular(described: str) -> bool:
    return described.startswith(("the block ", "a wave"))
