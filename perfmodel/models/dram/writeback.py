"""Write-backs with a set-aside: why the same bytes take longer.

Dirty lines may not use the ways set aside, not even idle ones. L2 can then hold back fewer of them,
and DRAM gets its writes in shorter runs between reads: the same copy takes 1.6 times as long with 8
of 16 ways set aside on an H200, and 3 times with 10. Reads alone lose nothing, and their latency
stays what it was (measurements/suite/h200-sxm/sweeps/set-aside-latency.csv).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import Device
from perfmodel.models.formula import Formula
from perfmodel.models.l2.slices import PEAK_BY_SLICE, slice_count

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
    name="what writes lose with a set-aside, as bytes at an H200's DRAM peak by slice",
    unit="B",
    text="max(0, writes*(alone*((1 - mixed)*(1 - spilled))**1.85*(1 - 0.23*resident**4)"
    " + (copied*(1 - again) + reread*again*(1 - 0.42*resident))*mixed**0.6*(1 - 0.6*filled)"
    " + thrashed*spilled"
    " + streaming*(s/max(writes, 1))**0.9*(1 - 0.73*mixed)*(1 - 0.7*resident**2)) - spare*more)",
    symbols={
        "writes": "DRAM bytes written [B]",
        "mixed": "reads of normal lines between them [1]",
        "spilled": "reads of persisting lines that find no way, between them; without those there "
        "is more room for others [1]",
        "alone": "loss of a byte with no reads: 0.6 with 5 to 8 ways set aside, 3.1 with 10 [1]",
        "copied": "loss with as many reads: 0.1, 0.2, 0.5, 0.9, 1.4, 4.1, 5.8 with 4 to 10 ways "
        "[1]",
        "reread": "the same where the reads are those of tables, again and again: 0.1, 0.3, 0.6, "
        "1.2, 1.6, 4.3, 5.1 [1]",
        "again": "share of the normal reads that are such [1]",
        "filled": "share of the set-aside that persisting lines take [1]",
        "thrashed": "loss with as many reads of persisting lines that find no way, which push "
        "out their like alone: 0.1, 0.2, 0.4, 0.5 with 5 to 8 ways [1]",
        "streaming": "loss by lines marked streaming: 0.2, 0.8, 0.9, 1.1, 1.2, 1.6, 2.1 [1]",
        "s": "DRAM bytes read of lines marked streaming [B]",
        "resident": "share of the set-aside that persisting lines keep: what is left of it is less "
        "for others [1]",
        "spare": "what each further byte read spares: reads lose nothing, and go on while writes "
        "are held up; 0.3 to 0.6, 1.2 with 9 ways, and nothing with 10 [1]",
        "more": "DRAM bytes read of other lines beyond those written [B]",
    },
    holds="H200: 1.4% in the median and 5.1% at the ninetieth percentile of newer points fitted "
    "to, 1.6% and 5.7% of newer others; with `LOST_TIME` an H100: 2.2% and 6.8%, and 2.1% and 6.5% "
    "of others (l2/h100-sxm/set-aside)",
    source="fitted: tables of 1 to 48 MiB concurrent with a write and a copy, set-asides of 12 to "
    "37 MiB, hitRatios of 1/8 to 1 and both missProps "
    "(measurements/l2/h200-sxm/set-aside/grid.csv, l2/h200-sxm/before/ways.csv), copies and writes "
    "(measurements/suite/h200-sxm/sweeps/set-aside-streams.csv, set-aside-mixtures.csv), tables of "
    "16 to 64 MiB, windows longer than the set-aside among them (data-reset.csv, "
    "stream-persistent.csv), all with those below",
)
STREAMS_LOSS = Formula(
    name="what writes lose with a set-aside, streams",
    unit="B",
    text="writes*each",
    symbols={
        "writes": "DRAM bytes written [B]",
        "each": "loss of a byte written, by ways set aside and bytes read for it: alone 0.1 "
        "with 4 ways, 0.5 with 5 to 8, 2.0 and 2.3 with 9 and 10; most with half as many reads "
        "with 5 and 6 ways, as many with 7 to 9, two or three times as many with 10 [1]",
    },
    holds="1% in the median, 5% at most: 0 to 7 streams read, 1 to 3 written by a thread",
    source="fitted: writes and copies on an H200 (measurements/suite/h200-sxm/sweeps/"
    "set-aside-streams.csv), other mixtures on an H100 (l2/h100-sxm/set-aside/streams.csv, fit "
    "rows); that reads of 15 times what is written leave no loss is assumed",
)
LOST_TIME = Formula(
    name="what write-backs lose with a set-aside",
    unit="s",
    text="(dram**p + (dram*pace + bytes/rate)**p - (dram*pace)**p)**(1/p) - dram",
    symbols={
        "dram": "time of DRAM without a set-aside [s]",
        "pace": "DRAM's peak by slice of L2, over an H200's [1]",
        "bytes": "what writes lose [B]",
        "rate": "an H200's DRAM peak by slice, of all slices [B/s]",
        "p": "exponent: how sharply DRAM or the slices decide, 6, 3 where streams are read [1]",
    },
    holds="Hopper; on an H200 the bytes over its peak",
    source="derived: a slice hands its dirty lines on at a rate of its own, 512 MiB written with 9 "
    "and 10 ways take 401 and 433 us on an H100, 342 and 369 on an H200: as many more as its "
    "slices are fewer (set-aside-streams.csv, set-aside-mixtures.csv). The time of the slices and "
    "DRAM's own add as powers, and what the slices' is follows from an H200's times; the exponents "
    "are fitted to an H100: tables with a write 4.2% rms (4.5% with 4, 4.3% with 8), with a "
    "copy 4.3% (4.1% with 2.5, 4.7% with 4; l2/h100-sxm/set-aside, fit rows)",
)
WRITEBACK_TIME = Formula(
    name="time with write-backs held up",
    unit="s",
    text="max(dram, l2) + lost",
    symbols={
        "dram": "time of DRAM without a set-aside [s]",
        "l2": "time of L2 [s]",
        "lost": "what write-backs lose [s]",
    },
    holds="as the loss",
    source="definition",
)
SHIELDED = Formula(
    name="writes that push clean lines out with a set-aside",
    unit="1",
    text="1 - max(0, w - 4)/16",
    symbols={"w": "ways set aside [1]"},
    holds="Hopper; tables of 4 to 16 MiB concurrent with a write, with no window",
    source="found: dirty lines may not use the ways set aside, clean ones may: a table of 16 MiB "
    "misses 0.31 of its re-reads with 0 to 4 ways, 0.27, 0.16 and 0.145 with 5, 7 and 8 "
    "(DRAM reads, measurements/suite/h200-sxm/sweeps/data-reset.csv); by how much each way counts "
    "is fitted to the fit rows",
)
SET_ASIDE_WRITE_COST = Formula(
    name="cost of a DRAM write with a set-aside, Ampere",
    unit="1",
    text="1 + 0.3*w/12",
    symbols={"w": "ways set aside, of 16 [1]"},
    holds="12 ways; in between it is assumed",
    source="published: a kernel that reads and writes as much and hits nowhere is about 10% slower "
    "with 30 of an A100's 40 MB set aside (CUDA C++ Best Practices Guide, L2 access window)",
)

_WAYS: Final = (3, 4, 5, 6, 7, 8, 9, 10)
_ALONE: Final = (0.0, 0.05, 0.61, 0.64, 0.63, 0.63, 2.61, 3.06)
_COPIED: Final = (0.0, 0.07, 0.25, 0.5, 0.87, 1.4, 4.14, 5.75)
_REREAD: Final = (0.0, 0.12, 0.33, 0.6, 1.24, 1.65, 4.33, 5.13)
_FLEETING: Final = (0.0, 0.24, 0.84, 0.87, 1.1, 1.19, 1.57, 2.13)
_THRASHED: Final = (0.0, 0.0, 0.07, 0.23, 0.39, 0.53, 1.02, 3.2)  # with 10 ways held near alone
_SPARE: Final = (0.0, 0.32, 0.5, 0.39, 0.57, 0.47, 1.2, 0.0)
"""Losses of a byte written, by ways set aside, straight between these; more than 10 cannot be."""
_READ: Final = (0.0, 1 / 3, 0.5, 1.0, 2.0, 3.0, 7.0, 15.0)
_STREAMS: Final = (
    (0.0, 0.11, 0.55, 0.545, 0.54, 0.52, 2.02, 2.25),
    (0.0, 0.25, 0.88, 0.92, 0.94, 0.94, 2.71, 3.2),
    (0.0, 0.22, 0.8, 0.95, 1.02, 1.04, 2.94, 3.52),
    (0.0, 0.17, 0.44, 0.745, 1.05, 1.33, 3.72, 4.55),
    (0.0, 0.0, 0.02, 0.19, 0.68, 1.23, 3.64, 5.55),
    (0.0, 0.0, 0.0, 0.02, 0.31, 0.96, 2.66, 5.67),
    (0.0, 0.0, 0.0, 0.0, 0.02, 0.19, 1.13, 3.89),
    (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
)
"""`each` of `STREAMS_LOSS` by bytes read for each written, a row each, and by `_WAYS`."""
DECIDES: Final = 6.0
STREAMS_DECIDE: Final = 3.0
"""Exponents of `LOST_TIME` for writes alone or with tables, and for as many bytes of streams read
as written."""


def delays_writebacks(device: Device) -> bool:
    """Return whether a set-aside holds write-backs up: on Hopper, where it was measured.

    NVIDIA's A100 gains with 12 of 16 ways set aside (CUDA C++ Best Practices Guide, L2 access
    window), which leaves no room for such a loss: see `SET_ASIDE_WRITE_COST`.
    """
    return device.compute_capability.startswith("9.")


def reaching_writes(device: Device, ways: Any) -> Array:
    """Return the share of what is written that can push clean lines out with a set-aside."""
    w = np.asanyarray(ways, dtype=float)
    return np.asanyarray(SHIELDED(w=w)) if delays_writebacks(device) else np.ones(w.shape)


def set_aside_write_cost(device: Device, ways: Any) -> Array:
    """Return what a DRAM write costs with a set-aside where that does not hold writes up."""
    w = np.asanyarray(ways, dtype=float)
    if delays_writebacks(device):
        return np.ones(w.shape)
    return np.asanyarray(SET_ASIDE_WRITE_COST(w=w))


def streams_between(normal: Any, again: Any, written: Any) -> Array:
    """Return the DRAM bytes read of streams for each byte written, 1 at most.

    Parameters
    ----------
    normal, again, written : array
        DRAM bytes read of normal lines, of them those of tables, and DRAM bytes written.
    """
    streams = np.maximum(np.asanyarray(normal, dtype=float) - again, 0.0)
    return np.asanyarray(np.minimum(1.0, streams / np.maximum(written, 1.0)))


def lost_inputs(device: Device, dram: Any, lost: Any, streams: Any) -> dict[str, Any]:
    """Return what `LOST_TIME` takes.

    Parameters
    ----------
    device : Device
    dram : array
        Time of DRAM without a set-aside [s].
    lost : array
        What `WRITE_BACK` gives [B].
    streams : array
        See `streams_between`.
    """
    slices, peak = slice_count(device), PEAK_BY_SLICE(device)
    return {
        "dram": dram,
        "pace": device.dram_bandwidth / (peak * slices),
        "bytes": lost,
        "rate": peak * slices,
        "p": DECIDES - (DECIDES - STREAMS_DECIDE) * np.asanyarray(streams, dtype=float),
    }


@dataclass(frozen=True, slots=True)
class DramMix:
    """What DRAM moves, by the property of the lines.

    Attributes
    ----------
    written : array
        DRAM bytes written.
    normal, streaming : array
        DRAM bytes read of lines without a property, and of those marked streaming.
    persisting : array
        DRAM bytes read of persisting lines that find no way.
    again : array
        Of the normal bytes, those of tables.
    """

    written: Any
    normal: Any
    streaming: Any
    persisting: Any = 0.0
    again: Any = 0.0


@dataclass(frozen=True, slots=True)
class SetAside:
    """The part of L2 that is set aside for persisting lines, and what these take of it.

    Attributes
    ----------
    ways : array
        Ways set aside.
    filled : array
        Share of it that persisting lines take from streams.
    resident : array
        Share of it that they keep.
    """

    ways: Any
    filled: Any = 0.0
    resident: Any = 0.0


def writeback_loss(mix: DramMix, aside: SetAside, tabled: bool = True) -> Array:
    """Return the bytes that an H200's DRAM could move while write-backs are held up.

    0 with fewer than 4 ways set aside.

    Parameters
    ----------
    mix : DramMix
    aside : SetAside
    tabled : bool
        Whether a table is read again and again concurrently with the writes.
    """
    w = np.asanyarray(aside.ways, dtype=float)
    writes = np.asanyarray(mix.written, dtype=float)
    normal = np.maximum(mix.normal, 0.0)
    if not tabled:
        each = _streams_loss(w, normal / np.maximum(writes, 1.0))
        return np.asanyarray(STREAMS_LOSS(writes=writes, each=each))
    mixed = np.asanyarray(MIXED(n=normal, writes=writes))
    persisting = np.asanyarray(mix.persisting, dtype=float)
    spilled = np.minimum(1.0, persisting / np.maximum(writes, 1.0))
    loss = WRITE_BACK(
        writes=writes,
        mixed=mixed,
        spilled=spilled * (1 - mixed),
        alone=np.interp(w, _WAYS, _ALONE),
        copied=np.interp(w, _WAYS, _COPIED),
        reread=np.interp(w, _WAYS, _REREAD),
        again=np.clip(mix.again / np.maximum(mix.normal, 1.0), 0.0, 1.0),
        filled=np.asanyarray(aside.filled, dtype=float),
        thrashed=np.interp(w, _WAYS, _THRASHED),
        streaming=np.interp(w, _WAYS, _FLEETING),
        s=np.maximum(mix.streaming, 0.0),
        resident=np.minimum(aside.resident, 1.0),
        spare=np.interp(w, _WAYS, _SPARE),
        more=np.maximum(mix.normal + mix.persisting - writes, 0.0),
    )
    return np.asanyarray(loss)


def _streams_loss(ways: Array, read: Any) -> Array:
    """Return the loss of a byte written by ways set aside and bytes read for it [1]."""
    by_ways = [np.interp(ways, _WAYS, losses) for losses in _STREAMS]
    found = by_ways[0]
    for low, high, before, after in zip(_READ, _READ[1:], by_ways, by_ways[1:], strict=False):
        part = np.clip((np.asanyarray(read, dtype=float) - low) / (high - low), 0.0, 1.0)
        found = found + part * (after - before)
    return np.asanyarray(np.maximum(found, 0.0))  # what rounding leaves of differences
