"""Operators of a language model against PyTorch and our own CUDA on an H200.

Rows of measurements/h200-operators that nothing was fitted on: those marked validation before
anything was measured, and a second run of sizes chosen later. Times are CUPTI's, for which an empty
kernel takes what the session says instead of Nsight Compute's 1.5 us. The bands are regression: a
little over what was reached when the models were done (2026-11-21), never to be fitted to.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import Any

import pytest
from measured import rows

from perfmodel.hardware import Device, load_device
from perfmodel.measure.folders import root
from perfmodel.prediction import predict

FOLDER = root() / "h200-operators"
HALVES = ("fp16", "bf16")

# operator, who does it, types, L2: rows, median and 90th percentile of the error
BANDS: dict[tuple[str, str, str, str], tuple[int, float, float]] = {}


def device() -> Device:
    session = tomllib.loads((FOLDER / "session.toml").read_text())
    floor = session["protocol"]["profiler_floor_us"] * 1e-6
    return replace(load_device("h200-sxm"), launch_floor=floor)


def launch(row: dict[str, Any]) -> tuple[str, str | None, dict[str, Any]]:
    """Return the built-in kernel of a row, its mapping and parameters."""
    operator, impl = row["operator"], row["impl"]
    given = {k: row[k] for k in ("batch", "heads", "kv_heads", "context", "width") if k in row}
    if operator == "ffn-gemv":
        mapping = "tile" if impl == "torch" and row["dtype"] in HALVES else "warp"
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


def measured_s(row: dict[str, Any], launches: dict[tuple[int, str], float]) -> float:
    """Return the time of a row: where parts are put together afterwards, of its first kernel."""
    if row["operator"] in ("decode-attention", "ffn-gemv"):
        return launches[row["point"], row["cache"]] * 1e-6
    return row["time_us"] * 1e-6


@pytest.fixture(scope="module")
def errors() -> dict[tuple[str, str, str, str], list[float]]:
    gpu = device()
    found: dict[tuple[str, str, str, str], list[float]] = {}
    for topic, kernels in (("operators", "launches"), ("unseen", "unseen-launches")):
        first = {
            (r["point"], r["cache"]): float(r["time_us"]) for r in rows(kernels, FOLDER, number=0)
        }
        for row in rows(topic, FOLDER, use="validation", timing="profiler"):
            if row["impl"] in ("efficient", "cudnn", "matmul"):
                continue
            kernel, mapping, params = launch(row)
            time = predict(kernel, mapping=mapping, device=gpu, cache=row["cache"], **params).time_s
            types = "halves" if row["dtype"] in HALVES else "fp32"
            key = row["operator"], row["impl"], types, row["cache"]
            found.setdefault(key, []).append(time / measured_s(row, first) - 1)
    return found
