"""What launches whose blocks copy ahead take at least, beside what they are predicted to take."""

from __future__ import annotations

import pytest

from perfmodel.hardware import load_device
from perfmodel.kernels import bind, builtin
from perfmodel.models.time.least_time import least_time
from perfmodel.prediction import predict

H200 = load_device("h200-sxm")
PRODUCTS = [
    # large ones; a short walk; a thin product; tiles that do not fit; FP32; batches
    ({"N": 8192}, 0.9),
    ({"N": 4096}, 0.9),
    ({"M": 4096, "N": 4096, "K": 64}, 0.4),
    ({"M": 16, "N": 8192, "K": 8192, "BM": 16, "split_k": 4}, 0.35),
    ({"M": 1000, "N": 1000, "K": 1000, "BM": 64, "BN": 64}, 0.6),
    ({"N": 2048, "dtype": "fp32"}, 0.7),
    ({"N": 256, "batch": 64}, 0.6),
]


@pytest.mark.parametrize("cache", ["cold", "warm"])
@pytest.mark.parametrize(("params", "share"), PRODUCTS)
def test_it_is_below_the_time_and_near_it(params: dict[str, int], share: float, cache: str) -> None:
    # property: a bound, and so near that it leaves few tiles of a menu
    kernel = builtin("gemm", "tensor-core")
    found = predict(kernel, device=H200, cache=cache, **params)  # type: ignore[arg-type]
    launch = bind(kernel, found.params)  # with the tile that was chosen
    least = float(least_time(launch, H200, "profiler", cache == "cold")[0])
    assert share * found.time_s < least <= found.time_s * (1 + 1e-12), least / found.time_s
