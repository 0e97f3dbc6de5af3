"""Loops of tiles beside DRAM, and stores apart, on an H100 (measurements/dram/h100-sxm/tiles)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from measured import rows

import perfmodel.validation
from perfmodel.kernels import kernel_from_table, load_kernel
from perfmodel.measure.folders import root
from perfmodel.prediction.predict import predict, predict_many

FOLDER = root() / "dram/h100-sxm/tiles"
TILED = Path(perfmodel.validation.__file__).parent / "kernels" / "tiled-scale.toml"


def test_tiles_queue_for_dram() -> None:
    # measured, and fitted on; regression: 14 to 29% fast, the more so the larger the blocks, where
    # steps and DRAM's time made a maximum
    seen = rows("tiles", FOLDER, variant="both")
    sizes = {name: np.array([r[name] for r in seen]) for name in ("blocks", "tiles", "block")}
    found = predict_many(load_kernel(TILED), device="h100-sxm", cache="cold", **sizes)
    off = found.time_s * 1e6 / np.array([r["time_us"] for r in seen]) - 1
    assert len(off) == 7
    assert np.max(np.abs(off)) < 0.07
    assert abs(np.median(off)) < 0.04


# (which, of the sectors that reach L2, of the time)
@pytest.mark.parametrize(
    ("variant", "sectors", "time"), [("alias", 0.01, 0.14), ("known", 0.15, 0.18)]
)
@pytest.mark.parametrize("planes", [2, 3, 4])
def test_stores_of_words_that_are_loaded_between(
    variant: str, sectors: float, time: float, planes: int
) -> None:
    # measured: all sectors reach L2 where a load waits behind each store; 4 to 6 of 10 that could
    # be saved are where it need not. Counted as merged, times were 25 to 50% and 16 to 19% short
    n = 1 << 22
    row = rows("planes", FOLDER, variant=variant, planes=planes, n=n)[0]
    accesses: list[dict[str, str]] = []
    for p in range(planes):
        load = {"load": "in", "index": f"{p}*n + i", "name": f"in{p}"}
        waits = p > 0 and variant == "alias"
        accesses.append(load | ({"needs": f"in{p - 1}"} if waits else {}))
        accesses.append({"store": "out", "index": f"{planes}*i + {p}"})
    table = {
        "name": "interleave",
        "parameters": {"n": {"default": n}},
        "launch": {"grid": "ceil_div(n, 256)", "block": 256, "registers": 16},
        "definitions": {"i": "blockIdx.x*256 + threadIdx.x"},
        "buffers": {"in": {"length": f"{planes}*n"}, "out": {"length": f"{planes}*n"}},
        "accesses": accesses,
    }
    found = predict(kernel_from_table(table), device="h100-sxm", cache="cold", n=n)
    assert found.traffic["l2_write_sectors"] == pytest.approx(row["l2_write_sectors"], rel=sectors)
    assert found.time_s * 1e6 == pytest.approx(row["time_us"], rel=time)
