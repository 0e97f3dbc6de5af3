"""Stores of a warp that follow one another into the same sectors, and reach L2 as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import WARP_SIZE
from perfmodel.models.coalescing import SECTOR
from perfmodel.models.formula import Formula
from perfmodel.models.requests import Requests
from perfmodel.models.reuse import Group

Array = npt.NDArray[Any]

MERGED: Final = 0.83
"""Share of what neighbouring stores could save that they do.

Fitted: 2, 3 and 4 stores of a word each, one after the other, save 75, 88 and 87% of it
(measurements/h200-latency/stores.csv, apart). With 8 operations between them they save next to
nothing: that stores of one iteration follow one another is assumed, as ptxas puts them at the end.
"""
MOST_SECTORS: Final = 16.0
"""Sectors a request up to which they do: of 32, 8 stores save 10% (the same)."""
SENT_SECTORS = Formula(
    name="sectors that stores send to L2",
    unit="1",
    text="asked*(1 - merged*(1 - union))",
    symbols={
        "asked": "sectors of all requests [1]",
        "merged": "share of the possible saving that is made [1]",
        "union": "distinct sectors of a warp's neighbouring stores, over the sum of each [1]",
    },
    holds="neighbouring stores of at most 16 sectors a request",
    source="fitted: words stored one by one on an H200",
)


def sent(groups: Sequence[Group], requests: Sequence[Requests]) -> list[Array]:
    """Return, for each access, the share of its sectors that reach L2; 1 for all but stores."""
    shares = [np.ones(1) for _ in requests]
    for g in groups:
        first = requests[g.members[0]]
        if first.access.kind != "store" or len(g.members) < 2:
            continue
        union = _union(g, requests)
        asked = sum((requests[i].sectors for i in g.members), np.zeros(1))
        each = asked / np.maximum(sum((requests[i].requests for i in g.members), np.zeros(1)), 1e-9)
        merged = np.where(each <= MOST_SECTORS, MERGED, 0.0)
        found = SENT_SECTORS(asked=np.ones(1), merged=merged, union=union)
        for i in g.members:
            shares[i] = np.asarray(found)
    return shares


def _union(g: Group, requests: Sequence[Requests]) -> Array:
    """Return the distinct sectors of a warp's stores of one group, over the sum of each."""
    first = requests[g.members[0]]
    strides = first.strides or {}
    step = next((s for name, s in strides.items() if name == "threadIdx.x"), np.zeros(1))
    offsets = np.stack(np.broadcast_arrays(*(requests[i].offset for i in g.members)), axis=-1)
    steps = np.broadcast_to(np.asarray(step, dtype=float)[..., None], offsets.shape)
    found = []
    for o, s in zip(offsets.reshape(-1, offsets.shape[-1]), steps[..., 0].ravel(), strict=True):
        lanes = np.arange(WARP_SIZE) * s
        sectors = [np.unique((lanes + o_i) // SECTOR) for o_i in o - o.min()]
        found.append(len(np.unique(np.concatenate(sectors))) / sum(map(len, sectors)))
    return np.asarray(found).reshape(offsets.shape[:-1])
