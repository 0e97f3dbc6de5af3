"""Blocks that load, meet and compute, as measured: what few of them leave unhidden."""

from __future__ import annotations

import csv

import pytest

from perfmodel.hardware import load_device
from perfmodel.measure.folders import root
from perfmodel.prediction import predict

FLOOR = 0.896  # microseconds of an empty kernel under CUPTI: session.toml


def rows(name: str) -> list[dict[str, str]]:
    with (root() / "latency/h100-sxm/barriers" / name).open(newline="") as file:
        return list(csv.DictReader(file))


def round_us(held: str, threads: str, meet: str) -> float:
    """Return the time of a round between the eighth and the sixteenth."""
    times = {
        int(r["rounds"]): float(r["time_us"])
        for r in rows("phases.csv")
        if (r["threads"], r["held"], r["meet"]) == (threads, held, meet)
        and (r["vectors"], r["work"], r["store"]) == ("3", "1440", "1")
    }
    return (times[16] - times[8]) / 8


def test_fewer_blocks_hide_less() -> None:
    # of as many warps: the same bytes, the same instructions
    few = [round_us(*shape, "1") for shape in (("2", "1024"), ("4", "512"), ("8", "256"))]
    assert few[0] > few[1] > few[2]


@pytest.mark.parametrize("dtype", ["bf16", "fp32"])
def test_rows_of_a_softmax_that_two_blocks_of_an_sm_work_on(dtype: str) -> None:
    """Regression: 17 and 20% too fast where what blocks compute was hidden behind DRAM."""
    device = load_device("h100-sxm")
    for r in rows("rows.csv"):
        if (r["operator"], r["columns"], r["dtype"]) != ("softmax", "16384", dtype):
            continue
        if r["cache"] != "cold" or int(r["rows"]) < 1056:
            continue
        found = predict("softmax", device=device, rows=int(r["rows"]), cols=16384, dtype=dtype)
        time = (found.time_s - found.terms_s["launch"]) * 1e6 + FLOOR
        assert time == pytest.approx(float(r["time_us"]), rel=0.13)
