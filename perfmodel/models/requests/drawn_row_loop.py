"""Requests for words of rows at random places, compiled: one launch at a time.

What `enumeration` counts lane by lane, line by line: of each line that a warp touches, which of its
words. Imported only where numba is installed.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numba import njit

from perfmodel.arrays import Array
from perfmodel.expressions.mixing import LAST, MIXED_BY, ROUNDS, UPPER_BITS
from perfmodel.models.requests.block_run_loop import put_digits, taking_part, value_at

_WARP: Final = 32
_WORDS_BIT: Final = 5  # words of a line
_PAGE_BIT: Final = 14  # lines of a page
_LINE: Final = 128
_EVERY: Final = (1 << 32) - 1
_SPREAD: Final = 0x1E3779B97F4A7C15
"""An odd number near 2^61 whose products have their upper bits spread (Knuth, TAOCP 3, 6.4)."""
_SHIFT: Final = 30
_MIXED_BY: Final = np.uint64(MIXED_BY)
_SHIFT_1, _FACTOR_1 = map(np.uint64, ROUNDS[0])
_SHIFT_2, _FACTOR_2 = map(np.uint64, ROUNDS[1])
_LAST, _UPPER = np.uint64(LAST), np.uint64(UPPER_BITS)
SUMS: Final = 21
"""Samples, requests, lanes, bits that are 1 in any address; distinct words, sectors, halves of
lines, lines, pages, data and tag wavefronts; blocks that are compared, and the sectors, halves and
lines of these, of those after them, and of both together."""

Table = tuple[Array, Array, Array]
"""Lines, by where they are kept, -1 for none; their words' bits, for each of two uses; and how many
lines there are, then where they are."""


@njit(cache=True, nogil=True)
def counted_rows(
    units: tuple[Array, int],
    shares: Array,
    extents: Array,
    planes: Array,
    rows: Array,
    compared: tuple[int, int],
    banks: tuple[Array, Array],
) -> Array:
    """Return what sampled blocks of launches ask for, (`SUMS`, launches).

    `units` are extents of the digits that tell a block's runs apart, and threads of a run; `shares`,
    `extents` and `planes` as for `counted_runs`, of the element that a row and the place in it
    follow from. `rows`, (3, launches), are elements of a row, how many rows there are, and elements
    from each to the next. `compared` is the axis of blocks, -1 if none, and how many of them are
    compared with the next one; `banks` are tag banks of lines by low and high bits.
    """
    digits, threads = units
    axes, size = len(extents), threads * np.prod(digits)
    found = np.zeros((SUMS, extents.shape[1]), dtype=np.int64)
    place, other = np.zeros(axes + len(digits), dtype=np.int64), np.zeros(SUMS, dtype=np.int64)
    tables = _table(2 * _WARP), _table(2 * _WARP), _table(4 * size)  # of warps, pages, blocks
    drawn = np.zeros(threads, dtype=np.int64)
    for launch in range(extents.shape[1]):
        turns, own, row = extents[:, launch].copy(), planes[:, :, launch].copy(), rows[:, launch]
        sums = np.zeros(SUMS, dtype=np.int64)
        every = np.prod(turns)
        samples = min(every, shares.shape[1])
        sums[0], sums[3], sums[11] = samples, _LINE, min(samples, compared[1])
        for sample in range(samples):
            _put_sample(place, sample, every, turns, shares)
            use = 0 if sample < compared[1] else -1
            _add_block(sums, (own, place, digits), row, drawn, tables, use, banks)
            if use == 0:
                if compared[0] >= 0 and place[compared[0]] + 1 < turns[compared[0]]:
                    place[compared[0]] += 1
                    _add_block(other, (own, place, digits), row, drawn, tables, 1, banks)
                _compare(sums, tables[2])
        found[:, launch] = sums
    return found


@njit(cache=True, nogil=True)
def _table(least: int) -> Table:
    size = 1
    while size < least:
        size *= 2
    keys, used = np.full(size, -1, dtype=np.int64), np.zeros(size + 1, dtype=np.int64)
    return keys, np.zeros((2, size), dtype=np.int64), used


@njit(cache=True, nogil=True)
def _put_sample(place: Array, sample: int, every: int, turns: Array, shares: Array) -> None:
    """Put block indices and iterations of a sample in `place`."""
    if every > shares.shape[1]:
        for axis in range(len(turns)):
            place[axis] = int(shares[axis, sample] * turns[axis])
    else:
        # The last axis is the fastest, as for NumPy: which blocks are first matters.
        for axis in range(len(turns) - 1, -1, -1):
            place[axis] = sample % turns[axis]
            sample //= turns[axis]


@njit(cache=True, nogil=True)
def _add_block(
    sums: Array,
    at: tuple[Array, Array, Array],
    row: Array,
    drawn: Array,
    tables: tuple[Table, Table, Table],
    use: int,
    banks: tuple[Array, Array],
) -> None:
    """Add what the block at a place asks for; its lines to the block's for a use, unless it is -1."""
    planes, place, digits = at
    length, count, apart = row
    for run in range(np.prod(digits)):
        put_digits(run, digits, place, len(place) - len(digits))
        lanes = taking_part(planes, place, len(drawn))
        if lanes == 0:
            continue
        first = value_at(planes, 0, place) >> 2
        key, inside = first // length, first % length
        _draw(drawn, key, (inside + lanes - 1) // length + 1, count)
        sums[2] += lanes
        number = 0
        for begin in range(0, lanes, _WARP):
            left = min(_WARP, lanes - begin)
            while left > 0:
                words = min(left, length - inside)
                _put_words(sums, tables[0], drawn[number] * apart + inside, words)
                left, inside = left - words, inside + words
                if inside == length:
                    number, inside = number + 1, 0
            _add_warp(sums, tables, use, banks)


@njit(cache=True, nogil=True)
def _draw(drawn: Array, key: int, number: int, count: int) -> None:
    """Put the rows of keys that follow one another in `drawn`, as `mixed_arrays` gives them."""
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
def _put_words(sums: Array, lines: Table, word: int, words: int) -> None:
    """Note words that follow one another."""
    sums[3] |= (word << 2) | (words > 1) << 2
    while words > 0:
        inside = word & _WARP - 1
        own = min(words, _WARP - inside)
        _put(lines, word >> _WORDS_BIT, (1 << own) - 1 << inside, 0)
        word, words = word + own, words - own


@njit(cache=True, nogil=True)
def _put(table: Table, line: int, words: int, use: int) -> None:
    keys, bits, used = table
    slot = line * _SPREAD >> _SHIFT & len(keys) - 1
    while keys[slot] != line:
        if keys[slot] < 0:
            used[0] += 1
            keys[slot], used[used[0]] = line, slot
            bits[0, slot] = bits[1, slot] = 0
        else:
            slot = slot + 1 & len(keys) - 1
    bits[use, slot] |= words


@njit(cache=True, nogil=True)
def _empty(table: Table) -> None:
    keys, _, used = table
    for n in range(used[0]):
        keys[used[1 + n]] = -1
    used[0] = 0


@njit(cache=True, nogil=True)
def _add_warp(
    sums: Array, tables: tuple[Table, Table, Table], use: int, banks: tuple[Array, Array]
) -> None:
    """Add what a warp asks for by its lines; and these to the block's."""
    lines, pages, block = tables
    keys, bits, used = lines
    low, high = banks
    tags, clocks = 0, (0, 0, 0, 0, 0, 0)
    for n in range(used[0]):
        line, words = keys[used[1 + n]], bits[0, used[1 + n]]
        sums[4] += _ones(words)
        sectors, halves = _parts(words)
        sums[5] += sectors
        sums[6] += halves
        tags += 1 << 8 * (low[line & 4095] ^ high[line >> 12 & 4095])
        clocks = _counted(clocks, words)
        _put(pages, line >> _PAGE_BIT, 0, 0)
        if use >= 0:
            _put(block, line, words, use)
    sums[1] += 1
    sums[7] += used[0]
    sums[8] += pages[2][0]
    sums[9] += _most(clocks)
    sums[10] += max(max(tags & 255, tags >> 8 & 255), max(tags >> 16 & 255, tags >> 24))
    _empty(lines)
    _empty(pages)


@njit(cache=True, nogil=True)
def _counted(
    clocks: tuple[int, int, int, int, int, int], words: int
) -> tuple[int, int, int, int, int, int]:
    """Return counts of banks, of each a bit in six numbers, with one more where a word is."""
    one, two, four, eight, sixteen, all_lanes = clocks
    one, words = one ^ words, one & words
    two, words = two ^ words, two & words
    four, words = four ^ words, four & words
    eight, words = eight ^ words, eight & words
    return one, two, four, eight, sixteen ^ words, all_lanes | sixteen & words


@njit(cache=True, nogil=True)
def _most(clocks: tuple[int, int, int, int, int, int]) -> int:
    """Return the largest of such counts."""
    found, left = 0, _EVERY
    for level in range(5, -1, -1):
        found *= 2
        if clocks[level] & left:
            left &= clocks[level]
            found += 1
    return found


@njit(cache=True, nogil=True)
def _ones(words: int) -> int:
    """Return how many of 32 bits are 1."""
    words -= words >> 1 & 0x55555555
    words = (words & 0x33333333) + (words >> 2 & 0x33333333)
    return ((words + (words >> 4) & 0x0F0F0F0F) * 0x01010101 & _EVERY) >> 24


@njit(cache=True, nogil=True)
def _parts(words: int) -> tuple[int, int]:
    """Return the sectors and halves of a line that words are in."""
    words |= words >> 4
    words |= words >> 2
    words = (words | words >> 1) & 0x01010101
    halves = (words | words >> 8) & 0x00010001
    return (words * 0x01010101 & _EVERY) >> 24, (halves & 1) + (halves >> 16)


@njit(cache=True, nogil=True)
def _compare(sums: Array, block: Table) -> None:
    """Add the sectors, halves and lines of a block, of the next one and of both."""
    _, bits, used = block
    for n in range(used[0]):
        own, after = bits[0, used[1 + n]], bits[1, used[1 + n]]
        for first, words in ((12, own), (15, after), (18, own | after)):
            if words:
                sectors, halves = _parts(words)
                sums[first] += sectors
                sums[first + 1] += halves
                sums[first + 2] += 1
    _empty(block)
