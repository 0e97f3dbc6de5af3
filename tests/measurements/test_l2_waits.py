"""Waits for DRAM behind writes, against an H200: what reads, writes and chains of both take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from measured import FOLDER, rows

from perfmodel.kernels import Kernel, load_kernel
from perfmodel.prediction import predict

WAITS = FOLDER.parents[2] / "dram/h200-sxm/reads-and-writes"
DEVICE = "h200-sxm"
HEAD = """
name = "waits"
summary = "streams read and written, one float a thread"
[parameters]
n = { default = 67108864 }
block = { default = 256, maximum = 1024 }
shared = { default = 0, minimum = 0 }
[launch]
grid = "n // block"
block = "block"
shared_bytes = "shared"
registers = 16
[definitions]
i = "blockIdx.x*blockDim.x + threadIdx.x"
"""


def kernel(row: dict[str, Any], folder: Path) -> Kernel:
    """Return what `mixed` and `doubled` of the program do; instruction counts: assumed."""
    loads, stores, chained = row["loads"], row["stores"], row["function"] == "doubled"
    buffers, accesses = ["[buffers]"], []
    for k in range(loads):
        buffers.append(f'in{k} = {{ length = "n" }}')
        accesses += ["[[accesses]]", f'load = "in{k}"', f'name = "load{k}"', 'index = "i"']
        if chained and k:
            accesses.append(f'needs = "load{k - 1}"')
    for k in range(stores):
        if not chained:
            buffers.append(f'out{k} = {{ length = "n" }}')
        into = f"in{k}" if chained else f"out{k}"
        accesses += ["[[accesses]]", f'store = "{into}"', f'name = "store{k}"', 'index = "i"']
    arithmetic = ["[[arithmetic]]", 'pipe = "other"', f"count = {10 + 3 * (loads + stores)}"]
    path = folder / f"waits-{row['function']}-{loads}-{stores}.toml"
    path.write_text("\n".join([HEAD, *buffers, *accesses, *arithmetic]), encoding="utf-8")
    return load_kernel(path)


def shared_bytes(row: dict[str, Any]) -> int:
    """Return the shared memory by which the program limits the blocks of an SM [B]."""
    held, block = row["blocks_per_sm"], row["block"]
    if held * block >= 2048:
        return 0
    return int(min(232448, (233472 // held - 1024) // 1024 * 1024))


@pytest.mark.parametrize(("use", "rms"), [("fit", 0.048), ("validation", 0.045)])
@pytest.mark.parametrize("function", ["mixed", "doubled"])
def test_waits_behind_writes(function: str, use: str, rms: float, tmp_path: Path) -> None:
    # measured: 1 to 4 streams read and 1 to 4 written, or 1 to 3 doubled in place one after the
    # other; 1, 2, 4, 8 blocks an SM (fit), 3 and 6 (validation)
    off = []
    for row in rows("times", WAITS, function=function, use=use, block=256, set_bytes=0):
        if row["stores"] == 0 or row["loads"] == 0 or row["bytes"] != 268435456:
            continue
        found = predict(
            kernel(row, tmp_path),
            device=DEVICE,
            timing="events",
            cache="warm",
            n=row["bytes"] // 4,
            block=row["block"],
            shared=shared_bytes(row),
        )
        off.append(found.time_s * 1e6 / row["time_us"] - 1)
    assert len(off) >= 6
    assert np.sqrt(np.mean(np.square(off))) < rms
