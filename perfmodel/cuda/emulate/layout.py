"""How an emulated launch begins: its blocks, special registers, buffers and variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.cuda.emulate.machine import LANES, Machine
from perfmodel.cuda.emulate.memory import LOCAL_BASE, SHARED_BASE, WORKSPACE, Memory, Region
from perfmodel.cuda.emulate.reuse import MOST_BLOCKS
from perfmodel.cuda.parse.syntax import Function, Module, Variable

Array = npt.NDArray[Any]


MOST_LOCAL: Final = 1 << 22
"""Bytes of local memory of all emulated lanes, unless one block has more."""


@dataclass(frozen=True, slots=True)
class EmulatedLaunch:
    """What a launch is emulated with."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    """Dynamic shared memory [B]."""
    parameters: Mapping[str, bytes]
    """What each parameter holds, but for pointers."""
    buffers: Mapping[str, Region]
    """What pointers point to, by parameter."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The blocks of a launch that are emulated, and their lanes."""

    blocks: int
    """Of the launch."""
    numbers: Array
    """Of the blocks that are emulated."""
    padded: int
    """Lanes of a block, in whole warps."""
    block_of: Array
    thread: Array
    """Of each lane: its block's place in `numbers`, and its thread in the block."""
    inside: Array
    """Lanes that are threads."""

    @property
    def lanes(self) -> int:
        """Lanes of all emulated blocks."""
        return len(self.numbers) * self.padded


def sample_lanes(function: Function, launch: EmulatedLaunch, lanes: int) -> Sample:
    """Return which blocks are emulated, for about so many lanes; one block at least."""
    x, y, z = launch.block
    threads = x * y * z
    padded = -(-threads // LANES) * LANES
    # What all lanes have in local memory is to stay in this machine's caches.
    lanes = min(lanes, MOST_LOCAL // max(local_bytes(function, {}), 1))
    blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
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


def special_registers(launch: EmulatedLaunch, thread: Array, block: Array) -> dict[str, Array]:
    """Return the special registers of all lanes."""
    x, y, z = launch.block
    gx, gy, _ = launch.grid
    size = len(thread)

    def every(value: int) -> Array:
        return np.full(size, value, dtype=np.uint32)

    found = {
        "%tid.x": thread % x,
        "%tid.y": thread // x % y,
        "%tid.z": thread // (x * y) % z,
        "%ctaid.x": block % gx,
        "%ctaid.y": block // gx % gy,
        "%ctaid.z": block // (gx * gy),
        "%laneid": thread % LANES,
        "%warpid": thread // LANES,
        "%lanemask_eq": np.int64(1) << thread % LANES,
        "%lanemask_lt": (np.int64(1) << thread % LANES) - 1,
        "%lanemask_le": (np.int64(2) << thread % LANES) - 1,
        "%lanemask_ge": (1 << 32) - (np.int64(1) << thread % LANES),
        "%lanemask_gt": (1 << 32) - (np.int64(2) << thread % LANES),
    }
    arrays = {name: value.astype(np.uint32) for name, value in found.items()}
    sizes = {"%ntid": launch.block, "%nctaid": launch.grid}
    for name, three in sizes.items():
        arrays |= {f"{name}.{a}": every(n) for a, n in zip("xyz", three, strict=True)}
    arrays["%nwarpid"] = every(-(-x * y * z // LANES))
    arrays["WARP_SZ"] = every(LANES)
    arrays["%dynamic_smem_size"] = every(launch.shared_bytes)
    arrays |= {"%envreg1": every(WORKSPACE), "%envreg2": every(0)}
    return arrays


def laid_out(
    module: Module, function: Function, launch: EmulatedLaunch, sample: Sample
) -> tuple[list[Region], Machine]:
    """Return the buffers, and a machine whose lanes are about to begin."""
    regions, symbols, parameters = _buffers(module, function, launch)
    shared = shared_bytes(module, function, symbols, launch.shared_bytes)
    local = local_bytes(function, symbols)
    memory = Memory(regions, shared, local, sample.block_of)
    specials = special_registers(launch, sample.thread, sample.numbers[sample.block_of])
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
    kinds = {"b": "u", "u": "u", "s": "i", "f": "f"}
    kind = variable.type
    if variable.values and kind[:1] in kinds and kind[1:] in ("8", "16", "32", "64"):
        numbers = [v if isinstance(v, int | float) else 0 for v in variable.values]
        dtype = np.dtype(f"{kinds[kind[:1]]}{int(kind[1:]) // 8}")
        if dtype.kind in "iu":
            mask = (1 << 8 * dtype.itemsize) - 1
            whole = np.dtype(f"u{dtype.itemsize}")
            made = np.array([int(v) & mask for v in numbers], dtype=whole).view(np.uint8)
        else:
            made = np.array(numbers, dtype=dtype).view(np.uint8)
        content[: min(size, len(made))] = made[:size]
    return Region(variable.name, size, content=content)


def shared_bytes(module: Module, function: Function, symbols: dict[str, int], dynamic: int) -> int:
    """Give shared variables their addresses; return the bytes of a block."""
    used = SHARED_BASE
    later = []
    for variable in (*module.variables, *function.variables):
        if variable.space != "shared":
            continue
        if variable.size is None:
            later.append(variable)
            continue
        used += -used % max(variable.alignment, 1)
        symbols[variable.name] = used
        used += variable.size
    used += -used % 16
    for variable in later:
        symbols[variable.name] = used
    return used - SHARED_BASE + dynamic


def local_bytes(function: Function, symbols: dict[str, int]) -> int:
    """Give local variables their addresses; return the bytes of a thread."""
    used = LOCAL_BASE
    for variable in function.variables:
        if variable.space == "local":
            used += -used % max(variable.alignment, 1)
            symbols[variable.name] = used
            used += variable.size or 0
    return used - LOCAL_BASE
