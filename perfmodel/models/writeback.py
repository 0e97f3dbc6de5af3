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

CROWDING = Formula(
    name="reads that crowd dirty lines, a byte written",
    unit="1",
    text="0.25*1.5**(w - 5)*(n + 0.35*p) + max(1, 0.25*1.5**(w - 5))*s",
    symbols={
        "w": "ways set aside, of 16 [1]",
        "n": "DRAM bytes read of normal lines, a byte written [1]",
        "p": "the same of persisting lines, which have ways of their own [1]",
        "s": "the same of lines marked streaming [1]",
    },
    holds="set-asides of 4 to 10 ways",
    source="fitted together with the write-backs",
)
WRITE_BACK = Formula(
    name="write-backs beside a set-aside, as bytes at DRAM's peak",
    unit="B",
    text="writes*(alone + 2.12*sqrt(x) + 0.19*x)",
    symbols={
        "writes": "DRAM bytes written [B]",
        "alone": "cost of a byte where nothing is read: 1.14 with 4 ways set aside, 1.57 with 5 to "
        "8, 3.05 with 9, 3.29 with 10, 0 with fewer [1]",
        "x": "reads that crowd dirty lines, a byte written [1]",
    },
    holds="H200, most mixtures within 10%; that it scales with DRAM's peak elsewhere is assumed",
    source="fitted by hand: copies, writes, data-reset and stream-persistent with set-asides of 4 "
    "to 37 MiB (measurements/h200-sxm-suite, set-aside-streams.csv and others)",
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

_ALONE: Final = (0.0, 0.0, 0.0, 0.0, 1.14, 1.57, 1.57, 1.57, 1.57, 3.05, 3.29)
"""Cost of a byte written, by ways set aside; more than 10 cannot be, and cost as 10."""


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
    written: Any, normal: Any, streaming: Any, persisting: Any, ways: Any
) -> tuple[tuple[Formula, dict[str, Any]], ...]:
    """Work out the bytes that DRAM could move while a set-aside holds write-backs up.

    Parameters
    ----------
    written : array
        DRAM bytes written.
    normal, streaming, persisting : array
        DRAM bytes read of lines with each property.
    ways : array
        Ways set aside.

    Returns
    -------
    tuple of (Formula, mapping)
        Each formula and what it takes; the last gives the bytes, which count from 4 ways on.
    """
    w = np.asarray(ways, dtype=float)
    share = np.maximum(np.asarray(written, dtype=float), 1.0)
    crowding = {"n": normal / share, "s": streaming / share, "p": persisting / share, "w": w}
    alone = np.interp(w, np.arange(len(_ALONE)), _ALONE)
    given = {
        "writes": np.asarray(written, dtype=float),
        "alone": alone,
        "x": CROWDING(**crowding),
    }
    return ((CROWDING, crowding), (WRITE_BACK, given))


def writeback_bytes(written: Any, normal: Any, streaming: Any, persisting: Any, ways: Any) -> Array:
    """Return these bytes; 0 where too little is set aside to matter. Arguments as `writebacks`."""
    (_, (_, given)) = writebacks(written, normal, streaming, persisting, ways)
    return np.asarray(np.where(given["alone"] > 0, WRITE_BACK(**given), 0.0))
