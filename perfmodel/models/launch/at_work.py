"""Blocks at work: what guards let through of a grid, along each of its axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from perfmodel.arrays import Array
from perfmodel.kernels.instance import Instance
from perfmodel.models.extremes import largest, smallest
from perfmodel.models.grid.geometry import AXES
from perfmodel.models.requests.warp_requests import Requests


def axes_at_work(
    instance: Instance, requests: Sequence[Requests], on_chip: Sequence[Requests], in_step: bool
) -> tuple[list[Array], list[Array], list[Array]]:
    """Return, for each axis, the blocks that take part, the last of them in part, and its work.

    That is over a whole block's, by its warps and by their wavefronts in L1; blocks `in_step` do
    all of it.
    """
    # Wavefronts of a request: where lanes are apart, those that take no part cost L1 nothing.
    asked = sum((np.minimum(r.requests, r.executions) for r in requests), np.zeros(1))
    waves = sum((np.maximum(r.data_wavefronts, r.tag_wavefronts) for r in requests), np.zeros(1))
    fan = np.maximum(waves / np.maximum(asked, 1.0), 1.0)
    # What the kernel's own guard lets in is all that any access can have.
    let_in = (r.shares for r in (*requests, *on_chip) if r.shares and r.access.guard is None)
    every = next(let_in, {}) if instance.kernel.guard is not None else {}
    found: tuple[list[Array], list[Array], list[Array]] = [], [], []
    for axis, extent in zip(AXES, instance.grid, strict=True):
        count = np.atleast_1d(np.asanyarray(extent, dtype=float))
        name = f"blockIdx.{axis}"
        shares = [_let_in(r, every).get(name, np.ones(1)) for r in requests] or [np.ones(1)]
        whole = [r.warp_shares.get(name, share) for r, share in zip(requests, shares, strict=False)]
        most = largest(*shares)
        # Slices that take part, the last of them in part; those after it have nothing to do.
        slices = np.clip(np.ceil(most * count - 1e-9), 1.0, count)
        by_lanes, by_warps = (
            np.clip(smallest(*s) * count - (slices - 1), 0.0, 1.0)
            for s in (shares, whole or [np.ones(1)])
        )
        cut = by_lanes / np.maximum(by_warps, 1e-9)
        if in_step:
            by_warps = cut = np.ones(1)
        lanes = by_warps * np.clip(cut, np.minimum(1 / fan, 1.0), 1.0)
        for column, value in zip(found, (slices, by_warps, lanes), strict=True):
            column.append(value)
    return found


def _let_in(r: Requests, every: Mapping[str, Array]) -> Mapping[str, Array]:
    """Return the shares of blocks that take part in an access; of `every` access if none tell."""
    return every if r.sampled is not None and not r.shares else r.shares
