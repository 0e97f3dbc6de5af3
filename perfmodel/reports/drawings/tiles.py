"""What a block of a matrix product works on: its tile of C, and what it takes of A and B in a step.

Which elements these are is read off the kernel's index expressions, thread by thread.
"""

import math
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.errors import PerfmodelError
from perfmodel.kernels import Instance
from perfmodel.kernels.kernel import Loop
from perfmodel.models.grid.geometry import AXES, block_shape
from perfmodel.models.requests.addressing import addressing
from perfmodel.models.requests.patterns import addresses_at
from perfmodel.prediction import Prediction
from perfmodel.records import record
from perfmodel.reports import units
from perfmodel.reports.drawings.place import Place, check_place

Runs = tuple[tuple[int, int], ...]
"""Whole numbers as runs: from the first up to, and without, the second."""
_MOST: Final = 1 << 22
"""Elements of a block's part that are enumerated."""


@record
class Part:
    """Some rows of a matrix by some of its columns."""

    rows: Runs
    columns: Runs

    @property
    def height(self) -> int:
        """How many rows."""
        return sum(stop - start for start, stop in self.rows)

    @property
    def width(self) -> int:
        """How many columns."""
        return sum(stop - start for start, stop in self.columns)

    @property
    def size(self) -> str:
        """Rows by columns: ``"128 x 8"``."""
        return f"{self.height} x {self.width}"

    def to_json(self) -> dict[str, Any]:
        """Return it as an object."""
        return {"rows": [list(r) for r in self.rows], "columns": [list(c) for c in self.columns]}


@record
class BlockTiles:
    """What one block of C = A B works on, of A with M rows and B with N columns."""

    kernel: str
    sizes: tuple[int, int, int]  # M, N and K
    block: tuple[int, int, int]
    # step and steps: which step along K is shown, and how many there are
    step: int
    steps: int
    element_bytes: int  # of A and B
    # a and b: what the block loads in the step
    a: Part
    b: Part
    c: Part  # the block's tile of C
    # warp and thread: what a warp and its first thread make of it; None where the description does
    # not say who makes what, as of tensor cores' products
    warp: Part | None
    thread: Part | None
    stages: int  # steps whose tiles shared memory holds; 0 of a kernel that keeps no tiles

    @property
    def step_bytes(self) -> int:
        """Bytes of A and B that a block loads in a step, each element once [B]."""
        elements = self.a.height * self.a.width + self.b.height * self.b.width
        return elements * self.element_bytes

    @property
    def step_flop(self) -> int:
        """Operations of a block in a step [FLOP]."""
        return 2 * self.c.height * self.c.width * self.a.width

    @property
    def text(self) -> str:
        """The numbers as sentences."""
        parts = [f"a block makes {self.c.size} of C"]
        if self.warp is not None and self.thread is not None:
            parts += [f"a warp {self.warp.size}", f"a thread {self.thread.size}"]
        reuse = units.number(self.step_flop / self.step_bytes)
        return (
            f"{', '.join(parts)}; in each of {units.several(self.steps, 'step')} it needs "
            f"{self.a.size} of A and {self.b.size} of B, {units.capacity(self.step_bytes)} for "
            f"{units.count(self.step_flop)} FLOP: {reuse} FLOP/B"
        )

    def to_json(self) -> dict[str, Any]:
        """Return it as the object ``perfmodel.draw.tiles/1``."""
        parts = {"a": self.a, "b": self.b, "c": self.c, "warp": self.warp, "thread": self.thread}
        return {
            "schema": "perfmodel.draw.tiles/1",
            "kernel": self.kernel,
            **dict(zip(("M", "N", "K"), self.sizes, strict=True)),
            "block": list(self.block),
            "step": self.step,
            "steps": self.steps,
            "stages": self.stages,
            **{name: part.to_json() if part else None for name, part in parts.items()},
            "bytes_per_step": self.step_bytes,
            "flop_per_step": self.step_flop,
        }


def is_product(prediction: Prediction) -> bool:
    """Say whether a launch is one of C = A B as kernel files describe it."""
    instance = prediction.details.instance
    made = {(r.access.kind, r.access.buffer) for r in prediction.details.requests}
    wanted = {("load", "A"), ("load", "B"), ("store", "C")}
    return {"M", "N", "K"} <= instance.values.keys() and wanted <= made


def block_tiles(prediction: Prediction, place: Place | None = None) -> BlockTiles:
    """Return what a block of a matrix product works on in a step along K.

    Raises `PerfmodelError` if the launch is no matrix product, or has no such block, warp or step.
    """
    name = prediction.label
    if not is_product(prediction):
        raise PerfmodelError(
            f"{name} is no matrix product: tiles are drawn of kernels with parameters M, N and K "
            "that load A and B and store C, such as gemm"
        )
    instance, place = prediction.details.instance, place or Place()
    nest = _nest(instance, "A")
    check_place(instance, place, nest[:1])
    step = next(iter(place.loops.values()), 0)
    m, n, k = (_whole(instance.values[size]) for size in "MNK")
    ours = _Elements(instance, place.block, step)
    c, of_c = ours.of("C")
    tile = _part(name, "C", *np.divmod(c[of_c] % (m * n), n))
    a, of_a = ours.of("A")
    rows, depth = np.divmod(a[of_a] % (m * k), k)
    of_step = _part(name, "A", rows, depth)
    warps = (
        (None, None) if instance.kernel.pipeline else _of_warp(name, (c, of_c), place.warp or 0, n)
    )
    return BlockTiles(
        kernel=name,
        sizes=(m, n, k),
        block=place.block,
        step=step,
        steps=ours.steps("A"),
        element_bytes=_whole(instance.element_bytes["A"]),
        a=of_step,
        b=_part_of_b(name, ours, (m, n, k), of_step.width, tile),
        c=tile,
        warp=warps[0],
        thread=warps[1],
        stages=_stages(instance),
    )


@record
class _Elements:
    """The elements of matrices that a block touches in a step of its outermost loop."""

    instance: Instance
    block: tuple[int, int, int]
    step: int

    def of(self, buffer: str, further: int = 0) -> tuple[Array, Array]:
        """Return elements, and which threads take part: arrays by execution, warp and lane."""
        kernel = self.instance.kernel
        kind = "store" if buffer == "C" else "load"
        position = next(
            i for i, a in enumerate(kernel.accesses) if (a.kind, a.buffer) == (kind, buffer)
        )
        nest = [loop.variable for loop in kernel.loop_nest(kernel.accesses[position].loop)]
        trips = [_whole(self.instance.trips[variable]) for variable in nest]
        at = {f"blockIdx.{axis}": n for axis, n in zip(AXES, self.block, strict=True)}
        if kind == "load" and nest:
            at[nest.pop(0)], trips = self.step + further, trips[1:]
        shape = block_shape(tuple(_whole(n) for n in self.instance.block))  # type: ignore[arg-type]
        if math.prod(trips) * shape.threads > _MOST:
            raise PerfmodelError(f"a block touches too much of {buffer} for a picture")
        inner = np.unravel_index(np.arange(math.prod(trips)), trips or (1,))
        points = dict(zip(nest, inner, strict=False))
        points |= {name: np.full(math.prod(trips), value) for name, value in at.items()}
        asked = addressing(self.instance, position, shape)
        address, active = addresses_at(asked, points)
        moved = np.arange(asked.width * asked.pieces // asked.element)
        element = address[..., None] // asked.element + moved
        return element, np.broadcast_to(active[..., None], element.shape)

    def steps(self, buffer: str) -> int:
        """Return the turns of the outermost loop around a load."""
        nest = _nest(self.instance, buffer)
        return _whole(self.instance.trips[nest[0].variable]) if nest else 1

    def moved_on(self) -> int | None:
        """Return by how many elements the load of B goes on with a step; None if there is one."""
        steps = self.steps("B")
        if steps < 2:
            return None
        (here, active), (there, later) = (
            self.of("B"),
            self.of("B", -1 if self.step + 1 == steps else 1),
        )
        both = active & later
        return int(np.abs(there - here)[both].max()) if both.any() else None


def _nest(instance: Instance, buffer: str) -> tuple[Loop, ...]:
    """Return the loops around the load of a matrix, outermost first."""
    kernel = instance.kernel
    access = next(a for a in kernel.accesses if (a.kind, a.buffer) == ("load", buffer))
    return kernel.loop_nest(access.loop)


def _part_of_b(
    name: str, ours: _Elements, sizes: tuple[int, int, int], depth: int, c: Part
) -> Part:
    """Return the part of B, which is stored as K rows of N, or as N rows of K."""
    _, n, k = sizes
    b, active = ours.of("B")
    b = b[active] % (n * k)
    by_rows, by_columns = np.divmod(b, n), np.divmod(b, k)[::-1]
    further = ours.moved_on()
    if further is None:  # then by whether its columns are those of C, all of every row
        likely = _runs(by_rows[1]) == c.columns and _is_rectangle(*by_rows)
        return _part(name, "B", *(by_rows if likely else by_columns))
    return _part(name, "B", *(by_columns if further == depth else by_rows))


def _part(name: str, buffer: str, rows: Array, columns: Array) -> Part:
    """Return elements as rows by columns."""
    if not len(rows):
        raise PerfmodelError(
            f"{name}: this block takes nothing of {buffer} here; choose another with --at"
        )
    if not _is_rectangle(rows, columns):
        raise PerfmodelError(
            f"{name}: what a block takes of {buffer} is no rectangle of rows and columns, so there "
            "are no tiles to draw"
        )
    return Part(_runs(rows), _runs(columns))


def _is_rectangle(rows: Array, columns: Array) -> bool:
    """Say whether elements are some rows by some columns, all of them."""
    places = len(np.unique(np.stack([rows, columns]), axis=1).T)
    return places == len(np.unique(rows)) * len(np.unique(columns))


def _runs(numbers: Array) -> Runs:
    """Return distinct numbers as runs."""
    ordered = np.unique(numbers)
    if not len(ordered):
        return ()
    breaks = np.flatnonzero(np.diff(ordered) > 1) + 1
    return tuple((int(run[0]), int(run[-1]) + 1) for run in np.split(ordered, breaks))


def _of_warp(
    name: str, c: tuple[Array, Array], warp: int, columns: int
) -> tuple[Part | None, Part | None]:
    """Return what a warp makes of C, and its first thread that makes any."""
    element, active = c
    if not 0 <= warp < element.shape[1]:
        raise PerfmodelError(
            f"--at warp must be 0 to {element.shape[1] - 1} in this launch, not {warp}"
        )
    lanes = np.flatnonzero(active[:, warp].any(axis=(0, 2)))
    if not len(lanes):
        raise PerfmodelError(f"warp {warp} of this block makes nothing of C: choose another, --at")
    parts = []
    for some in (slice(None), slice(lanes[0], lanes[0] + 1)):
        mine = element[:, warp, some][active[:, warp, some]]
        parts.append(_part(name, "C", *np.divmod(mine, columns)))
    return parts[0], parts[1]


def _stages(instance: Instance) -> int:
    """Return how many steps' tiles shared memory holds."""
    shared = any(b.space == "shared" for b in instance.kernel.buffers)
    if "stages" in instance.values:
        return _whole(instance.values["stages"])
    return 1 if shared else 0


def _whole(value: Any) -> int:
    return int(np.ravel(value)[0])
