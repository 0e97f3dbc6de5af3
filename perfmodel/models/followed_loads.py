"""What L1 has of loads whose addresses were followed in some blocks, as no formula gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.coalescing import LINE, SECTOR
from perfmodel.models.placement import buffer_bytes
from perfmodel.models.requests import Requests
from perfmodel.models.reuse import held

Array = npt.NDArray[Any]


def followed_fills(
    r: Requests,
    misses: Sequence[tuple[int, float]],
    capacity: Array,
    sharing: Array,
    blocks: Array,
    device: Device,
    instance: Instance,
) -> Array:
    """Return the sectors that a load whose addresses were followed brings into L1.

    Parameters
    ----------
    r : Requests
        Of the load.
    misses : sequence of (int, float)
        Lines of L1 that a block has, and the share of the sectors that are not there then.
    capacity : array
        Bytes of L1.
    sharing : array
        Blocks that share an SM.
    blocks : array
        Of the launch.
    device, instance
        For its SMs, and the buffer's size.
    """
    lines, shares = (np.asarray(column, dtype=float) for column in zip(*misses, strict=True))
    own = np.maximum(capacity / (LINE * sharing), 1.0)
    found = r.sectors * np.interp(np.log2(own), np.log2(lines), shares)
    # A buffer that L1 holds comes once to each SM.
    size = buffer_bytes(instance, r)
    once = np.minimum(found, np.minimum(blocks, device.sm_count) * size / SECTOR)
    kept = held(size, capacity)
    return np.asarray(kept * once + (1 - kept) * found)
