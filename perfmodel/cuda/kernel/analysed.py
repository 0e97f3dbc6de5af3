"""A kernel and a launch of it, as far as they are known before a `Kernel` is made of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from perfmodel.cuda.addresses.launch import KernelLaunch
from perfmodel.cuda.addresses.records import Followed
from perfmodel.cuda.addresses.sums import Sum
from perfmodel.cuda.emulate.run import Emulation
from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.syntax import Function
from perfmodel.expressions import Name, Number, evaluate, names
from perfmodel.kernels.kernel import Parameter
from perfmodel.records import record


@record
class Analysed:
    """A kernel and a launch of it, as followed and, where symbols end, emulated."""

    function: Function
    flow: ControlFlow
    found: Followed
    launch: KernelLaunch
    parameters: tuple[Parameter, ...]
    parts: Sequence[tuple[Name, Sum]]
    """Positions in the grid, by the names that guards have for them."""
    emulation: Emulation | None = None
    counted: frozenset[str] = frozenset()
    """Loops whose iterations emulation counted."""

    def trips(self) -> dict[str, float]:
        """Return the iterations of each loop, where the launch decides; else that they are many."""
        known = known_numbers(self.launch, self.parameters)
        trips = {}
        for loop in self.found.loops:
            decided = loop.trips is not None and names(loop.trips) <= known.keys()
            trips[loop.variable] = (
                float(np.max(evaluate(loop.trips, known))) if decided and loop.trips else math.inf
            )
        return trips


def decided(name: str, value: int) -> Parameter:
    """Return a parameter with what the launch says: another value is another analysis."""
    low, high = min(1, value), max(1, value)
    return Parameter(name, Number(value), low, high, choices=(value,))


def known_numbers(launch: KernelLaunch, parameters: Sequence[Parameter]) -> dict[str, Any]:
    """Return the parameters and the sizes that the launch gives."""
    known = {p.name: evaluate(p.default, {}) for p in parameters if p.default is not None}
    return known | launch.sizes
