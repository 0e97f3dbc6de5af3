"""``full_parts(blocks, pieces, slots)``: into how many parts a library cuts the work of each block.

So few that the GPU is full enough: the fewest whose last round of blocks leaves at most 15% more of
it idle than the best choice would, among the numbers that change how many pieces a part has. The
rule is FlashAttention's for the parts of a context (Dao-AILab/flash-attention, num_splits_heuristic
of flash_api.cpp), at most `MOST_PARTS`.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from perfmodel.arrays import Array

MOST_PARTS: Final = 128
NEAR_BEST: Final = 0.85


def full_parts(blocks: int, pieces: int, slots: int) -> int:
    """Return the parts of each of `blocks`, which have so many pieces, for so many slots."""
    found = full_parts_arrays(np.array([blocks]), np.array([pieces]), np.array([slots]))
    return int(found[0])


def full_parts_arrays(blocks: Array, pieces: Array, slots: Array) -> npt.NDArray[np.int64]:
    """Return the same for arrays of integers."""
    # From so many pieces on, each part more has fewer of them.
    pieces = np.minimum(pieces, MOST_PARTS**2)
    if np.size(blocks) == np.size(slots) == 1:
        few, place = np.unique(pieces, return_inverse=True)
        shape = np.broadcast_shapes(np.shape(blocks), np.shape(pieces), np.shape(slots))
        return _full_parts(np.ravel(blocks), few, np.ravel(slots))[place].reshape(shape)
    return _full_parts(blocks, pieces, slots)


def _full_parts(blocks: Array, pieces: Array, slots: Array) -> npt.NDArray[np.int64]:
    blocks, pieces, slots = np.broadcast_arrays(blocks, pieces, slots)
    most = np.minimum(pieces, np.minimum(slots, MOST_PARTS))
    numbers = np.arange(1, int(np.max(most, initial=1)) + 1)
    count = numbers.reshape(-1, *(1,) * blocks.ndim)
    each = -(-pieces // count)
    changes = np.ones(each.shape, dtype=bool)
    changes[1:] = each[1:] != each[:-1]
    rounds = blocks * count / slots
    full = np.where(changes & (count <= most), rounds / np.ceil(rounds), 0.0)
    return np.asarray(1 + np.argmax(full >= NEAR_BEST * np.max(full, axis=0), axis=0))
