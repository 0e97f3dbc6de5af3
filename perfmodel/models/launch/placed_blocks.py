"""Where blocks that read the same data run: how many of them share an SM, or a GPC.

While the GPU fills, blocks go to the SMs one after the other: an SM gets every so-manieth block as
there are SMs, give or take the few SMs that get theirs before the rest. So blocks of one column of
the grid share an SM where the number of columns divides that of the SMs. Later blocks go to
whichever SM has room, and are as good as drawn: `DISTINCT` says how many sets of data they read, of
later blocks within 4%, of first ones 9% off in the median, 17% at most of nine in ten
(measurements/l1, shared-columns: places.csv).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.grid.geometry import BLOCK_INDICES
from perfmodel.models.launch.gpcs import SEPARATE
from perfmodel.models.requests.random_rows import DISTINCT


class Placed(NamedTuple):
    """How blocks that share an SM read the same data."""

    sets: Array  # of data that the grid reads before others begin
    first: Array  # blocks of an SM that read one of them, while the GPU fills
    later: Array  # the same of blocks that come later
    # of the SMs that one of them is read on, while the GPU fills; 0 where none comes again
    share: Array


def placed(instance: Instance, moves: Callable[[str], Any], held: Array, device: Device) -> Placed:
    """Return where blocks run that read the same.

    `moves` says whether a block index tells what is read; `held` blocks share an SM.
    """
    before, sets, after = (np.ones(1) for _ in range(3))
    for name, extent in zip(BLOCK_INDICES, instance.grid, strict=True):
        count = np.asanyarray(extent, dtype=float)
        tells = moves(name) & (count > 1)
        # Beyond blocks that read the same again, others read other sets.
        sets = np.where(tells & (after == 1), sets * count, sets)
        after = np.where(~tells & (sets > 1), after * count, after)
        before = np.where(~tells & (sets == 1), before * count, before)
    sms = 1.0 * device.sm_count
    one_after_other = np.clip(before / sms, 1.0, held)
    together = np.clip(before * sets * after / sms, 1.0, held)
    # An SM's next block is one more for each SM, or some more or less by the separate ones.
    turn = np.gcd(sets.astype(np.int64), device.sm_count)
    drift = np.gcd(turn, int(SEPARATE(device)))
    reached = np.minimum(sets / drift, sets / turn * np.sqrt(together))
    reached = np.where(before > 1, sets, reached)
    first, later = (DISTINCT(n=n, draws=together) for n in (reached, sets))
    again = after > 1
    return Placed(
        sets,
        np.where(again, np.maximum(one_after_other, together / first), one_after_other),
        np.where(again, np.maximum(one_after_other, together / later), one_after_other),
        np.where(again, first / sets, 0.0),
    )
