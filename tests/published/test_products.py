"""The largest products that others found on an H100 SXM, whose rates are taken from an H200.

Published: stas00/ml-engineering, compute/accelerator, maximum achievable matmul FLOPS: mean of 100
runs after 50, torch 2.7.0+cu126. Nothing was fitted on an H100.
"""

import pytest

from perfmodel.prediction.predict import predict


@pytest.mark.parametrize(
    ("dtype", "shape", "published"),
    [("bf16", (2048, 2048, 13312), 794.5e12), ("fp8", (1024, 9216, 14336), 1402.6e12)],
)
def test_largest_products_of_an_h100(dtype, shape, published):
    sizes = dict(zip("MNK", shape, strict=True))
    found = predict(
        "gemm",
        mapping="tensor-core",
        device="h100-sxm",
        timing="events",
        cache="warm",
        dtype=dtype,
        **sizes,
    )
    rate = 2 * shape[0] * shape[1] * shape[2] / found.time_s
    # 2.2% and 3.3% less when written
    assert rate == pytest.approx(published, rel=0.06)


def test_tf32_of_an_h100_waits_as_that_of_an_h200_does():
    # property: the same die, clock and power limit
    times = [
        predict("gemm", mapping="tensor-core", device=device, dtype="tf32", N=4096).time_s
        for device in ("h100-sxm", "h200-sxm")
    ]
    assert times[0] == pytest.approx(times[1], rel=0.02)
