"""What a report holds, and which figures a predicted time comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from perfmodel import PerfmodelError, predict
from perfmodel.hardware import load_device
from perfmodel.hardware.device import quantities
from perfmodel.prediction.figures_used import figures_used
from perfmodel.reports.page.content import MOST_LAUNCHES, Report, build_report, report_record
from perfmodel.reports.page.pictures import Flow, flows, kept
from perfmodel.reports.page.tables import figures, formulas, intervals, summary

ReportOf = Callable[[str], Report]
KERNELS = ("gemm", "copy", "atomic-add", "shared-atomic", "strided-copy")


@pytest.mark.parametrize("kernel", KERNELS)
def test_figures_that_are_not_named_do_not_matter(kernel: str) -> None:
    """Property: a figure that is not named may have any value, and the time stays the same."""
    device = load_device("h100-sxm")
    base = predict(kernel, device=device)
    used = {figure.name for figure in figures_used(base) if figure.purpose == "time"}
    others = [
        name
        for name in device.figures
        if name not in used and isinstance(_value(device, name), float)
    ]
    assert "launch_floor" in used
    assert "event_floor" in others
    for name in others:
        changed: dict[str, Any] = {name: _value(device, name) * 1.5}
        again = predict(kernel, device=replace(device, **changed))
        assert again.time_s == base.time_s, name


def _value(device: Any, name: str) -> Any:
    return getattr(device, name)


@pytest.mark.parametrize("kernel", ["copy", "gemm", "atomic-add"])
def test_influence_is_that_of_a_new_prediction(kernel: str) -> None:
    """Independent: the whole prediction again, from a device with one figure changed.

    What reads of several SMs are merged goes by the time of other units, and is left as it was.
    """
    device = load_device("h100-sxm")
    base = predict(kernel, device=device)
    seen = 0
    for used in figures_used(base):
        if used.influence is None or used.purpose == "roofline":
            continue
        changed: dict[str, Any] = {used.name: getattr(device, used.name) * 1.01}
        again = predict(kernel, device=replace(device, **changed))
        influence = pytest.approx(again.time_s / base.time_s - 1, rel=0.05, abs=2e-4)
        assert used.influence == influence, used.name
        seen += abs(used.influence) > 1e-4
    assert seen >= 1


def test_influence_by_hand(report_of: ReportOf) -> None:
    # A copy of 1 GiB is bound by DRAM, so 1% more bandwidth saves nearly 1/1.01 of the time.
    (launch,) = report_of("copy").launches
    found = {used.name: used.influence for used in launch.figures}
    assert found["dram_bandwidth"] == pytest.approx(1 / 1.01 - 1, rel=0.05)
    assert found["l2_size"] is None
    assert abs(found["l1_latency"]) < 1e-4


def test_traffic_by_hand(report_of: ReportOf) -> None:
    """N = 4096: N^3/32 requests to each matrix; A a sector each, B four; stores of N^2 floats."""
    flow = {f.far: f for f in flows(report_of("gemm").predictions[1])}
    assert flow["L1"].read == 5 * 4096**3 // 32 * 32
    assert flow["L1"].written == 4096**2 * 4
    assert flow["L1"].atomic == 0
    # From L1, a sector of A serves the 8 steps of k in it, one of B the 32 warps of a block.
    fills = 4096**3 // 32 * 32 * (1 / 8 + 4 / 32)
    # L2 sees what up to four SMs of a GPC read at a time once.
    assert fills / 4 < flow["L2"].read <= fills
    served = 1 - flow["L2"].read / flow["L1"].read
    assert kept(flow["L1"], flow["L2"]) == pytest.approx(served)
    assert served >= 0.95


@pytest.mark.parametrize("what", ["gemm", "copy", "unadvised"])
def test_flows_are_those_of_the_prediction(report_of: ReportOf, what: str) -> None:
    for prediction in report_of(what).predictions:
        moved = prediction.traffic
        found = {f.far: f for f in flows(prediction)}
        assert found["DRAM"].total == moved["dram_read_bytes"] + moved["dram_write_bytes"]
        assert ("shared" in found) == (moved["shared_wavefronts"] > 0)
        intensity = prediction.roofline.intensity
        for level in ("l2", "dram"):
            if (value := intensity[level]) is not None:
                assert found[level.upper()].total == pytest.approx(prediction.roofline.flop / value)


def test_share_that_a_level_serves() -> None:
    def read(amount: float) -> Flow:
        return Flow("SM", "L1", amount, 0.0, 0.0, None)

    assert kept(read(100), read(25)) == 0.75
    assert kept(read(0), read(0)) is None
    assert kept(read(100), read(200)) == -1  # 64 B fetched for sectors of 32 B


def test_every_figure_and_formula_has_an_origin(report_of: ReportOf) -> None:
    for what in ("gemm", "unadvised"):
        table = figures(report_of(what))
        names = [row[0] for row in table.rows]
        assert set(names) <= set(quantities())
        assert len(names) == len(set(names))
        for row in table.rows:
            assert row[1], row
            assert row[2] in ("datasheet", "measured", "fitted", "derived", "assumed"), row
            assert row[-2], row
        for title, formula, _, kind, holds, source in formulas(report_of(what)).rows:
            assert all((title, formula, kind, holds, source)), title


def test_kinds_of_formulas(report_of: ReportOf) -> None:
    found = {row[0]: row[-3:] for row in formulas(report_of("gemm")).rows}
    assert found["L1 clocks per SM"][0] == "fitted"
    assert found["granules per request"][0] == "derived"
    assert found["granules per request"][2].startswith("lanes at strides of at most a granule")
    copied = build_report([predict("copy")])
    found = {row[0]: row[-3:] for row in formulas(copied).rows}
    assert found["time for latency"] == (
        "published",
        "blocks that are replaced as they end",
        "Little's law",
    )
    assert found["room for dirty bytes in L2"][0] == "fitted"
    assert "time" not in found


@pytest.mark.parametrize(
    ("device", "origin"),
    [("h100-sxm", "measurements of h100-sxm, h200-sxm"), ("h100-pcie", "published measurements")],
)
def test_interval_has_an_origin(device: str, origin: str) -> None:
    table = intervals(build_report([predict("copy", bytes=1 << 30, device=device)]))
    cells = dict(zip(table.columns, table.rows[0], strict=True))
    assert cells["residuals of"] == "dram"
    assert origin in cells["from"]
    assert int(cells["launches"]) > 20


def test_speed_is_compared_only_for_equal_work(report_of: ReportOf) -> None:
    assert "speed" in summary(report_of("gemm")).columns
    assert "speed" not in summary(report_of("unadvised")).columns
    assert "#" not in summary(report_of("copy")).columns
    first, second = summary(report_of("gemm")).rows
    both = report_of("gemm").predictions
    assert first[4] == "1 x"
    assert second[4] == f"{both[0].time_s / both[1].time_s:.1f} x"


def test_what_a_report_refuses() -> None:
    one, other = predict("copy"), predict("copy", device="a100-sxm-80")
    for given, message in (
        (((),), "at least one prediction"),
        (([one, other],), "of one GPU"),
        (([one] * (MOST_LAUNCHES + 1),), f"at most {MOST_LAUNCHES} launches"),
    ):
        with pytest.raises(PerfmodelError, match=message):
            build_report(*given)


def test_title_and_no_advice() -> None:
    both = [predict("gemm", mapping=m) for m in ("naive", "coalesced")]
    made = build_report(both, title="The ladder")
    assert made.title == "The ladder"
    assert [launch.advice for launch in made.launches] == [None, None]
    record = report_record(made)
    assert record["schema"] == "perfmodel.report/1"
    assert record["launches"][0]["advice"] is None


def test_parameters_that_follow_others_are_not_named(report_of: ReportOf) -> None:
    assert report_of("unadvised").names[:2] == ["gemm:naive N=512", "gemm:coalesced N=512"]
    apart = [predict("gemm", mapping="naive", N=n, K=64) for n in (512, 1024)]
    assert build_report(apart).names == ["gemm:naive N=512", "gemm:naive N=1024"]
    deep = [predict("gemm", mapping="naive", N=512, K=k) for k in (64, 128)]
    assert build_report(deep).names == ["gemm:naive K=64", "gemm:naive K=128"]
