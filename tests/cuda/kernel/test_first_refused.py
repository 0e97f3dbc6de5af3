"""Kernels of a blind corpus that were refused when nobody had looked at them, and why."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from programs import launch, program, written

from perfmodel import predict
from perfmodel.cuda.compile.program import load_program
from perfmodel.cuda.compile.toolchain import find_tool
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.launch_file import read_launches
from perfmodel.expressions import text

ROOT = Path(__file__).parents[3] / "measurements"
NAME = "corpus-blind12"
needs_nvcc = pytest.mark.skipif(find_tool("nvcc") is None, reason="no nvcc")


# Numbers of 64 bits without a sign, min of unsigned numbers by the greater of two negative ones,
# trips that depend on the block, and trips that depend on an outer loop of an emulated kernel.
@needs_nvcc
@pytest.mark.parametrize(
    ("source", "number"),
    [("codes", 2), ("codes", 6), ("memory", 6), ("scenes", 4)],
)
def test_requests_are_those_that_the_profiler_counted(source: str, number: int) -> None:
    # measured: warp instructions of global memory that reached L1
    path = ROOT / f"source-kernels/h200-sxm/{NAME}/program" / f"{source}.cu"
    spec = list(read_launches(path.with_suffix(".toml")))[number - 1]
    with (ROOT / f"source-kernels/h200-sxm/{NAME}" / "corpus.csv").open(newline="") as rows:
        counted = next(
            r
            for r in csv.DictReader(rows)
            if (r["source"], r["launch"]) == (source, str(number))
            and (r["timing"], r["cache"]) == ("profiler", "cold")
        )
    made = translated(load_program(path, "sm_90", kernel=spec.kernel), spec)
    traffic = predict(made, device="h200-sxm").traffic
    for name in ("global_load_requests", "global_store_requests"):
        assert traffic[name] == float(counted[name])


def test_the_greater_of_two_negative_numbers_is_so_without_a_sign() -> None:
    # by hand: ~max(~n, ~t) is min(n, t); all of 8 to 63 go to place 8 at the most
    body = """
      ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; not.b32 %r2, %r1; not.b32 %r3, 8;
      max.u32 %r4, %r2, %r3; not.b32 %r5, %r4; mul.wide.u32 %d2, %r5, 4;
      add.s64 %d1, %d1, %d2; st.global.u32 [%d1], %r1; ret;
    """
    made = translated(program(written(body, parameters=".param .u64 out")), launch(1, 64, out=36))
    assert text(made.accesses[0].index) in ("-max(-threadIdx.x - 1, -9) - 1", "min(threadIdx.x, 8)")
    assert predict(made).traffic["global_store_sectors"] == 3  # 32 + 4 B, and the last again
