"""Blocks of which some warps loop while the others leave, against an H100's times."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from perfmodel import predict
from perfmodel.cuda.compile.program import load_program
from perfmodel.cuda.compile.toolchain import find_tool
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.spec import Buffer, LaunchSpec, Scalar
from perfmodel.measure.folders import root

FOLDER = root() / "latency/h100-sxm/idle-warps"
with (FOLDER / "loops.csv").open(newline="") as file:
    ROWS = list(csv.DictReader(file))
needs_nvcc = pytest.mark.skipif(find_tool("nvcc") is None, reason="needs nvcc")


def errors(kernel: str, most_blocks: int) -> np.ndarray:
    """Return by how much launches of part of a block's warps are off: logarithms."""
    program = load_program(FOLDER / "program" / "loops.cu", "sm_90", kernel=kernel)
    found = []
    for row in ROWS:
        block, warps, blocks, rows = (int(row[n]) for n in ("block", "warps", "blocks", "rows"))
        if row["kernel"] != kernel or warps * 32 == block or blocks > most_blocks:
            continue
        size = 4096 if kernel == "clocks" else 4 * blocks * block * rows
        launch = LaunchSpec(
            grid=(blocks, 1, 1),
            block=(block, 1, 1),
            kernel=kernel,
            positional=(
                *(Buffer(4 * blocks * block), Buffer(size)),
                *(Scalar(rows), Scalar(warps)),
            ),
        )
        said = predict(translated(program, launch), device="h100-sxm")
        found.append(np.log(said.time_s * 1e6 / float(row["time_us"])))
    return np.array(found)


@needs_nvcc
@pytest.mark.parametrize("kernel", ["coalesced", "clocks"])
def test_a_block_takes_as_long_as_the_warps_that_loop(kernel: str) -> None:
    # measured: one of four or of eight warps takes as long as all. Before, such loops were up to
    # six times too fast
    found = np.abs(errors(kernel, most_blocks=528))
    assert len(found) == 20
    assert found.max() < 0.13
    assert np.median(found) < 0.04


@needs_nvcc
@pytest.mark.parametrize("kernel", ["coalesced", "clocks"])
def test_warps_that_left_make_room_which_is_not_modelled(kernel: str) -> None:
    # measured: 64 blocks an SM, of 8 at a time: up to 2.6 times too slow where one of eight is left
    assert errors(kernel, most_blocks=8448).max() < np.log(2.7)
