"""The roofline: ridge points, attainable rates, the nearest roof, and its views."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable

import pytest

from perfmodel import PerfmodelError, Prediction, find_kernel, load_device, predict
from perfmodel.reports.roofline import (
    common_ceilings,
    labels,
    placement,
    ridge_points,
    roof_rate,
    roofline_record,
)
from perfmodel.reports.roofline_text import Scale, roofline_report

Predicted = Callable[..., Prediction]


def test_ridge_points_by_hand(predicted: Predicted) -> None:
    """Independent: data sheet of the H100 SXM5, 66.9 TFLOP/s in FP32, and 3352.3 GB/s."""
    ridges = ridge_points(common_ceilings([predicted("gemm:naive", N=4096)]))
    assert ridges["fp32", "dram"] == pytest.approx(66.9e12 / 3352.3e9)
    assert ridges["fp32", "dram"] == pytest.approx(19.96, abs=0.005)
    assert ridges["fp16_tensor", "dram"] == pytest.approx(989.4e12 / 3352.3e9)
    # 128 B a clock and SM: 132 * 128 * 1.98e9 = 33.45 TB/s.
    assert ridges["fp32", "l1"] == pytest.approx(66.9e12 / (132 * 128 * 1.98e9))


def test_placement_by_hand(predicted: Predicted) -> None:
    """N = 4096: 2 N^3 operations; L1 moves 33 + 32/4096 sectors a warp and step, 32 B each."""
    place = placement(predicted("gemm:naive", N=4096))
    assert place.name == "gemm:naive"
    assert place.precision == "fp32"
    assert [p.level for p in place.points] == ["l1", "l2", "dram"]
    flop_a_step = 2 * 32
    intensity = flop_a_step / ((33 + 32 / 4096) * 32)
    l1, l2, dram = place.points
    assert l1.intensity == pytest.approx(intensity)
    assert l1.attainable == pytest.approx(intensity * 132 * 128 * 1.98e9)
    # Far from L1's bytes the arithmetic peak is what limits.
    assert dram.attainable == place.peak == pytest.approx(66.9e12)
    assert place.flop_per_s < l1.attainable < l2.attainable
    assert place.nearest == "l1"


def test_nearest_is_the_peak_where_memory_is_far(predicted: Predicted) -> None:
    """Regression: 128 multiply-adds for 8 bytes are beyond all ridge points."""
    assert placement(predicted("polynomial", degree=1024)).nearest == "fp32"


def test_kernels_that_compute_nothing(predicted: Predicted) -> None:
    place = placement(predicted("copy"))
    assert place.points == ()
    assert place.nearest == ""
    record = roofline_record([predicted("copy")])
    assert record["kernels"][0]["levels"] == []
    assert record["kernels"][0]["nearest"] is None


def test_record_is_json(predicted: Predicted) -> None:
    both = [predicted("gemm:naive", N=4096), predicted("gemm:coalesced", N=4096)]
    record = json.loads(json.dumps(roofline_record(both), allow_nan=False))
    assert record["schema"] == "perfmodel.roofline/1"
    assert record["device"] == "h100-sxm"
    assert len(record["ridge_points"]) == 3 * sum(
        c["kind"] == "compute" for c in record["ceilings"]
    )
    for kernel in record["kernels"]:
        for level in kernel["levels"]:
            share = kernel["flop_per_s"] / level["attainable_flop_per_s"]
            assert level["share_of_attainable"] == pytest.approx(share)
            assert 0 < share < 1


def test_labels_tell_namesakes_apart(predicted: Predicted) -> None:
    three = [
        predicted("gemm:naive", N=512, K=64),
        predicted("gemm:naive", N=512, K=128),
        predicted("gemm:coalesced", N=512),
    ]
    assert labels(three) == ["gemm:naive K=64", "gemm:naive K=128", "gemm:coalesced"]


def test_several_gpus_are_refused(predicted: Predicted) -> None:
    two = [predicted("gemm:naive"), predicted("gemm:naive", device="a100-sxm-80")]
    with pytest.raises(PerfmodelError, match="one GPU, not of h100-sxm, a100-sxm-80"):
        roofline_record(two)
    with pytest.raises(PerfmodelError, match="at least one"):
        common_ceilings([])


def test_without_a_peak_memory_roofs_are_left() -> None:
    """An A100 has no FP8 units (datasheet): whatever runs there has other roofs than theirs."""
    kernel = dataclasses.replace(find_kernel("gemm", "naive"), precision="fp8_tensor")
    prediction = predict(kernel, device=load_device("a100-sxm-80"), N=512)
    place = placement(prediction)
    ceilings = {c.name: c.value for c in prediction.roofline.ceilings}
    assert place.peak is None
    assert place.nearest in ("l1", "l2", "dram")
    for point in place.points:
        assert point.attainable == point.intensity * ceilings[point.level]
    assert "fp8" not in str(roofline_record([prediction])["kernels"][0]["levels"])


@pytest.mark.parametrize("width", [50, 80, 100, 160])
def test_text_fits(predicted: Predicted, width: int) -> None:
    text = _shown(width, predicted("gemm:naive", N=4096), predicted("gemm:coalesced", N=4096))
    assert max(map(len, text.splitlines())) <= width
    if width >= 80:
        assert "19.96" in text
        assert "66.9 TFLOP/s" in text
        for name in ("gemm:naive", "gemm:coalesced", "DRAM", "nearest roof"):
            assert name in text


def test_text_plot_has_a_dot_for_each_level(predicted: Predicted) -> None:
    text = _shown(100, predicted("gemm:naive", N=4096), predicted("gemm:coalesced", N=4096))
    rows = [line for line in text.splitlines() if "|" in line]
    for letter in "ab":
        found = [row for row in rows if f"{letter}1" in row]
        assert len(found) == 1
        columns = [found[0].find(letter + mark) for mark in "12D"]
        assert -1 not in columns
        assert columns == sorted(columns)
    # The faster kernel is the higher one.
    heights = [next(i for i, row in enumerate(rows) if f"{letter}1" in row) for letter in "ab"]
    assert heights[1] < heights[0]


def test_text_without_operations(predicted: Predicted) -> None:
    text = _shown(80, predicted("copy"))
    assert "copy: no floating-point operations, so no place on the roofline" in text


def test_integers_are_no_floating_point_operations(predicted: Predicted) -> None:
    # NVIDIA states TOPS of INT8
    assert roof_rate(1.979e15, "int8_tensor") == "1.98 POP/s"
    assert roof_rate(1.979e15, "int8_tensor", "fp8_tensor") == "1.98 PFLOP/s"
    lines = roofline_report([predicted("copy")]).lines(120)
    assert "1.98 POP/s" in next(line for line in lines if line.startswith("INT8 tensor"))


def test_scale() -> None:
    scale = Scale(0.01, 1000.0, 51)
    assert [scale.cell(value) for value in (0.01, 0.1, 1000.0)] == [0, 10, 50]
    assert scale.value(20) == pytest.approx(1.0)
    assert list(scale.decades()) == pytest.approx([0.01, 0.1, 1, 10, 100, 1000])


def _shown(width: int, *predictions: Prediction) -> str:
    return "\n".join(line.rstrip() for line in roofline_report(list(predictions)).lines(width))
