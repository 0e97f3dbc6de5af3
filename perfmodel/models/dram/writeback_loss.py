"""Set-aside and write-backs: the loss per byte written, by the reads that DRAM does meanwhile.

What a written byte loses depends on the ways set aside and on what is read between the writes:
nothing, streams, tables that are re-read, persisting lines that overflow their ways, or lines
marked streaming. Each kind has its own fitted loss per byte, weighted by its share of the reads.
Persisting lines that stay in the set-aside reduce the loss, and so do reads beyond one per write,
which proceed while the writes are delayed.

Losses are given as the bytes that DRAM could move meanwhile at the peak per slice of the GPU that
they were fitted on, so that they scale to GPUs with other numbers of slices.
"""

from itertools import pairwise
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient, CoefficientTable
from perfmodel.hardware.device import Device
from perfmodel.models.formula import Formula
from perfmodel.models.mechanism import mechanism
from perfmodel.records import record

WRITE_BACK = Formula(
    name="loss of writes with a set-aside, as bytes at the reference GPU's DRAM peak per slice",
    unit="B",
    text="max(0, writes*(alone*((1 - mixed)*(1 - spilled))**a*(1 - kept*resident**4)"
    " + (copied*(1 - again) + reread*again*(1 - held*resident))*mixed**b*(1 - room*filled)"
    " + thrashed*spilled"
    " + streaming*(s/max(writes, 1))**c*(1 - between*mixed)*(1 - left*resident**2)) - spare*more)",
    symbols={
        "writes": "DRAM bytes written [B]",
        "mixed": "reads of normal lines per write, at most 1: 0 for writes alone, 1 for copies [1]",
        "spilled": "reads per write of persisting lines that overflow the set-aside [1]",
        "alone": "loss per byte written with no reads [1]",
        "a": Coefficient("dram.writeback_loss.alone_sharp"),
        "kept": Coefficient("dram.writeback_loss.alone_resident"),
        "copied": "loss per byte written with as many bytes read [1]",
        "reread": "the same where the reads are re-reads of tables [1]",
        "held": Coefficient("dram.writeback_loss.reread_resident"),
        "b": Coefficient("dram.writeback_loss.mixed_sharp"),
        "room": Coefficient("dram.writeback_loss.mixed_filled"),
        "again": "share of the normal reads that are re-reads of tables [1]",
        "filled": "share of the set-aside that persisting lines take [1]",
        "thrashed": "loss with as many reads of persisting lines that overflow the set-aside [1]",
        "streaming": "loss by reads of lines marked streaming [1]",
        "c": Coefficient("dram.writeback_loss.streaming_sharp"),
        "between": Coefficient("dram.writeback_loss.streaming_mixed"),
        "left": Coefficient("dram.writeback_loss.streaming_resident"),
        "s": "DRAM bytes read of lines marked streaming [B]",
        "resident": "share of the set-aside that persisting lines keep: the rest is left to "
        "others [1]",
        "spare": "saving per further byte read: reads proceed while writes are delayed [1]",
        "more": "DRAM bytes read of other lines beyond those written [B]",
    },
    holds="tables of 1 to 64 MiB concurrent with a write or a copy, copies and writes: 1.6% in "
    "the median and 5.7% at the ninetieth percentile of points that were not fitted on the "
    "reference GPU, 2.1% and 6.5% with 'loss of write-backs with a set-aside' on a GPU of fewer "
    "slices",
    source="fitted form",
)
STREAMS_LOSS = Formula(
    name="loss of writes with a set-aside, streams only",
    unit="B",
    text="writes*each",
    symbols={
        "writes": "DRAM bytes written [B]",
        "each": "loss per byte written, by ways set aside and bytes read per byte written: most "
        "at 0.5 with 5 and 6 ways, at 1 with 7 to 9, at 2 or 3 with 10 [1]",
    },
    holds="1% in the median, 5% at most: 0 to 7 streams read, 1 to 3 written per thread",
    source="fitted: see streams_none to streams_fifteen",
)
_WAYS: Final = (3, 4, 5, 6, 7, 8, 9, 10)
"""Ways set aside that the tables below are by, straight between; more than 10 cannot be."""
_BY_WAYS: Final = {
    "alone": CoefficientTable("dram.writeback_loss.alone"),
    "copied": CoefficientTable("dram.writeback_loss.copied"),
    "reread": CoefficientTable("dram.writeback_loss.reread"),
    "streaming": CoefficientTable("dram.writeback_loss.transient"),
    "thrashed": CoefficientTable("dram.writeback_loss.thrashed"),
    "spare": CoefficientTable("dram.writeback_loss.spare"),
}
_STREAMS: Final = (
    (0.0, CoefficientTable("dram.writeback_loss.streams_none")),
    (1 / 3, CoefficientTable("dram.writeback_loss.streams_third")),
    (0.5, CoefficientTable("dram.writeback_loss.streams_half")),
    (1.0, CoefficientTable("dram.writeback_loss.streams_one")),
    (2.0, CoefficientTable("dram.writeback_loss.streams_two")),
    (3.0, CoefficientTable("dram.writeback_loss.streams_three")),
    (7.0, CoefficientTable("dram.writeback_loss.streams_seven")),
    (15.0, CoefficientTable("dram.writeback_loss.streams_fifteen")),
)
"""`each` of `STREAMS_LOSS` by bytes read for each written."""


@record
class DramMix:
    """DRAM bytes written, and read by the property of the lines [B].

    Of persisting lines, those that find no way; `again` are those of tables, of the normal ones.
    """

    written: Any
    normal: Any
    streaming: Any
    persisting: Any = 0.0
    again: Any = 0.0


@record
class SetAside:
    """Ways of L2 set aside; shares of them that persisting lines take from streams, and keep."""

    ways: Any
    filled: Any = 0.0
    resident: Any = 0.0


@mechanism(neutral=lambda mix, aside, device, tabled=True: np.zeros(1), evidence=["l2", "suite"])
def writeback_loss(mix: DramMix, aside: SetAside, device: Device, tabled: bool = True) -> Array:
    """Return the bytes that the reference's DRAM could move while write-backs are held up.

    0 with fewer than 4 ways set aside. Streams alone lose other than where a table is read again
    and again concurrently, `tabled`.
    """
    w = np.asanyarray(aside.ways, dtype=float)
    writes = np.asanyarray(mix.written, dtype=float)
    normal = np.maximum(mix.normal, 0.0)
    if not tabled:
        each = _streams_loss(w, normal / np.maximum(writes, 1.0), device)
        return np.asanyarray(STREAMS_LOSS(writes=writes, each=each))
    mixed = np.minimum(1.0, normal / np.maximum(writes, 1.0))
    persisting = np.asanyarray(mix.persisting, dtype=float)
    spilled = np.minimum(1.0, persisting / np.maximum(writes, 1.0))
    return np.asanyarray(
        WRITE_BACK.on(
            device,
            **{name: np.interp(w, _WAYS, table(device)) for name, table in _BY_WAYS.items()},
            writes=writes,
            mixed=mixed,
            spilled=spilled * (1 - mixed),
            again=np.clip(mix.again / np.maximum(mix.normal, 1.0), 0.0, 1.0),
            filled=np.asanyarray(aside.filled, dtype=float),
            s=np.maximum(mix.streaming, 0.0),
            resident=np.minimum(aside.resident, 1.0),
            more=np.maximum(mix.normal + mix.persisting - writes, 0.0),
        )
    )


def _streams_loss(ways: Array, read: Any, device: Device) -> Array:
    """Return the loss of a byte written by ways set aside and bytes read for it [1]."""
    by_read = [(of, np.interp(ways, _WAYS, losses(device))) for of, losses in _STREAMS]
    found = by_read[0][1]
    for (low, before), (high, after) in pairwise(by_read):
        part = np.clip((np.asanyarray(read, dtype=float) - low) / (high - low), 0.0, 1.0)
        found = found + part * (after - before)
    return np.asanyarray(np.maximum(found, 0.0))  # what rounding leaves of differences
