"""Launches the kernels of launches.json, each between start and stop of a profiler.

    python3 ../../../drive.py FIRST MARKER

in a session's folder of programs, beside their cubins, begins at launch FIRST and keeps the number
of the one at work in the file MARKER, so that a launch that fails can be left out by whoever starts
it again. Buffers that state no fill hold floats in [0, 1).
"""

from __future__ import annotations

import base64
import ctypes
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

CUDA = ctypes.CDLL("libcuda.so.1")
TYPES: dict[str, Any] = {
    "u8": np.uint8,
    "i32": np.int32,
    "u32": np.uint32,
    "f32": np.float32,
    "f64": np.float64,
    "u64": np.uint64,
}
UNSTATED = 1 << 30  # bytes of a buffer whose size is not stated
RANDOM = np.random.default_rng(0)
FLOATS = RANDOM.random(1 << 24, dtype=np.float32)


def checked(error: int, what: str = "") -> None:
    """End at once if a call failed: nothing works after it."""
    if error:
        print("error", error, what, flush=True)
        os._exit(3)


def allocated(size: int) -> ctypes.c_uint64:
    """Return the address of so many bytes."""
    found = ctypes.c_uint64()
    checked(CUDA.cuMemAlloc_v2(ctypes.byref(found), ctypes.c_size_t(max(size, 1) + 4096)), "memory")
    return found


def put(address: ctypes.c_uint64, values: Any) -> None:
    """Copy an array to the GPU."""
    values = np.ascontiguousarray(values)
    place = values.ctypes.data_as(ctypes.c_void_p)
    checked(CUDA.cuMemcpyHtoD_v2(address, place, ctypes.c_size_t(values.nbytes)))


def fill(address: ctypes.c_uint64, size: int, stated: dict[str, Any], floats: Any) -> None:
    """Fill a buffer as stated, or with floats."""
    if "fill" in stated:
        kind = np.dtype(TYPES[stated["dtype"]])
        count = size // kind.itemsize
        if stated["fill"] == "index":
            put(address, (np.arange(count) * stated.get("step", 1)).astype(kind))
        else:
            put(address, RANDOM.integers(0, stated["below"], count).astype(kind))
        return
    for at in range(0, size, FLOATS.nbytes):
        part = ctypes.c_size_t(min(FLOATS.nbytes, size - at))
        checked(CUDA.cuMemcpyDtoD_v2(ctypes.c_uint64(address.value + at), floats, part))


def arguments(launch: dict[str, Any], floats: Any) -> tuple[list[Any], list[ctypes.c_uint64]]:
    """Return a launch's arguments, and the buffers among them."""
    buffers: list[ctypes.c_uint64] = []
    found: list[Any] = []

    def buffer(size: int, stated: dict[str, Any]) -> ctypes.c_uint64:
        buffers.append(allocated(size))
        fill(buffers[-1], size, stated, floats)
        return buffers[-1]

    for argument in launch["args"]:
        if argument["k"] == "buf":
            found.append(buffer(argument["bytes"], argument))
        elif argument["k"] == "none":
            found.append(buffer(UNSTATED, {}))
        elif argument["k"] == "num":
            kind = argument["t"]
            given = np.array([argument["v"]], dtype=None if kind[0] == "f" else np.int64)
            found.append(given.astype(TYPES[kind]))
        else:
            data = bytearray(base64.b64decode(argument["data"]))
            for place, size in argument["bufs"].items():
                address = int(buffer(size, {}).value)
                data[int(place) : int(place) + 8] = address.to_bytes(8, "little")
            found.append(np.frombuffer(bytes(data), dtype=np.uint8).copy())
    return found, buffers


def function(modules: dict[str, ctypes.c_void_p], name: str, kernel: str) -> ctypes.c_void_p:
    """Return a kernel of a cubin."""
    if name not in modules:
        modules[name] = ctypes.c_void_p()
        code = Path(f"{name}.cubin").read_bytes()
        checked(CUDA.cuModuleLoadData(ctypes.byref(modules[name]), code), name)
    found = ctypes.c_void_p()
    checked(CUDA.cuModuleGetFunction(ctypes.byref(found), modules[name], kernel.encode()), kernel)
    return found


def address_of(argument: Any) -> int:
    """Return where the driver finds an argument."""
    alone = isinstance(argument, ctypes.c_uint64)
    return int(ctypes.addressof(argument) if alone else argument.ctypes.data)


def main() -> None:
    """Launch all from the first on."""
    checked(CUDA.cuInit(0))
    device, context = ctypes.c_int(), ctypes.c_void_p()
    checked(CUDA.cuDeviceGet(ctypes.byref(device), 0))
    checked(CUDA.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    checked(CUDA.cuCtxSetCurrent(context))
    floats = allocated(FLOATS.nbytes)
    put(floats, FLOATS)
    modules: dict[str, ctypes.c_void_p] = {}
    for launch in json.loads(Path("launches.json").read_text())[int(sys.argv[1]) :]:
        Path(sys.argv[2]).write_text(str(launch["id"]))
        kernel = function(modules, launch["file"], launch["mangled"])
        given, buffers = arguments(launch, floats)
        places = [address_of(argument) for argument in given]
        if launch["shared"] > 48 << 10:
            checked(CUDA.cuFuncSetAttribute(kernel, 8, launch["shared"]))
        shape = [*map(int, (*launch["grid"], *launch["block"], launch["shared"]))]
        checked(CUDA.cuCtxSynchronize())
        CUDA.cuProfilerStart()
        values = (ctypes.c_void_p * len(places))(*places)
        checked(CUDA.cuLaunchKernel(kernel, *shape, None, values, None), launch["kernel"])
        checked(CUDA.cuCtxSynchronize(), f"{launch['kernel']} {launch['id']}")
        CUDA.cuProfilerStop()
        print("launched", launch["id"], launch["kernel"], flush=True)
        for address in buffers:
            checked(CUDA.cuMemFree_v2(address))
    print("all done", flush=True)


if __name__ == "__main__":
    main()
