"""Useful bytes: the distinct bytes that a request asks for, of those that its sectors move."""

from __future__ import annotations

import numpy as np

from perfmodel.arrays import Array
from perfmodel.models.requests.request_record import Requests


def useful_bytes(r: Requests) -> Array:
    """Return the distinct bytes that the lanes of each request ask for, summed over requests [B].

    Lanes that ask for the same element, as in a broadcast or in atomics to one address, count once.
    """
    if r.different is not None:
        return np.asanyarray(r.different * r.width)
    if r.sharing is not None:
        return np.asanyarray(r.requests * r.sharing.conflicts.addresses * r.width)
    if r.strides is None:
        return np.asanyarray(r.active_lanes * r.width)
    return np.asanyarray(r.active_lanes * r.width * distinct_share(r))


def distinct_share(r: Requests) -> float:
    """Return the distinct bytes of a full warp over the bytes of its lanes, for an affine index.

    Of the first configuration. Warps that guards cut have at least this share.
    """
    assert r.strides is not None
    places = np.zeros(1, dtype=np.int64)
    for v in r.variables:
        if v.in_lane:
            steps = np.arange(int(np.ravel(v.extent)[0])) * int(np.ravel(r.strides[v.name])[0])
            places = np.add.outer(places, steps).ravel()
    places = np.sort(places)
    # From each element up to the next: all of it, unless the next one starts before its end.
    reached = np.minimum(np.diff(places), r.width).sum() + r.width
    return float(reached / (len(places) * r.width))
