"""Operators of a language model against PyTorch and our own CUDA on an H200.

Rows of measurements/operators/h200-sxm/pytorch that nothing was fitted on: those marked validation
before anything was measured, and a second run of sizes chosen later. Times are CUPTI's, for which
an empty kernel takes what the session says instead of Nsight Compute's 1.5 us. The bands are
regression: a little over what was reached when the models were done (2026-11-22), never to be
fitted to. Argmax is held against its kernel: where a row has several blocks, a fill of semaphores
comes before it.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from measured import rows

from perfmodel.hardware import Device, load_device
from perfmodel.measure.folders import root
from perfmodel.prediction.predict import predict_many

FOLDER = root() / "operators/h200-sxm/pytorch"
HALVES = ("fp16", "bf16")
PYTORCH_ROWS = 484
PYTORCH_MEDIAN = 0.060
PYTORCH_NINETIETH = 0.150

Errors = dict[tuple[str, str, str, str], list[float]]

# operator, who does it, types, L2: rows, median and 90th percentile of the error
BANDS: dict[tuple[str, str, str, str], tuple[int, float, float]] = {
    ("argmax", "torch", "fp32", "cold"): (20, 0.055, 0.110),  # 5.1%, 10.6%
    ("argmax", "torch", "fp32", "warm"): (20, 0.050, 0.095),  # 4.3%, 9.0%
    ("argmax", "torch", "halves", "cold"): (19, 0.060, 0.105),  # 5.6%, 10.2%
    ("argmax", "torch", "halves", "warm"): (19, 0.040, 0.075),  # 3.3%, 7.1%
    ("decode-attention", "flash", "halves", "cold"): (11, 0.045, 0.085),  # 4.0%, 7.7%
    ("decode-attention", "flash", "halves", "warm"): (11, 0.050, 0.140),  # 4.3%, 13.2%
    ("decode-attention", "own", "halves", "cold"): (39, 0.075, 0.130),  # 7.1%, 12.7%
    ("decode-attention", "own", "halves", "warm"): (39, 0.080, 0.125),  # 7.3%, 11.9%
    ("ffn-gemv", "own", "halves", "cold"): (19, 0.040, 0.135),  # 3.7%, 12.9%
    ("ffn-gemv", "own", "halves", "warm"): (19, 0.050, 0.150),  # 4.5%, 14.6%
    ("ffn-gemv", "torch", "fp32", "cold"): (18, 0.060, 0.165),  # 5.5%, 15.9%
    ("ffn-gemv", "torch", "fp32", "warm"): (18, 0.070, 0.410),  # 6.5%, 40.4%
    ("ffn-gemv", "torch", "halves", "cold"): (40, 0.055, 0.120),  # 4.8%, 11.2%
    ("ffn-gemv", "torch", "halves", "warm"): (40, 0.060, 0.140),  # 5.3%, 13.2%
    ("kv-append", "copy", "halves", "cold"): (7, 0.100, 0.140),  # 9.3%, 13.7%
    ("kv-append", "copy", "halves", "warm"): (7, 0.090, 0.115),  # 8.5%, 11.2%
    ("kv-append", "index_copy", "halves", "cold"): (8, 0.050, 0.170),  # 4.5%, 16.5%
    ("kv-append", "index_copy", "halves", "warm"): (8, 0.060, 0.160),  # 5.3%, 15.3%
    ("kv-append", "own", "halves", "cold"): (5, 0.132, 0.205),  # 12.8%, 20.0%
    ("kv-append", "own", "halves", "warm"): (5, 0.185, 0.205),  # 18.0%, 20.0%
    ("layernorm", "torch", "fp32", "cold"): (19, 0.070, 0.165),  # 6.7%, 16.0%
    ("layernorm", "torch", "fp32", "warm"): (19, 0.060, 0.195),  # 5.3%, 19.0%
    ("layernorm", "torch", "halves", "cold"): (25, 0.065, 0.180),  # 6.1%, 17.4%
    ("layernorm", "torch", "halves", "warm"): (25, 0.045, 0.165),  # 4.0%, 16.1%
    ("prefill-attention", "flash", "halves", "cold"): (20, 0.040, 0.115),  # 3.6%, 10.7%
    ("prefill-attention", "flash", "halves", "warm"): (20, 0.045, 0.125),  # 3.8%, 11.6%
    ("prefill-attention", "own-naive", "halves", "cold"): (9, 0.055, 0.140),  # 5.0%, 13.4%
    ("prefill-attention", "own-naive", "halves", "warm"): (9, 0.050, 0.115),  # 4.6%, 10.7%
    ("softmax", "torch", "fp32", "cold"): (31, 0.090, 0.155),  # 8.4%, 15.2%
    ("softmax", "torch", "fp32", "warm"): (31, 0.090, 0.155),  # 8.4%, 15.2%
    ("softmax", "torch", "halves", "cold"): (24, 0.065, 0.130),  # 6.1%, 12.5%
    ("softmax", "torch", "halves", "warm"): (24, 0.090, 0.135),  # 8.2%, 12.4%
}


def device() -> Device:
    session = tomllib.loads((FOLDER / "session.toml").read_text())
    floor, fetch = (
        session["protocol"][f"profiler_{name}_us"] * 1e-6 for name in ("floor", "fetch")
    )
    return replace(load_device("h200-sxm"), launch_floor=floor, launch_fetch=fetch)


def launch(row: dict[str, Any], name: str) -> tuple[str, str | None, dict[str, Any]]:
    """Return the built-in kernel of a row, its mapping and values; `name` is that of its kernel."""
    operator, impl = row["operator"], row["impl"]
    given = {k: row[k] for k in ("batch", "heads", "kv_heads", "context", "width") if k in row}
    if operator == "ffn-gemv":
        # Which of its kernels cuBLAS takes is its own rule: the recorded name says it. For 16-bit
        # types it is one for products, of one row here.
        if "nvjet" in name:
            product = {"M": 1, "N": row["rows"], "K": row["columns"], "dtype": row["dtype"]}
            return "gemm", "tensor-core", product
        mapping = "rows" if "gemv2T" in name else "warp"
        return operator, mapping, {k: row[k] for k in ("rows", "columns", "dtype")}
    if operator == "decode-attention":
        part = {"part": row["part"]} if "part" in row else {}
        return operator, "split" if impl == "own" else "flash", given | part
    if operator == "prefill-attention":
        given |= {"tokens": row["tokens"]}
        if impl == "own-naive":
            return operator, "naive", given
        return operator, "tiled", given | {"causal": "true" if row["causal"] else "false"}
    if operator == "kv-append":
        return operator, None, given | {"how": "direct" if impl == "own" else impl}
    return operator, None, {"rows": row["rows"], "cols": row["columns"], "dtype": row["dtype"]}


def measured_s(row: dict[str, Any], first_us: float) -> float:
    """Return the time of a row: of the first kernel, where fills or sums are launches beside it."""
    parts = row["operator"] in ("decode-attention", "argmax")
    parts |= row["operator"] == "ffn-gemv" and row["dtype"] == "fp32"
    return (first_us if parts else row["time_us"]) * 1e-6


@pytest.fixture(scope="module")
def errors() -> Errors:
    gpu = device()
    times: dict[tuple[Any, ...], list[tuple[dict[str, Any], float]]] = {}
    keys: dict[tuple[Any, ...], tuple[str, str, str, str]] = {}
    for topic, kernels in (("operators", "launches"), ("unseen", "unseen-launches")):
        # A fill may come before it: of the sums that blocks share, or of a semaphore.
        first: dict[Any, tuple[str, float]] = {}
        for r in rows(kernels, FOLDER):
            if not r["kernel"].startswith("Mem"):
                first.setdefault((r["point"], r["cache"]), (r["kernel"], float(r["time_us"])))
        for row in rows(topic, FOLDER, use="validation", timing="profiler"):
            if row["impl"] in ("efficient", "cudnn", "matmul"):
                continue
            name, first_us = first[row["point"], row["cache"]]
            if row["operator"] == "prefill-attention" and "splitkv" in name:
                continue  # of few queries the keys are split, as of a token's: no such built-in
            kernel, mapping, params = launch(row, name)
            words = tuple((k, v) for k, v in params.items() if isinstance(v, str))
            numbers = {k: v for k, v in params.items() if not isinstance(v, str)}
            group = (kernel, mapping, words, row["impl"], row["cache"], tuple(numbers))
            times.setdefault(group, []).append((numbers, measured_s(row, first_us)))
            types = "halves" if row["dtype"] in HALVES else "fp32"
            keys[group] = row["operator"], row["impl"], types, row["cache"]
    found: Errors = {}
    for group, rowed in times.items():
        kernel, mapping, words, _, cache, names = group
        arrays = {name: np.array([numbers[name] for numbers, _ in rowed]) for name in names}
        # Blocks that copy ahead were fitted to CUPTI's times with the catalogue's floor.
        seen_by = load_device("h200-sxm") if mapping == "tensor-core" else gpu
        predicted = predict_many(
            kernel, mapping=mapping, device=seen_by, cache=cache, **arrays, **dict(words)
        )
        measured = np.array([time for _, time in rowed])
        found.setdefault(keys[group], []).extend(predicted.time_s / measured - 1)
    return found


def test_every_operator_is_held_against_the_gpu(errors: Errors) -> None:
    assert set(errors) == set(BANDS)
    assert {operator for operator, *_ in BANDS} == {
        *("softmax", "layernorm", "argmax", "ffn-gemv"),
        *("decode-attention", "prefill-attention", "kv-append"),
    }


@pytest.mark.parametrize("key", BANDS, ids=" ".join)
def test_operators_stay_in_their_bands(errors: Errors, key: tuple[str, str, str, str]) -> None:
    count, median, ninetieth = BANDS[key]
    found = np.abs(errors[key])
    assert len(found) == count
    assert np.median(found) < median
    assert np.quantile(found, 0.9) < ninetieth


def test_the_target_of_operators_through_pytorch(errors: Errors) -> None:
    # the target is a median of 12% over all rows of PyTorch's kernels; regression: 5.6% and 14.2%
    of = [x for (_, impl, *_), found in errors.items() if not impl.startswith("own") for x in found]
    assert len(of) == PYTORCH_ROWS
    assert np.median(np.abs(of)) < PYTORCH_MEDIAN
    assert np.quantile(np.abs(of), 0.9) < PYTORCH_NINETIETH


SOFTMAX = root() / "operators/h200-sxm/softmax"


def softmax(columns: Any, rows_: Any, dtype: str, cache: Any) -> Any:
    given: dict[str, Any] = {"rows": np.array(rows_), "cols": np.array(columns)}
    return predict_many("softmax", device=device(), cache=cache, dtype=dtype, **given)


@pytest.mark.parametrize("dtype", ["fp16", "fp32"])
def test_rows_that_a_block_keeps_in_registers(dtype: str) -> None:
    # measured, rows of 2304 to 8192 columns; regression: 7.5% and 13% off, 14% and 24% before their
    # instructions were counted, which grow by twice as many an element as in a warp's rows
    for cache in ("warm", "cold"):
        seen = rows("times", SOFTMAX, dtype=dtype, cache=cache)
        found = softmax([r["cols"] for r in seen], [r["rows"] for r in seen], dtype, cache)
        off = np.abs(found.time_s * 1e6 / np.array([r["time_us"] for r in seen]) - 1)
        assert len(off) == 14
        assert np.median(off) < 0.14
        assert np.max(off) < 0.18
