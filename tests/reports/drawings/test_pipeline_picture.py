"""The steps of a block over time as a record: they are those of the time model."""

from __future__ import annotations

from typing import Any

import pytest

from perfmodel import PerfmodelError, predict
from perfmodel.reports.drawings.pipeline import Pipeline, Row, Span, pipeline


def of(mapping: str, **given: Any) -> Pipeline:
    return pipeline(predict("gemm", mapping=mapping, **given))


def spans(row: Row, role: str) -> list[Span]:
    return [span for span in row.spans if span.role == role]


@pytest.mark.parametrize("mapping", ["smem", "blocktile-2d", "warptile"])
def test_steps_that_wait_make_up_the_time(mapping: str) -> None:
    # derived: blocks of the busiest SM, a step every period each, as many at a time as it holds;
    # 31 to 63 waves of two blocks of 132 SMs, of which the last is smaller
    prediction = predict("gemm", mapping=mapping, N=8192)
    found = pipeline(prediction)
    blocks = -(-prediction.grid[0] * prediction.grid[1] // 132)
    together = blocks / found.resident * found.steps * found.period_s
    assert together == pytest.approx(prediction.time_s, rel=0.05)
    assert not found.ahead
    assert found.memory_s + found.work_s <= found.period_s * 1.001


def test_blocks_wait_then_work() -> None:
    # by hand: 4096 / 32 steps; two blocks of 1024 threads on an SM of 2048
    found = of("smem", N=4096)
    assert (found.steps, found.resident, len(found.rows)) == (128, 2, 2)
    for row in found.rows:
        assert [span.role for span in row.spans[:3]] == ["start", "wait", "work"]
        for before, after in zip(row.spans, row.spans[1:], strict=False):
            assert after.start == pytest.approx(before.stop)


def test_copies_ahead_by_the_terms() -> None:
    # by hand: 64 steps of 64 of K, on 132 SMs 4 of 512 tiles of 256 x 128: each term over 256
    prediction = predict("gemm", mapping="tensor-core", N=4096)
    found = pipeline(prediction)
    terms = prediction.terms_s
    assert (found.ahead, found.steps, found.pipe) == (True, 64, "bf16_tensor")
    assert found.work_s == pytest.approx(terms["bf16_tensor"] / 256)
    assert found.memory_s == pytest.approx(max(terms[n] for n in ("port", "l2", "dram")) / 256)
    assert found.period_s == max(found.work_s, found.memory_s)
    assert found.start_s == terms["ramp"]
    assert found.end_s == pytest.approx(terms["tiles"] / 4)


@pytest.mark.parametrize("rows", [64, 4096])
def test_data_is_there_before_its_step(rows: int) -> None:
    # property: copies come one after another, each before the work on it, in a free stage
    found = of("tensor-core", M=rows, N=4096, K=4096)
    for stage in found.rows[:-1]:
        for before, after in zip(stage.spans, stage.spans[1:], strict=False):
            assert after.start >= before.stop * (1 - 1e-12)
    work = {span.step: span for span in spans(found.rows[-1], "work")}
    for stage in found.rows[:-1]:
        for span in spans(stage, "copy"):
            assert span.stop <= work[span.step].start * (1 + 1e-12)
    assert found.rows[-1].spans[-1].role == "end"


def test_a_short_pipeline_is_shown_whole() -> None:
    # by hand: 256 / 64 steps of K
    found = of("tensor-core", M=4096, N=4096, K=256)
    assert (found.steps, found.cut) == (4, None)
    assert [s.step for s in spans(found.rows[-1], "work")] == [0, 1, 2, 3]


@pytest.mark.parametrize("kernel", ["copy", "gemm"])
def test_blocks_without_steps(kernel: str) -> None:
    with pytest.raises(PerfmodelError, match="has no pipeline to draw: its blocks neither copy"):
        pipeline(predict(kernel))
