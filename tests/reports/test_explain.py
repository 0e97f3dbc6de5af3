"""The derivation of a prediction: what is shown matters, recomputes, and ends in the time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from drawn_launches import EVERY
from programs import launch, sample_program

from perfmodel import Prediction, predict
from perfmodel.cuda.kernel.translate import translated
from perfmodel.expressions import names
from perfmodel.models.node import Node
from perfmodel.models.replay import Derivation
from perfmodel.prediction.figures_used import derive_as_far
from perfmodel.reports.explain import NEGLIGIBLE, explain, explanation_record, left_out
from perfmodel.reports.explain_text import explanation_text
from perfmodel.reports.step import Step

Predicted = Callable[..., Prediction]

CASES = [
    ("gemm:naive", {"N": 4096}),
    ("gemm:naive", {"N": 4096, "device": "a100-sxm-80", "timing": "events"}),
    ("gemm:naive", {"N": 513, "device": "h200-sxm"}),
    ("gemm:coalesced", {"N": 4096}),
    ("gemm:coalesced", {"N": 100, "cache": "warm"}),
    ("gemm:coalesced", {"N": 32, "device": "a100-sxm-80"}),
    ("strided-copy", {"stride": 0}),
    ("strided-copy", {"stride": 3}),
    ("strided-copy", {"stride": 32, "device": "h200-sxm"}),
    ("copy", {"bytes": 1 << 16, "vector": 4, "timing": "events"}),
    ("read", {"bytes": 1 << 28}),
    ("write", {"bytes": 1 << 28, "cache": "warm"}),
    ("stencil5", {}),
    ("stencil5", {"bx": 16, "by": 16}),
    ("transpose", {}),
    ("polynomial", {}),
    ("column-sum", {"device": "a100-sxm-80"}),
    ("row-sum", {}),
    ("field-read", {}),
    ("triad", {}),
]
PROGRAMS = {
    "saxpy": ((4000,), (256,), {"n": 1_024_000, "a": 2.0}),
    "warp_sums": ((264,), (256,), {"n": 60_000}),
    "histogram": ((264,), (256,), {"n": 60_000}),
}
COPY_LINES = 100
"""Two screens of fifty lines."""
PRODUCT_LINES = 200


def check(prediction: Prediction, way: Derivation | None = None) -> None:
    """Check all that holds of every explanation."""
    way = way or derive_as_far(prediction)
    steps = explain(prediction, way=way)
    for step in steps:
        assert names(step.formula.node) == step.formula.symbols.keys(), step.title
        assert step.values.keys() == step.formula.symbols.keys()
        again = float(step.formula(**step.values))
        assert step.result == pytest.approx(again, rel=1e-9), step.title
        assert step.formula.source
        assert step.formula.holds
        assert step.formula.unit
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    assert steps[-1].title == "time"
    assert steps[-1].result == pytest.approx(prediction.time_s, rel=1e-12)
    check_selection(way, steps)
    check_origins(prediction, steps)


def check_selection(way: Derivation, steps: tuple[Step, ...]) -> None:
    """Check that all that moves the time by 1% of its own change is shown, and nothing else."""
    assert all(abs(step.elasticity or 0.0) >= NEGLIGIBLE for step in steps)
    shown = {(step.title, step.result) for step in steps}
    for node in way.formulas:
        elasticity = way.elasticity(node)
        if elasticity is not None and abs(elasticity) >= 1.001 * NEGLIGIBLE:
            largest = float(np.max(node.value))
            assert (node.name, largest) in shown or cancelled(way, node), node.name


def cancelled(way: Derivation, node: Node) -> bool:
    """Say whether what a formula moves is moved back where the same numbers are used again."""
    alike = [other for other in way.formulas if numbers(other) == numbers(node)]
    together = way.elasticity(*alike)
    return together is not None and abs(together) < NEGLIGIBLE


def numbers(node: Node) -> tuple[str, list[list[float]]]:
    """Return a formula's text and the numbers put in."""
    assert node.formula is not None
    given = (getattr(value, "value", value) for value in node.named.values())
    return node.formula.text, [np.ravel(value).tolist() for value in given]


def check_origins(prediction: Prediction, steps: tuple[Step, ...]) -> None:
    """Check that what is said to be a step's result, or a figure, is that number."""
    results = {step.number: step.result for step in steps}
    for step in steps:
        for symbol, origin in step.origins.items():
            assert step.number not in origin.steps
            assert origin.steps or origin.figures
            numbers = [results[number] for number in origin.steps]
            device = prediction.details.device
            of_device = dict(device.coefficients.values) | {
                name: getattr(device, name) for name in device.figures
            }
            numbers += [of_device[name] for name in origin.figures]
            if origin.same:
                assert numbers == [pytest.approx(step.values[symbol], rel=1e-12)], step.title


@pytest.mark.parametrize(("kernel", "mapping"), EVERY, ids=str)
def test_every_built_in(kernel: str, mapping: str | None) -> None:
    check(predict(kernel, mapping=mapping))


@pytest.mark.parametrize(("kernel", "options"), CASES)
def test_kernels_devices_and_timings(
    predicted: Predicted, kernel: str, options: dict[str, int]
) -> None:
    check(predicted(kernel, **options))


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_from_ptx(name: str) -> None:
    grid, block, arguments = PROGRAMS[name]
    check(predict(translated(sample_program(), launch(grid, block, **arguments), name)))


def test_the_elasticity_shown_is_that_of_the_time() -> None:
    """Independent: each formula's result one percent larger, wherever it is evaluated on these."""
    prediction = predict("copy")
    way = derive_as_far(prediction)
    for step in explain(prediction, way=way):
        nodes = [n for n in way.formulas if n.name == step.title and np.max(n.value) == step.result]
        moved = way.with_values({node: node.value * 1.01 for node in nodes})[0]
        share = 100 * (moved / prediction.time_s - 1)
        assert step.elasticity == pytest.approx(share, rel=0.1, abs=2e-3), step.title


def test_a_copy_fits_on_two_screens() -> None:
    for device in ("h100-sxm", "h200-sxm", "a100-sxm-80"):
        assert len(explanation_text(predict("copy", device=device)).splitlines()) <= COPY_LINES


@pytest.mark.parametrize("mapping", [mapping for kernel, mapping in EVERY if kernel == "gemm"])
def test_a_product_fits_on_four_screens(mapping: str) -> None:
    text = explanation_text(predict("gemm", mapping=mapping))
    assert len(text.splitlines()) <= PRODUCT_LINES


def test_the_full_explanation_has_the_other_formulas_too(predicted: Predicted) -> None:
    prediction = predicted("gemm:coalesced", N=4096)
    way = derive_as_far(prediction)
    some, every = explain(prediction, way=way), explain(prediction, full=True, way=way)
    assert len(every) > 2 * len(some)
    assert {(s.title, s.result) for s in some} <= {(s.title, s.result) for s in every}
    assert every[-1].result == some[-1].result
    for step in every:
        assert step.result == pytest.approx(float(step.formula(**step.values)), rel=1e-9, abs=1e-30)


def test_terms_that_are_left_out_are_small(predicted: Predicted) -> None:
    prediction = predicted("gemm:coalesced", N=4096)
    small = left_out(prediction)
    assert {"launch", "ramp", "dispatch"} <= small.keys()
    assert all(seconds < 0.01 * prediction.time_s for seconds in small.values())


def test_naive_gemm_by_hand(predicted: Predicted) -> None:
    """N = 4096 on an H100, counted by hand: 16384 blocks of 32 warps and 4096 steps on 132 SMs.

    A warp's 32 lanes read A down a column: 32 sectors, and 4096 floats apart all fall into one
    bank: 32 clocks. 1 in 256 of A's requests misses; of the 8 loads in flight from a sector, 0.45
    each wait with the one that misses: 3.6 in 256. B is one address, 1 in 8 misses, 0.45 wait.
    Both blocks of an SM seldom read the same rows of A: of 32 parts the first 264 blocks, of 128
    later ones, which find what L1 has of the 1 MiB that a block goes through, 0.242.
    """
    prediction = predicted("gemm:naive", N=4096)
    requests = 2**31
    hits = by_section(prediction, "data-stage clocks of requests that hit")
    assert hits["L1: load A[m*K + k], every k"].values["passes"] == 32 * requests
    rows = (264 * (1 - 1 / 64) + (16384 - 264) * (1 - 0.242 / 256)) / 16384
    expected = 32 * (1 - rows * 3.6 / 256) * requests
    assert hits["L1: load A[m*K + k], every k"].result == pytest.approx(expected)
    assert hits["L1: load B[k*N + n], every k"].result == pytest.approx((1 - 3.6 / 8) * requests)
    (clocks,) = by_section(prediction, "L1 clocks per SM").values()
    # C costs 32 lines and as many masks once in 4096 steps; what misses, a line each.
    data = expected + (1 - 3.6 / 8) * requests + 64 * requests / 4096
    assert clocks.values["data"] == pytest.approx(data / 132)
    assert clocks.values["fills"] == pytest.approx(
        (32 * rows * 3.6 / 256 + 3.6 / 8) * requests / 132
    )
    assert clocks.result == pytest.approx(clocks.values["data"] + clocks.values["fills"])


def test_coalesced_gemm_by_hand(predicted: Predicted) -> None:
    """A is one address, B 32 consecutive floats: 4 sectors in a line, and one clock each."""
    prediction = predicted("gemm:coalesced", N=4096)
    granules = [s for s in explain(prediction) if s.title == "granules per request"]
    found = {(s.section.split(":")[1][:8], s.values["G"]): s.result for s in granules}
    assert found[" load A[", 32] == found[" load A[", 128] == found[" load B[", 128] == 1
    assert found[" load B[", 32] == 4
    issue = by_section(prediction, "issue clocks per SM")["Time"]
    # 4.57 instructions a step (profiler) and 30 outside the loop, by 524288 warps of 4096 steps
    assert issue.values["i"] == pytest.approx((4.57 * 4096 + 30) * 524288, rel=2e-3)
    # Measured on an H200 at 1980 MHz: 22.9 ms (measurements, gemm.csv).
    assert explain(prediction)[-1].result == pytest.approx(22.9e-3, rel=0.1)


def test_the_queue_of_memory_by_a_second_way(predicted: Predicted) -> None:
    """Independent: a round of waits, and of a queue at load bandwidth/round, by bisection."""
    seen = 0
    for kernel, options in CASES:
        way = derive_as_far(predicted(kernel, **options))
        for node in way.formulas:
            if node.name != "time of memory, loops":
                continue
            given = {n: float(np.max(getattr(v, "value", v))) for n, v in node.named.items()}
            wait, wide = given["wait"], given["bandwidth"] + given["alone"]
            low, high = max(wait, wide), wait + wide + 10 * given["queue"] + 1e-9
            for _ in range(200):
                middle = (low + high) / 2
                longer = wait + given["queue"] * wide / max(middle - wide, 1e-30) > middle
                low, high = (middle, high) if longer else (low, middle)
            assert float(np.max(node.value)) == pytest.approx(low, rel=1e-6)
            seen += 1
    assert seen > 10


def test_accesses_that_ask_for_the_same_share_a_step(predicted: Predicted) -> None:
    sections = {s.section for s in explain(predicted("stencil5"), full=True)}
    assert any(section.count("load ") > 1 for section in sections)


def test_record_is_json(predicted: Predicted) -> None:
    prediction = predicted("gemm:coalesced", N=4096)
    record = json.loads(json.dumps(explanation_record(prediction), allow_nan=False))
    assert record["schema"] == "perfmodel.explanation/1"
    assert record["prediction"]["time_s"] == prediction.time_s
    last = record["steps"][-1]
    assert last["result"] == pytest.approx(prediction.time_s, rel=1e-11)
    assert last["unit"] == "s"
    assert last["symbols"].keys() == last["values"].keys()
    assert last["origins"]["launch"]["figures"] == ["launch_floor"]
    assert last["elasticity"] == pytest.approx(1.0)


def test_simulated_traffic_is_where_the_time_starts() -> None:
    prediction = predict("copy", bytes=1 << 22, traffic="simulated")
    check(prediction)
    titles = {step.title for step in explain(prediction, full=True)}
    assert "time of a transfer" in titles
    assert "room for dirty bytes in L2" not in titles


def test_irregular_index_is_said_to_be_counted(tmp_path: Path) -> None:
    path = tmp_path / "squares.toml"
    path.write_text(
        """
name = "squares"
summary = "y[i] = x[i*i % n]"
guard = "i < n"
flop = "n"
[parameters]
n = { default = 65536 }
[launch]
grid = "ceil_div(n, 256)"
block = 256
[definitions]
i = "blockIdx.x*blockDim.x + threadIdx.x"
[buffers]
x = { length = "n", element_bytes = 4 }
y = { length = "n", element_bytes = 4 }
[[accesses]]
load = "x"
index = "i*i % n"
[[accesses]]
store = "y"
index = "i"
"""
    )
    prediction = predict(path)
    check(prediction)
    text = " ".join(explanation_text(prediction).split())
    counted = [part for part in text.split("Store")[0].split("Load")[1:] if "counted" in part]
    assert len(counted) == 1
    assert "x[i*i % n]" in counted[0]
    assert "counted address by address" in counted[0]


def by_section(prediction: Prediction, title: str) -> dict[str, Step]:
    return {step.section: step for step in explain(prediction) if step.title == title}
