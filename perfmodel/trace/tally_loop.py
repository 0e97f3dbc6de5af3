"""Counts of what accesses met in L2: the loops that numba compiles.

Imported only where numba is installed.
"""

from __future__ import annotations

from typing import Any

from numba import njit

from perfmodel.trace.cache import COUNT


@njit(nogil=True, cache=True)
def tally_answers(asked: Any, answers: Any, spans: Any, sums: Any) -> None:
    """Add the sectors that accesses met; see `perfmodel.trace.tally.Met`."""
    line, sectors, access, when = asked
    near, missed, fetched = answers
    by_access, over_time, by_buffer = sums
    for i in range(len(line)):
        waited = COUNT[missed[i]]
        by_access[access[i], 0] += COUNT[near[i]]
        by_access[access[i], 1] += waited
        over_time[when[i]] += COUNT[sectors[i]] - waited
        if fetched[i]:
            brought = COUNT[fetched[i]]
            by_access[access[i], 2] += brought
            by_buffer[owner(line[i], spans), 0] += brought


@njit(nogil=True, cache=True)
def tally_written(written: Any, spans: Any, by_buffer: Any) -> None:
    """Add the sectors of lines that were written back."""
    line, sectors, partial = written
    for i in range(len(line)):
        buffer = owner(line[i], spans)
        by_buffer[buffer, 1] += COUNT[sectors[i]]
        by_buffer[buffer, 2] += COUNT[partial[i]]


@njit(nogil=True)
def owner(line: int, spans: Any) -> int:
    """Return the buffer that a line belongs to; see `perfmodel.trace.layout.Layout.owner`."""
    for buffer in range(len(spans)):
        if spans[buffer, 0] <= line < spans[buffer, 1]:
            return buffer
    return len(spans)
