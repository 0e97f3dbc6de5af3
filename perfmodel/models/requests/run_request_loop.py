"""Requests of blocks or warps that read runs, compiled: one launch at a time.

What `enumeration` counts lane by lane, warp by warp. Imported only where numba is installed.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit

from perfmodel.arrays import Array
from perfmodel.models.requests.block_run_loop import put_digits, taking_part, value_at

_WARP: Final = 32
_SECTOR_BIT: Final = 5
_LINE_BIT: Final = 7
_LINE: Final = 1 << _LINE_BIT
_PAGE_OF_LINES: Final = 1 << 12  # lines whose tag banks differ by a table's low bits alone
SUMS: Final = 9
"""Samples, requests, lanes, sectors, halves of lines, lines, data and tag wavefronts, and the bits
that are 1 in any address."""


@njit(cache=True, nogil=True)
def tag_clocks(low: Array, high: Array, size: int) -> Array:
    """Return the tag wavefronts of warps of so many bytes [B], summed from the first line on.

    Of warps that start with a line, and of those that start within one: (2, lines + stride). The
    sum at a line is of the warps that lie before it, each where the last one ends.
    """
    stride = size >> _LINE_BIT
    found = np.zeros((2, _PAGE_OF_LINES + stride), dtype=np.int16)  # in the nearest cache
    for inside in range(2):
        for line in range(_PAGE_OF_LINES):
            start = (line << _LINE_BIT) + inside
            found[inside, line + stride] = found[inside, line] + _tags(start, size, 0, 0, low, high)
    return found


@njit(cache=True, nogil=True)
def counted_runs(
    units: tuple[Array, int, int],
    shares: Array,
    extents: Array,
    planes: Array,
    period: Array,
    banks: tuple[Array, Array, Array],
) -> Array:
    """Return what sampled blocks of launches ask for, (`SUMS`, launches).

    `units` are extents of the digits that tell a block's runs apart, threads of a run, and the
    logarithm to base 2 of the bytes that each moves. `shares`, (axes, samples at most), is where
    samples lie; `extents`, (axes, launches), blocks and iterations. `planes` are those of the load,
    as `block_run_loop` has them, of each launch along the last axis: axes, then digits. `period`,
    (2, launches), is where addresses start again, and after how much [B]. `banks` is what
    `tag_clocks` takes, and gives.
    """
    digits, threads, width_bit = units
    axes, runs = len(extents), np.prod(digits)
    found = np.zeros((SUMS, extents.shape[1]), dtype=np.int64)
    sums, place = np.zeros(SUMS, dtype=np.int64), np.zeros(axes + len(digits), dtype=np.int64)
    warps = np.zeros(_LINE, dtype=np.int64)  # full ones by where in a line they start
    for launch in range(extents.shape[1]):
        turns, own = extents[:, launch].copy(), planes[:, :, launch].copy()
        start, length = period[0, launch], period[1, launch]
        every = np.prod(turns)
        samples = min(every, shares.shape[1])
        sums[:], warps[:] = 0, 0
        sums[0], sums[8] = samples, _LINE
        for sample in range(samples):
            if every > samples:
                for axis in range(axes):
                    place[axis] = int(shares[axis, sample] * turns[axis])
            else:
                put_digits(sample, turns, place, 0)
            for run in range(runs):
                put_digits(run, digits, place, axes)
                lanes = taking_part(own, place, threads)
                at = start + (value_at(own, 0, place) - start) % length
                _add_run(sums, warps, at, lanes, width_bit, (start, start + length), banks)
        for at in range(0, _LINE, 1 << width_bit):
            _add_whole(sums, at, warps[at], width_bit)
        found[:, launch] = sums
    return found


@njit(cache=True, nogil=True)
def _add_run(
    sums: Array,
    warps: Array,
    at: int,
    lanes: int,
    width_bit: int,
    ends: tuple[int, int],
    banks: tuple[Array, Array, Array],
) -> None:
    """Add what threads ask for that read one place after the other, the first one `at` [B].

    Of full warps that no end of the period cuts, tag wavefronts: the rest goes by `warps`.
    """
    start, end = ends
    sums[2] += lanes
    while lanes > 0:
        whole = min(lanes, (end - at) >> width_bit) // _WARP
        if whole:
            warps[at & _LINE - 1] += whole
            sums[7] += _tags_of_whole(at, whole, width_bit, banks)
            at += whole * _WARP << width_bit
            lanes -= whole * _WARP
        else:
            own = min(lanes, _WARP)
            before = min(own, (end - at) >> width_bit)
            _add_cut(sums, (at, start), (before, own - before), width_bit, banks)
            at += before << width_bit
            if own > before:
                at = start + (own - before << width_bit)
            lanes -= own
        if at == end:
            at = start


@njit(cache=True, nogil=True)
def _add_whole(sums: Array, at: int, warps: int, width_bit: int) -> None:
    """Add full warps that start at a place in a line [B], but for their tag wavefronts."""
    if warps == 0:
        return
    sums[1] += warps
    for place in range(3):
        bit = _SECTOR_BIT + place
        sums[3 + place] += warps * ((_WARP << width_bit >> bit) + (at & (1 << bit) - 1 != 0))
    sums[6] += warps * (1 << width_bit >> 2)
    sums[8] |= at | at + (1 << width_bit)


@njit(cache=True, nogil=True)
def _tags_of_whole(at: int, warps: int, width_bit: int, banks: tuple[Array, Array, Array]) -> int:
    """Return the tag wavefronts of full warps, the first at so many bytes."""
    found, size = 0, _WARP << width_bit
    low, high, clocks = banks
    stride, inside = size >> _LINE_BIT, int(at & _LINE - 1 != 0)
    while warps:
        line = at >> _LINE_BIT & _PAGE_OF_LINES - 1
        some = min(warps, (_PAGE_OF_LINES - inside - line) >> width_bit + 5 - _LINE_BIT)
        if some:
            found += int(clocks[inside, line + some * stride]) - int(clocks[inside, line])
        else:  # across lines whose tag banks have other high bits
            some = 1
            found += _tags(at, size, 0, 0, low, high)
        at += some * size
        warps -= some
    return found


@njit(cache=True, nogil=True)
def _add_cut(
    sums: Array,
    at: tuple[int, int],
    lanes: tuple[int, int],
    width_bit: int,
    banks: tuple[Array, Array, Array],
) -> None:
    """Add a warp of two runs, the second of which, if any, lies before the first."""
    sums[1] += 1
    first, second = lanes[0] << width_bit, lanes[1] << width_bit
    for place in range(3):
        bit = _SECTOR_BIT + place
        granules = (at[0] + first - 1 >> bit) - (at[0] >> bit) + 1
        if second:
            last = at[1] + second - 1 >> bit
            granules += min(last, (at[0] >> bit) - 1) - (at[1] >> bit) + 1
        sums[3 + place] += granules
    sums[6] += _data(at, lanes, width_bit)
    sums[7] += _tags(at[0], first, at[1], second, banks[0], banks[1])
    for run in range(2):
        if lanes[run] > 0:
            sums[8] |= at[run]
        if lanes[run] > 1:
            sums[8] |= at[run] + (1 << width_bit)


@njit(cache=True, nogil=True)
def _data(at: tuple[int, int], lanes: tuple[int, int], width_bit: int) -> int:
    """Return the data wavefronts of a warp of two runs: 2 where they meet in a bank of its part."""
    part = 4 * _WARP >> width_bit  # lanes, and the banks that they share
    clocks = 0
    for first in range(0, lanes[0] + lanes[1], part):
        own = min(part, lanes[0] + lanes[1] - first)
        before = min(max(lanes[0] - first, 0), own)
        apart = (at[1] >> width_bit) + max(first - lanes[0], 0) - (at[0] >> width_bit) - first
        apart &= part - 1
        meet = apart < before or apart + own - before > part
        clocks += 1 + (0 < before < own and meet)
    return clocks


@njit(cache=True, nogil=True)
def _tags(at: int, size: int, before: int, rest: int, low: Array, high: Array) -> int:
    """Return the tag wavefronts of a warp of runs of so many bytes [B], the second before."""
    counts = 0  # of each bank a byte
    first = at >> _LINE_BIT
    for line in range(first, (at + size - 1 >> _LINE_BIT) + 1):
        counts += 1 << 8 * (low[line & 4095] ^ high[line >> 12 & 4095])
    if rest:
        last = min(before + rest - 1 >> _LINE_BIT, first - 1)
        for line in range(before >> _LINE_BIT, last + 1):
            counts += 1 << 8 * (low[line & 4095] ^ high[line >> 12 & 4095])
    most = max(counts & 255, counts >> 8 & 255)
    return max(most, counts >> 16 & 255, counts >> 24)
