"""Waves and tails: how unevenly a grid's blocks fall on the SMs, and how many rounds they take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from perfmodel.kernels.instance import Instance
from perfmodel.models.formula import Formula
from perfmodel.models.geometry import AXES
from perfmodel.models.requests import Requests

Array = npt.NDArray[Any]

BALANCE = Formula(
    name="load of the busiest SM over the average",
    unit="1",
    text="(full + last)*m/work*uneven",
    symbols={
        "full": "full rounds of one block an SM [1]",
        "last": "work of a block of the round after, over a full block's [1]",
        "m": "SMs [1]",
        "work": "work of all blocks, over a full block's [1]",
        "uneven": "what unequal blocks add: see `unevenness` [1]",
    },
    holds="blocks handed out in order, x fastest; the last blocks are those that guards cut short "
    "or leave without work",
    source="derived: the tail of the last round",
)
ROUNDS = Formula(
    name="rounds of blocks",
    unit="1",
    text="(x + (ceil(x) - x)/max(1, x))*uneven",
    symbols={
        "x": "blocks of the busiest SM over the blocks that it holds at a time [1]",
        "uneven": "what unequal blocks add: see `unevenness` [1]",
    },
    holds="one round, and many; between, blocks drift apart as rounds pass",
    source="derived ends; the decay between is assumed",
)
CROWDING = Formula(
    name="work of the busiest SM over the average, of blocks that data makes unequal",
    unit="1",
    text="1 + z*spread/(sqrt(held)*rounds)",
    symbols={
        "z": "expected largest of as many normal numbers as there are SMs [1]",
        "spread": "standard deviation of a block's work over the mean [1]",
        "held": "blocks that share an SM [1]",
        "rounds": "rounds of blocks, at least one [1]",
    },
    holds="blocks handed out as others end: what is uneven are those that run at the end",
    source="derived: the sum of a SM's last blocks is nearly normal, and the SMs' sums are apart",
)


def unevenness(instance: Instance, running: Any) -> Array:
    """Return the time of unequal blocks over that of as many average ones.

    If all run at a time, the longest is the last to end; of many rounds it is the end of one. A
    block of unequal warps lasts as long as its longest.

    Parameters
    ----------
    instance : Instance
    running : array
        Share of the blocks that run at a time.
    """
    found = instance.kernel.unequal
    if found is not None:
        last = (found.longest - found.slowest) * np.minimum(running, 1.0)
        return np.atleast_1d(found.slowest + last)
    longest = np.maximum(np.atleast_1d(np.asarray(instance.number(instance.kernel.longest))), 1.0)
    return np.asarray(1 + (longest - 1) * np.minimum(running, 1.0))


def crowding(instance: Instance, blocks: Array, held: Array, sm_count: int) -> Array:
    """Return the work of the busiest SM over the average, for blocks that data makes unequal.

    Parameters
    ----------
    instance : Instance
    blocks, held : array
        Blocks of the launch, and those that share an SM.
    sm_count : int
        SMs.
    """
    found = instance.kernel.unequal
    if found is None:
        return unevenness(instance, sm_count * held / blocks)
    sms = np.minimum(blocks, sm_count)
    # Blom, Statistical Estimates and Transformed Beta-Variables (1958).
    expected = [NormalDist().inv_cdf((m - 0.375) / (m + 0.25)) for m in np.ravel(sms)]
    here = np.maximum(blocks / sm_count, 1.0)
    return np.asarray(
        CROWDING(
            z=np.reshape(expected, np.shape(sms)),
            spread=found.spread,
            held=np.minimum(held, here),
            rounds=np.maximum(here / held, 1.0),
        )
    )


def balance_inputs(
    instance: Instance, requests: Sequence[Requests], sm_count: int, uneven: Any = 1.0
) -> tuple[dict[str, Any], Array]:
    """Return what `BALANCE` needs, from the grid and what guards let through, and blocks at work.

    Blocks beyond the data of every access are not at work.
    """
    blocks = np.atleast_1d(np.asarray(instance.blocks, dtype=float))
    # The slowest axis of more than one block: its last slice ends the grid.
    cut = np.ones(1)
    slice_blocks = np.ones(1)
    busy = blocks
    for axis, extent in zip(AXES, instance.grid, strict=True):
        count = np.asarray(extent, dtype=float)
        shares = [r.shares.get(f"blockIdx.{axis}", np.ones(1)) for r in requests]
        shares = shares or [np.ones(1)]
        most = np.maximum.reduce(np.broadcast_arrays(*shares))
        least = np.minimum.reduce(np.broadcast_arrays(*shares))
        # Slices that take part, the last of them in part; those after it have nothing to do.
        slices = np.clip(np.ceil(most * count - 1e-9), 1.0, count)
        here = np.clip(least * count - (slices - 1), 0.0, 1.0)
        slowest = count > 1
        cut = np.where(slowest, here, cut)
        slice_blocks = np.where(slowest, blocks / count, slice_blocks)
        busy = np.where(slowest, blocks * slices / count, busy)
    full = np.floor(busy / sm_count)
    left = busy - full * sm_count
    last = np.where(left == 0, 0.0, np.where(left <= slice_blocks, cut, 1.0))
    tail = {
        "full": full,
        "last": last,
        "m": float(sm_count),
        "work": np.maximum(blocks * _share_at_work(requests), 1e-9),
        "uneven": uneven,
    }
    return tail, busy


def everywhere(tail: Mapping[str, Any], blocks: Array, busy: Array, balance: Array) -> Array:
    """Return the balance of what all blocks do alike, those without other work too.

    Parameters
    ----------
    tail : mapping
        What `BALANCE` takes.
    blocks, busy : array
        Of the grid, and those at work.
    balance : array
        Of the blocks at work.
    """
    alike = np.ceil(blocks / tail["m"]) * tail["m"] / blocks * tail["uneven"]
    return np.where(busy < blocks, alike, balance)


def taking_part(requests: Sequence[Requests]) -> Array:
    """Return the least share of blocks that accesses have work for.

    Of loops whose last turn is not full, blocks wait in that turn too: they have part in all.
    """
    least = np.ones(1)
    for r in requests:
        share = np.ones(1)
        for v in r.variables:
            if v.target.startswith("blockIdx"):
                share = share * r.shares.get(v.name, 1.0)
        least = np.minimum(least, share)
    return np.asarray(least)


def _share_at_work(requests: Sequence[Requests]) -> Array:
    """Return the share of warp executions that the guards let through."""
    done = np.zeros(1)
    possible = np.zeros(1)
    for r in requests:
        if r.strides is None or r.access.counted is not None:
            continue
        every = r.executions
        there = np.minimum(r.requests, every)
        if r.access.guard is not None:
            # Of a guard of the access's own, what it keeps from whole blocks counts alone: of what
            # it keeps from threads, the rest of what they do knows nothing.
            blocks = np.ones(1)
            for axis in AXES:
                blocks = blocks * r.shares.get(f"blockIdx.{axis}", np.ones(1))
            every = np.where(r.requests > 0, every, 0.0)
            there = every * blocks
        done = done + there
        possible = possible + every
    return np.where(possible > 0, done / np.maximum(possible, 1), 1.0)
