"""How far a predicted time hangs on contents of buffers that were assumed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from perfmodel.errors import PerfmodelError
from perfmodel.kernels import Kernel
from perfmodel.kernels.doubt import Doubt
from perfmodel.prediction.details import Details

MOST: Final = 10.0
"""Longest over shortest time, of plausible contents, from which on no time is given."""


def contents_doubt(kernel: Kernel, evaluated: Callable[[Kernel], Details]) -> Doubt:
    """Return how far the time of a kernel with assumed contents may be off.

    `kernel`: one with an assumption. `evaluated`: returns the details of a kernel on the device, as
    it is timed.

    Raises
    ------
    PerfmodelError
        If plausible contents make times that differ more than `MOST` times, unless the kernel's
        assumption allows it.
    """
    found = kernel.assumption
    if found is None or not found.others:
        return kernel.doubt
    plain = [replace(k, assumption=None) for k in (kernel, *found.others)]
    times = [float(evaluated(k).time.time_s[0]) for k in plain]
    shortest, longest = min(times), max(times)
    if longest > MOST * shortest and not found.allowed:
        raise PerfmodelError(
            f"content of {', '.join(found.names[:8])} decides the time, and nobody states it: "
            f"{1e3 * shortest:.3g} to {1e3 * longest:.3g} ms with contents that are as plausible; "
            f"give it (--arg {found.names[0]}=FILE.npy, or fill or npy in a launch file), or "
            f"--assume to go on with {found.words}"
        )
    return kernel.doubt.beside(Doubt(times[0] / shortest, longest / times[0]))
