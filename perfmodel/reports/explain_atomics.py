"""Atomics: from the lanes of a warp to passes through L2's slices, with the numbers put in."""

from __future__ import annotations

from collections.abc import Iterator

from perfmodel.models.atomics.shared_loops import SHARED_LOOP_TIME
from perfmodel.models.atomics.shared_swaps import SWAP_TIME
from perfmodel.prediction.details import Details
from perfmodel.reports.step import Step, named, step


def atomic_steps(details: Details) -> Iterator[Step]:
    """Yield nothing: the derivation has the time of each global atomic."""
    return iter(())


def shared_loop_steps(details: Details) -> Iterator[Step]:
    """Yield the time of atomics in shared memory that are loops."""
    for name, formula in (("shared-loops", SHARED_LOOP_TIME), ("shared-swaps", SWAP_TIME)):
        if name in details.time.inputs:
            given = details.time.inputs[name]
            yield step("Atomics in shared memory", named(formula, f"time of {name}"), given)
