"""Kernels of a replayed CUDA graph on an H100: what a profiler adds, and streams that follow."""

from __future__ import annotations

from statistics import mean, median

import numpy as np
import pytest
from measured import FOLDER, rows

from perfmodel import predict
from perfmodel.hardware import load_device
from perfmodel.models.time.launch import GRAPH_SHARE

H100 = load_device("h100-sxm")
GRAPHS = FOLDER.parents[2] / "launch-overhead/h100-sxm/graphs"


def test_share_of_an_empty_kernel() -> None:
    """Measured: empty kernels of one block, 0.389 to 0.405."""
    chosen = [r for r in rows("graphs", GRAPHS, kernel="empty") if r["grid"] == 1]
    found = [r["graph_us"] / r["profiled_us"] for r in chosen]
    assert len(found) == 3
    assert mean(found) == pytest.approx(GRAPH_SHARE(H100), abs=0.005)


@pytest.mark.parametrize(("buffers", "cache"), [("same", "warm"), ("turn", "cold")])
def test_streams_of_a_replayed_graph(buffers: str, cache: str) -> None:
    """Validation: 4 KiB to 256 MiB; of buffers in turn those that L2 cannot hold together."""
    chosen = [
        r
        for r in rows("graphs", GRAPHS, use="validation", buffers=buffers)
        if buffers == "same" or 200 * r["bytes"] > 2 * H100.l2_size
    ]
    made = [
        predict(r["kernel"], device=H100, timing="graph", cache=cache, bytes=r["bytes"])
        for r in chosen
    ]
    errors = [p.time_s / r["graph_us"] / 1e-6 - 1 for p, r in zip(made, chosen, strict=True)]
    assert len(errors) >= 24
    assert median(np.abs(errors)) < 0.07
    assert np.max(np.abs(errors)) < 0.19
    inside = (
        p.interval_s[0] <= r["graph_us"] * 1e-6 <= p.interval_s[1]
        for p, r in zip(made, chosen, strict=True)
    )
    assert sum(inside) >= 0.9 * len(errors)
