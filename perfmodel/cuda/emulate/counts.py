"""What emulated memory instructions ask of the caches: requests, sectors, lines, conflicts.

Requests and lanes are counted in every execution. The rest is worked out in all of the first
executions of an instruction, then in fewer and fewer, each for those that it stands for.
"""

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.cuda.emulate.memory import GAP_SHIFT, LOCAL_BASE, MIDDLE
from perfmodel.cuda.emulate.reuse import Touches
from perfmodel.models.grid.distinct import first_of_equals
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.wavefronts import data_wavefronts, tag_wavefronts
from perfmodel.trace.coalescer import LANES, coalesce

_ALL: Final = 24
"""First executions that are worked out, each one."""
_MOST_ROWS: Final = 1 << 10
"""Requests of one execution that are worked out: evenly spaced ones of more."""
_KEPT: Final = 1 << 12
"""Requests whose addresses are kept, for how atomics and stores share addresses."""
_SHARED: Final = -1
LOCAL_REGION: Final = -2
"""Numbers that stand for shared and local memory among those of buffers."""
_PIECE: Final = 16
"""[B] that bulk copies are made of."""
_MOST_REGIONS: Final = 1 << 16
_SECTORS: Final = np.array([i.bit_count() for i in range(16)], dtype=np.int64)


@dataclass(slots=True)
class Count:
    """What one memory instruction did in the sampled blocks."""

    width: int  # bytes a lane
    # Warp requests with a lane that takes part, and these lanes.
    requests: int = 0
    lanes: int = 0
    region: int = -3  # number of the buffer; -1 is shared memory, -2 local, -3 none of these
    looked: float = 0.0  # requests that the following stand for
    # Distinct addresses, sectors, lines and 64 B halves of lines of each request, and L1's clocks,
    # summed.
    different: float = 0.0
    sectors: float = 0.0
    lines: float = 0.0
    pairs: float = 0.0
    data: float = 0.0
    tags: float = 0.0
    executions: int = 0
    due: int = 0
    # Addresses, from the start of the buffer, and lanes that take part, of some requests.
    kept: list[tuple[Array, Array]] = field(default_factory=list)
    rows_kept: int = 0
    # Whether each request moves a run of bytes, of which `lanes` counts the pieces.
    bulk: bool = False
    # Bytes from the buffer's start to the end of what was asked for, before any is put inside.
    reach: int = 0
    # Numbers of all buffers in global memory that it went to.
    regions: set[int] = field(default_factory=set)

    def add_run(
        self, requests: int, pieces: float, sectors: float, lines: float, pairs: float
    ) -> None:
        """Add bulk copies, which take no clock of L1."""
        self.bulk = True
        self.lanes += round(pieces)
        self.looked += requests
        self.different += pieces
        self.sectors += sectors
        self.lines += lines
        self.pairs += pairs

    def add_requests(self, places: Array, width: int, active: Array, weight: float) -> None:
        """Add requests of lanes that take part, each of which stands for `weight`."""
        self.data += weight * float(data_wavefronts(places, width, active).sum())
        if self.region == _SHARED:
            return
        ordered = np.sort(np.where(active, places, -1), axis=-1)
        found = coalesce(places, active, width)
        bits = found.sectors
        self.different += weight * float((first_of_equals(ordered) & (ordered >= 0)).sum())
        self.sectors += weight * float(_SECTORS[bits].sum())
        self.lines += weight * float(len(found.line))
        self.pairs += weight * float(((bits & 3 != 0).astype(int) + (bits & 12 != 0)).sum())
        self.tags += weight * float(tag_wavefronts(places, active).sum())

    def mean(self, total: float) -> float:
        """Return a sum a request."""
        return total / self.looked if self.looked else 0.0


class Counter:
    """Counts what memory instructions report.

    `changing`: instructions whose addresses are kept; `touches`: told what goes through L1;
    `constants`: instructions that read constant memory, of which passes are counted (as `data`);
    `closely`: whether it is worked out what requests ask for, or only where they go.
    """

    def __init__(
        self,
        changing: frozenset[int],
        touches: Touches,
        constants: frozenset[int] = frozenset(),
        *,
        closely: bool = True,
    ) -> None:
        self._closely = closely
        self.counts: dict[int, Count] = {}
        self._constants = constants
        self._changing = changing
        self.touches = touches

    def report(self, at: int, address: Array, lanes: Array, width: int) -> None:
        """Take in one execution."""
        if not len(lanes):
            return
        new = first_of_equals(lanes >> 5)
        rows = int(np.count_nonzero(new))
        if at in self._constants:
            read = self.counts.setdefault(at, Count(width))
            # a pass each address: bytes and halves of one word take as many as words would
            passes = (lanes >> 5 << 32) + (address.astype(np.int64) & 0xFFFFFFFF)
            passes.sort()
            read.requests += rows
            read.data += int(np.count_nonzero(first_of_equals(passes))) * -(-width // 4)
            return
        self.touches.take(at, address, lanes)
        count = self.counts.get(at)
        if count is None:
            count = self.counts[at] = Count(width)
        count.requests += rows
        count.lanes += len(lanes)
        count.executions += 1
        if count.executions < count.due:
            return
        step = max(1, count.executions // _ALL)
        count.due = count.executions + step
        row = np.cumsum(new) - 1
        if rows > _MOST_ROWS:
            every = -(-rows // _MOST_ROWS)
            chosen = row % every == 0
            row, lanes, address = row[chosen] // every, lanes[chosen], address[chosen]
            looked = int(row[-1]) + 1
        else:
            looked = rows
        self._look(count, at, row, lanes & LANES - 1, address, looked, step * rows)

    def multiply(self, inside: range, factor: float) -> None:
        """Let what some instructions did stand for more: iterations that are not run."""
        for key, count in self.counts.items():
            if key & 0xFFFFFFFF in inside:
                count.requests = round(count.requests * factor)
                count.lanes = round(count.lanes * factor)
                if key in self._constants:
                    count.data *= factor

    def report_run(self, at: int, address: Array, sizes: Array) -> None:
        """Take in bulk copies: runs of bytes, each asked for by one lane."""
        if not len(address):
            return
        count = self.counts.setdefault(at, Count(_PIECE))
        start = address.astype(np.int64)
        end = start + np.maximum(sizes, 1)
        count.region = (int(start[0]) >> GAP_SHIFT) - 1
        count.requests += len(start)
        count.add_run(
            len(start),
            *(float((-(-end // g) - start // g).sum()) for g in (_PIECE, SECTOR, LINE, LINE // 2)),
        )

    def _look(
        self, count: Count, at: int, row: Array, lane: Array, address: Array, rows: int, stands: int
    ) -> None:
        """Work out requests, given by row and lane, that stand for `stands`."""
        first = int(address[0])
        region = (first >> GAP_SHIFT) - 1
        if region >= _MOST_REGIONS:
            return  # an address that no buffer has
        start = region + 1 << GAP_SHIFT
        if region < 0:
            count.region = LOCAL_REGION if first >= LOCAL_BASE else _SHARED
        else:
            count.region = region
            low, high = int(address.min()), int(address.max())
            count.reach = max(count.reach, high - (start + MIDDLE) + count.width)
            alone = low >> GAP_SHIFT == high >> GAP_SHIFT
            if count.regions != {region} or not alone:
                numbers = (address >> np.uint64(GAP_SHIFT)).astype(np.int64) - 1
                count.regions.update(np.unique(numbers).tolist())
        if not self._closely and at not in self._changing:
            return
        places, active, width = _placed(address, row, lane, rows, count.width)
        if at in self._changing and count.rows_kept < _KEPT:
            count.kept.append((places, active))
            count.rows_kept += rows
        if self._closely:
            count.looked += stands
            count.add_requests(places, width, active, stands / rows)


def _placed(
    address: Array, row: Array, lane: Array, rows: int, width: int
) -> tuple[Array, Array, int]:
    """Return where lanes go, from the start of the buffer, which take part, and bytes of each."""
    first = int(address[0])
    region = (first >> GAP_SHIFT) - 1
    base = 0 if region < 0 else (region + 1 << GAP_SHIFT) + MIDDLE - (1 << 36)
    places = np.zeros((rows, LANES), dtype=np.int64)
    active = np.zeros((rows, LANES), dtype=bool)
    places[row, lane] = address.astype(np.int64) - base
    active[row, lane] = True
    if region < 0 and first >= LOCAL_BASE:
        # Words of local memory are interleaved among the lanes of a warp.
        own = (places - LOCAL_BASE) // 4 * 4 * LANES + np.arange(LANES) * 4
        places, width = np.where(active, own, 0), 4
    return places - places % width, active, width
