"""Choices for many launches at once: those that `predict` makes for each."""

from __future__ import annotations

from typing import Any

from choices_together import with_choices

from perfmodel import load_device, predict
from perfmodel.kernels import find_kernel
from perfmodel.prediction.conditions import by_the_models

H200 = load_device("h200-sxm")
PRODUCT = find_kernel("gemm", "tensor-core")


def launches() -> list[dict[str, Any]]:
    common = {"kernel": PRODUCT, "device": H200, "timing": "profiler"}
    shapes = [(1, 4096, 4096), (300, 11008, 4096)]
    return [
        {**common, "cache": cache, "dtype": dtype, "M": m, "N": n, "K": k}
        for cache, dtype in (("cold", "bf16"), ("warm", "fp8"))
        for m, n, k in shapes
    ]


def test_choices_of_many_are_those_of_each() -> None:
    # independent: each launch alone
    some = launches()
    with by_the_models():
        for alone, launch in zip(some, with_choices(some), strict=True):
            found, expected = predict(**launch), predict(**alone)
            assert found.params == expected.params
            assert found.to_json() == expected.to_json()


def test_launches_that_leave_nothing_open_stay() -> None:
    copy = {"kernel": find_kernel("copy"), "device": H200, "cache": "cold", "bytes": 1 << 20}
    full = {**launches()[0], **with_choices(launches()[:1])[0]}
    assert with_choices([copy, full]) == [copy, full]
