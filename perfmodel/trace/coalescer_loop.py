"""Lines of requests, one request after the other: the loops that numba compiles.

They give what `perfmodel.trace.coalescer` gives with NumPy. Imported only where numba is installed.
"""

from typing import Any

import numpy as np
from numba import njit

LANES = 32
# 128 B lines, 32 B sectors, 4 B words.
LINE_BITS, SECTOR_BITS, WORD_BITS = 7, 5, 2
UNUSED = np.iinfo(np.int64).max
# Requests that are put in order together, so that a comparison is one instruction for several.
TOGETHER = 64


@njit(nogil=True, cache=True)
def order(address: Any, active: Any) -> Any:
    """Return the addresses of each request in order; those of lanes that take no part are last.

    `active`: as `address`, or without rows if all lanes take part.
    """
    found = np.empty(address.shape, np.int64)
    whole = active.shape[0] == 0
    waiting, m = np.empty(TOGETHER, np.int64), 0
    for r in range(address.shape[0]):
        falls = 0
        for lane in range(LANES):
            found[r, lane] = address[r, lane] if whole or active[r, lane] else UNUSED
        for lane in range(1, LANES):
            falls += found[r, lane] < found[r, lane - 1]
        if falls:
            waiting[m] = r
            m += 1
        if m == TOGETHER:
            _sort(found, waiting)
            m = 0
    _sort(found, waiting[:m])
    return found


@njit(nogil=True)
def _sort(address: Any, rows: Any) -> None:
    """Sort some rows by Batcher's odd-even merge sort, which compares the same places in all."""
    columns = np.empty((LANES, TOGETHER), np.int64)
    for i in range(len(rows)):
        for lane in range(LANES):
            columns[lane, i] = address[rows[i], lane]
    p = 1
    while p < LANES:
        k = p
        while k > 0:
            for j in range(k % p, LANES - k, 2 * k):
                for i in range(min(k, LANES - j - k)):
                    if (i + j) // (2 * p) == (i + j + k) // (2 * p):
                        _exchange(columns[i + j], columns[i + j + k])
            k //= 2
        p *= 2
    for i in range(len(rows)):
        for lane in range(LANES):
            address[rows[i], lane] = columns[lane, i]


@njit(nogil=True)
def _exchange(low: Any, high: Any) -> None:
    for i in range(TOGETHER):
        a, b = low[i], high[i]
        low[i] = min(a, b)
        high[i] = max(a, b)


@njit(nogil=True, cache=True)
def lines(address: Any, width: int, words: bool) -> tuple[Any, Any, Any, Any]:
    """Return the arrays of `perfmodel.trace.coalescer.Lines` from addresses in order."""
    most = address.size
    request, line = np.empty(most, np.int64), np.empty(most, np.int64)
    sectors, filled = np.empty(most, np.uint8), np.empty(most, np.uint32)
    n = -1
    for r in range(address.shape[0]):
        last, mask, bits = np.int64(UNUSED), np.int64(0), np.int64(0)
        # Words of which the first, second, third and last byte is touched.
        first = second = third = fourth = np.int64(0)
        for lane in range(LANES):
            a = address[r, lane]
            if a == UNUSED:
                break
            if a >> LINE_BITS != last:
                last = a >> LINE_BITS
                n += 1
                request[n] = r
                line[n] = last
                mask = bits = first = second = third = fourth = np.int64(0)
            mask |= 1 << ((a >> SECTOR_BITS) & 3)
            if words:
                word, start = (a >> WORD_BITS) & 31, a & 3
                if width >= 4:
                    bits |= ((1 << (width >> WORD_BITS)) - 1) << word
                else:
                    end = start + width
                    first |= np.int64(start == 0) << word
                    second |= np.int64(start <= 1 < end) << word
                    third |= np.int64(start <= 2 < end) << word
                    fourth |= np.int64(end == 4) << word
                    bits = first & second & third & fourth
            sectors[n] = mask
            filled[n] = bits
    n += 1
    return request[:n], line[:n], sectors[:n], filled[:n]


@njit(nogil=True, cache=True)
def groups(address: Any) -> tuple[int, int, int]:
    """Return what `perfmodel.trace.coalescer.atomic_groups` does, from addresses in order."""
    distinct, busiest, passes = 0, 0, 0
    for r in range(address.shape[0]):
        most = in_sector = lanes = 0
        for lane in range(LANES):
            a = address[r, lane]
            if a == UNUSED:
                break
            if lane > 0 and a == address[r, lane - 1]:
                lanes += 1
            else:
                distinct += 1
                lanes = 1
            if lane > 0 and a >> SECTOR_BITS != address[r, lane - 1] >> SECTOR_BITS:
                passes += in_sector
                in_sector = 0
            in_sector = max(in_sector, lanes)
            most = max(most, lanes)
        passes += in_sector
        busiest += most
    return distinct, busiest, passes


@njit(nogil=True, cache=True)
def expand(address: Any, numbers: Any, warps: Any, patterns: Any, out: Any) -> int:
    """Write the lines of all warps of rows of blocks, and return how many there are.

    `address`: of each block's first lane, one iteration after the other [B]. `numbers`: which lanes
    take part, as numbers of masks. `warps` and `patterns`: `lead` and `kind` of
    `perfmodel.trace.coalescer.Warps`, their kinds, and all of `Patterns`. `out`: `line`, `sectors`,
    `words`, and by row where its lines end, from 1 on, and its sectors.
    """
    lead, kind, kinds = warps
    start, offset, masks, filled, total = patterns
    line, sectors, words, ends, sums = out
    blocks = numbers.shape[0]
    n = 0
    for row in range(len(address)):
        block = row % blocks
        asked = 0
        for w in range(numbers.shape[1]):
            a = address[row] + lead[w]
            p = (numbers[block, w] * kinds + kind[w]) << 7 | (a & 127)
            asked += total[p]
            for j in range(start[p], start[p + 1]):
                line[n] = (a >> 7) + offset[j]
                sectors[n] = masks[j]
                words[n] = filled[j]
                n += 1
        ends[row + 1] = n
        sums[row] = asked
    return n
