"""Handing out blocks: which SM gets which, where the last blocks along an axis are smaller.

Blocks are handed out in order, x fastest, to whichever SM has room first; an SM works its blocks
oldest first. Small blocks let the SMs that got them take more of the others.
"""

import heapq
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.models.compiled_loops import worth_loop
from perfmodel.models.derivation import definition
from perfmodel.models.grid.distinct import distinct_columns

MOST_ROUNDS: Final = 12
"""Waves of blocks up to which they are handed out one by one: later small blocks hardly tell."""
IDLE: Final = 0.05
"""Work of a block, over an average one's, up to which it has left at once."""

FULL_TURN: Final = Coefficient("launch.handout.full_turn")
EARLY: Final = Coefficient("launch.handout.early")


def first_blocks(busy: Array, blocks: Array, held: Array, device: Device) -> Array:
    """Return the blocks of the SM that has most, of the first `busy` of a grid; the rest are idle.

    0 where none are idle, an SM holds one at a time, or not all run together. A few SMs are by
    themselves in their part of the GPU, which gets its blocks as soon as others.
    """
    sm_count = device.sm_count
    most = np.ceil((busy / sm_count + EARLY(device)) / FULL_TURN(device) - 1e-9)
    together = (busy < blocks) & (blocks > sm_count) & (blocks <= held * sm_count)
    return np.asanyarray(np.where(together, np.minimum(most, np.ceil(blocks / sm_count)), 0.0))


def busiest_work(
    counts: Sequence[Array], cuts: Sequence[Array], held: Array, sm_count: int
) -> tuple[Array, Array]:
    """Return the work of the SM that ends last, and of all blocks, in whole blocks.

    Parameters
    ----------
    counts, cuts : sequence of array
        Blocks with work along each axis of the grid, the fastest first, and work of the last of
        them, over a whole block's.
    held : array
        Blocks that an SM holds at a time.
    sm_count : int

    Notes
    -----
    Derived. Blocks go out `sm_count` at a time, to the places that have had room for longest; one
    by one gives the same within 3% for 40 to 3000 blocks of random grids.
    """
    arrays = np.broadcast_arrays(*counts, *cuts, held)
    shape = arrays[0].shape
    axes = len(counts)
    flat = np.stack([a.reshape(-1) for a in arrays]).astype(float)
    total = np.prod(flat[:axes] - 1 + flat[axes : 2 * axes], axis=0)
    blocks = np.prod(flat[:axes], axis=0)
    # Without small blocks, or with one for each SM, or very many, the order does not tell.
    last_slice = blocks / flat[axes - 1]
    full = np.floor(blocks / sm_count)
    left = blocks - full * sm_count
    slowest = np.ones(blocks.shape)
    for axis in range(axes):
        slowest = np.where(flat[axis] > 1, flat[axes + axis], slowest)
        last_slice = np.where(flat[axis] > 1, np.prod(flat[:axis], axis=0), last_slice)
    found = full + np.where(left == 0, 0.0, np.where(left <= last_slice, slowest, 1.0))
    told = np.any(flat[axes : 2 * axes] < 1, axis=0) & (blocks > 1)
    told = told & (blocks <= MOST_ROUNDS * sm_count)
    # Whoever has room takes the next: nobody ends later than one block after the average.
    found = np.minimum(found, total / sm_count + 1)
    if np.any(told):
        found = _in_order(told, found, flat, axes, sm_count)
    return found.reshape(shape), total.reshape(shape)


@definition(replaces=True)
def _in_order(told: Array, others: Array, grids: Array, axes: int, sm_count: int) -> Array:
    """Return the work of the SM that ends last, where the order tells; elsewhere `others`."""
    found = np.array(others)
    places = np.flatnonzero(told)
    if len(places):
        some = grids[:, places]
        distinct, place = distinct_columns(some)
        found[places] = _one_by_one(some[:, distinct], axes, sm_count)[place]
    return found


@definition
def busiest_of(order: Array, held: Array, sm_count: int) -> Array:
    """Return the work of the SM that ends last, of blocks whose work is known in their `order`.

    An SM holds `held` at a time.
    """
    found = [_busiest(order.tolist(), max(int(size), 1), sm_count) for size in np.ravel(held)]
    return np.asanyarray(found)


def _busiest(order: Sequence[float], held: int, sm_count: int) -> float:
    """Return when the last SM is done: a block goes to whichever SM has had room for longest."""
    ends = [0.0] * sm_count
    room = [(0.0, place, place % sm_count) for place in range(sm_count * held)]
    for number, work in enumerate(order, len(room)):
        at, _, sm = room[0]
        if work > IDLE:
            ends[sm] = at = max(ends[sm], at) + work
        heapq.heapreplace(room, (at, number, sm))
    return max(ends)


def time_in_slots(order: Sequence[float], slots: int) -> float:
    """Return when the last of some blocks ends, of which `slots` run at a time, in order.

    List scheduling (Graham, Bounds on Multiprocessing Timing Anomalies, 1969).
    """
    ends = list(order[:slots])
    heapq.heapify(ends)
    for work in order[slots:]:
        heapq.heapreplace(ends, ends[0] + work)
    return max(ends)


def load_loop() -> None:
    """Load the compiled loop, where numba is installed: many batches of grids will come."""
    if find_spec("numba") is not None:
        from perfmodel.models.launch import handout_loop  # noqa: F401


def _one_by_one(grids: Array, axes: int, sm_count: int) -> Array:
    """Return the work of the SM that ends last; `grids` are counts, cuts and blocks held."""
    if worth_loop(f"{__name__}_loop", grids.shape[1]):
        from perfmodel.models.launch.handout_loop import busiest_of_grids

        rows = np.ascontiguousarray(grids.T)
        counts, cuts = rows[:, :axes].astype(np.int64), rows[:, axes : 2 * axes].copy()
        return busiest_of_grids(counts, cuts, rows[:, -1].astype(np.int64), sm_count)
    blocks = np.prod(grids[:axes], axis=0)
    # The largest first: those that are done with leave from the end.
    largest = np.argsort(-blocks, kind="stable")
    grids, blocks = grids[:, largest], blocks[largest]
    counts, cuts, held = grids[:axes], grids[axes : 2 * axes], grids[-1].astype(int)
    # When the blocks that an SM holds end, the oldest first: there is room once the first has.
    ends = np.zeros((int(held.max()), len(blocks), sm_count))
    for turn, at in enumerate(range(0, int(blocks[0]), sm_count)):
        n = int(np.searchsorted(-blocks, -at))
        index = np.broadcast_to(at + np.arange(sm_count), (n, sm_count))
        slower, work = index, np.where(index < blocks[:n, None], 1.0, 0.0)
        for count, cut in zip(counts[:, :n, None], cuts[:, :n, None], strict=True):
            rest = slower // count
            work = np.where(slower - rest * count == count - 1, work * cut, work)
            slower = rest
        for size in np.unique(held[:n]):
            some = np.nonzero(held[:n] == size)[0]
            ends[:size, some] = _given_out(ends[:size, some], work[some], turn)
    result = np.zeros(len(blocks))
    result[largest] = ends.max(axis=(0, 2))
    return result


def _given_out(ends: Array, work: Array, turn: int) -> Array:
    """Return when the blocks that each SM holds end, once a block for each SM has gone out.

    `ends` are sorted by age, and of grids and SMs; `work` is of the blocks, in order.
    """
    size, grids, sms = ends.shape
    free = ends.copy()
    if turn < size:  # places that were never taken have room from the start, one on each SM
        free[turn + 1 :] = np.inf
        free[:turn] = np.inf
    flat = free.transpose(1, 0, 2).reshape(grids, size * sms)
    first = np.argsort(flat, axis=1, kind="stable")[:, :sms]
    given = np.full(flat.shape, -1.0)
    np.put_along_axis(given, first, work, axis=1)
    placed = given.reshape(grids, size, sms).transpose(1, 0, 2)
    last = ends.max(axis=0)
    found = ends.copy()
    for place in range(size):
        taken = placed[place] >= 0
        last = last + np.where(taken, placed[place], 0.0)
        found[place] = np.where(taken, last, ends[place])
    return np.sort(found, axis=0) if turn >= size else found
