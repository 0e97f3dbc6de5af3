"""Instance: a kernel with numbers for its parameters, one configuration or many at once."""

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.arrays import Array
from perfmodel.expressions import Node, Number, evaluate
from perfmodel.kernels.access import DATA_TYPES, ELEMENT_BYTES, Access
from perfmodel.kernels.binding import Binding
from perfmodel.kernels.expansion import condition, expanded
from perfmodel.kernels.kernel import PRECISIONS, Kernel, Pipeline
from perfmodel.kernels.parameter_values import common_shape, parameter_values, plain
from perfmodel.records import record

Integers = int | npt.NDArray[np.int64]
"""An integer, or one for each configuration."""

Numbers = int | float | Array
"""A number, or one for each configuration."""

Dimensions = tuple[Integers, Integers, Integers]

# Launch limits of all compute capabilities since 3.0: CUDA C++ Programming Guide, table "Technical
# Specifications per Compute Capability".
MOST_BLOCKS: Final = (2**31 - 1, 65535, 65535)
MOST_BLOCK_THREADS: Final = (1024, 1024, 64)
MOST_THREADS: Final = 1024
MOST_REGISTERS: Final = 255

MOST_BYTES: Final = 2**48
"""All global buffers together: more than any GPU can address."""

_MOST_SHARED_BYTES: Final = 2**31
MOST_TRIPS: Final = 2**40
_LONG: Final = list(DATA_TYPES).index("uint64")


_OF_PIPELINE: Final = {name: (least, 2**20) for name, least in (
    ("resident", 1), ("parts", 1), ("parts_ns", 0),
)}  # fmt: skip
"""Least and most of what a pipeline states; 0 to `MOST_BYTES` for all else."""


@record(slots=False, eq=False)
class AtomicValues:
    """What kind of atomic an access is."""

    dtype: Integers  # position in `DATA_TYPES`
    # 1 if so, else 0.
    returns: Integers
    aggregated: Integers


@record(slots=False, eq=False)
class PipelineValues:
    """A `Pipeline` in numbers, one for each configuration."""

    tiles: Integers
    launched: Integers
    resident: Integers
    waits: Integers
    parts: Integers
    parts_ns: Integers
    part_bytes: Integers
    result_bytes: Integers
    loaded_bytes: Integers
    loaded_sectors: Integers
    loaded_lines: Integers
    asked_sectors: Integers
    asked_of_one: Integers
    distinct_bytes: Integers
    stored_bytes: Integers


@record(slots=False, eq=False)
class Instance:
    """A kernel with a value for each parameter.

    With numbers for the parameters all values here are Python numbers. If one or more parameters
    are arrays, all values are read-only arrays of `shape`, one element a configuration.
    """

    kernel: Kernel
    shape: tuple[int, ...]  # shape that the parameters broadcast to; () for one configuration
    values: Mapping[str, Integers]  # all parameters, defaults filled in
    # Blocks of the grid and threads of a block, (x, y, z).
    grid: Dimensions
    block: Dimensions
    # Registers of a thread; shared memory of a block [B].
    registers: Integers
    shared_bytes: Integers
    trips: Mapping[str, Integers]  # iterations of each loop, by its variable
    # Elements of each buffer (of each block's copy if shared), and their size [B].
    lengths: Mapping[str, Integers]
    element_bytes: Mapping[str, Integers]
    # Elements a thread moves at once, for each of ``kernel.accesses``.
    vectors: tuple[Integers, ...]
    # What each of them is as an atomic; None for loads and stores.
    atomics: tuple[AtomicValues | None, ...]
    counts: tuple[Numbers, ...]  # instructions of a thread, for each of ``kernel.arithmetic``
    flop: Numbers  # useful floating-point operations of the launch
    loads_in_flight: Numbers | None  # as the kernel states it
    # As the kernel states them; the first two for each of ``kernel.accesses``.
    multicast: tuple[Integers, ...]
    moves: tuple[Integers, ...]
    pipeline: PipelineValues | None = None

    @property
    def precision(self) -> str:
        """Ceiling of the operations, one of `PRECISIONS`: that of the first configuration."""
        for parameter in self.kernel.parameters:
            if parameter.name == self.kernel.precision:
                word = parameter.shown(int(np.ravel(self.values[parameter.name])[0]))
                return str(word) if word in PRECISIONS else f"{word}_tensor"
        return self.kernel.precision

    @property
    def threads_per_block(self) -> Integers:
        """Threads of a block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def blocks(self) -> Integers:
        """Blocks of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def known(self) -> dict[str, Integers]:
        """The value of every name that all threads share: parameters, blockDim and gridDim."""
        return {**self.values, **_sizes(self.block, self.grid)}

    def expression(self, node: Node) -> Node:
        """Return an expression of the kernel with its definitions put in."""
        return expanded(self.kernel, node)

    def condition(self, access: Access) -> Node | None:
        """Return when a thread takes part in an access, with definitions put in; None: always."""
        return condition(self.kernel, access)

    def runs(self, loop: str | None) -> Any:
        """Return how often a loop runs, in those around it, an array of floats; 1 for None."""
        times = np.ones(1)
        for around in self.kernel.loop_nest(loop):
            times = times * np.asanyarray(self.trips[around.variable], dtype=float)
        return times

    def turns(self, loop: str | None) -> Any:
        """Return how often a block goes through a loop until its last warp is done."""
        times = self.runs(loop)
        nest = self.kernel.loop_nest(loop)
        return times * np.asanyarray(self.number(nest[-1].turns), dtype=float) if nest else times

    def number(self, node: Node) -> Numbers:
        """Return the value of an expression that all threads share, of `shape`."""
        value: Numbers = _spread(plain(evaluate(self.expression(node), self.known)), self.shape)
        return value


def bind(kernel: Kernel, values: Mapping[str, npt.ArrayLike] | None = None) -> Instance:
    """Put numbers in for a kernel's parameters.

    `kernel`: the kernel. `values`: an integer, or an array of integers, for each parameter; those
    with a default may be left out. Arrays must broadcast together: they are so many configurations.

    Raises `PerfmodelError` if a parameter is unknown, missing, no integer or out of range; if the
    launch is one that CUDA refuses; or if an expression overflows or makes no sense with these
    values.
    """
    given = parameter_values(kernel, values or {})
    shape = common_shape(kernel, given)
    bound = Binding(kernel, given, shape)
    launch = kernel.launch
    grid, block = _grid_and_block(bound)
    bound.known.update(_sizes(block, grid))
    shared_bytes = bound.whole(launch.shared_bytes, "shared_bytes", 0, _MOST_SHARED_BYTES)
    lengths, sizes = _buffer_sizes(bound, shared_bytes)
    for number, barrier in enumerate(kernel.barriers, 1):
        bound.whole(barrier.count, f"count of barrier {number}", 0, 2**20)
    for pace in kernel.paces:
        bound.number(pace.clocks, "clocks of a pace")
        bound.number(pace.abreast, "abreast of a pace")
    bound.whole(kernel.strands, "strands", 1, 64)
    in_flight = kernel.loads_in_flight

    def spread(table: Mapping[str, Any]) -> Mapping[str, Any]:
        return MappingProxyType({name: _spread(v, shape) for name, v in table.items()})

    def whole(node: Node, what: str, least: int, most: int) -> Any:
        return _spread(bound.whole(node, what, least, most), shape)

    return Instance(
        kernel=kernel,
        shape=shape,
        values=spread(given),
        grid=_three(grid, shape),
        block=_three(block, shape),
        registers=whole(launch.registers, "registers", 1, MOST_REGISTERS),
        shared_bytes=_spread(shared_bytes, shape),
        trips=MappingProxyType(
            {
                loop.variable: whole(loop.trips, f"trips of loop {loop.variable!r}", 0, MOST_TRIPS)
                for loop in kernel.loops
            }
        ),
        lengths=spread(lengths),
        element_bytes=spread(sizes),
        vectors=tuple(
            _spread(bound.vector(access, sizes[access.buffer]), shape) for access in kernel.accesses
        ),
        atomics=tuple(
            _atomic_values(bound, access, sizes[access.buffer], shape) for access in kernel.accesses
        ),
        counts=tuple(
            _spread(bound.number(entry.count, f"count of {entry.pipe!r} arithmetic"), shape)
            for entry in kernel.arithmetic
        ),
        flop=_spread(bound.number(kernel.flop, "flop"), shape),
        loads_in_flight=None
        if in_flight is None
        else whole(in_flight, "loads_in_flight", 1, 2**20),
        multicast=tuple(
            whole(a.multicast, f"multicast of {a.name!r}", 1, 16) for a in kernel.accesses
        ),
        moves=tuple(whole(a.moves, f"moves of {a.name!r}", 0, 2**31) for a in kernel.accesses),
        pipeline=None if kernel.pipeline is None else _pipeline(bound, kernel.pipeline),
    )


def _grid_and_block(bound: Binding) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return blocks and threads along x, y and z, as many as CUDA launches."""
    launch = bound.kernel.launch
    grid, block = (
        tuple(
            bound.whole(node, f"{what} {axis}", 1, most)
            for node, axis, most in zip(nodes, "xyz", limits, strict=True)
        )
        for what, nodes, limits in (
            ("grid", launch.grid, MOST_BLOCKS),
            ("block", launch.block, MOST_BLOCK_THREADS),
        )
    )
    threads = block[0] * block[1] * block[2]
    bound.check(threads, "threads of a block", 1, MOST_THREADS, "make the block smaller")
    return grid, block


def _buffer_sizes(bound: Binding, shared_bytes: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the length and the element size [B] of each buffer, which fit together."""
    buffers = bound.kernel.buffers
    lengths = {
        b.name: bound.whole(b.length, f"length of buffer {b.name!r}", 0, MOST_BYTES)
        for b in buffers
    }
    sizes = {
        b.name: bound.whole(
            b.element_bytes, f"element_bytes of buffer {b.name!r}", 1, max(ELEMENT_BYTES)
        )
        for b in buffers
    }
    for space, most in (("global", MOST_BYTES), ("shared", shared_bytes)):
        total = sum(lengths[b.name] * sizes[b.name] for b in buffers if b.space == space)
        shared = "raise shared_bytes of [launch], which is 0 if left out"
        remedy = shared if space == "shared" else "make them smaller"
        bound.check(total, f"bytes of all {space} buffers", 0, most, remedy)
    return lengths, sizes


def _atomic_values(
    bound: Binding, access: Access, size: Any, shape: tuple[int, ...]
) -> AtomicValues | None:
    if access.kind != "atomic":
        return None
    what = f"of the atomic {access.name or access.buffer!r}"

    def flag(value: bool | Node, name: str) -> Any:
        return int(value) if isinstance(value, bool) else bound.whole(value, f"{name} {what}", 0, 1)

    sizes = np.array(list(DATA_TYPES.values()))
    if access.dtype is None:
        dtype = np.where(np.asanyarray(size) == 8, _LONG, 0)
    else:
        dtype = np.asanyarray(bound.whole(access.dtype, f"dtype {what}", 0, len(sizes) - 1))
        # Several small elements may make one of the type, or a vector of it.
        alone = access.vector == Number(1)
        bound.check(
            size if alone else sizes[dtype],
            f"element_bytes of buffer {access.buffer!r}, for the dtype {what},",
            sizes[dtype],
            sizes[dtype],
            "make them the size of the dtype",
        )
    return AtomicValues(
        dtype=_spread(dtype, shape) if shape else int(dtype),
        returns=_spread(flag(access.returns, "returns"), shape),
        aggregated=_spread(flag(access.aggregated, "aggregated"), shape),
    )


def _pipeline(bound: Binding, stated: Pipeline) -> PipelineValues:
    found = {}
    for name in (f.name for f in fields(PipelineValues)):
        low, high = _OF_PIPELINE.get(name, (0, MOST_BYTES))
        value = bound.whole(getattr(stated, name), f"pipeline {name}", low, high)
        found[name] = _spread(value, bound.shape)
    return PipelineValues(**found)


def _spread(value: Any, shape: tuple[int, ...]) -> Any:
    return np.broadcast_to(value, shape) if shape else value


def _three(values: tuple[Any, ...], shape: tuple[int, ...]) -> Dimensions:
    x, y, z = (_spread(value, shape) for value in values)
    return x, y, z


def _sizes(block: tuple[Any, ...], grid: tuple[Any, ...]) -> dict[str, Any]:
    """Return what blockDim and gridDim are."""
    return {
        f"{base}.{axis}": value
        for base, sizes in (("blockDim", block), ("gridDim", grid))
        for axis, value in zip("xyz", sizes, strict=True)
    }
