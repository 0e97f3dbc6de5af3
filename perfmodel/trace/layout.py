"""Where the buffers lie, and which lines an access policy window covers."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.kernels.instance import Instance
from perfmodel.kernels.l2_control import L2Control
from perfmodel.trace.cache import LINE, NORMAL, PERSISTING, STREAMING, mix

ALIGNMENT: Final = 1 << 21
"""Buffers start at multiples of this [B]: the pages that large allocations come in."""

PICK_STEPS: Final = 16
"""Steps of hitRatio. The hardware picks a sixteenth more than it is told, unless told none (found:
measurements/suite/h200-sxm/sweeps/data-reset.csv; 13/16 of a window miss at a hitRatio of 1/8)."""

_RANKS: Final = {"streaming": STREAMING, "normal": NORMAL, "persisting": PERSISTING}


@dataclass(frozen=True, slots=True)
class Layout:
    """Global buffers in the order of their addresses [B]."""

    names: tuple[str, ...]
    starts: tuple[int, ...]
    sizes: tuple[int, ...]

    def start(self, name: str) -> int:
        """Return where a buffer starts [B]."""
        return self.starts[self.names.index(name)]

    def size(self, name: str) -> int:
        """Return how long a buffer is [B]."""
        return self.sizes[self.names.index(name)]

    def spans(self) -> Array:
        """Return the first line of each buffer, and the one after its last, shape (buffers, 2)."""
        ends = [
            (a // LINE, -(-(a + n) // LINE)) for a, n in zip(self.starts, self.sizes, strict=True)
        ]
        return np.array(ends, dtype=np.int64).reshape(-1, 2)

    def owner(self, line: Array) -> Array:
        """Return the positions of the buffers that lines belong to; one past the last for none."""
        first, last = self.spans().T
        found = np.searchsorted(first, line, side="right") - 1
        return np.where((found >= 0) & (line < last[found]), found, len(self.names))


def lay_out(instance: Instance, first: int = ALIGNMENT) -> Layout:
    """Give every global buffer its addresses, one after the other, as if allocated in turn.

    `first`: where the first may start [B].
    """
    sizes = {
        b.name: int(instance.lengths[b.name]) * int(instance.element_bytes[b.name])
        for b in instance.kernel.buffers
        if b.space != "shared"
    }
    starts = []
    for size in sizes.values():
        starts.append(-(-first // ALIGNMENT) * ALIGNMENT)
        first = starts[-1] + max(size, 1)
    return Layout(tuple(sizes), tuple(starts), tuple(sizes.values()))


def check_window(control: L2Control, layout: Layout) -> None:
    """Refuse a window that is not inside a buffer.

    Raises `PerfmodelError`.
    """
    window = control.window
    if window is None:
        return
    if window.buffer not in layout.names:
        hint = nearest(window.buffer, layout.names) or f"; there are {', '.join(layout.names)}"
        raise PerfmodelError(f"the window's buffer {shown(window.buffer)} does not exist{hint}")
    size = layout.size(window.buffer)
    if window.offset < 0 or window.num_bytes < 0 or window.offset + window.num_bytes > size:
        raise PerfmodelError(
            f"the window of {window.num_bytes} bytes from {window.offset} is not inside buffer "
            f"{window.buffer!r} of {size} bytes; make it smaller"
        )


def ranks(control: L2Control, layout: Layout, line: Array, seed: int) -> Array:
    """Return how hard lines are to replace: STREAMING, NORMAL or PERSISTING.

    Which lines of a window get `hit_prop` is random but fixed: a hash of the line decides.
    """
    found = np.full(len(line), NORMAL, dtype=np.uint8)
    window = control.window
    if window is None or window.num_bytes == 0:
        return found
    start = (layout.start(window.buffer) + window.offset) // LINE
    end = -(-(layout.start(window.buffer) + window.offset + window.num_bytes) // LINE)
    inside = np.flatnonzero((line >= start) & (line < end))
    if inside.size:
        draw = (mix(line[inside] + (seed << 44)) >> np.uint64(11)) * 2.0**-53
        picked, other = _RANKS[window.hit_prop], _RANKS[window.miss_prop]
        steps = np.floor(PICK_STEPS * window.hit_ratio + 1e-6) + 1
        share = steps / PICK_STEPS if window.hit_ratio > 0 else 0.0
        found[inside] = np.where(draw < share, picked, other)
    return found
