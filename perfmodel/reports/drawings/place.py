"""Which part of a launch a picture shows: a warp of a block, at some iteration of its loops."""

from collections.abc import Mapping, Sequence
from dataclasses import field

from perfmodel.errors import PerfmodelError
from perfmodel.kernels import Instance
from perfmodel.kernels.kernel import Loop
from perfmodel.models.grid.geometry import AXES
from perfmodel.records import record


@record
class Place:
    """A warp of a block, at some iteration of its loops."""

    block: tuple[int, int, int] = (0, 0, 0)  # blockIdx.x, .y and .z
    warp: int | None = None  # None: the first of the block with a lane that takes part
    # iterations by the loops' variables; those left out are 0
    loops: Mapping[str, int] = field(default_factory=dict)


def check_place(instance: Instance, place: Place, nest: Sequence[Loop]) -> None:
    """Refuse a block, or an iteration of the loops in `nest`, that a launch does not have.

    Raises `PerfmodelError` if it has no such block, loop or iteration.
    """
    blocks = (f"blockIdx.{axis}" for axis in AXES)
    asked = [*zip(blocks, place.block, map(int, instance.grid), strict=True)]
    trips = {loop.variable: int(instance.trips[loop.variable]) for loop in nest}
    for name, value in place.loops.items():
        if name not in trips:
            listed = ", ".join(trips)
            there = f"there are {listed}" if listed else "there is none"
            raise PerfmodelError(f"--at {name}: no such loop around this access; {there}")
        asked.append((name, value, trips[name]))
    for name, value, most in asked:
        if not 0 <= value < most:
            raise PerfmodelError(f"--at {name} must be 0 to {most - 1} in this launch, not {value}")
