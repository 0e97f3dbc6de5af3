"""A stated launch as the emulator runs it: bytes of the parameters, content of the buffers."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from perfmodel.cuda.addresses.launch import UNSIZED, KernelLaunch, field_name
from perfmodel.cuda.emulate.layout import EmulatedLaunch
from perfmodel.cuda.emulate.memory import Region
from perfmodel.cuda.emulate.values import dtype_of
from perfmodel.cuda.launch.content import TYPES
from perfmodel.cuda.launch.spec import Buffer
from perfmodel.cuda.parse.syntax import Function
from perfmodel.expressions.mixing import mixed_arrays

Array = npt.NDArray[Any]


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
                buffers[key] = _buffer(readable, launch.buffers.get(key))
        elif p.name in launch.values:
            parameters[p.name] = _bytes(launch.values[p.name], p.type, p.size)
        elif p.name in launch.pointers:
            buffers[p.name] = _buffer(name, launch.buffers.get(p.name))
    for region in buffers.values():
        region.below = below
    return EmulatedLaunch(launch.grid, launch.block, launch.shared_bytes, parameters, buffers)


def _buffer(name: str, buffer: Buffer | None) -> Region:
    return Region(name, UNSIZED, sized=False) if buffer is None else _region(name, buffer)


def _bytes(value: int | float, kind: str, size: int) -> bytes:
    dtype = dtype_of(kind)
    if (dtype is not None and dtype.kind == "f") or isinstance(value, float):
        return np.asarray(value, dtype=f"f{size}" if size in (2, 4, 8) else "f8").tobytes()
    return (int(value) & (1 << 8 * size) - 1).to_bytes(size, "little")


def _region(name: str, buffer: Buffer) -> Region:
    """Return a buffer with its content: recipes that need no order are made where they are read."""
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
