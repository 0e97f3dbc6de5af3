"""Requests of blocks or warps that read runs, compiled: one launch at a time.

What `enumeration` counts lane by lane, warp by warp. Imported only where numba is installed.
"""

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
def counted_runs(
    units: tuple[Array, int, int],
    shares: Array,
    extents: Array,
    planes: Array,
    banks: tuple[Array, Array, Array],
) -> Array:
    """Return what sampled blocks of launches ask for, (`SUMS`, launches).

    `units` are extents of the digits that tell a block's runs apart, threads of a run, and the
    logarithm to base 2 of the bytes that each moves. `shares`, (axes, samples at most), is where
    samples lie; `extents`, (axes, launches), blocks and iterations. `planes` are those of the load,
    as `block_run_loop` has them, of each launch along the last axis: axes, then digits. `banks` is
    what `tag_tables` and `tags_of_warps` return.
    """
    digits, threads, width_bit = units
    axes, runs = len(extents), np.prod(digits)
    found = np.zeros((SUMS, extents.shape[1]), dtype=np.int64)
    sums, place = np.zeros(SUMS, dtype=np.int64), np.zeros(axes + len(digits), dtype=np.int64)
    warps = np.zeros(_LINE, dtype=np.int64)  # full ones by where in a line they start
    for launch in range(extents.shape[1]):
        turns, own = extents[:, launch].copy(), planes[:, :, launch].copy()
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
                _add_run(sums, warps, value_at(own, 0, place), lanes, width_bit, banks)
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
    banks: tuple[Array, Array, Array],
) -> None:
    """Add what threads ask for that read one place after the other, the first one `at` [B].

    Of full warps, tag wavefronts: the rest goes by `warps`.
    """
    sums[2] += lanes
    whole = lanes // _WARP
    if whole:
        warps[at & _LINE - 1] += whole
        sums[7] += _tags_of_whole(at, whole, width_bit, banks)
    if lanes % _WARP:
        _add_part(sums, at + (whole * _WARP << width_bit), lanes % _WARP, width_bit, banks)


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
            found += _tags(at, size, low, high)
        at += some * size
        warps -= some
    return found


@njit(cache=True, nogil=True)
def _add_part(
    sums: Array, at: int, lanes: int, width_bit: int, banks: tuple[Array, Array, Array]
) -> None:
    """Add a warp of which only the first lanes take part."""
    size = lanes << width_bit
    sums[1] += 1
    for place in range(3):
        bit = _SECTOR_BIT + place
        sums[3 + place] += (at + size - 1 >> bit) - (at >> bit) + 1
    sums[6] += (size - 1 >> _LINE_BIT) + 1  # as many bytes as there are banks, each
    sums[7] += _tags(at, size, banks[0], banks[1])
    sums[8] |= at
    if lanes > 1:
        sums[8] |= at + (1 << width_bit)


@njit(cache=True, nogil=True)
def _tags(at: int, size: int, low: Array, high: Array) -> int:
    """Return the tag wavefronts of a warp that reads a run of so many bytes [B]."""
    counts = 0  # of each bank a byte
    for line in range(at >> _LINE_BIT, (at + size - 1 >> _LINE_BIT) + 1):
        counts += 1 << 8 * (low[line & 4095] ^ high[line >> 12 & 4095])
    most = max(counts & 255, counts >> 8 & 255)
    return max(most, counts >> 16 & 255, counts >> 24)
