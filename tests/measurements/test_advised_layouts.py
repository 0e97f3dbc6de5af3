"""Advice about layouts and blocks held to the GPU: sources before and after it (H200).

Predicted before they were measured (measurements/source-kernels/h200-sxm/layouts); nothing was
fitted to them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from measured import rows

from perfmodel import predict
from perfmodel.cuda.compile.program import Program, load_program
from perfmodel.cuda.compile.toolchain import find_tool
from perfmodel.cuda.kernel.translate import in_other_blocks, translated
from perfmodel.cuda.launch.spec import LaunchSpec, Scalar
from perfmodel.measure.folders import root
from perfmodel.prediction.advise import Option, advise
from perfmodel.prediction.changes import BLOCKS

pytestmark = pytest.mark.skipif(find_tool("nvcc") is None, reason="needs nvcc")

FOLDER = root() / "source-kernels/h200-sxm/layouts"
ROWS = rows("layouts", FOLDER)


@lru_cache(maxsize=1)
def program() -> Program:
    return load_program(root() / "source-kernels/h200-sxm/layouts/program" / "layouts.cu")


def launch(row: dict[str, Any]) -> LaunchSpec:
    """Return the launch of a row."""
    named = {"n": Scalar(int(row["n"]))}
    grid, block = ((int(row[side]), 1, 1) for side in ("grid", "block"))
    return LaunchSpec(kernel=row["kernel"], grid=grid, block=block, named=named)


def advised(kind: str, **given: Any) -> tuple[dict[str, Any], Option]:
    """Return a row, and the advice of a kind on it."""
    (row,) = rows("layouts", FOLDER, **given)
    made = translated(program(), launch(row))
    others = in_other_blocks(program(), launch(row), None, made, BLOCKS)
    advice = advise(made, device="h200-sxm", in_other_blocks=others)
    return row, next(o for o in advice.options if o.kind == kind)


@pytest.mark.parametrize("row", ROWS, ids=lambda r: f"{r['kernel']}-{r['block']}")
def test_launches_before_and_after(row: dict[str, Any]) -> None:
    # measured: time within 12% (worst: poly in blocks of 512, -11.6%), DRAM reads within 9%: rows
    # of threads find 3 to 9% of their sectors pushed out of L1, which the model holds to be there
    found = predict(translated(program(), launch(row)), device="h200-sxm")
    assert found.time_s * 1e6 == pytest.approx(row["time_us"], rel=0.12)
    assert found.traffic["dram_read_bytes"] == pytest.approx(row["dram_read_bytes"], rel=0.09)
    assert found.traffic["l2_read_sectors"] == pytest.approx(row["l2_read_sectors"], rel=0.14)


@pytest.mark.parametrize(
    ("before", "after", "block", "within"),
    [
        ("col", "dense", 1024, 0.04),
        ("col", "dense", 256, 0.05),
        ("fields", "fields_apart", 256, 0.08),
    ],
)
def test_gain_of_another_layout(before: str, after: str, block: int, within: float) -> None:
    # measured: rows of threads side by side gain 4.56 and 4.25, fields apart 1.32
    row, option = advised("coalescing", kernel=before, block=block)
    (then,) = rows("layouts", FOLDER, kernel=after, block=block)
    assert option.gain == pytest.approx(row["time_us"] / then["time_us"], rel=within)


def test_gain_of_other_blocks() -> None:
    # measured: blocks of 256 threads gain 4.85 over those of 32, more than any other size; the
    # launch with them is predicted 9% short, and so the gain too large
    row, option = advised("block size", kernel="poly", block=32)
    times = {int(r["block"]): r["time_us"] for r in rows("layouts", FOLDER, kernel="poly")}
    best = min(times, key=lambda b: times[b])
    assert option.prediction.block[0] == best
    assert option.gain == pytest.approx(row["time_us"] / times[best], rel=0.12)
    assert np.log(option.gain_interval[0]) < np.log(row["time_us"] / times[best])
