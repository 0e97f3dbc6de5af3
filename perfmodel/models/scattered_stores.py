"""Stores of parts of sectors at random places: sectors that L2 gives up before they are whole.

L2 keeps few sectors that were stored in part: beyond those it fetches what is missing, and where
stores come back to sectors that it gave up by then, each brings a fetch and a write-back again.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from perfmodel.models.coalescing import SECTOR
from perfmodel.models.formula import Formula
from perfmodel.models.requests import Requests

Array = npt.NDArray[Any]

FETCHED_AGAIN = Formula(
    name="share of the stores back into a sector that fetch it again",
    unit="1",
    text="1 - min(1, 0.837*c/d)**1.59",
    symbols={"c": "capacity of L2 [B]", "d": "different sectors stored to [B]"},
    holds="words at random places of 2 to 512 MiB within 0.1; where all sectors are gone through "
    "in turn, all of them miss beyond L2",
    source="fitted: single words at random places on an H200, 16 Mi of them "
    "(measurements/h200-scattered/scattered.csv, fit rows)",
)
WRITTEN_AGAIN = Formula(
    name="share of the stores back into a sector that find it written back",
    unit="1",
    text="1 - min(1, 0.437*c/d)**2.1",
    symbols={"c": "capacity of L2 [B]", "d": "different sectors stored to [B]"},
    holds="as above",
    source="fitted: the same rows; below what L2 holds dirty of streams nothing is",
)
FILLED = Formula(
    name="share of the sectors stored in part that are fetched once",
    unit="1",
    text="1 - min(1, 0.072*c/d)",
    symbols={"c": "capacity of L2 [B]", "d": "different sectors stored to [B]"},
    holds="as above: about 4 MiB stay as they are",
    source="fitted: the same rows",
)
READ_COST: Final = 4.05
"""DRAM time of a fetched sector over that of dense bytes.

Fitted with the next two: 16 Mi words at random places of 80 to 512 MiB take 795 to 1012 us, those
of 48 MiB 343 (scattered.csv, fit rows).
"""
WRITE_COSTS: Final = (3.0, 4.05)
"""The same of a sector written back, by itself and with a fetch of as many."""
_WITH_FETCH: Final = 0.3
"""Share of the stores back that fetch from which on write-backs cost the latter."""


class ScatteredStores(NamedTuple):
    """What one access's stores of parts of sectors move, beside their distinct bytes.

    Attributes
    ----------
    read : array
        DRAM bytes fetched for sectors that were stored in part.
    rewritten : array
        DRAM bytes written of sectors that come back.
    write_cost : array
        Time of a byte written over that of a dense one.
    """

    read: Array
    rewritten: Array
    write_cost: Array


def scattered_stores(
    r: Requests, stored: Array, table: Array, touched: Array, capacity: float
) -> ScatteredStores | None:
    """Return what stores at random places move; None for others and for whole sectors.

    Parameters
    ----------
    r : Requests
    stored : array
        Sectors that they send to L2.
    table : array
        Bytes over which the places lie.
    touched : array
        Different bytes that are counted as written already.
    capacity : float
        Of L2 [B].
    """
    if r.access.kind != "store" or not r.random:
        return None
    filled = np.asarray(r.wanted_bytes) / np.maximum(r.sectors * SECTOR, 1.0)
    part = np.clip(2 * (1 - filled), 0.0, 1.0)
    if not np.any(part > 0):
        return None
    places = np.maximum(np.asarray(table) / SECTOR, 1.0)
    sectors = places * -np.expm1(-stored / places)
    size = {"c": capacity, "d": np.maximum(sectors * SECTOR, 1.0)}
    back = np.maximum(stored - sectors, 0.0)
    again = np.asarray(FETCHED_AGAIN(**size))
    rewritten = part * SECTOR * back * np.asarray(WRITTEN_AGAIN(**size))
    alone, both = WRITE_COSTS
    cost = alone + (both - alone) * np.minimum(again / _WITH_FETCH, 1.0)
    return ScatteredStores(
        read=part * SECTOR * (sectors * np.asarray(FILLED(**size)) + back * again),
        rewritten=np.clip(rewritten, 0.0, np.maximum(stored * SECTOR - touched, 0.0)),
        write_cost=1 + part * (cost - 1),
    )
