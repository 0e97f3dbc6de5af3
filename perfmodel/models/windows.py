"""What an access policy window marks of a buffer, and what of it the set-aside has no room for."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perfmodel.kernels.l2_control import L2Control
from perfmodel.models import residency

Array = npt.NDArray[Any]


def marked(control: L2Control, buffer: str, size: Array) -> tuple[Array, Array]:
    """Return the shares of a buffer's lines that its window marks persisting, and streaming.

    Parameters
    ----------
    control : L2Control
    buffer : str
    size : array
        Bytes of the buffer that the launch touches.
    """
    window = control.window
    none = np.zeros(1)
    if window is None or window.buffer != buffer:
        return none, none
    inside = _window_bytes(control, buffer, size) / np.maximum(size, 1.0)
    picked = _picked(control)
    hit, missed = inside * picked, inside * (1 - picked)
    persisting = hit if window.hit_prop == "persisting" and control.set_aside else none
    streaming = hit if window.hit_prop == "streaming" else none
    streaming = streaming + (missed if window.miss_prop == "streaming" else none)
    return np.asarray(persisting), np.asarray(streaming)


def spilled_share(
    control: L2Control, buffer: str, size: Array, random: bool, claimed: float, capacity: float
) -> Array:
    """Return the share of a buffer's persisting lines for which the set-aside has no room.

    Parameters
    ----------
    control, buffer, size
        As for `marked`.
    random : bool
        Whether lines come to places of a set at random, not in turn.
    claimed : float
        Bytes of the set-aside that concurrent kernels keep.
    capacity : float
        Bytes of L2 as data sees it.
    """
    ways = residency.granted_ways(control.set_aside, capacity)
    way = capacity / residency.WAYS
    inside = _window_bytes(control, buffer, size) / way
    if random:
        return residency.random_overflow(inside, _picked(control), ways, claimed / way)
    return residency.overflow(inside, _picked(control), ways - claimed / way)


def _picked(control: L2Control) -> Array:
    if control.window is None:
        return np.zeros(1)
    return residency.picked_share(control.window.hit_ratio)


def _window_bytes(control: L2Control, buffer: str, size: Array) -> Array:
    """Return the bytes of a buffer that lie in the window."""
    window = control.window
    if window is None or window.buffer != buffer:
        return np.zeros(1)
    return np.asarray(np.clip(size - window.offset, 0.0, float(window.num_bytes)))
