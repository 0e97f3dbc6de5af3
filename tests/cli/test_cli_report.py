"""`perfmodel report` on the command line: files whole or none, and refusals of one line."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perfmodel.cli.app import app
from perfmodel.text_files import write_files

Run = Callable[..., str]


def test_files_of_a_report(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "out"
    words = ("report", "gemm:naive", "copy", "-D", "N=512", "-o", str(folder))
    monkeypatch.setattr(sys, "argv", ["perfmodel", *words])
    shown = run(*words)
    assert shown == ""
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ["index.html", "report.md", "times.svg", "roofline.svg"]
        + [f"{kind}-{i}.svg" for kind in ("terms", "traffic", "sectors") for i in (1, 2)]
        + ["tiles-1.svg"]
    )
    page = (folder / "index.html").read_text()
    assert f"perfmodel report gemm:naive copy -D N=512 -o {folder}" in page
    for text in (page, (folder / "report.md").read_text()):
        assert "Never tried: another algorithm" in text
    assert "<title>gemm:naive, copy on h100-sxm</title>" in page


def test_the_same_report_gives_the_same_files(run: Run, tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text("mine")
    words = ("report", "strided-copy", "-D", "stride=1,2", "-o", str(tmp_path), "--name", "Strides")
    run(*words)
    first = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    run(*words)
    assert first == {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert first["kept.txt"] == b"mine"
    assert b"<title>Strides</title>" in first["index.html"]
    assert b"strided-copy stride=2" in first["report.md"]


def test_options_of_predict_reach_the_report(run: Run, tmp_path: Path) -> None:
    shown = run(
        *("report", "stream-persistent", "--json", "--device", "a100-sxm-80", "--timing", "events"),
        *("--cache", "warm", "--set-aside", "8MiB", "--window", "16MiB", "--hit-ratio", "0.5"),
    )
    record = json.loads(shown)
    assert record["schema"] == "perfmodel.report/1"
    (launch,) = record["launches"]
    found = launch["explanation"]["prediction"]
    assert found["device"] == "a100-sxm-80"
    assert found["protocol"] == {"timing": "events", "cache": "warm"}
    assert found["l2_control"]["window"]["hit_ratio"] == 0.5
    assert launch["advice"]["prediction"]["time_s"] == found["time_s"]
    assert {"event_floor"} <= {used["name"] for used in launch["figures_used"]}
    assert all(used["source"] for used in launch["figures_used"])
    assert list(tmp_path.iterdir()) == []


def test_mapping_is_of_kernels_without_one(run: Run) -> None:
    shown = run("report", "gemm", "gemm:coalesced", "--mapping", "naive", "-D", "N=256", "--json")
    labels = [launch["label"] for launch in json.loads(shown)["launches"]]
    assert labels == ["gemm:naive", "gemm:coalesced"]


def test_simulated_traffic(run: Run, tmp_path: Path) -> None:
    words = ("report", "copy", "-D", "bytes=1MiB", "--traffic", "simulated", "--json")
    (launch,) = json.loads(run(*words))["launches"]
    assert launch["explanation"]["prediction"]["method"] == "simulated"
    run(*words[:-1], "-o", str(tmp_path))
    for name in ("index.html", "report.md"):
        assert "Advice counts traffic in closed form" in (tmp_path / name).read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "missing argument 'KERNEL...'"),
        (("gemm",), "nowhere to write the report: give -o DIR, or --json"),
        (("gemm", "-o", "a-file"), "report folder 'a-file' is a file: give a folder's name"),
        (("gemm", "-o", "none/deep"), "no directory 'none'; create it first"),
        (("gemm", "-o", ""), "must have a name"),
        (("gemm:tiled", "-o", "new"), "no mapping 'tiled'"),
        (("gemm", "-D", "Q=1", "-o", "new"), "kernel 'gemm' has no parameter 'Q'"),
        (("gemm", "-D", "N=-1", "-o", "new"), "must not be negative"),
        (("gemm", "-D", "N=1:100:1", "-o", "new"), "100 launches are too many for one report"),
        (("gemm:naive", "--mapping", "naive", "-o", "new"), "each names its own"),
        (("copy", "--device", "h101-sxm", "-o", "new"), "did you mean h100-sxm"),
        (("copy", "--window", "1MiB", "--window-buffer", "x", "-o", "new"), "buffer"),
        (("no-such.toml", "-o", "new"), "no-such.toml"),
    ],
)
def test_refusals_leave_nothing(
    refused: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a-file").write_text("mine")
    assert message in refused("report", *words)
    assert [path.name for path in tmp_path.iterdir()] == ["a-file"]
    assert Path("a-file").read_text() == "mine"


def test_a_failed_write_leaves_what_was_there(
    refused: Run, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "index.html").write_text("old")
    replaced = os.replace
    monkeypatch.setattr(os, "replace", _full)
    for name in ("old", "new"):
        line = refused("report", "copy", "-o", str(tmp_path / name))
        assert "cannot be written: No space left on device" in line
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert [path.name for path in (tmp_path / "old").iterdir()] == ["index.html"]
    assert (tmp_path / "old" / "index.html").read_text() == "old"
    monkeypatch.setattr(os, "replace", replaced)
    (tmp_path / "old" / "report.md").mkdir()
    assert "report.md' cannot be written: is a directory" in refused(
        "report", "copy", "-o", str(tmp_path / "old")
    )
    assert (tmp_path / "old" / "index.html").read_text() == "old"


def _full(source: object, target: object) -> None:
    raise OSError(28, "No space left on device")


def test_texts_are_written_together(tmp_path: Path) -> None:
    write_files(tmp_path, {"a": "1\n", "b": "2\n"})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "1\n", "b": "2\n"}
    (tmp_path / "a").chmod(0o600)
    write_files(tmp_path, {"a": "3\n"})
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_help_has_examples() -> None:
    shown = CliRunner().invoke(app, ["report", "--help"], env={"COLUMNS": "100"}).stdout
    assert "perfmodel report gemm:naive gemm:coalesced -o my-report" in shown
    assert "--set-aside" in shown
