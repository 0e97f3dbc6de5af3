"""L1 wavefronts: how many clocks one request holds L1's data banks and its tag banks.

The data stage has 32 banks of 4 B and reads one word from each in a clock; 8 B and 16 B accesses
go by half and quarter warps. The tag stage looks up one line per clock in each of four banks, which
a hash of the line address chooses. Each request costs its conflicts in both stages, and L1 is as
slow as the busier stage: 621 patterns in measurements/suite, foundation/l1-patterns.csv.
"""

import threading
from collections.abc import Sequence
from functools import lru_cache, reduce
from itertools import repeat
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.models.derivation import definition
from perfmodel.models.grid.distinct import first_of_equals
from perfmodel.models.requests.coalescing import LINE, Box

BANK_WORD: Final = 4
BANKS: Final = 32
TAG_BANKS: Final = 4

# Tag bank that bit i of the line address toggles (banks combine by exclusive or), found with the
# profiler's tag wavefronts of chosen line sets:
# measurements/suite, foundation/tag-banks.csv and coalescer.csv, which it explains exactly
# for 4 and 8 B accesses. Higher bits: not measured.
_TAG_BANK_OF_BIT: Final = (1, 2, 1, 2, 3, 1, 2, 3, 2, 1, 2, 1, 3, 1, 3, 2, 1, 3, 1, 3, 3)
# Base addresses that tag wavefronts are a mean over: the first warps, and places within a stride by
# the golden section, which spreads any number of them evenly. Of matrix products' rows, counted for
# all warps and steps, it is 2.4% off (rms); with eight pseudo-random ones it was 5.3%, and up to
# 16%.
_WARPS: Final = np.arange(32)
_STEPS: Final = (0.31 + 0.618034 * _WARPS) % 1
# Patterns whose lanes are worked out at a time: few enough for the CPU's caches.
_TOGETHER: Final = 32
_MOST_KNOWN: Final = 1 << 18
"""Patterns whose wavefronts are kept, for a width of access and a memory: sweeps repeat them."""
_TOLD_BY: Final = 46
"""Bits of a key after those that mostly tell it from others."""
_SPREAD: Final = 0x9E3779B97F4A7C15
"""2^64 over the golden section, odd: it spreads numbers over 64 bits (Knuth, TAOCP 3, 6.4)."""


PAGE_OF_LINES: Final = 1 << 12
"""Lines whose tag banks differ by the lower bits of their addresses alone."""


def tag_tables() -> tuple[Array, Array]:
    """Return the tag banks, 0 to 3, of a line address by its lower 12 bits, and by the next 12."""
    low = np.zeros(PAGE_OF_LINES, dtype=np.uint8)
    high = np.zeros(PAGE_OF_LINES, dtype=np.uint8)
    values = np.arange(PAGE_OF_LINES)
    for bit, bank in enumerate(_TAG_BANK_OF_BIT):
        table, shift = (low, bit) if bit < 12 else (high, bit - 12)
        table ^= np.where(values >> shift & 1, bank, 0).astype(np.uint8)
    return low, high


_LOW, _HIGH = tag_tables()
# One byte counts each bank's lines, so that a single sum counts all four: the bank's first bit.
_BYTE_LOW, _BYTE_HIGH = 8 * _LOW, 8 * _HIGH
_BEFORE: Final = PAGE_OF_LINES + WARP_SIZE  # a warp's lines may go on past a page
_PLACES_BEFORE: Final = _HIGH.astype(np.int64) * _BEFORE  # in `_lines_before`, by higher bits


@lru_cache
def tags_of_warps(width: int) -> Array:
    """Return the tag wavefronts of full warps of a run, summed from the first line on.

    Lanes move `width` bytes. Of warps that start with a line, and of those that start within one:
    (2, lines + stride). The sum at a line is of the warps that lie before it, each where the last
    one ends.
    """
    stride = width * WARP_SIZE // LINE
    found = np.zeros((2, PAGE_OF_LINES + stride), dtype=np.int16)
    for inside in range(2):
        lines = np.arange(PAGE_OF_LINES) + np.arange(stride + inside)[:, None]
        tags = _most_in_a_bank(lines).reshape(-1, stride)
        found[inside, stride:] = np.cumsum(tags, axis=0).ravel()
    return found


def tag_bank(line: Any) -> Array:
    """Return the tag bank, 0 to 3, of a line address (byte address // 128)."""
    line = np.asanyarray(line)
    return np.asanyarray(_LOW.take(line & 4095) ^ _HIGH.take(line >> 12 & 4095))


def data_wavefronts(addresses: Any, width: int, active: Any = True, shared: bool = False) -> Array:
    """Return the clocks that requests hold the data banks.

    The sum over the half or quarter warps of the most distinct words in one bank; at least 1.
    Addresses are bytes, shape (..., 32), of lanes that move `width` bytes. In `shared` memory parts
    of a warp go together where lanes pair up: each lane's word is also that of the lane 1 away, or
    2 away, for all of them.
    """
    addresses, active = np.broadcast_arrays(addresses, active)
    unit = max(width, BANK_WORD)
    groups = unit // BANK_WORD
    words = np.where(active, addresses // unit, -1)
    each = _bank_clocks(words, groups, groups)
    if shared and groups > 1:
        pairs = _paired(words.reshape(*words.shape[:-1], groups // 2, -1), active)
        apart = each.reshape(*each.shape[:-1], groups // 2, 2).sum(axis=-1)
        each = np.where(pairs, _bank_clocks(words, groups // 2, groups), apart)
    return np.asanyarray(np.maximum(each.sum(axis=-1), 1))


def atomic_wavefronts(addresses: Array, active: Array, banks: int = BANKS) -> Array:
    """Return the clocks that native shared atomics hold the banks: the most lanes in one."""
    bank = np.where(active, addresses // BANK_WORD % banks, banks)
    lanes = (bank[..., None, :] == np.arange(banks)[:, None]).sum(axis=-1)
    return np.asanyarray(lanes.max(axis=-1))


def data_in_order(addresses: Array, width: int) -> Array | None:
    """Return the data wavefronts of requests whose lanes all take part, in order of addresses.

    None of lanes that move more than a word, whose places in the warp count.
    """
    if width > BANK_WORD:
        return None
    return np.asanyarray(np.maximum(_clocks_in_order(addresses // BANK_WORD, 1), 1))


def tags_in_order(addresses: Array) -> Array:
    """Return the tag wavefronts of requests whose lanes all take part, in order of addresses."""
    return _most_in_a_bank(np.moveaxis(addresses >> LINE.bit_length() - 1, -1, 0))


def _bank_clocks(words: Array, parts: int, groups: int) -> Array:
    """Return the most distinct words in one bank, for each of a warp's `parts`; -1 is no word."""
    split = (*words.shape[:-1], parts, WARP_SIZE // parts)
    return _clocks_in_order(np.sort(words.reshape(split), axis=-1), groups)


def _clocks_in_order(words: Array, groups: int) -> Array:
    """Return the most distinct words in one bank, of words in order; -1 is no word."""
    first = first_of_equals(words) & (words >= 0)
    banks = BANKS // groups
    rows = np.arange(words[..., 0].size).reshape(words.shape[:-1])[..., None]
    every = rows.size * banks
    # Banks are a power of two. Lanes whose word an earlier one has are counted past the last bank.
    places = np.where(first, rows * banks + (words & banks - 1), every)
    counts = np.bincount(places.reshape(-1), minlength=every + 1)[:-1]
    return np.asanyarray(counts.reshape(*words.shape[:-1], banks).max(axis=-1))


def _paired(words: Array, active: Array) -> Array:
    """Say whether lanes pair up, for parts of warps, shape (..., lanes)."""
    lane = np.arange(words.shape[-1])
    alone = ~active.reshape(words.shape)

    def same(apart: int) -> Array:
        other = lane ^ apart
        return np.asanyarray(
            np.all((words == words[..., other]) | alone | alone[..., other], axis=-1)
        )

    return same(1) | same(2)


def tag_wavefronts(addresses: Any, active: Any = True) -> Array:
    """Return the clocks that requests hold the tag banks: the most distinct lines in one bank."""
    lines, active = np.broadcast_arrays(np.asanyarray(addresses) >> LINE.bit_length() - 1, active)
    # A lane that takes no part repeats one that does, which adds no line.
    first = np.argmax(active, axis=-1)[..., None]
    lines = np.where(active, lines, np.take_along_axis(lines, first, axis=-1))
    return _most_in_a_bank(np.moveaxis(np.sort(lines, axis=-1), -1, 0))


def _most_in_a_bank(lines: Array) -> Array:
    """Return the most distinct lines in one tag bank; lanes come first, their lines in order."""
    # In range by the masks: "clip" only saves the check.
    low, high = lines & 4095, lines >> 12 & 4095
    byte = _BYTE_LOW.take(low, mode="clip") ^ _BYTE_HIGH.take(high, mode="clip")
    counts = np.left_shift(np.uint32(1), byte, dtype=np.uint32)
    counts[1:] *= lines[1:] != lines[:-1]
    return most_in_a_bank(counts.sum(axis=0, dtype=np.uint32))


def lines_by_bank(first: Array, count: Array) -> Array:
    """Return how many of a few lines, one after the other, are in each tag bank: a byte each.

    Those across a page of lines as if the next page's banks were in the same order.
    """
    before = _lines_before()
    row = _PLACES_BEFORE.take(first >> 12 & 4095, mode="clip") + (first & 4095)
    return np.asanyarray(before.take(row + count, mode="clip") - before.take(row, mode="clip"))


def most_in_a_bank(lines: Array) -> Array:
    """Return the most lines in one tag bank, of those of each in a byte."""
    return np.asanyarray(reduce(np.maximum, (lines >> 8 * bank & 255 for bank in range(TAG_BANKS))))


@lru_cache
def _lines_before() -> Array:
    """Return the lines before one, by bank, for each bank of the higher bits: sums modulo 2^32."""
    banks = np.arange(TAG_BANKS, dtype=np.uint8)[:, None]
    every = 8 * (_LOW.take(np.arange(_BEFORE) & 4095) ^ banks)
    counts = np.left_shift(np.uint32(1), every, dtype=np.uint32).cumsum(axis=1, dtype=np.uint32)
    return np.pad(counts[:, :-1], ((0, 0), (1, 0)))


def pattern_wavefronts(
    box: Box, offset: Any, step: Any, width: int, shared: bool = False
) -> tuple[Array, Array]:
    """Return mean data and tag wavefronts of boxes of lanes that move `width` bytes each.

    The mean is over base addresses, since the tag hash of a strided request depends on where it
    starts: multiples of the warp's own span, as neighbouring warps have them, plus multiples of
    `step` [B] within one stride, as a loop along the row has them.
    """
    return _pattern_wavefronts(tuple(box), offset, step, width, shared)


@definition
def _pattern_wavefronts(
    box: tuple[Array, ...], offset: Any, step: Any, width: int, shared: bool
) -> tuple[Array, Array]:
    given = np.broadcast_arrays(*box, offset, step)
    shape = given[0].shape
    columns = [np.asanyarray(a, dtype=np.int64).reshape(-1) for a in given]
    key = np.zeros(columns[0].shape, dtype=np.uint64)
    for column in columns:
        key = ((key ^ key >> np.uint64(29)) + column.view(np.uint64)) * np.uint64(_SPREAD)
    of = width, shared
    known = _KNOWN.get(of) or _KNOWN.setdefault(of, _Patterns())
    places = known.places_of(key)
    new = np.flatnonzero(places < 0)
    if len(new):
        chosen = [*dict(zip(key[new].tolist(), new.tolist(), strict=True)).values()]
        known.add(key[chosen], _worked_out([c[chosen] for c in columns], width, shared))
        places = known.places_of(key)
        if len(known.places) > _MOST_KNOWN:
            _KNOWN.pop(of, None)
    data, tags = known.both[:, places]
    return data.reshape(shape), tags.reshape(shape)


class _Patterns:
    """Wavefronts of the patterns that came before, by their keys. Threads may add to it."""

    def __init__(self) -> None:
        self.places: dict[int, int] = {}
        self.both = np.zeros((2, 1))  # data and tag wavefronts, by place; some room at the end
        self.keys = np.full(1, _SPREAD, dtype=np.uint64)  # by place
        self.latest = np.zeros(1 << 64 - _TOLD_BY, dtype=np.int32)  # places by keys' first bits
        self.used = 0
        self.lock = threading.Lock()

    def places_of(self, key: Array) -> Array:
        """Return where the wavefronts of patterns are; -1 if they are not known."""
        first = key >> np.uint64(_TOLD_BY)
        places: Array = self.latest[first]
        others = np.flatnonzero(self.keys[places] != key)
        few = map(self.places.get, key[others].tolist(), repeat(-1))
        places[others] = np.fromiter(few, np.int64, len(others))
        self.latest[first[others]] = np.maximum(places[others], 0)
        return places

    def add(self, key: Array, both: Array) -> None:
        """Note the wavefronts of patterns, (2, patterns)."""
        with self.lock:
            start, end = self.used, self.used + len(key)
            if end > self.both.shape[1]:
                self.both = np.concatenate([self.both, np.zeros((2, end + 64))], axis=1)
                self.keys = np.resize(self.keys, self.both.shape[1])
            self.both[:, start:end], self.keys[start:end] = both, key
            self.used = end
            self.places |= zip(key.tolist(), range(start, end), strict=True)
            self.latest[key >> np.uint64(_TOLD_BY)] = range(start, end)


_KNOWN: Final[dict[tuple[int, bool], _Patterns]] = {}


def _worked_out(patterns: Sequence[Array], width: int, shared: bool) -> Array:
    """Return data and tag wavefronts of patterns, (2, patterns)."""
    *box, at, by = patterns
    parts = [slice(i, i + _TOGETHER) for i in range(0, len(at), _TOGETHER)]
    tags = [_mean_tag_wavefronts(Box(*(c[p] for c in box)), at[p], by[p]) for p in parts]
    return np.stack([_box_data_wavefronts(Box(*box), at, width, shared), np.concatenate(tags)])


def _box_data_wavefronts(box: Box, o: Array, width: int, shared: bool) -> Array:
    """Return the data wavefronts of boxes of lanes that start at `o`."""
    n, s, r, t = (column[:, None] for column in box)
    lane, m = np.arange(WARP_SIZE)[None, :], np.maximum(n, 1)
    address = (1 << 40) + o[:, None] + lane % m * s + lane // m * t
    return data_wavefronts(address, width, lane < n * r, shared).astype(float)


def _mean_tag_wavefronts(box: Box, o: Array, g: Array) -> Array:
    """Return the tag wavefronts of boxes, the mean over base addresses."""
    n, s, r, t = box
    span = np.maximum(np.abs(s) * n, np.abs(t) * np.maximum(r, 1))
    within = np.maximum(np.abs(np.where(s == 0, t, s)) // np.maximum(g, 1), 1)
    # Lanes come first, for NumPy to work on many patterns at a time.
    lane = np.arange(WARP_SIZE)[:, None]
    m = np.maximum(n, 1)
    # A lane that takes no part repeats the first, which adds no line.
    inside = np.where(lane < n * r, lane % m * s + lane // m * t, 0)
    if np.any(inside[1:] < inside[:-1]):
        inside.sort(axis=0)
    places = np.floor(_STEPS[:, None] * within).astype(np.int64) * g
    base = (1 << 40) + o + _WARPS[:, None] * span + places
    lines = base + inside[:, None, :] >> LINE.bit_length() - 1
    return np.asanyarray(_most_in_a_bank(lines).sum(axis=0) / len(_WARPS))
