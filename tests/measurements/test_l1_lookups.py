"""Sectors of global loads that L1 has not, as an H100 counts them on source kernels.

Nothing is fitted on them; what was wrong in view of them was mended in general.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from measured import FOLDER, rows

from perfmodel import predict
from perfmodel.cuda.compile.program import Program, load_program
from perfmodel.cuda.compile.toolchain import find_tool
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.launch_file import read_launches

MEASUREMENTS = FOLDER.parents[2]
LOOKUPS = rows("lookups", MEASUREMENTS / "l1/h100-sxm/lookups")
MANY = 20_000  # sectors from which on they matter
needs_nvcc = pytest.mark.skipif(find_tool("nvcc") is None, reason="needs nvcc")


@cache
def compiled(source: Path, kernel: str) -> Program:
    return load_program(source, "sm_90", kernel=kernel)


@cache
def misses(session: str, source: str, number: int) -> float:
    """Return the sectors that a launch's loads bring into L1, as predicted."""
    programs = MEASUREMENTS / "source-kernels/h100-sxm" / session / "program"
    launch = read_launches(programs / f"{source}.toml")[number - 1]
    program = compiled(programs / f"{source}.cu", str(launch.kernel))
    traffic = predict(translated(program, launch), device="h100-sxm").traffic
    return traffic["global_load_sectors"] - traffic["l1_hit_sectors"]


def off(kernel: str) -> list[float]:
    """Return predicted over counted misses of a kernel's launches that have many."""
    chosen: list[dict[str, Any]] = [
        r for r in LOOKUPS if r["kernel"] == kernel and r["l1_miss_sectors"] >= MANY
    ]
    assert chosen
    found = (misses(r["session"], r["source"], int(r["launch"])) for r in chosen)
    return [ours / r["l1_miss_sectors"] for ours, r in zip(found, chosen, strict=True)]


@needs_nvcc
@pytest.mark.parametrize(
    ("kernel", "before"),
    [("levelset_upwind", 1.31), ("conv3d_111", 1.44)],
)
def test_neighbours_of_threads_and_planes(kernel: str, before: float) -> None:
    # counted: members of a star or of planes far apart were taken as a whole box
    found = off(kernel)
    assert all(0.9 < x < 1.2 for x in found)
    assert max(found) < before - 0.1


@needs_nvcc
def test_draws_from_a_part_of_a_buffer() -> None:
    # counted: 2.5 to 7.9 times as many were said where all of the buffer was drawn from
    assert all(0.95 < x < 1.12 for x in off("pairwise_lj"))
