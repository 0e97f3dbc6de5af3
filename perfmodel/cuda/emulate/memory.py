"""Memory of an emulated launch: buffers with stated or generated content, shared and local memory.

Buffers are far apart, so that an address always tells its buffer, however wrong an index made from
generated data may be; such an address is wrapped around into the buffer. What nobody states a
buffer to hold is generated when it is read: a hash of the place, as a number of the type read.
"""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.expressions.mixing import mixed_arrays

GAP_SHIFT: Final = 40
"""Bits of an address below the number of its buffer."""
MIDDLE: Final = 1 << GAP_SHIFT - 1
"""Where in its part of the address space a buffer begins: indices may be negative."""
SHARED_BASE: Final = 1 << 20
LOCAL_BASE: Final = 1 << 30
WORKSPACE: Final = 0x7FFFFFFF
"""Upper half of the address where the blocks of a cooperative launch count themselves: where it is
0, grid.sync() traps. No buffer is there."""
_MOST_SHARED: Final = 1 << 18
"""Bytes from which on no block has shared memory."""
MOST_BACKED: Final = 1 << 30
"""Bytes of a buffer that keeps what is stored to it; larger ones forget."""


@dataclass
class Region:
    """A buffer in global memory."""

    name: str
    size: int  # bytes
    content: Array | None = None  # what it holds at first, as bytes; None is generated
    # From a byte address in the buffer, its elements' numbers, as unsigned integers of some size;
    # None is a hash.
    generated: Callable[[Array, int], Array] | None = None
    sized: bool = True  # whether its size is known; if not, nothing is wrapped around
    below: int | None = None  # what generated integers are below, if anything
    wrapped: bool = False
    guessed: bool = False  # whether generated content was read
    largest: int = 0  # largest number among it, as an unsigned integer
    assumed: bool = False  # whether its content is a recipe that stands for what nobody states
    # Whether branches or addresses depend on the content, as far as the code shows.
    decides: bool = True
    reach: int = 0
    _stored: Array | None = field(default=None, repr=False)
    _touched: Array | None = field(default=None, repr=False)

    def place(self, offset: Array, width: int) -> Array:
        """Return offsets inside the buffer, wrapped around where they are not."""
        if not offset.size:
            return offset
        low, high = int(offset.min()), int(offset.max())
        self.reach = max(self.reach, high + width)
        if low < 0 or high + width > self.size:
            if self.sized:
                self.wrapped = True
            room = max(self.size // width, 1)
            offset = offset // width % room * width
        return offset

    def load(self, offset: Array, width: int, kind: str) -> Array:
        """Return the unsigned integers of `width` bytes at some offsets."""
        whole = np.dtype(f"u{width}")
        hashed = self.content is None and self.generated is None
        self.guessed = self.guessed or self.assumed or hashed
        found = self._at_first(offset, whole, kind)
        if self._touched is None or self._stored is None:
            return found
        at = offset // width
        written = self._touched.view(whole)[at] != 0
        return np.asarray(np.where(written, self._stored.view(whole)[at], found))

    def store(self, offset: Array, width: int, value: Array) -> None:
        """Keep values at some offsets."""
        if self._stored is None:
            if self.size > MOST_BACKED:
                return
            room = -(-self.size // 16) * 16
            # The operating system gives pages only where they are touched.
            self._stored = np.zeros(room, dtype=np.uint8)
            self._touched = np.zeros(room, dtype=np.uint8)
        assert self._touched is not None
        whole = np.dtype(f"u{width}")
        at = offset // width
        self._stored.view(whole)[at] = value
        self._touched.view(whole)[at] = np.iinfo(whole).max

    def forget(self) -> None:
        """Hold what it held at first."""
        self._stored = self._touched = None

    def _at_first(self, offset: Array, whole: np.dtype[Any], kind: str) -> Array:
        """Return what it held at first."""
        if self.content is not None:
            return self._content(offset, whole)
        if not offset.size:
            return np.zeros(0, dtype=whole)
        if self.generated is not None:
            return self.generated(offset, whole.itemsize).astype(whole, copy=False)
        # Another place of the same sequence: buffers differ from one another.
        other = zlib.crc32(self.name.encode()) << 8
        found = generated(offset + other * whole.itemsize, whole, kind, self.below)
        if self.below is not None:
            self.largest = max(self.largest, int(found.max(initial=0)))
        return found

    def _content(self, offset: Array, whole: np.dtype[Any]) -> Array:
        assert self.content is not None
        width = whole.itemsize
        usable = len(self.content) // width
        if usable == 0:
            return np.zeros(len(offset), dtype=whole)
        at = offset // width
        inside = at < usable
        found = self.content[: usable * width].view(whole)[np.where(inside, at, 0)]
        return np.asarray(np.where(inside, found, 0).astype(whole, copy=False))


def generated(offset: Array, whole: np.dtype[Any], kind: str, below: int | None = None) -> Array:
    """Return what an unknown buffer holds: floats from 0 to 1, integers of any value from 0 up.

    Of the size of the unsigned integer `whole`, as the PTX type `kind`; integers are below `below`.
    """
    width = whole.itemsize
    key = offset // width
    if kind == "f32":
        bits = mixed_arrays(key, np.asarray(1 << 23)).astype(np.uint32)
        return ((bits | np.uint32(0x3F800000)).view(np.float32) - np.float32(1)).view(np.uint32)
    if kind == "f64":
        numbers = mixed_arrays(key, np.asarray(1 << 52)) / float(1 << 52)
        return np.asarray(numbers.astype(np.float64).view(np.uint64))
    most = 1 << min(8 * width - 1, 62)
    return mixed_arrays(key, np.asarray(min(most, below or most))).astype(whole)


class Memory:
    """All memory of the sampled blocks; buffer i in global memory begins at `base(i)`."""

    def __init__(
        self, regions: list[Region], shared_bytes: int, local_bytes: int, block_of: Array
    ) -> None:
        self.regions = regions
        self.shared_bytes = -(-max(shared_bytes, 16) // 16) * 16
        self.local_bytes = -(-max(local_bytes, 16) // 16) * 16
        self.block_of = block_of
        blocks = int(block_of.max(initial=0)) + 1
        self.shared = np.zeros(blocks * self.shared_bytes, dtype=np.uint8)
        self.local = np.zeros(len(block_of) * self.local_bytes, dtype=np.uint8)
        # Accesses of lanes that go to buffers, and those that go to none.
        self.reached = 0
        self.strayed = 0

    @property
    def lost(self) -> float:
        """Share of the accesses, shared and local memory aside, that go to no buffer."""
        return self.strayed / max(self.strayed + self.reached, 1)

    @staticmethod
    def base(number: int) -> int:
        """Return the address of a buffer's first byte."""
        return (number + 1 << GAP_SHIFT) + MIDDLE

    def in_a_row(
        self, address: Array, lanes: Array, width: int, kind: str, which: Sequence[int]
    ) -> Array:
        """Return, of unsigned integers that lie in a row from each address on, some: a row each."""
        if len(which) == 1 and which[0] == 0:
            return self.load(address, lanes, width, kind)[None]
        every = np.concatenate([address + np.uint64(i * width) for i in which])
        if len(address) and not int(address.min()) >> GAP_SHIFT:  # near: it depends on the lane
            lanes = np.tile(lanes, len(which))
        found = self.load(every, lanes, width, kind)
        return found.reshape(len(which), -1)

    def load(self, address: Array, lanes: Array, width: int, kind: str) -> Array:
        """Return the unsigned integers of `width` bytes at the addresses of some lanes."""
        whole = np.dtype(f"u{width}")
        found = np.zeros(len(address), dtype=whole)
        for which, region, offset in self.parts(address, lanes, width):
            if isinstance(region, Region):
                held = region.load(offset, width, kind)
            else:
                held = region.view(whole)[offset // width]
            if len(held) == len(address):
                return held.astype(whole, copy=False)
            found[which] = held
        return found

    def store(self, address: Array, lanes: Array, width: int, value: Array) -> None:
        """Keep values of `width` bytes at the addresses of some lanes."""
        whole = np.dtype(f"u{width}")
        for which, region, offset in self.parts(address, lanes, width):
            if isinstance(region, Region):
                region.store(offset, width, value[which])
            else:
                region.view(whole)[offset // width] = value[which]

    def runs(self, address: Array, sizes: Array) -> tuple[Array, Array]:
        """Return where in the address space runs of bytes lie, put inside of their buffers."""
        found, inside = address.copy(), np.zeros(len(address), dtype=bool)
        for group, which in self._groups(address):
            if not 0 <= group < len(self.regions):
                self.strayed += len(address[which])
                continue
            base, longest = self.base(group), int(sizes[which].max(initial=0))
            offset = self.regions[group].place(address[which].astype(np.int64) - base, longest or 1)
            found[which] = (offset + base).astype(np.uint64)
            inside[which] = True
        return found[inside], sizes[inside]

    def _groups(self, address: Array) -> list[tuple[int, Any]]:
        """Return the buffers that addresses go to, and which go there; -1 is near."""
        if not len(address):
            return []
        first, last = int(address.min()) >> GAP_SHIFT, int(address.max()) >> GAP_SHIFT
        if first == last:
            return [(first - 1, slice(None))]
        number = (address >> np.uint64(GAP_SHIFT)).astype(np.int64) - 1
        # Addresses made of garbage may be anywhere: those are not distinguished.
        number = np.where((number < -1) | (number >= len(self.regions)), -2, number)
        return [(group, np.flatnonzero(number == group)) for group in np.unique(number).tolist()]

    def parts(
        self, address: Array, lanes: Array, width: int
    ) -> list[tuple[Any, Region | Array, Array]]:
        """Return which lanes go where: their places, the memory, and the offsets in it [B]."""
        found: list[tuple[Any, Region | Array, Array]] = []
        for group, which in self._groups(address):
            at = address[which].astype(np.int64)
            if 0 <= group < len(self.regions):
                region = self.regions[group]
                self.reached += len(at)
                found.append((which, region, region.place(at - self.base(group), width)))
            elif group == -1:
                found += self._near(which, at, lanes[which], width, len(address))
            else:
                self.strayed += int(np.count_nonzero(at >> 32 != WORKSPACE))
        return found

    def _near(
        self, which: Any, at: Array, lanes: Array, width: int, count: int
    ) -> list[tuple[Any, Region | Array, Array]]:
        """As `parts`, for shared and local memory."""
        if at.max() < LOCAL_BASE:  # as nearly always: all of them are in shared memory
            return [(which, self.shared, self._near_places(at, lanes, width, local=False))]
        places = np.arange(count)[which]
        is_local = at >= LOCAL_BASE
        found: list[tuple[Any, Region | Array, Array]] = []
        for local, memory in ((False, self.shared), (True, self.local)):
            chosen = is_local == local
            if chosen.any():
                offset = self._near_places(at[chosen], lanes[chosen], width, local=local)
                found.append((places[chosen], memory, offset))
        return found

    def _near_places(self, at: Array, lanes: Array, width: int, *, local: bool) -> Array:
        """Return where in shared or local memory of all blocks the addresses of lanes are."""
        base, size = (LOCAL_BASE, self.local_bytes) if local else (SHARED_BASE, self.shared_bytes)
        owner = lanes if local else self.block_of[lanes]
        offset = (at - base) // width * width
        if offset.min() < 0 or offset.max() + width > size:
            # Dynamic shared memory may be longer than is stated.
            outside = (offset < 0) | (offset >= max(size, _MOST_SHARED))
            self.strayed += int(np.count_nonzero(outside))
            offset = offset % (size // width * width)
        return np.asarray(owner * size + offset)
