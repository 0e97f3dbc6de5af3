"""Runs: what a block asks for whose threads are at one place after the other, from its first on.

Where the index moves evenly from thread to thread, and guards let through the first threads of a
block, one address and a number of threads say what all of them ask for.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.models.agreement import agreed
from perfmodel.models.grid.activity import conditions
from perfmodel.models.grid.affine import Plane, Variable, plane
from perfmodel.models.requests.addressing import Addressing


class Even(NamedTuple):
    """A plane, and how far it moves from each thread of a block to the next."""

    plane: Plane
    step: Array

    def columns(self, axes: Sequence[str], scale: int = 1) -> list[Array]:
        """Return its value at the origin, and steps of some block indices and loops and the thread.

        Arrays of launches, so many times as large.
        """
        parts = (self.plane.offset, *(self.plane.strides[name] for name in axes), self.step)
        return [part * scale for part in parts]


def even(a: Addressing, f: Plane, digits: Sequence[Variable] | None = None) -> Even | None:
    """Return a plane as one that moves evenly from thread to thread of a block, if it does.

    Or along other `digits` of a thread's number, the fastest first.
    """
    if not f.affine or not a.shape.regular:
        return None
    if digits is None:
        digits = [v for v in a.variables if v.target.startswith("threadIdx")]
    step, reach = f.strides[digits[0].name], np.ones(1)
    same = np.ones(1, dtype=bool)
    for v in digits:
        same = same & ((f.strides[v.name] == step * reach) | (v.extent <= 1))
        reach = reach * v.extent
    return Even(f, step) if agreed(same) else None


def even_in_warps(a: Addressing, f: Plane) -> Even | None:
    """Return a plane as one that moves evenly from lane to lane, if it does."""
    return even(a, f, [v for v in a.variables if v.in_lane])


def falling_tests(a: Addressing, steps: Callable[..., Even | None] = even) -> list[Even] | None:
    """Return guards as planes above zero that do not rise with the thread, None if some do.

    `steps` is `even`, or `even_in_warps`, where warps are told apart.
    """
    found: list[Even] = []
    tests = conditions(a.guards)
    for test in tests or ():
        each = steps(a, plane(test, a.values, a.variables))
        if each is None or not agreed(each.step <= 0):
            return None
        found.append(each)
    return None if tests is None else found
