"""Later waves: what loads at irregular places ask for again when the blocks that ran have ended.

Followed blocks show what those that run together have in common. What a launch asks for beyond that
is read again by later waves, at an unknown distance: a table, as if in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.models.agreement import agreed
from perfmodel.models.extremes import largest
from perfmodel.models.mechanism import mechanism
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.reuse.irregular_unions import Union, among

_AGAIN: Final = 1.5
"""Bytes asked for by waves, each once, over bytes touched, from which on waves read them again."""


@mechanism(neutral=lambda unions, fills, touched, running: dict[int, Array](), evidence=[])
def read_by_later_waves(
    unions: Mapping[int, Union],
    fills: Sequence[Array],
    touched: Sequence[Array],
    running: Array,
) -> dict[int, Array]:
    """Return the share of loads' sectors that no block of the same wave has asked for before.

    By position, of loads whose buffer later waves read again.
    """
    found: dict[int, Array] = {}
    if not unions or not agreed(running < 1):
        return found
    for members in among(unions):
        union = unions[members[0]]
        # In loops fewer blocks could be followed than run; one iteration shows more of them.
        shares = (union.new / max(union.in_block, 1e-9), union.in_step / union.block_in_step)
        share = np.full(1, min(1.0, *shares))
        asked = sum((fills[i] * SECTOR for i in members), np.zeros(1)) * share
        size = largest(*(touched[i] for i in members))
        if agreed(asked > _AGAIN * size):
            found |= dict.fromkeys(members, share)
    return found
