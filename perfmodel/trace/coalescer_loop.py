"""Coalescing one request after the other: the loop that numba compiles.

Gives what `perfmodel.trace.coalescer` gives with NumPy. Imported only where numba is installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

# 128 B lines, 32 B sectors, 4 B words.
LINE_BITS, SECTOR_BITS, WORD_BITS = 7, 5, 2


@njit(nogil=True, cache=True)
def run(address: Any, active: Any, width: int, words: bool) -> tuple[Any, Any, Any, Any]:
    """Return the arrays of `perfmodel.trace.coalescer.Lines`."""
    most = address.size
    request, line = np.empty(most, np.int64), np.empty(most, np.int64)
    sectors, filled = np.empty(most, np.uint8), np.empty(most, np.uint32)
    whole = active.shape[0] == 0
    some = np.zeros((32, 4), dtype=np.uint32)
    n = 0
    for r in range(address.shape[0]):
        first = n
        for lane in range(32):
            if not whole and not active[r, lane]:
                continue
            a = address[r, lane]
            mine = a >> LINE_BITS
            k = n - 1
            if n == first or line[k] != mine:
                # Lines are kept in order; most lanes go up and land at the end.
                k = n
                while k > first and line[k - 1] > mine:
                    k -= 1
                if k > first and line[k - 1] == mine:
                    k -= 1
                else:
                    for j in range(n, k, -1):
                        line[j] = line[j - 1]
                        sectors[j] = sectors[j - 1]
                        if words:
                            for byte in range(4):
                                some[j - first, byte] = some[j - first - 1, byte]
                    n += 1
                    request[k] = r
                    request[n - 1] = r
                    line[k] = mine
                    sectors[k] = 0
                    if words:
                        for byte in range(4):
                            some[k - first, byte] = 0
            sectors[k] |= 1 << ((a >> SECTOR_BITS) & 3)
            if words:
                word = (a >> WORD_BITS) & 31
                if width >= 4:
                    bits = ((1 << (width >> WORD_BITS)) - 1) << word
                    for byte in range(4):
                        some[k - first, byte] |= np.uint32(bits)
                else:
                    for byte in range(a & 3, (a & 3) + width):
                        some[k - first, byte] |= np.uint32(1 << word)
        for k in range(first, n):
            bits = np.uint32(0)
            if words:
                bits = some[k - first, 0]
                for byte in range(1, 4):
                    bits &= some[k - first, byte]
            filled[k] = bits
    return request[:n], line[:n], sectors[:n], filled[:n]
