"""The derivation of a prediction: steps that recompute, and end in the predicted time."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from perfmodel import Prediction, predict
from perfmodel.models.l1.l1_fills import FOUND
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.reuse.reuse_windows import fetched
from perfmodel.reports.explain import explain, explanation_record, left_out
from perfmodel.reports.explain_reuse import l1_reuse
from perfmodel.reports.formula_text import pieces
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


@pytest.mark.parametrize(("kernel", "options"), CASES)
def test_every_step_recomputes_and_the_last_is_the_time(
    predicted: Predicted, kernel: str, options: dict[str, int]
) -> None:
    prediction = predicted(kernel, **options)
    steps = explain(prediction)
    for step in steps:
        assert not step.formula.unexplained(), step.title
        assert step.values.keys() == step.formula.symbols.keys()
        assert step.result == pytest.approx(float(step.formula(**step.values)), rel=1e-12)
        assert step.formula.source
        assert step.formula.unit
    assert steps[-1].title == "time"
    assert steps[-1].result == pytest.approx(prediction.time_s, rel=1e-11)


@pytest.mark.parametrize(("kernel", "options"), CASES)
def test_terms_that_matter_are_derived_to_their_values(
    predicted: Predicted, kernel: str, options: dict[str, int]
) -> None:
    prediction = predicted(kernel, **options)
    found = {s.title: s.result for s in explain(prediction) if s.title.startswith("time of ")}
    small = left_out(prediction)
    for name, seconds in prediction.terms_s.items():
        if f"time of {name}" in found:
            assert found[f"time of {name}"] == pytest.approx(seconds, rel=1e-9), name
        elif name in ("l1", "l2", "dram", "latency", "stalls", "ramp"):
            assert name in small
    assert all(seconds < 0.01 * prediction.time_s for seconds in small.values())


@pytest.mark.parametrize(("kernel", "options"), CASES)
def test_numbers_between_steps_agree(
    predicted: Predicted, kernel: str, options: dict[str, int]
) -> None:
    """A value named like an earlier result of its section is that result."""
    steps = explain(predicted(kernel, **options))
    chained = {
        "memory": "memory",
        "sm": "SM, together",
        "together": "all of them, together",
        "chain": "time of one block",
        "loads": "loads of one block",
        "rounds": "waves of blocks",
        "efficiency": "DRAM efficiency",
    }
    results: dict[str, float] = {}
    for step in steps:
        for name, value in step.values.items():
            source = chained.get(name)
            if source in results and step.section not in ("Instruction issue", "Time"):
                assert value == pytest.approx(results[source], rel=1e-9), (step.title, name)
        results[step.title] = step.result


def test_naive_gemm_by_hand(predicted: Predicted) -> None:
    """N = 4096 on an H100, counted by hand.

    A warp's 32 lanes read A down a column: 32 sectors, and 4096 floats apart all fall into one
    bank: 32 clocks. B is one address: 1 clock. C costs 32 clocks once in 4096 steps. Eight
    consecutive k share a sector of A (32 rows of a block share it among 32 warps), so a block
    fetches 32 sectors for A and 32 for B every 8 steps: 64 / (32 warps * 8) = 0.25 a warp and step.
    """
    steps = _by_title(explain(predicted("gemm:naive", N=4096)))
    assert steps["lane stride"][0].result == 4 * 4096
    assert steps["lane stride"][0].formula.text == "4*K"
    # A, B, and C, which is stored down a column too
    assert [s.result for s in steps["sectors a request"]] == [32, 1, 32]
    assert [s.result for s in steps["sector efficiency"]] == [1 / 8, 1 / 8, 1 / 8]
    assert [s.result for s in steps["data wavefronts a request"]] == [32, 1, 32]
    # 1 in 256 of A misses and 1 in 8 of B; of the 8 loads in flight from a sector, 0.45 each wait
    # with the one that misses: 3.6 in 256 and 3.6 in 8, whose 32 lines and 1 come with the fills.
    data = steps["L1 data, a warp and k-step"][0].result
    assert data == pytest.approx(32 * (1 - 3.6 / 256) + (1 - 3.6 / 8) + 32 / 4096)
    fills = steps["L1 fills, a warp and k-step"][0].result
    assert fills == pytest.approx(32 * 3.6 / 256 + 3.6 / 8)
    clocks = steps["L1 clocks, a warp and k-step"][0]
    assert clocks.result == pytest.approx(data + fills)
    assert clocks.note == (
        f"{clocks.result:.1f} clocks a warp and k-step: L1 data stage {data:.1f} of them"
    )
    # 16384 blocks of 32 warps and 4096 steps on 132 SMs.
    assert steps["clocks an SM"][0].result == pytest.approx(clocks.result * 2**31 / 132)


def test_coalesced_gemm_by_hand(predicted: Predicted) -> None:
    """A is one address, B 32 consecutive floats: 4 sectors, and one clock each."""
    steps = _by_title(explain(predicted("gemm:coalesced", N=4096)))
    assert [s.result for s in steps["lane stride"]] == [0, 4]
    assert [s.result for s in steps["sectors a request"]] == [1, 4]
    assert [s.result for s in steps["sector efficiency"]] == [1 / 8, 1]
    # Two requests of 32 lanes are two clocks, whatever hits.
    assert steps["L1 clocks, a warp and k-step"][0].result == pytest.approx(2.1, abs=0.15)
    issue = steps["issue clocks, a warp and k-step"][0]
    # 4.57 instructions a step (profiler) and 30 outside the loop, four schedulers.
    assert issue.result == pytest.approx((4.57 + 30 / 4096) / 4, rel=1e-3)
    all_together = steps["clocks of an SM, a warp and k-step"][0].result
    # Measured on an H200 at 1980 MHz: 22.9 ms, which are 2.79 clocks (measurements, gemm.csv).
    assert all_together == pytest.approx(2.79, rel=0.1)


def test_combination_against_a_second_implementation(predicted: Predicted) -> None:
    """Regression of the exponents, and of the round that solves the queue, found by bisection."""
    for kernel, options in CASES:
        prediction = predicted(kernel, **options)
        t = prediction.terms_s
        m = {k: float(np.max(v)) for k, v in prediction.details.time.inputs["memory"].items()}
        queued = [v for k, v in t.items() if k in ("issue", "int32", "sfu")]
        pipe = max(sum(v**3 for v in queued) ** (1 / 3), t.get("fma32", 0.0), t.get("fma64", 0.0))
        early = m["early"] * t["l2"]
        wide = early + max(t["l2"] - early, t["dram"])
        wait = t["latency"] + m["burst"] * m["share"] * m["reads"] / m["held"]
        low, high = max(wait, wide), wait + wide + 10 * m["queue"] + 1e-9
        for _ in range(200):  # a round of waits and of a queue at load wide/round
            middle = (low + high) / 2
            longer = wait + m["queue"] * wide / max(middle - wide, 1e-30) > middle
            low, high = (middle, high) if longer else (low, middle)
        crowd = max(wait, wide) * sum((x / max(wait, wide)) ** m["p"] for x in (wait, wide)) ** (
            1 / m["p"]
        )
        memory = m["share"] * crowd + (1 - m["share"]) * low
        parts = [math.hypot(pipe, m["own"]), memory, t.get("dispatch", 0.0)]
        resources = sum((p / max(parts)) ** 8 for p in parts) ** 0.125 * max(parts)
        rounds = max(float(np.max(prediction.details.time.inputs["rounds"]["x"])), 1.0)
        far = float(np.max(prediction.details.time.chain.far_waits))
        apart = 1 / (rounds * (1 + far / 80))
        once = ((pipe * (1 - 1 / m["held"])) ** 1.25 + t["latency"] ** 1.25) ** 0.8
        many = (pipe**3 + t["latency"] ** 3) ** (1 / 3)
        turns = once * apart + many * (1 - apart)
        block = prediction.details.time.inputs["latency"]
        last = float(np.max(block["chain"])) - float(np.max(block["ramp"]))
        details = prediction.details
        places = details.device.sm_count * float(np.max(details.occupied.resident))
        running = min(places / float(np.max(details.instance.blocks)), 1.0)
        first = t.get("dispatch", 0.0) * running
        more = max(min(rounds, 1 / running) - 1, 0.0)
        turn = (first**8 + float(np.max(block["chain"])) ** 8) ** 0.125
        crowded = m["share"] >= 1 and not details.instance.kernel.barriers
        beside = float(np.max(details.time.inputs["last"]["held"])) if first else 1.0
        crowd = running * max(t["issue"], m["own"]) * (1 - 1 / beside) / 2 if crowded else 0.0
        ended = first + more * turn + max(last, 0.0) + crowd if first else 0.0
        together = max(resources, turns, math.hypot(pipe, t["l1"], t["stalls"]), ended)
        steps = _by_title(explain(prediction))
        assert steps["all of them, together"][0].result == pytest.approx(together, rel=1e-6)


@pytest.mark.parametrize("mapping", ["naive", "coalesced"])
def test_windows_are_those_of_the_model(predicted: Predicted, mapping: str) -> None:
    """The windows that are described give the model's own L1 fills."""
    details = predicted(f"gemm:{mapping}", N=4096).details
    [reuse] = l1_reuse(details)
    found = fetched(
        reuse.groups,
        reuse.base,
        reuse.windows,
        np.asarray(reuse.capacity),
        SECTOR,
        reuse.weights,
        reuse.sharing,
    )
    blocks = float(np.max(details.instance.blocks))
    for group, sectors in zip(reuse.groups, found, strict=True):
        fills = sum(float(details.traffic.accesses[i].l1_fill_sectors[0]) for i in group.members)
        assert fills == pytest.approx(float(sectors.max()) * blocks, rel=1e-9)


def test_words_say_what_fits(predicted: Predicted) -> None:
    steps = explain(predicted("gemm:naive", N=4096))
    notes = [s.note for s in steps if s.title == "share of reuse that L1 keeps"]
    assert len(notes) == 2
    assert notes[0].startswith("L1 holds what the 2 blocks of an SM touch")
    assert notes[1].startswith("L1 cannot hold what the 2 blocks of an SM over 4096 iterations")
    # A stream uses nothing again, so there is nothing to say.
    copied = explain(predicted("read", bytes=1 << 28))
    assert not [s for s in copied if s.title.startswith("share of reuse")]


@pytest.mark.parametrize(
    ("kernel", "options"),
    [c for c in CASES if c[1].get("cache") != "warm" and c[0] != "column-sum"],
)
def test_the_chain_and_the_writes_are_derived(
    predicted: Predicted, kernel: str, options: dict[str, int]
) -> None:
    """Guards the parts that are shown only where they reproduce the model's number."""
    prediction = predicted(kernel, **options)
    titles = {s.title for s in explain(prediction)}
    if "time of latency" in titles:
        assert "time of one block" in titles
    if "time of ramp" in titles:
        assert "start of a block and its loads" in titles
    if "time of dram" in titles and prediction.traffic["dram_write_bytes"] > 0:
        assert "DRAM writes" in titles


def test_equal_accesses_share_a_section(predicted: Predicted) -> None:
    sections = list(dict.fromkeys(s.section for s in explain(predicted("stencil5"))))
    loads = [section for section in sections if section.startswith("Load ")]
    assert len(loads) < 5
    assert any("alike: " in section for section in loads)


def test_accesses_with_python_names(predicted: Predicted) -> None:
    """An access called "in" gets a symbol that formulas can use, and its own name in titles."""
    steps = _by_title(explain(predicted("strided-copy", stride=3)))
    assert "L1 hit rate of in" in steps
    step = steps["L1 data, a warp"][0]
    assert {"in_", "out"} <= step.values.keys()
    assert pieces(step)[0][1].startswith("in*(1 - waits_in) + out")


def test_record_is_json(predicted: Predicted) -> None:
    prediction = predicted("gemm:coalesced", N=4096)
    record = json.loads(json.dumps(explanation_record(prediction), allow_nan=False))
    assert record["schema"] == "perfmodel.explanation/1"
    assert record["prediction"]["time_s"] == prediction.time_s
    last = record["steps"][-1]
    assert last["result"] == pytest.approx(prediction.time_s, rel=1e-11)
    assert last["unit"] == "s"
    assert last["symbols"].keys() == last["values"].keys()


def _by_title(steps: tuple[Step, ...]) -> dict[str, list[Step]]:
    found: dict[str, list[Step]] = {}
    for step in steps:
        found.setdefault(step.title, []).append(step)
    return found


def test_rows_of_lanes(predicted: Predicted) -> None:
    """16 lanes a row, rows 4096 B apart, 2 rows: 2 sectors of 64 B rows each, nothing shared."""
    steps = _by_title(explain(predicted("transpose", bx=16, by=16)))
    assert [s.result for s in steps["lane stride along threadIdx.x"]] == [4, 4096]
    assert [s.result for s in steps["lane stride along threadIdx.y"]] == [4096, 4]
    assert {s.result for s in steps["sectors of a row of lanes"]} == {2, 1}
    # By hand: 2 rows of 16 floats read; 16 columns of 2 floats, a sector each, written.
    assert [s.result for s in steps["sectors a request"]] == [4, 16]


def test_what_blocks_of_an_sm_share_is_derived() -> None:
    """By hand: keys and values of 1024 tokens, 256 B each, a row of scores and a query."""
    params = {"heads": 8, "tokens": 1024}
    made = predict("prefill-attention", mapping="naive", device="h200-sxm", **params)
    (found,) = _by_title(explain(made))[FOUND.name]
    assert found.result == pytest.approx(224 * 1024 / (2 * 1024 * 256 + 4096), rel=0.01)
    alone = predict("gemm", mapping="coalesced", N=1024)
    assert FOUND.name not in _by_title(explain(alone))


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
    steps = explain(prediction)
    counted = [s for s in steps if s.note.startswith("counted address by address")]
    assert counted
    assert all("x[i*i % n]" in s.section for s in counted)
    assert steps[-1].result == pytest.approx(prediction.time_s, rel=1e-11)


def test_loops_that_follow_each_other_fill_l1_one_at_a_time(predicted: Predicted) -> None:
    """Property: each nest has windows of its own loops only, and is named by its outermost one."""
    details = predicted("prefill-attention:naive").details
    nests = l1_reuse(details)
    loops = [{w.name for w in nest.windows} for nest in nests]
    assert len(loops) > 1
    assert all(not a & b for i, a in enumerate(loops) for b in loops[:i])
    notes = [s.note for s in explain(predicted("prefill-attention:naive")) if "keeps" in s.title]
    inside = [n for n in notes if n.startswith("L1 ") and " in loop " in n]
    assert inside
