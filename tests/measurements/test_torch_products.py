"""Attention, batches and FP32 products through PyTorch, and steps
(measurements/matrix-products/h200-sxm/pytorch).

Expected values are measured; bands are what the models reach there, a little wider.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from measured import rows, times

from perfmodel.hardware import load_device
from perfmodel.measure.folders import root
from perfmodel.models.time.steps import STEP_BARRIER, STEP_BARRIER_WARP
from perfmodel.prediction import predict

FOLDER = root() / "matrix-products/h200-sxm/pytorch"
UNSEEN = root() / "matrix-products/h200-sxm/unseen"
H200 = load_device("h200-sxm")


def errors(found: list[dict[str, Any]], mapping: str, kernel: str, names: tuple[str, ...]) -> Any:
    measured = np.array([row["time_us"] * 1e-6 for row in found])
    launches = [
        {"kernel": kernel, "mapping": mapping, "device": H200, "cache": row["cache"]}
        | {name: row[name] for name in names}
        for row in found
    ]
    sizes = [name for name in names if name not in ("dtype", "causal")]
    return np.abs(times(launches, sizes) / measured - 1)


def test_attention_as_pytorch_runs_it() -> None:
    # measured, never fitted: 4.9 to 5.4% in the median, 9.7 to 10.7% at the ninetieth percentile
    names = ("batch", "heads", "kv_heads", "tokens", "context", "width", "causal", "dtype")
    found = rows("sdpa", FOLDER, impl="cudnn", use="validation", timing="profiler", cache="warm")
    wrong = errors(found, "wgmma", "prefill-attention", names)
    assert len(wrong) == 78
    assert np.median(wrong) < 0.055
    assert np.quantile(wrong, 0.9) < 0.115


@pytest.mark.parametrize(
    ("group", "dtype", "every", "median"), [("batched", "bf16", 4, 0.15), ("fp32", "fp32", 8, 0.15)]
)
def test_products_through_pytorch(group: str, dtype: str, every: int, median: float) -> None:
    # measured, never fitted: 12% for batches, 12% for FP32, narrow ones among them
    names = ("batch", "M", "N", "K", "dtype")
    given = {"group": group, "dtype": dtype, "use": "validation"}
    found = rows("torch-products", FOLDER, **given, timing="profiler", cache="warm")
    assert np.median(errors(found[::every], "tensor-core", "gemm", names)) < median


@pytest.mark.parametrize(
    ("group", "dtype", "median"), [("fp32", "fp32", 0.11), ("batched", "bf16", 0.09)]
)
def test_products_of_sizes_drawn_afterwards(group: str, dtype: str, median: float) -> None:
    # measured after the models were finished: 9.9% for FP32, 7.7% for batches
    names = ("batch", "M", "N", "K", "dtype")
    given = {"group": group, "dtype": dtype, "timing": "profiler", "cache": "warm"}
    found = rows("unseen-products", UNSEEN, **given)
    assert np.median(errors(found, "tensor-core", "gemm", names)) < median


def test_attention_of_sizes_drawn_afterwards() -> None:
    # measured after the models were finished: 80 launches, 5.4% in the median, 10.1% at the
    # ninetieth percentile
    names = ("batch", "heads", "kv_heads", "tokens", "context", "width", "causal", "dtype")
    found = rows("unseen-sdpa", UNSEEN, impl="cudnn", timing="profiler", cache="warm")
    wrong = errors(found, "wgmma", "prefill-attention", names)
    assert len(wrong) == 80
    assert np.median(wrong) < 0.06
    assert np.quantile(wrong, 0.9) < 0.11


@pytest.mark.parametrize("warps", [1, 4, 16, 32])
def test_barriers_alone(warps: int) -> None:
    # measured: loops of two barriers; the loop's own instructions take some 40 clocks
    (row,) = rows("barrier-steps", FOLDER, step="barriers", warps=warps, blocks=132)
    own = 40.0
    assert own + 2 * (STEP_BARRIER(H200) + STEP_BARRIER_WARP(H200) * (warps - 1)) == pytest.approx(
        row["clocks"], rel=0.08
    )


def test_steps_that_load_pay_nothing_for_each_warp() -> None:
    # measured: what 31 warps more cost a step of a load and a barrier, and one of two barriers
    cost = {}
    for step in ("load", "barriers"):
        one, many = (
            rows("barrier-steps", FOLDER, step=step, warps=w, blocks=132)[0]["most_clocks"]
            for w in (1, 32)
        )
        cost[step] = many - one
    assert cost["load"] < 0.05 * cost["barriers"]


def test_several_products_are_as_much_work() -> None:
    # by hand: eight products that fill a wave each read and write eight times the bytes
    one, eight = (
        predict("gemm", mapping="tensor-core", device=H200, M=1024, N=1024, K=512, batch=b, BM=128)
        for b in (1, 8)
    )
    assert eight.traffic["l2_write_sectors"] == pytest.approx(8 * one.traffic["l2_write_sectors"])
    assert eight.roofline.flop == 8 * one.roofline.flop


def test_unequal_tiles_of_a_few_blocks() -> None:
    # by definition: up to 132 tiles run at a time, so a causal prompt takes what its last tile does
    whole, causal = (
        predict(
            "prefill-attention",
            mapping="wgmma",
            device=H200,
            cache="warm",
            heads=4,
            tokens=4096,
            causal=causal,
        ).terms_s["fp16_tensor"]
        for causal in ("false", "true")
    )
    assert causal == pytest.approx(whole, rel=0.02)
