"""Least times: what the time of all resources together is at the least, whatever overlaps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.models.atomics.lookups import LOOKUPS_TIME
from perfmodel.models.formula import Formula
from perfmodel.models.latency.chain import Chain
from perfmodel.models.time.bursts import BURST_TIME
from perfmodel.models.time.combined import LOADED_TIME
from perfmodel.models.time.launch import AFTER_TIME, LAST_TIME
from perfmodel.models.time.walks import BESIDE_WALK, beside_walk

Array = npt.NDArray[Any]

BEFORE_WALK: Final = {"loaded": LOADED_TIME, "lookups": LOOKUPS_TIME}
AFTER_WALK: Final = {"last": LAST_TIME, "after": AFTER_TIME, "burst": BURST_TIME}
"""Least times by name, those that a walk over common data adds to, and those that hold with it."""


@dataclass(frozen=True, slots=True)
class LeastTime:
    """One step from the time of all resources together to the time with what nothing hides.

    Attributes
    ----------
    name : str
        Of what went into it, among the inputs of the time model.
    formula : Formula
    inputs : mapping of str to array
    adds : bool
        Whether the formula's value takes the place of the time so far, which is one of its inputs;
        else the larger of both counts.
    """

    name: str
    formula: Formula
    inputs: Mapping[str, Any]
    adds: bool = False

    def after(self, together: Array) -> Array:
        """Return the time with this step, from that so far [s]."""
        found = np.asanyarray(self.formula(**self.inputs))
        return found if self.adds else np.asanyarray(np.maximum(together, found))


def least_times(
    together: Array, inputs: Mapping[str, Mapping[str, Any]], chain: Chain, busy: Array
) -> tuple[Array, tuple[LeastTime, ...]]:
    """Return the time with what no overlap hides [s], and the steps that lead to it, in order.

    Parameters
    ----------
    together : array
        Time of all resources together [s].
    inputs : mapping
        What went into each formula; a least time holds where it has inputs.
    chain : Chain
    busy : array
        Time that an SM's issue, arithmetic and L1 need [s].
    """
    steps: list[LeastTime] = []
    for name, formula in BEFORE_WALK.items():
        if name in inputs:
            steps.append(LeastTime(name, formula, inputs[name]))
            together = steps[-1].after(together)
    if "walk" in inputs:
        # Blocks that are left wait as long as all others, and compute less, as they are few.
        turns, rounds = inputs["latency"]["rounds"], inputs["rounds"]["x"]
        first = np.maximum(together / np.maximum(turns, 1.0), busy / np.maximum(rounds, 1.0))
        given = beside_walk(together, inputs["walk"], chain.slowest, first)
        steps.append(LeastTime("walk", BESIDE_WALK, given, adds=True))
        together = steps[-1].after(together)
    for name, formula in AFTER_WALK.items():
        if name in inputs:
            steps.append(LeastTime(name, formula, inputs[name]))
            together = steps[-1].after(together)
    return together, tuple(steps)
