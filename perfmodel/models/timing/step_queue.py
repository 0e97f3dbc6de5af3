"""Steps and DRAM: a block goes on from a barrier once the last of its lines has come.

The lines of a block lie in as many channels of DRAM, and each stands in the queue of its own. Alone
they come together; the more DRAM has to do, the later the last of them is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from perfmodel.kernels.kernel import Kernel
from perfmodel.models.formula import Formula
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.timing.chain import Chain
from perfmodel.models.timing.steps import steps_time

Array = npt.NDArray[Any]

LAST_LINE = Formula(
    name="what the last of several lines queues over what one does",
    unit="1",
    text="0.693*log2(lines) + 0.577 + 0.423/lines",
    symbols={"lines": "lines that are waited for together [1]"},
    holds="lines in queues of their own, 1 to 32 of them by measurement",
    source="derived: the mean largest of n times that are distributed exponentially is 1 + 1/2 + "
    "... + 1/n (fork and join: Nelson and Tantawi, IEEE Trans. Comput. 37, 1988); measured: loops "
    "that copy tiles of 0.25, 1 and 4 KiB a block, a barrier after each load, come out 2 to 29% "
    "fast without and 4.5% at the ninetieth percentile with it, at the queue of loops without "
    "barriers (tiles.csv of h100-sxm-suite and h200-sxm-suite, fit rows: no coefficient of its "
    "own)",
)


def queue_of_steps(
    kernel: Kernel, chain: Chain, given: Mapping[str, Any], delay: Array
) -> dict[str, Any]:
    """Return what the queues of DRAM at half load add to blocks that work in steps.

    What other blocks of the SM compute meanwhile hides it, as it does their waits.

    Parameters
    ----------
    kernel, chain : Kernel, Chain
        With barriers in a loop, and what one of its blocks does.
    given : mapping
        What `steps_time` takes.
    delay : array
        What one line queues at half load [s].

    Returns
    -------
    dict of str to array
        "wait", "queue" and "alone" of `perfmodel.models.timing.queueing.QUEUE_TIME`.
    """
    met = {b.loop for b in kernel.barriers} | {None}
    step, outside = np.zeros(1), np.zeros(1)
    for batch in chain.batches:
        # Where no barrier follows in the same loop, each warp waits for its own lines only.
        together = 1.0 if batch.loop in met else np.maximum(given["warps"], 1.0)
        lines = batch.filled * SECTOR / LINE / together
        last = LAST_LINE(lines=np.maximum(lines, 1.0)) * (batch.filled > 0) * delay
        if batch.loop is None or batch.ahead:
            outside = outside + batch.waited * last
        else:
            step = step + batch.waited * last / np.maximum(given["steps"], 1.0)
    later = {**given, "load": given["load"] + step, "outside": given["outside"] + outside}
    alone = steps_time(given)
    return {
        "wait": alone,
        "queue": np.maximum(steps_time(later) - alone, 0.0),
        "alone": np.zeros(1),
    }
