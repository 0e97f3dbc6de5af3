"""`perfmodel explain` and `perfmodel roofline` on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from perfmodel import predict
from perfmodel.reports.explain_text import explanation_text
from perfmodel.validation.sweeps import KERNELS

Run = Callable[..., str]


def test_explain_prints_the_librarys_text(run: Run) -> None:
    shown = run("explain", "gemm", "--mapping", "naive", "-D", "N=4096")
    expected = explanation_text(predict("gemm", mapping="naive", N=4096))
    assert shown.splitlines() == expected.splitlines()


def test_explain_fits_narrow_terminals(run: Run) -> None:
    shown = run("explain", "gemm", columns=60)
    assert max(map(len, shown.splitlines())) <= 60


def test_explain_json(run: Run) -> None:
    record = json.loads(run("explain", "copy", "-D", "bytes=1MiB", "--json"))
    assert record["prediction"]["kernel"]["params"]["bytes"] == 1 << 20
    assert record["steps"][-1]["result"] == pytest.approx(record["prediction"]["time_s"])


def test_explain_latex(run: Run) -> None:
    shown = run("explain", "strided-copy", "--latex", "--timing", "events")
    assert shown.startswith("% Needs \\usepackage{amsmath}.\n")
    assert shown.count("\\begin{align*}") == shown.count("\\end{align*}")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("explain", "gemm", "--latex", "--json"), "exclude each other"),
        (("explain", "gem"), "did you mean 'gemm'?"),
        (("explain", "gemm", "-D", "N=1,2"), "each parameter takes one"),
        (("explain", "gemm", "-D", "Q=1"), "no parameter 'Q'"),
        (("roofline",), "missing argument 'KERNEL...'"),
        (("roofline", "gemm:tiled"), "no mapping 'tiled'"),
        (("roofline", "gemm:"), "must be NAME:MAPPING, such as gemm:naive"),
        (("roofline", ":naive"), "must be NAME:MAPPING, such as gemm:naive"),
        (("roofline", "gemm", "-D", "Q=1"), "kernel 'gemm' has no parameter 'Q'"),
        (("roofline", "gemm", "-o", "plot.gif"), "must end in .svg, .png or .pdf, not '.gif'"),
        (("roofline", "gemm", "-o", "none/plot.svg"), "no directory 'none'; create it first"),
        (("roofline", "copy", "-o", "plot.svg"), "no floating-point operations"),
        (("roofline", "gemm", "--device", "h101-sxm"), "did you mean h100-sxm"),
    ],
)
def test_refusals_are_one_line(refused: Run, words: tuple[str, ...], message: str) -> None:
    assert message in refused(*words)


def test_roofline_text(run: Run) -> None:
    shown = run("roofline", "gemm:naive", "gemm:coalesced", "-D", "N=4096", columns=80)
    assert max(map(len, shown.splitlines())) <= 80
    for part in ("ridge DRAM", "19.96", "gemm:naive", "gemm:coalesced", "nearest roof", "FLOP/B"):
        assert part in shown


def test_roofline_json(run: Run) -> None:
    record = json.loads(run("roofline", "gemm:naive", "copy", "-D", "bytes=1MiB", "--json"))
    assert [k["kernel"]["name"] for k in record["kernels"]] == ["gemm", "copy"]
    # A parameter goes to those kernels that have it.
    assert record["kernels"][1]["kernel"]["params"]["bytes"] == 1 << 20


def test_roofline_figure(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "out.svg"
    shown = run("roofline", "gemm:naive", "gemm:coalesced", "-o", str(path))
    assert shown == ""
    assert "gemm:coalesced" in path.read_text()
    record = json.loads(run("roofline", "gemm:naive", "-o", str(path), "--json"))
    assert record["schema"] == "perfmodel.roofline/1"
    assert "gemm:coalesced" not in path.read_text()


def test_roofline_takes_kernel_files(run: Run) -> None:
    assert "polynomial" in run("roofline", str(KERNELS / "polynomial.toml"))
