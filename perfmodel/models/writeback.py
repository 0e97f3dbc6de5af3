"""Write-backs beside a set-aside: why the same bytes take longer.

Dirty lines may not use the ways set aside, not even idle ones. L2 can then hold back fewer of them,
and DRAM gets its writes in shorter runs between reads: the same copy takes 1.6 times as long with 8
of 16 ways set aside on an H200, and 3 times with 10. Reads alone lose nothing, and their latency
stays what it was (measurements/h200-sxm-suite/set-aside-latency.csv).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import Device
from perfmodel.models.formula import Formula

Array = npt.NDArray[Any]

MIXED = Formula(
    name="reads between the writes",
    unit="1",
    text="min(1, n/max(writes, 1))",
    symbols={
        "n": "DRAM bytes read of normal lines [B]",
        "writes": "DRAM bytes written [B]",
    },
    holds="by definition: 0 for writes alone, 1 for copies and for more reads",
    source="definition",
)
WRITE_BACK = Formula(
    name="what writes lose beside a set-aside, as bytes at DRAM's peak",
    unit="B",
    text="max(0, writes*(alone*(1 - mixed)**2.3 + copied*mixed**0.68*(1 - 0.6*filled)"
    " + fleeting*(s/max(writes, 1))**0.78*(1 - 0.64*mixed)) - 0.36*more)",
    symbols={
        "writes": "DRAM bytes written [B]",
        "mixed": "reads of normal lines between them [1]",
        "alone": "loss of a byte with no reads: 0.6 with 5 to 8 ways set aside, 2.9 with 10 [1]",
        "copied": "loss beside as many reads: 0.1, 0.3, 0.9, 1.4, 5.7 with 4, 5, 7, 8, 10 ways [1]",
        "filled": "share of the set-aside that persisting lines take [1]",
        "fleeting": "loss by lines marked streaming: 0.4, 0.7, 1.0, 1.1, 2.3 with as many ways [1]",
        "s": "DRAM bytes read of lines marked streaming [B]",
        "more": "DRAM bytes read of other lines beyond those written: reads lose nothing, and go "
        "on while writes are held up [B]",
    },
    holds="H200: 2.4% in the median and 8% at the ninetieth percentile of 208 points fitted to, "
    "3.2% and 9% of 386 others; that it scales with DRAM's peak elsewhere is assumed",
    source="fitted: tables of 4 to 48 MiB beside a write and a copy, with set-asides of 12 to 37 "
    "MiB and hitRatios of 1/8 to 1 (measurements/h200-l2/grid.csv), copies and writes "
    "(measurements/h200-sxm-suite/set-aside-streams.csv, set-aside-mixtures.csv)",
)
WRITEBACK_TIME = Formula(
    name="time with write-backs held up",
    unit="s",
    text="max(dram, l2) + bytes/bandwidth",
    symbols={
        "dram": "time of DRAM without a set-aside [s]",
        "l2": "time of L2 [s]",
        "bytes": "what writes lose [B]",
        "bandwidth": "DRAM's peak [B/s]",
    },
    holds="as the loss",
    source="definition",
)
DEARER_WRITES = Formula(
    name="cost of a DRAM write beside a set-aside, Ampere",
    unit="1",
    text="1 + 0.3*w/12",
    symbols={"w": "ways set aside, of 16 [1]"},
    holds="12 ways; in between it is assumed",
    source="published: a kernel that reads and writes as much and hits nowhere is about 10% slower "
    "with 30 of an A100's 40 MB set aside (CUDA C++ Best Practices Guide, L2 access window)",
)

_WAYS: Final = (3, 4, 5, 7, 8, 10)
_ALONE: Final = (0.0, 0.0, 0.6, 0.61, 0.605, 2.87)
_COPIED: Final = (0.0, 0.08, 0.29, 0.89, 1.38, 5.66)
_FLEETING: Final = (0.0, 0.38, 0.67, 0.99, 1.13, 2.31)
_STREAM_WAYS: Final = (3, 4, 5, 7, 8, 9, 10)
_STREAM_ALONE: Final = (0.0, 0.11, 0.55, 0.54, 0.52, 2.02, 2.25)
_STREAM_COPIED: Final = (0.0, 0.17, 0.44, 1.05, 1.33, 3.72, 4.55)
"""Losses of a byte written, by ways set aside, straight between these; more than 10 cannot be.
Streams with no table beside have their own: measured (set-aside-streams.csv, 512 MiB)."""


def crowds_writes(device: Device) -> bool:
    """Return whether a set-aside holds write-backs up: on Hopper, where it was measured.

    NVIDIA's A100 gains with 12 of 16 ways set aside (CUDA C++ Best Practices Guide, L2 access
    window), which leaves no room for such a loss: see `DEARER_WRITES`.
    """
    return device.compute_capability.startswith("9.")


def dearer_writes(device: Device, ways: Any) -> Array:
    """Return what a DRAM write costs beside a set-aside where that does not hold writes up."""
    w = np.asarray(ways, dtype=float)
    if crowds_writes(device):
        return np.ones(w.shape)
    return np.asarray(DEARER_WRITES(w=w))


def writebacks(
    written: Any,
    normal: Any,
    streaming: Any,
    filled: Any,
    ways: Any,
    tabled: bool = True,
    persisting: Any = 0.0,
) -> tuple[tuple[Formula, dict[str, Any]], ...]:
    """Work out the bytes that DRAM could move while a set-aside holds write-backs up.

    Parameters
    ----------
    written : array
        DRAM bytes written.
    normal, streaming : array
        DRAM bytes read of lines with each property.
    filled : array
        Share of the set-aside that persisting lines take.
    ways : array
        Ways set aside.
    tabled : bool
        Whether a table is read again and again beside the writes.
    persisting : array
        DRAM bytes read of persisting lines that find no way.

    Returns
    -------
    tuple of (Formula, mapping)
        Each formula and what it takes; the last gives the bytes, 0 with fewer than 4 ways.
    """
    w = np.asarray(ways, dtype=float)
    writes = np.asarray(written, dtype=float)
    mixture = {"n": np.maximum(normal, 0.0), "writes": writes}
    given = {
        "writes": writes,
        "mixed": np.asarray(MIXED(**mixture)),
        "alone": np.interp(w, *((_WAYS, _ALONE) if tabled else (_STREAM_WAYS, _STREAM_ALONE))),
        "copied": np.interp(w, *((_WAYS, _COPIED) if tabled else (_STREAM_WAYS, _STREAM_COPIED))),
        "filled": np.asarray(filled, dtype=float),
        "fleeting": np.interp(w, _WAYS, _FLEETING),
        "s": np.maximum(streaming, 0.0),
        "more": np.maximum(normal + persisting - writes, 0.0),
    }
    return ((MIXED, mixture), (WRITE_BACK, given))
