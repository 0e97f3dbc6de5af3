"""Barriers and DRAM queues: a block proceeds when the last of its loads has arrived.

The lines that a block loads before a barrier lie in several DRAM channels and stand in a separate
queue at each. On an idle GPU they arrive together. Under load the queueing delays differ, and the
block waits for the longest: the expected maximum of n exponential delays is the n-th harmonic
number times one of them (fork-join queue).

What the other resident blocks compute meanwhile hides this wait as it hides latency.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.kernels.kernel import Kernel
from perfmodel.models.formula import Formula
from perfmodel.models.latency.chain import Chain
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.time.queueing import Queueing
from perfmodel.models.time.steps import Steps, steps_time

SIDE_BY_SIDE: Final = Coefficient("time.step_queue.side_by_side")
LAST_QUEUE = Formula(
    name="mean maximum queueing delay of n parallel loads over one",
    unit="1",
    text="0.693*log2(queues) + 0.577 + 0.423/queues",
    symbols={"queues": "queues in which the data of one wait stands [1]"},
    holds="independent queues, 1 to 16 of them by measurement",
    source="derived: the mean maximum of n exponentially distributed times is 1 + 1/2 + ... + 1/n "
    "times their mean (fork-join queue: Nelson and Tantawi, IEEE Trans. Comput. 37, 1988)",
)


def queue_of_steps(
    kernel: Kernel, chain: Chain, steps: Steps, memory: Queueing, device: Device
) -> Queueing:
    """Return the queueing of blocks that work in steps: what the queues of DRAM add to these.

    `memory` is as if blocks did not work in steps, which have the blocks' queue for their SM. What
    other blocks of the SM compute meanwhile hides it, as it does their waits. Loads outside of
    loops a block waits for once, beside others: `memory_time` has these.
    """
    synchronised = {b.loop for b in kernel.barriers}
    step = np.zeros(1)
    for batch in chain.batches:
        if batch.loop is None or batch.ahead:
            continue
        # Where no barrier follows in the same loop, each warp waits for its own loads only.
        together = 1.0 if batch.loop in synchronised else np.maximum(steps.work.warps, 1.0)
        queues = np.maximum(batch.filled * SECTOR / SIDE_BY_SIDE(device) / together, 1.0)
        last = LAST_QUEUE(queues=queues) * (batch.filled > 0) * memory.delay_s
        step = step + batch.waited * last / np.maximum(steps.steps, 1.0)
    alone = steps_time(steps, device)
    queued = steps_time(replace(steps, load=steps.load + step), device)
    return replace(
        memory,
        wait_s=alone,
        queue_s=np.maximum(queued - alone, 0.0),
        alone_s=np.zeros(1),
        second_s=np.zeros(1),
        synchronised=False,
    )
