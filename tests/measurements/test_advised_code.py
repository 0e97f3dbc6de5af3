"""Advice on code held to the GPU: sources measured in both forms (H200).

None was measured for this: pairs of streams by their width, and histograms in global and in shared
memory. Nothing of the rewriting was fitted to them.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from measured import rows

import perfmodel
from perfmodel import predict
from perfmodel.cuda.compile.program import Program, load_program
from perfmodel.cuda.compile.toolchain import find_tool
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.spec import Buffer, LaunchSpec, Scalar
from perfmodel.measure.folders import root
from perfmodel.prediction.private_sums import private_sums
from perfmodel.prediction.wider_threads import wider_threads

pytestmark = pytest.mark.skipif(find_tool("nvcc") is None, reason="needs nvcc")

STREAMS = Path(perfmodel.__file__).parent / "measure" / "sources" / "streams.cu"
HISTOGRAMS = root() / "source-kernels/h200-sxm/corpus/program" / "histograms.cu"
UNSEEN = root() / "suite/h200-sxm/unseen"
BLOCK = 256
PROTOCOL = {"timing": "profiler", "cache": "cold"}


@lru_cache(maxsize=4)
def program(path: Path) -> Program:
    return load_program(path, "sm_90", ["-DVECTOR=unsigned"])


def gains(function: str) -> tuple[list[float], list[float]]:
    """Return predicted and measured gains of 16 bytes a thread over 4, of every size."""
    wanted = {"function": function, "block": BLOCK, "timing": "profiler"}
    wide = rows("unseen-streams", UNSEEN, vector=16, **wanted)
    after = {(r["bytes"], r["cache"]): r for r in wide}
    predicted, measured = [], []
    for row in rows("unseen-streams", UNSEEN, vector=4, **wanted):
        then = after.get((row["bytes"], row["cache"]))
        if then is None:
            continue
        size, n = int(row["bytes"]), int(row["n"])
        named = {"out": Buffer(size), "n": Scalar(n)}
        named |= {"in": Buffer(size)} if function == "copy" else {}
        launch = LaunchSpec((-(-n // BLOCK), 1, 1), (BLOCK, 1, 1), named=named)
        made = translated(program(STREAMS), launch, function)
        timed = {"device": "h200-sxm", "timing": "profiler", "cache": row["cache"]}
        base = predict(made, **timed)
        (found,) = (w.kernel for w in wider_threads(base) if "move 4 neighbouring words" in w.what)
        predicted.append(base.time_s / predict(found, **timed).time_s)
        measured.append(row["time_us"] / then["time_us"])
    return predicted, measured


@pytest.mark.parametrize("function", ["copy", "write"])
def test_gain_of_wider_threads(function: str) -> None:
    # measured: gains of 1.0 to 2.8, 2% off in the median; 19% at 1.2 MB, within the launch floor
    predicted, measured = gains(function)
    off = np.abs(np.log(np.array(predicted) / np.array(measured)))
    assert len(off) >= 9
    assert np.median(off) < 0.03
    assert off.max() < 0.2


@pytest.mark.parametrize(("n", "grid"), [(33554432, 528), (2097152, 264)])
def test_private_histogram(n: int, grid: int) -> None:
    # measured: the same histogram as its author wrote it in shared memory, within 5%; in global
    # memory 16 MiB of keys take 1.08 ms, as predicted within 1%
    (row,) = (
        r
        for r in rows(
            "corpus",
            root() / "source-kernels/h200-sxm/corpus",
            kernel="histogram_shared",
            **PROTOCOL,
        )
        if r["launch"] == {528: 3, 264: 4}[grid]
    )
    named = {"keys": Buffer(4 * n, "u32", "uniform", 256), "bins": Buffer(1024), "n": Scalar(n)}
    launch = LaunchSpec((grid, 1, 1), (256, 1, 1), named=named)
    base = predict(translated(program(HISTOGRAMS), launch, "histogram_global"), device="h200-sxm")
    (found,) = (s.kernel for s in private_sums(base) if "shared memory, then" in s.what)
    private = predict(found, device="h200-sxm")
    assert private.time_s * 1e6 == pytest.approx(row["time_us"], rel=0.06)
    assert base.time_s > 30 * private.time_s
