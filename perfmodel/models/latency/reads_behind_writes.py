"""DRAM reads that queue behind writes: extra latency in kernels that read and write.

DRAM serves writes in bursts, and reads that arrive meanwhile wait. The extra latency of a read is a
fitted time, multiplied by the share of writes in DRAM's work and by the share of a wave's time for
which DRAM is busy at all. That share is DRAM's time for the resident blocks' data, over the sum of
it and the time that a block waits otherwise.

Blocks that read at random places are at different points of their work, so there all of a block's
time counts as waiting; otherwise only its DRAM latencies do.
"""

from dataclasses import replace
from typing import Any, Final

import numpy as np

from perfmodel.hardware.coefficients import Coefficient
from perfmodel.models.latency.chain import Chain
from perfmodel.models.mechanism import mechanism

WRITE_WAIT: Final = Coefficient("latency.reads_behind_writes.write_wait")


@mechanism(neutral=lambda chain, *_: chain, evidence=["dram", "built-in-kernels"])
def reads_behind_writes(chain: Chain, dram_wave: Any, latency: float, scattered: bool) -> Chain:
    """Return the chain with the share of a wave for which DRAM is at work, in all its batches.

    A wave is what DRAM needs for the blocks that run at a time, and what a block waits besides: for
    DRAM, as often as it does so in a row; of blocks that read at random places, which are at
    different points of their work at any time, for all else too, and its instructions.
    """
    waits, loads, found = np.zeros(1), np.zeros(1), []
    for b in chain.batches:
        waits = waits + b.count * b.latencies.l1_miss * b.latencies.l2_miss
        loads = loads + b.count * b.latency
    whole = chain.between / chain.clock + loads
    for b in chain.batches:
        apart = whole if scattered else np.maximum(waits, b.count) * latency
        load = np.atleast_1d(dram_wave / np.maximum(dram_wave + apart, 1e-30))
        found.append(replace(b, latencies=replace(b.latencies, load=load)))
    return replace(chain, batches=tuple(found))
