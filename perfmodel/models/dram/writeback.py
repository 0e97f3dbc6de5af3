"""Set-aside and write-backs: why the same DRAM bytes take longer with persisting ways.

Dirty lines may not use the ways that are set aside, not even idle ones. With fewer ways L2 can hold
back fewer dirty lines, and DRAM receives its writes in shorter runs between reads. On an H200 the
same copy takes 1.6 times as long with 8 of 16 ways set aside, and 3 times with 10. Kernels that
only read lose nothing, and read latency stays the same.

Each L2 slice hands on its dirty lines at a limited rate, so GPUs with fewer slices lose more. The
loss per byte is in `perfmodel.models.dram.writeback_loss`; here it becomes time. On Ampere no such
loss is known, and a small cost per write is taken from NVIDIA's Best Practices Guide.
"""

from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.models.formula import Formula
from perfmodel.models.l2.slices import PEAK_BY_SLICE, slice_count
from perfmodel.models.mechanism import mechanism

LOST_TIME = Formula(
    name="loss of write-backs with a set-aside",
    unit="s",
    text="(dram**p + (dram*pace + bytes/rate)**p - (dram*pace)**p)**(1/p) - dram",
    symbols={
        "dram": "time of DRAM without a set-aside [s]",
        "pace": "DRAM's peak per slice of L2, over the reference GPU's [1]",
        "bytes": "loss of the writes, as bytes [B]",
        "rate": "DRAM peak per slice of the reference GPU, times this GPU's slices [B/s]",
        "p": "exponent: how sharply the slower of DRAM and the slices decides [1]",
    },
    holds="Hopper; on the reference GPU the bytes over its peak",
    source="derived: a slice writes its dirty lines back at a rate of its own, so fewer slices "
    "take longer. The times of the slices and of DRAM combine as powers; the slices' time follows "
    "from times of the reference GPU; see decides and streams_decide",
)
WRITEBACK_TIME = Formula(
    name="time of memory with delayed write-backs",
    unit="s",
    text="max(dram, l2) + lost",
    symbols={
        "dram": "time of DRAM without a set-aside [s]",
        "l2": "time of L2 [s]",
        "lost": "loss of write-backs [s]",
    },
    holds="as 'loss of write-backs with a set-aside'",
    source="definition",
)
SHIELDED = Formula(
    name="share of writes that evict clean lines, with a set-aside",
    unit="1",
    text="1 - max(0, w - start)/ways",
    symbols={
        "w": "ways set aside [1]",
        "start": Coefficient("dram.writeback.shielded_from"),
        "ways": Coefficient("dram.writeback.shielded_ways"),
    },
    holds="Hopper; tables of 4 to 16 MiB concurrent with a write, with no window",
    source="fitted form: dirty lines may not use the ways set aside, clean ones may; see "
    "shielded_from and shielded_ways",
)
SET_ASIDE_WRITE_COST = Formula(
    name="cost of a DRAM write with a set-aside, Ampere",
    unit="1",
    text="1 + cost*w/ways",
    symbols={
        "w": "ways set aside, of 16 [1]",
        "cost": Coefficient("dram.writeback.set_aside_cost"),
        "ways": Coefficient("dram.writeback.set_aside_ways"),
    },
    holds="12 ways; fewer ways in proportion, which is assumed",
    source="published (CUDA C++ Best Practices Guide, L2 access window): see set_aside_cost",
)

DECIDES: Final = Coefficient("dram.writeback.decides")
STREAMS_DECIDE: Final = Coefficient("dram.writeback.streams_decide")


def delays_writebacks(device: Device) -> bool:
    """Return whether a set-aside holds write-backs up: on Hopper, where it was measured.

    One of Ampere gains with 12 of 16 ways set aside (CUDA C++ Best Practices Guide, L2 access
    window), which leaves no room for such a loss: see `SET_ASIDE_WRITE_COST`.
    """
    return device.compute_capability.startswith("9.")


@mechanism(neutral=lambda device, ways: np.ones(1), evidence=["suite"])
def reaching_writes(device: Device, ways: Any) -> Array:
    """Return the share of what is written that can push clean lines out with a set-aside."""
    w = np.asanyarray(ways, dtype=float)
    if not delays_writebacks(device):
        return np.ones(w.shape)
    return np.asanyarray(SHIELDED.on(device, w=w))


def set_aside_write_cost(device: Device, ways: Any) -> Array:
    """Return what a DRAM write costs with a set-aside where that does not hold writes up."""
    w = np.asanyarray(ways, dtype=float)
    if delays_writebacks(device):
        return np.ones(w.shape)
    return np.asanyarray(SET_ASIDE_WRITE_COST.on(device, w=w))


def streams_between(normal: Any, again: Any, written: Any) -> Array:
    """Return the DRAM bytes read of streams for each byte written, 1 at most.

    Streams are the normal lines without those of tables, `again`.
    """
    streams = np.maximum(np.asanyarray(normal, dtype=float) - again, 0.0)
    return np.asanyarray(np.minimum(1.0, streams / np.maximum(written, 1.0)))


def lost_inputs(device: Device, dram: Any, lost: Any, streams: Any) -> dict[str, Any]:
    """Return what `LOST_TIME` takes, of DRAM's time [s], `writeback_loss` and `streams_between`."""
    slices, peak, sharp = slice_count(device), PEAK_BY_SLICE(device), DECIDES(device)
    return {
        "dram": dram,
        "pace": device.dram_bandwidth / (peak * slices),
        "bytes": lost,
        "rate": peak * slices,
        "p": sharp - (sharp - STREAMS_DECIDE(device)) * np.asanyarray(streams, dtype=float),
    }
