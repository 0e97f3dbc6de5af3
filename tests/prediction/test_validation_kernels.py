"""Seven kernels that nothing was fitted on, against the profiler on an H200.

The kernel files were written from the CUDA source alone
(measurements/suite/h200-sxm/foundation/program/foundation.cu); their instruction counts are
assumptions. The rows of validation.csv are never to be fitted on, so what is asserted of times is
only that they are sane.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from measured import rows

from perfmodel.kernels import load_kernel
from perfmodel.prediction import Prediction, predict
from perfmodel.validation.sweeps import KERNELS

NAMES = ("transpose", "row-sum", "column-sum", "stencil5", "triad", "field-read", "polynomial")
COUNTERS = (
    "global_load_requests",
    "global_load_sectors",
    "global_store_requests",
    "global_store_sectors",
)
Pairs = list[tuple[dict[str, Any], Prediction]]


def predicted(name: str) -> Pairs:
    kernel = load_kernel(KERNELS / f"{name}.toml")
    known = {p.name for p in kernel.parameters}
    return [
        (r, predict(kernel, device="h200-sxm", **{k: v for k, v in r.items() if k in known}))
        for r in rows("validation", timing="profiler", kernel=name)
    ]


@pytest.fixture(scope="module")
def predictions() -> dict[str, Pairs]:
    return {name: predicted(name) for name in NAMES}


def test_every_row_has_a_prediction(predictions: dict[str, Pairs]) -> None:
    assert {r["kernel"] for r in rows("validation")} == set(NAMES)
    assert sum(map(len, predictions.values())) == 80
    assert set(NAMES) <= {p.stem for p in KERNELS.glob("*.toml")}


@pytest.mark.parametrize("name", NAMES)
def test_requests_and_sectors_are_the_profilers(predictions: dict[str, Pairs], name: str) -> None:
    # measured: 80 launches, blocks of 32 x 8, 32 x 32, 16 x 16, 8 x 32 and 128 x 1 among them
    for r, p in predictions[name]:
        assert all(a.sampled is None for a in p.details.traffic.accesses)
        for counter in COUNTERS:
            assert p.traffic[counter] == pytest.approx(r[counter], rel=1e-9), (counter, r)


@pytest.mark.parametrize("name", NAMES)
def test_launches_are_those_measured(predictions: dict[str, Pairs], name: str) -> None:
    for r, p in predictions[name]:
        if "bx" in r:
            assert p.block == (r["bx"], r["by"], 1)
        assert not p.warnings


@pytest.mark.parametrize("name", NAMES)
def test_dram_reads_are_near_the_counters(predictions: dict[str, Pairs], name: str) -> None:
    # measured; largest error 8%, row sums
    for r, p in predictions[name]:
        assert p.traffic["dram_read_bytes"] == pytest.approx(r["dram_read_bytes"], rel=0.15), r


@pytest.mark.parametrize("name", NAMES)
def test_times_are_sane(predictions: dict[str, Pairs], name: str) -> None:
    # not a fit: within a factor of three, and never faster than the bytes at the DRAM's peak
    ratios = np.array([p.time_s * 1e6 / r["time_us"] for r, p in predictions[name]])
    a = np.abs(ratios - 1)
    print(f"{name:12} median {np.median(a):6.1%}  p90 {np.percentile(a, 90):6.1%}")
    assert np.all((ratios > 1 / 3) & (ratios < 3))
    for r, p in predictions[name]:
        moved = p.traffic["dram_read_bytes"] + p.traffic["dram_write_bytes"]
        assert moved / p.time_s < p.details.device.dram_bandwidth, r
