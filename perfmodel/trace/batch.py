"""What the warps of a wave ask for in some iterations, and what L1 leaves of it for L2.

Iteration by iteration, the accesses of each in their order, block after block: that is the order in
which lines are asked for. Those of one iteration, access and block lie together: a piece.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.trace.addresses import Generator, Requests, Wave
from perfmodel.trace.cache import uses_numba
from perfmodel.trace.program import Batch
from perfmodel.trace.threads import in_threads, shares

_EVALUATED: Final = 1 << 12
"""Requests whose lanes' addresses are worked out at a time: few enough for a core's caches."""


class Asked(NamedTuple):
    """Lines that a batch asks for."""

    # As in `perfmodel.trace.coalescer.Lines`, of all pieces.
    line: Array
    sectors: Array
    words: Array
    # Of each piece, shape (iterations, accesses, blocks): its first line, its lines and sectors.
    starts: Array
    sizes: Array
    sums: Array

    def order(self) -> tuple[Array, Array]:
        """Return the places of lines in the order in which they are asked for, and their pieces."""
        start, size = self.starts.reshape(-1), self.sizes.reshape(-1)
        piece = np.repeat(np.arange(len(size)), size)
        within = np.arange(len(piece)) - np.repeat(np.cumsum(size) - size, size)
        return start[piece] + within, piece


class Waiting(NamedTuple):
    """Lines that L2 is asked for, in their order; arrays of one length."""

    line: Array
    sectors: Array
    words: Array
    side: Array  # partition next to the SM
    access: Array  # positions in the kernel
    when: Array  # points of the series over time

    def at(self, places: Array | slice) -> "Waiting":
        """Return some of them."""
        return Waiting(*(column[places] for column in self))


KINDS: Final = (np.int64, np.uint8, np.uint32, np.uint8, np.int32, np.uint8)
"""Of the columns of `Waiting`."""


def instructions(generator: Generator, batch: Batch) -> list[tuple[int, int]]:
    """Return accesses and pieces of their elements, an instruction each, in their order."""
    return [(a, p) for a in batch.accesses for p in range(generator.pieces(a))]


def ask(generator: Generator, wave: Wave, batch: Batch) -> tuple[Asked, list[list[Requests]]]:
    """Return what a batch asks for, and the requests of each instruction, in parts."""
    leaves = instructions(generator, batch)
    total = len(wave.blocks) * generator.warps * batch.iterations
    parts = len(shares(total, total))
    jobs = []
    for leaf, (position, _) in enumerate(leaves):
        few = generator.by_pattern(position, wave)
        most = -(-total // parts) if few else _EVALUATED
        jobs += [(leaf, *part) for part in _parts(generator, wave, batch, most)]

    def one(leaf: int, steps: slice, blocks: slice) -> Requests:
        loops = {name: value[steps] for name, value in batch.loops.items()}
        return generator.requests(*leaves[leaf], wave.part(blocks), loops, steps.stop - steps.start)

    found = [one(*job) for job in jobs] if parts == 1 else in_threads(one, jobs)
    shape = batch.iterations, len(leaves), len(wave.blocks)
    start, count, sums = (np.empty(shape, np.int64) for _ in range(3))
    by_leaf: list[list[Requests]] = [[] for _ in leaves]
    n = 0
    for (leaf, steps, blocks), requests in zip(jobs, found, strict=True):
        some, rows = (steps, leaf, blocks), start[steps, leaf, blocks].shape
        start[some] = n + requests.ends[:-1].reshape(rows)
        count[some] = np.diff(requests.ends).reshape(rows)
        sums[some] = requests.sums.reshape(rows)
        n += len(requests.line)
        by_leaf[leaf].append(requests)
    line, sectors, words = (
        np.concatenate([getattr(part, field) for part in found])
        for field in ("line", "sectors", "words")
    )
    return Asked(line, sectors, words, start, count, sums), by_leaf


def _parts(
    generator: Generator, wave: Wave, batch: Batch, most: int
) -> Iterator[tuple[slice, slice]]:
    """Yield iterations and blocks of at most so many requests, if whole blocks allow."""
    blocks, iterations = len(wave.blocks), batch.iterations
    steps = max(1, -(-most // (blocks * generator.warps)))
    some = blocks if steps > 1 else max(1, most // generator.warps)
    for t in range(0, iterations, steps):
        for b in range(0, blocks, some):
            yield slice(t, min(t + steps, iterations)), slice(b, min(b + some, blocks))


def left_over(asked: Asked, side: Array, access: Array, when: Array, engine: Any) -> Waiting:
    """Return what is left for L2.

    `side`: partitions next to the blocks. `access`: what the second axis of pieces stands for.
    `when`: points in time of iterations.
    """
    shape = asked.starts.shape
    what = tuple(
        np.broadcast_to(each.astype(kind), shape).reshape(-1)
        for each, kind in zip((side, access[:, None], when[:, None, None]), KINDS[3:], strict=True)
    )
    if not uses_numba(engine):
        place, piece = asked.order()
        some = np.flatnonzero(asked.sectors[place])
        columns = (column[place[some]] for column in asked[:3])
        return Waiting(*columns, *(each[piece[some]] for each in what))
    from perfmodel.trace.l1_loop import collect, count_left

    start, size = asked.starts.reshape(-1), asked.sizes.reshape(-1)
    left = np.zeros(len(start), np.int64)
    parts = shares(len(start), len(asked.line))
    in_threads(lambda a, b: count_left(asked.sectors, start[a:b], size[a:b], left[a:b]), parts)
    ends = np.concatenate([[0], np.cumsum(left)])
    found = Waiting(*(np.empty(ends[-1], kind) for kind in KINDS))

    def some_pieces(a: int, b: int) -> None:
        out = tuple(found.at(slice(ends[a], ends[b])))
        collect(tuple(asked[:3]), start[a:b], size[a:b], tuple(w[a:b] for w in what), out)

    in_threads(some_pieces, parts)
    return found
