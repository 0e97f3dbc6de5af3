"""The roofline as a figure, and figures as files."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from perfmodel import PerfmodelError, Prediction
from perfmodel.reports.figure_style import LEVEL_COLOURS, LEVEL_MARKERS, check_figure_path
from perfmodel.reports.page.svg import save_figure
from perfmodel.reports.roofline_figure import MOST, roofline_picture

Predicted = Callable[..., Prediction]


def roofline_figure(predictions: list[Prediction]) -> Figure:
    return roofline_picture(predictions).wide.figure


@pytest.fixture
def both(predicted: Predicted) -> list[Prediction]:
    return [predicted("gemm:naive", N=4096), predicted("gemm:coalesced", N=4096)]


def test_one_dot_a_level_and_kernel(both: list[Prediction]) -> None:
    figure = roofline_figure(both)
    (axes,) = figure.axes
    dots = [line for line in axes.lines if line.get_markersize() == 9]
    assert len(dots) == 6
    assert {line.get_color() for line in dots} == set(LEVEL_COLOURS.values())
    assert {line.get_marker() for line in dots} == set(LEVEL_MARKERS.values())
    found = {(float(d.get_xdata()[0]), float(d.get_ydata()[0])) for d in dots}
    for prediction in both:
        for intensity in prediction.roofline.intensity.values():
            assert intensity is not None
            nearest = min(found, key=lambda dot: abs(dot[0] / intensity - 1))
            assert nearest[0] == pytest.approx(intensity)
        assert any(y == pytest.approx(prediction.roofline.flop_per_s) for _, y in found)


def test_dots_lie_in_the_plot_and_under_their_roofs(predicted: Predicted) -> None:
    for device in ("h100-sxm", "a100-sxm-80", "h200-sxm"):
        for n in (32, 512, 4096):
            prediction = predicted("gemm:coalesced", N=n, device=device)
            (axes,) = roofline_figure([prediction]).axes
            (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
            bandwidths = {c.name: c.value for c in prediction.roofline.ceilings}
            for level, intensity in prediction.roofline.intensity.items():
                assert intensity is not None
                rate = prediction.roofline.flop_per_s
                assert left < intensity < right
                assert bottom < rate < top
                assert rate <= intensity * bandwidths[level]


@pytest.mark.parametrize("device", ["h100-sxm", "a100-sxm-80", "rtx-a6000"])
@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_no_text_overlaps_another(predicted: Predicted, device: str, count: int) -> None:
    sizes = itertools.product(("naive", "coalesced"), (4096, 1024, 512, 64))
    chosen = list(sizes)[:count]
    figure = roofline_figure([predicted(f"gemm:{m}", N=n, device=device) for m, n in chosen])
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer: Any = canvas.get_renderer()
    (axes,) = figure.axes
    hidden = {
        label
        for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim()))
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
        for label in (tick.label1, tick.label2)
        if not low <= tick.get_loc() <= high
    }
    texts = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text()]
    # Rotated labels lie along parallel lines: their boxes may cross, they do not.
    level = [t for t in texts if t.get_rotation() == 0 and t not in hidden]
    boxes = [t.get_window_extent(renderer) for t in level]
    for (a, box), (b, other) in itertools.combinations(zip(level, boxes, strict=True), 2):
        assert not box.shrunk(0.9, 0.9).overlaps(other.shrunk(0.9, 0.9)), (
            a.get_text(),
            b.get_text(),
        )
    width, height = canvas.get_width_height()
    for text, box in zip(level, boxes, strict=True):
        assert box.x0 >= 0, text.get_text()
        assert box.x1 <= width, text.get_text()
        assert box.y0 >= 0, text.get_text()
        assert box.y1 <= height, text.get_text()


def test_svg_has_its_labels_as_text(both: list[Prediction], tmp_path: Path) -> None:
    path = tmp_path / "roofline.svg"
    save_figure(roofline_figure(both), path)
    svg = path.read_text()
    for label in (
        "gemm:naive",
        "gemm:coalesced",
        "L1 33.5 TB/s",
        "L2 7.40 TB/s",
        "DRAM 3.35 TB/s",
        "FP32, FP64 tensor",
        "66.9 TFLOP/s",
        "FP16 tensor, BF16 tensor",
        "arithmetic intensity [FLOP/B]",
        "performance [FLOP/s]",
        "Roofline of NVIDIA H100 SXM5 80GB",
        "nearest roof L1",
    ):
        assert label in svg, label
    # Ridge points of FP32, by hand: 66.9e12 over 33.45e12, 7.4e12 and 3.352e12 B/s.
    assert [number in svg for number in (">2.00<", ">9.04<", ">20.0<")] == [True] * 3


@pytest.mark.parametrize(
    ("kind", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")]
)
def test_formats_and_repeatability(
    both: list[Prediction], tmp_path: Path, kind: str, start: bytes
) -> None:
    first, second = tmp_path / f"a.{kind}", tmp_path / f"b.{kind.upper()}"
    for path in (first, second):
        save_figure(roofline_figure(both), path)
    assert first.read_bytes().startswith(start)
    assert first.read_bytes() == second.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([first.name, second.name])


def test_a_failed_write_leaves_what_was_there(
    both: list[Prediction], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "old.svg"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(PerfmodelError, match="cannot be written: No space left on device"):
        save_figure(roofline_figure(both), path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["old.svg"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("plot.gif", r"must end in .svg, .png or .pdf, not '.gif'"),
        ("plot", r"must end in .svg, .png or .pdf, but it has no suffix"),
        ("no/plot.svg", r"no directory .*; create it first"),
        ("folder.svg", r"is a directory: give a file's name"),
    ],
)
def test_paths_that_are_refused(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(PerfmodelError, match=message):
        check_figure_path(tmp_path / name)


def test_files_are_as_readable_as_others(both: list[Prediction], tmp_path: Path) -> None:
    path, other = tmp_path / "roofline.svg", tmp_path / "other"
    save_figure(roofline_figure(both), path)
    other.touch()
    assert path.stat().st_mode == other.stat().st_mode


def test_kernels_that_compute_nothing(predicted: Predicted, both: list[Prediction]) -> None:
    with pytest.raises(PerfmodelError, match="copy: no floating-point operations"):
        roofline_figure([predicted("copy")])
    figure = roofline_figure([*both, predicted("copy")])
    assert any(re.search(r"copy: no floating", t.get_text()) for t in figure.texts)


def test_too_many_kernels(predicted: Predicted) -> None:
    with pytest.raises(PerfmodelError, match=f"at most {MOST} kernels, not {MOST + 1}"):
        roofline_figure([predicted("gemm:naive")] * (MOST + 1))
