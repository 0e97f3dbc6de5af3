"""L1 of all SMs, through which cached loads go."""

from itertools import pairwise
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.trace.batch import Asked
from perfmodel.trace.cache import (
    COUNT,
    NORMAL,
    READ,
    CacheShape,
    Engine,
    Touches,
    access,
    empty,
    memo,
    place,
    room,
    uses_numba,
)
from perfmodel.trace.threads import in_threads, shares

L1_WAYS: Final = 16
"""Lines of a set of L1 (assumed)."""
_TOGETHER: Final = 512
"""Accesses to an SM's L1 that are run together."""


class L1:
    """L1 of all SMs, and their contents."""

    def __init__(self, sms: int, size: int, engine: Engine) -> None:
        self.sms = sms
        self.sets = max(L1_WAYS, size // 128) // L1_WAYS
        self.shape = CacheShape(self.sets * sms, L1_WAYS)
        self.state = empty(self.shape)
        self.engine = engine
        self._time = 1

    def run(self, asked: Asked, cached: Array, sm: Array) -> Array:
        """Take the sectors that hit out of what is asked for; return how many, by piece.

        `cached`: whether the accesses of the batch are. `sm`: SMs of blocks.
        """
        hits = np.zeros(asked.starts.shape, np.int64)
        if not cached.any():
            return hits
        if not uses_numba(self.engine):
            self._in_rounds(asked, cached, sm, hits)
            return hits
        from perfmodel.trace.l1_loop import through_l1

        blocks = np.argsort(sm, kind="stable")
        first = np.searchsorted(sm[blocks], np.arange(self.sms + 1))
        # As many blocks for either thread as whole SMs allow.
        parts = shares(len(sm), len(asked.line))
        cuts = [0, *(int(np.searchsorted(first, high)) for _, high in parts)]
        rules = self.shape.renewed, self.shape.fetch_sectors, self.shape.dirty_age
        batch = tuple(asked[i] for i in (0, 1, 3, 4))
        # Reads write nothing back.
        none = np.empty((0, 3), np.int64)

        def some(low: int, high: int) -> None:
            cache = rules, self.state.table, self.sets, self._time, memo(), none
            rooms = *room(_TOGETHER), *(np.empty(_TOGETHER, np.int64) for _ in range(3))
            sms = low, high
            through_l1(cache, batch, cached, (blocks, first), sms, rooms, hits.reshape(-1))

        in_threads(some, list(pairwise(cuts)))
        self._time += len(asked.line)
        return hits

    def _in_rounds(self, asked: Asked, cached: Array, sm: Array, hits: Array) -> None:
        places, piece = asked.order()
        _, accesses, blocks = asked.starts.shape
        some = np.flatnonzero(cached[piece // blocks % accesses])
        places, piece = places[some], piece[some]
        n = len(places)
        line = asked.line[places]
        row = sm[piece % blocks] * self.sets + place(line, self.sets, self.sets)
        stamp = self._time + np.arange(n)
        touches = Touches(
            row,
            line,
            asked.sectors[places],
            np.zeros(n, np.uint32),
            np.full(n, READ, np.uint8),
            np.full(n, NORMAL, np.uint8),
            stamp,
        )
        hit = access(self.shape, self.state, touches, "numpy").hit
        self._time += n
        asked.sectors[places] &= ~hit
        hits += np.bincount(piece, COUNT[hit], hits.size).astype(np.int64).reshape(hits.shape)
