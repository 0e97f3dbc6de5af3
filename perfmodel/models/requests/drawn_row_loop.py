"""Words of rows at random places, and what warps ask for that read any words, compiled.

Warps lie side by side, so that each step is one of vectors. Imported only where numba is installed.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit

from perfmodel.arrays import Array
from perfmodel.expressions.mixing import LAST, MIXED_BY, ROUNDS, UPPER_BITS
from perfmodel.models.requests.block_run_loop import put_digits, taking_part, value_at

_WARP: Final = 32
_TOGETHER: Final = 64
"""Warps side by side: their words stay in the nearest cache."""
_MIXED_BY: Final = np.uint64(MIXED_BY)
_SHIFT_1, _FACTOR_1 = map(np.uint64, ROUNDS[0])
_SHIFT_2, _FACTOR_2 = map(np.uint64, ROUNDS[1])
_ROOM: Final = 32
"""Slots of a hash table for each lane of a block: collisions of its lines are rare."""
_SPREAD: Final = 0x1E3779B97F4A7C15
"""An odd number near 2^61 whose products have their upper bits spread (Knuth, TAOCP 3, 6.4)."""
_SHIFT: Final = 30
_LAST, _UPPER = np.uint64(LAST), np.uint64(UPPER_BITS)


@njit(cache=True, nogil=True)
def put_words(
    found: tuple[Array, Array], points: Array, units: tuple[Array, int], planes: Array, row: Array
) -> None:
    """Put the addresses of words [B], and whether lanes take part, of some executions of a launch.

    Both (executions, threads of a block). `points`, (axes, executions), are block indices and
    iterations; `units` extents of the digits that tell a block's runs apart, and threads of a run;
    `planes` as `block_run_loop` has them, of the element that a row and the place in it follow
    from. `row` is elements of a row, how many rows there are, and elements from each to the next.
    Of no rows, each key is the word that all lanes of a row read.
    """
    address, active = found
    digits, threads = units
    length, count, pitch = row
    step = 1 if count else 0
    axes, drawn = len(points), np.zeros(threads, dtype=np.int64)
    place = np.zeros(axes + len(digits), dtype=np.int64)
    for execution in range(len(address)):
        place[:axes] = points[:, execution]
        for run in range(np.prod(digits)):
            put_digits(run, digits, place, axes)
            lanes, own = taking_part(planes, place, threads), slice(run * threads, address.shape[1])
            if lanes == 0:
                continue
            words = address[execution, own]
            active[execution, own][:lanes] = True
            first = value_at(planes, 0, place) >> 2
            key, inside = first // length, first % length
            rows = (inside + lanes - 1) // length + 1
            _draw(drawn, key, rows, count)
            if length == 1:
                for lane in range(lanes):
                    words[lane] = drawn[lane] * pitch << 2
                continue
            begin = 0
            for n in range(rows):
                end = min(begin + length - inside, lanes)
                start = drawn[n] * pitch + (inside - begin) * step
                for lane in range(begin, end):
                    words[lane] = start + lane * step << 2
                begin, inside = end, 0


@njit(cache=True, nogil=True)
def _draw(drawn: Array, key: int, number: int, count: int) -> None:
    """Put the rows of keys that follow one another in `drawn`, as `mixed_arrays` gives them.

    The keys themselves of no rows.
    """
    if count == 0:
        for n in range(number):
            drawn[n] = key + n
        return
    for n in range(number):
        z = np.uint64(key + n + 1) * _MIXED_BY
        z = (z ^ z >> _SHIFT_1) * _FACTOR_1
        z = (z ^ z >> _SHIFT_2) * _FACTOR_2
        drawn[n] = np.int64((z ^ z >> _LAST) >> _UPPER)
    if count & count - 1:
        for n in range(number):
            drawn[n] %= count
    else:
        for n in range(number):
            drawn[n] &= count - 1


@njit(cache=True, nogil=True)
def warp_sums(address: Array, active: Array, granules: Array, tag_bits: int) -> Array:
    """Return what warps ask for that read words at some addresses [B], both (warps, 32).

    Warps in which some lane takes part, lanes, bits that are 1 in any address, the sum of distinct
    `granules`, and of data and tag wavefronts. `tag_bits` are the bits of a line's address that
    decide the first bit of its tag bank, and 32 bits further those that decide the second.
    """
    sums = np.zeros(5 + len(granules), dtype=np.int64)
    words, taking = (
        np.zeros((_WARP, _TOGETHER), dtype=np.int64),
        np.zeros(_TOGETHER, dtype=np.int64),
    )
    for start in range(0, len(address), _TOGETHER):
        some = slice(start, start + _TOGETHER)
        if not _put_side_by_side(words, taking, sums, address[some], active[some]):
            _sort(words)
        _add_distinct(sums[3:], words, taking, granules)
        sums[-2] += _data_clocks(words, taking)
        sums[-1] += _tag_clocks(words, taking, tag_bits)
    return sums


@njit(cache=True, nogil=True)
def _put_side_by_side(
    words: Array, taking: Array, sums: Array, address: Array, active: Array
) -> bool:
    """Put warps' addresses in columns, and say whether all columns are in order.

    A lane that takes no part repeats one that does.
    """
    taking[:] = 0
    words[:] = 0
    for warp in range(len(address)):
        lanes, bits, most = 0, 0, 0
        for lane in range(_WARP):
            lanes += active[warp, lane]
            at = address[warp, lane] if active[warp, lane] else 0
            bits |= at
            most = max(most, at)
        for lane in range(_WARP):
            words[lane, warp] = address[warp, lane] if active[warp, lane] else most
        taking[warp] = lanes > 0
        sums[0] += lanes > 0
        sums[1] += lanes
        sums[2] |= bits
    falls = 0
    for lane in range(1, _WARP):
        for warp in range(_TOGETHER):
            falls |= words[lane, warp] < words[lane - 1, warp]
    return falls == 0


@njit(cache=True, nogil=True)
def _sort(words: Array) -> None:
    """Sort columns of a power of two: Batcher's odd-even merges (Knuth, TAOCP 3, 5.2.2)."""
    size, part = len(words), 1
    while part < size:
        gap = part
        while gap:
            for first in range(gap % part, size - gap, 2 * gap):
                for one in range(first, min(first + gap, size - gap)):
                    if one // (2 * part) == (one + gap) // (2 * part):
                        low, high = words[one], words[one + gap]
                        for warp in range(_TOGETHER):
                            a, b = low[warp], high[warp]
                            low[warp], high[warp] = min(a, b), max(a, b)
            gap //= 2
        part *= 2


@njit(cache=True, nogil=True)
def _add_distinct(sums: Array, words: Array, taking: Array, granules: Array) -> None:
    """Add the distinct granules of sorted columns: neighbours in two differ in a bit of these."""
    for place in range(len(granules)):
        granule, total = granules[place], 0
        for lane in range(1, _WARP):
            for warp in range(_TOGETHER):
                total += taking[warp] & ((words[lane, warp] ^ words[lane - 1, warp]) >= granule)
        sums[place] += total + taking.sum()


@njit(cache=True, nogil=True)
def _data_clocks(words: Array, taking: Array) -> int:
    """Return the sum of the most distinct words in one bank: counts of 32 banks, bit by bit."""
    counts = np.zeros((6, _TOGETHER), dtype=np.int64)
    for lane in range(_WARP):
        for warp in range(_TOGETHER):
            at = words[lane, warp]
            new = (at ^ words[lane - 1, warp]) >= 4 if lane else True
            carry = np.int64(new) << (at >> 2 & 31)
            for bit in range(6):
                count = counts[bit, warp]
                counts[bit, warp], carry = count ^ carry, count & carry
    total = 0
    for warp in range(_TOGETHER):
        most, left = 0, (1 << 32) - 1
        for bit in range(5, -1, -1):
            here = left & counts[bit, warp]
            left = here if here else left
            most = 2 * most + (here != 0)
        total += taking[warp] * most
    return total


@njit(cache=True, nogil=True)
def _tag_clocks(words: Array, taking: Array, tag_bits: int) -> int:
    """Return the sum of the most distinct lines in one tag bank: of each bank's count a byte."""
    counts = np.zeros(_TOGETHER, dtype=np.int64)
    for lane in range(_WARP):
        for warp in range(_TOGETHER):
            new = (words[lane, warp] ^ words[lane - 1, warp]) >= 128 if lane else True
            line = words[lane, warp] >> 7 & 0xFFFFFF
            both = (line | line << 32) & tag_bits
            for shift in (16, 8, 4, 2, 1):
                both ^= both >> shift
            counts[warp] += np.int64(new) << ((both & 1) << 3 | (both >> 32 & 1) << 4)
    total = 0
    for warp in range(_TOGETHER):
        n = counts[warp]
        total += taking[warp] * max(n & 255, n >> 8 & 255, n >> 16 & 255, n >> 24 & 255)
    return total


@njit(cache=True, nogil=True)
def compared(own: Array, taking: Array, after: Array, there: Array) -> Array:
    """Return the sectors, halves and lines of blocks, of those after them and of both, (3, 3).

    All four (blocks, lanes): addresses [B], and which lanes take part.
    """
    found, slots = np.zeros((3, 3), dtype=np.int64), 8
    while slots < _ROOM * own.shape[1]:
        slots *= 2
    keys, touched = np.full(slots, -1, dtype=np.int64), np.zeros(slots, dtype=np.int64)
    for block in range(len(own)):
        for use, places, active in ((0, own, taking), (1, after, there)):
            for lane in range(own.shape[1]):
                if active[block, lane]:
                    at = places[block, lane]
                    _touch(found, (keys, touched), block << 42 | at >> 7, at >> 5 & 3, use)
    return found


@njit(cache=True, nogil=True, inline="always")
def _touch(found: Array, lines: tuple[Array, Array], key: int, sector: int, use: int) -> None:
    """Note that a block touches a sector of a line; the key is of both, others are of no use."""
    keys, touched = lines
    slot = key * _SPREAD >> _SHIFT & len(keys) - 1
    while keys[slot] != key and keys[slot] >> 42 == key >> 42:
        slot = slot + 1 & len(keys) - 1
    before = touched[slot] if keys[slot] == key else 0
    keys[slot], touched[slot] = key, before | 1 << sector + 4 * use
    half = 3 << (sector & 2)
    alone, both = before >> 4 * use & 15, (before | before >> 4) & 15
    for parts, seen in ((use, alone), (2, both)):
        found[parts, 0] += seen >> sector & 1 ^ 1
        found[parts, 1] += (seen & half) == 0
        found[parts, 2] += seen == 0
