"""A launch as it is emulated: its blocks, special registers, parameters and buffers."""

import zlib
from collections.abc import Callable, Iterable, Mapping
from math import prod
from operator import floordiv, mod
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.cuda.addresses.clusters import cluster_registers
from perfmodel.cuda.addresses.launch import UNSIZED, KernelLaunch, coordinates, field_name
from perfmodel.cuda.emulate.machine import LANES, SMS, Machine
from perfmodel.cuda.emulate.memory import LOCAL_BASE, SHARED_BASE, WORKSPACE, Memory, Region
from perfmodel.cuda.emulate.reuse import MOST_BLOCKS
from perfmodel.cuda.emulate.values import dtype_of
from perfmodel.cuda.launch.content import TYPES
from perfmodel.cuda.launch.spec import Buffer
from perfmodel.cuda.parse.syntax import Function, Module, Variable
from perfmodel.expressions.mixing import mixed_arrays
from perfmodel.records import record

MOST_LOCAL: Final = 1 << 22
"""Bytes of local memory of all emulated lanes, unless one block has more."""


@record
class EmulatedLaunch:
    """What a launch is emulated with."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int  # dynamic shared memory [B]
    parameters: Mapping[str, bytes]  # what each parameter holds, but for pointers
    buffers: Mapping[str, Region]  # what pointers point to, by parameter


def emulated_launch(
    launch: KernelLaunch, function: Function, below: int | None = None
) -> EmulatedLaunch:
    """Return what a kernel is emulated with.

    Integers of which nobody states the content are below `below`.
    """
    parameters: dict[str, bytes] = {}
    buffers: dict[str, Region] = {}
    for p in function.parameters:
        name = launch.shown.get(p.name, p.name)
        if p.name in launch.structures:
            parameters[p.name] = launch.structures[p.name].data
            for at in launch.fields.get(p.name, ()):
                key, readable = field_name(p.name, at), f"{name}-at-{at}"
                buffers[key] = _region(readable, launch.buffers.get(key))
        elif p.name in launch.values:
            parameters[p.name] = _bytes(launch.values[p.name], p.type, p.size)
        elif p.name in launch.pointers:
            buffers[p.name] = _region(name, launch.buffers.get(p.name))
    for region in buffers.values():
        region.below = below
    return EmulatedLaunch(launch.grid, launch.block, launch.shared_bytes, parameters, buffers)


def _bytes(value: int | float, kind: str, size: int) -> bytes:
    dtype = dtype_of(kind)
    if (dtype is not None and dtype.kind == "f") or isinstance(value, float):
        return np.asarray(value, dtype=f"f{size}" if size in (2, 4, 8) else "f8").tobytes()
    return (int(value) & (1 << 8 * size) - 1).to_bytes(size, "little")


def _region(name: str, buffer: Buffer | None) -> Region:
    """Return a buffer with its content: recipes that need no order are made where they are read."""
    if buffer is None:
        return Region(name, UNSIZED, sized=False)
    if buffer.npy is None and buffer.fill in ("zeros", "uniform", "index"):
        assert buffer.dtype is not None
        recipe = _recipe(name, buffer)
        return Region(name, buffer.bytes, generated=recipe, assumed=buffer.assumed)
    content = buffer.content(name)
    if content is not None:
        content = np.ascontiguousarray(content).reshape(-1).view(np.uint8)
    return Region(name, buffer.bytes, content=content, assumed=buffer.assumed)


def _recipe(name: str, buffer: Buffer) -> Callable[[Array, int], Array]:
    """Return what a buffer of a recipe holds at some offsets, as unsigned integers."""
    dtype = TYPES[buffer.dtype or "u8"]
    salt = np.int64(zlib.crc32(name.encode())) << np.int64(24)
    below = buffer.below or (
        min(int(np.iinfo(dtype).max), 2**62) if dtype.kind in "iu" else 1 << 24
    )

    def element(index: Array) -> Array:
        if buffer.fill == "zeros":
            return np.zeros(len(index), dtype=dtype)
        if buffer.fill == "index":
            return (index * buffer.step).astype(dtype)
        drawn = mixed_arrays(index + salt, np.asarray(below))
        if dtype.kind == "f":
            return (drawn / float(below)).astype(dtype)
        return drawn.astype(dtype)

    def read(offset: Array, width: int) -> Array:
        size = dtype.itemsize
        whole = np.dtype(f"u{width}")
        if width == size:
            return element(offset // size).view(whole)
        if width > size:  # several elements at once
            parts = [element(offset // size + i) for i in range(width // size)]
            stacked = np.ascontiguousarray(np.stack(parts, axis=1))
            return stacked.view(whole).reshape(-1)
        bits = element(offset // size).view(np.dtype(f"u{size}"))
        return np.asarray((bits >> (8 * (offset % size)).astype(bits.dtype)).astype(whole))

    return read


@record
class Sample:
    """The blocks of a launch that are emulated, and their lanes."""

    blocks: int  # of the launch
    numbers: Array  # of the blocks that are emulated
    padded: int  # lanes of a block, in whole warps
    # Of each lane: its block's place in `numbers`, and its thread in the block.
    block_of: Array
    thread: Array
    inside: Array  # lanes that are threads

    @property
    def lanes(self) -> int:
        """Lanes of all emulated blocks."""
        return len(self.numbers) * self.padded


def sample_lanes(function: Function, launch: EmulatedLaunch, lanes: int) -> Sample:
    """Return which blocks are emulated, for about so many lanes; one block at least."""
    threads = prod(launch.block)
    padded = -(-threads // LANES) * LANES
    # What all lanes have in local memory is to stay in this machine's caches.
    lanes = min(lanes, MOST_LOCAL // max(local_bytes(function, {}), 1))
    blocks = prod(launch.grid)
    numbers = sampled_blocks(blocks, max(1, lanes // padded))
    thread = np.tile(np.arange(padded), len(numbers))
    block_of = np.repeat(np.arange(len(numbers)), padded)
    return Sample(blocks, numbers, padded, block_of, thread, thread < threads)


def sampled_blocks(blocks: int, most: int) -> Array:
    """Return numbers of blocks, spread evenly, each at random in its stretch; all if few.

    The first are neighbours, as many as are followed closely.
    """
    if blocks <= most:
        return np.arange(blocks)
    edges = np.linspace(0, blocks, most + 1)
    random = np.random.default_rng(0).random(most)
    found = np.floor(edges[:-1] + random * np.diff(edges)).astype(np.int64)
    if most > MOST_BLOCKS:
        first = found[0] // MOST_BLOCKS * MOST_BLOCKS
        found[:MOST_BLOCKS] = first + np.arange(MOST_BLOCKS)
    return found


def special_registers(
    function: Function, launch: EmulatedLaunch, thread: Array, block: Array
) -> dict[str, Array]:
    """Return the special registers of all lanes."""
    lane = thread % LANES
    one = np.int64(1) << lane
    found: dict[str, Any] = {
        **coordinates("%tid", thread, launch.block),
        **coordinates("%ctaid", block, launch.grid),
        "%laneid": lane,
        "%warpid": thread // LANES,
        "%lanemask_eq": one,
        "%lanemask_lt": one - 1,
        "%lanemask_le": 2 * one - 1,
        "%lanemask_ge": (1 << 32) - one,
        "%lanemask_gt": (1 << 32) - 2 * one,
        **{f"%ntid.{axis}": n for axis, n in zip("xyz", launch.block, strict=True)},
        **{f"%nctaid.{axis}": n for axis, n in zip("xyz", launch.grid, strict=True)},
        "%nwarpid": -(-prod(launch.block) // LANES),
        "WARP_SZ": LANES,
        "%dynamic_smem_size": launch.shared_bytes,
        "%envreg1": WORKSPACE,
        "%envreg2": 0,
        "%smid": block % SMS,
        "%nsmid": SMS,
    }
    by = {"//": floordiv, "%": mod}
    # A GPU is chosen later: `run_notes` says what is taken of its SMs.
    found |= cluster_registers(function, found, lambda how, a, n: by[how](a, n), int)
    return {name: np.full(len(thread), value).astype(np.uint32) for name, value in found.items()}


def laid_out(
    module: Module, function: Function, launch: EmulatedLaunch, sample: Sample
) -> tuple[list[Region], Machine]:
    """Return the buffers, and a machine whose lanes are about to begin."""
    regions, symbols, parameters = _buffers(module, function, launch)
    shared = shared_bytes(module, function, symbols, launch.shared_bytes)
    local = local_bytes(function, symbols)
    memory = Memory(regions, shared, local, sample.block_of)
    specials = special_registers(function, launch, sample.thread, sample.numbers[sample.block_of])
    machine = Machine(function, memory, specials, symbols, parameters, sample.lanes)
    machine.others = sample.blocks / len(sample.numbers)
    return regions, machine


def _buffers(
    module: Module, function: Function, launch: EmulatedLaunch
) -> tuple[list[Region], dict[str, int], dict[str, bytes]]:
    """Return the buffers, addresses of variables, and what the parameters hold."""
    regions: list[Region] = []
    symbols: dict[str, int] = {}
    parameters = dict(launch.parameters)
    for name, region in launch.buffers.items():
        pointer = Memory.base(len(regions)).to_bytes(8, "little")
        whole, field, at = name.partition("+")
        held = parameters.get(whole)
        if field and held is not None:
            parameters[whole] = held[: int(at)] + pointer + held[int(at) + len(pointer) :]
        else:
            parameters[name] = pointer
        regions.append(region)
    for p in function.parameters:
        if p.count is not None:  # its address may be taken
            symbols[p.name] = Memory.base(len(regions))
            content = np.frombuffer(parameters.get(p.name, b"").ljust(p.size, b"\0"), np.uint8)
            regions.append(Region(p.name, max(p.size, 1), content=content))
    for variable in (*module.variables, *function.variables):
        if variable.space in ("global", "const"):
            symbols[variable.name] = Memory.base(len(regions))
            regions.append(_variable(variable))
    return regions, symbols, parameters


def _variable(variable: Variable) -> Region:
    """Return a variable in global or constant memory, with its initial values."""
    size = max(variable.size or 0, 1)
    content = np.zeros(size, dtype=np.uint8)
    dtype = dtype_of(variable.type)
    if variable.values and dtype is not None:
        numbers = [v if isinstance(v, int | float) else 0 for v in variable.values]
        if dtype.kind in "iu":
            mask = (1 << 8 * dtype.itemsize) - 1
            numbers = [int(v) & mask for v in numbers]
            dtype = np.dtype(f"u{dtype.itemsize}")
        made = np.array(numbers, dtype=dtype).view(np.uint8)
        content[: min(size, len(made))] = made[:size]
    return Region(variable.name, size, content=content)


def shared_bytes(module: Module, function: Function, symbols: dict[str, int], dynamic: int) -> int:
    """Give shared variables their addresses; return the bytes of a block."""
    shared = [v for v in (*module.variables, *function.variables) if v.space == "shared"]
    used = _addresses((v for v in shared if v.size is not None), SHARED_BASE, symbols)
    used += -used % 16
    symbols |= {v.name: used for v in shared if v.size is None}
    return used - SHARED_BASE + dynamic


def local_bytes(function: Function, symbols: dict[str, int]) -> int:
    """Give local variables their addresses; return the bytes of a thread."""
    local = (v for v in function.variables if v.space == "local")
    return _addresses(local, LOCAL_BASE, symbols) - LOCAL_BASE


def _addresses(variables: Iterable[Variable], used: int, symbols: dict[str, int]) -> int:
    """Give variables their addresses, one behind the other; return where the last ends."""
    for variable in variables:
        used += -used % max(variable.alignment, 1)
        symbols[variable.name] = used
        used += variable.size or 0
    return used
