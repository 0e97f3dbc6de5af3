"""Lines of separable requests, one after the other: the loop that numba compiles.

Imported only where numba is installed.
"""

from __future__ import annotations

from typing import Any

from numba import njit


@njit(nogil=True, cache=True)
def expand(address: Any, numbers: Any, warps: Any, patterns: Any, out: Any) -> int:
    """Write the lines of all warps of rows of blocks, and return how many there are.

    Parameters
    ----------
    address : array of int64
        Of each block's first lane, one iteration after the other [B].
    numbers : array, shape (blocks, warps)
        Which lanes take part, as numbers of masks.
    warps, patterns
        `lead` and `kind` of `perfmodel.trace.patterns.Warps`, their kinds, and all of `Patterns`.
    out
        `line`, `sectors`, `words`, and by row where its lines end, from 1 on, and its sectors.
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
