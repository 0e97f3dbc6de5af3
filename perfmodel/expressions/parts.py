"""``full_parts(blocks, pieces, slots)``: into how many parts a library cuts the work of each block.

So few that the GPU is full enough: the fewest whose last round of blocks leaves at most 15% more of
it idle than the best choice would, among the numbers that change how many pieces a part has. The
rule is FlashAttention's for the parts of a context (Dao-AILab/flash-attention, num_splits_heuristic
of flash_api.cpp), at most `MOST_PARTS`.
"""

from __future__ import annotations

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
    blocks, pieces, slots = np.broadcast_arrays(blocks, pieces, slots)
    most = np.minimum(pieces, np.minimum(slots, MOST_PARTS))
    numbers = np.arange(1, int(np.max(most, initial=1)) + 1)
    count = numbers.reshape(-1, *(1,) * blocks.ndim)
    each, with_one_less = -(-pieces // count), -(-pieces // np.maximum(count - 1, 1))
    changes = (count == 1) | (each != with_one_less)
    rounds = blocks * count / slots
    full = np.where(changes & (count <= most), rounds / np.ceil(rounds), 0.0)
    return np.asarray(1 + np.argmax(full >= NEAR_BEST * np.max(full, axis=0), axis=0))
