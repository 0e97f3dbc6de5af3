"""`sweep -o rows.csv`: as users run it, interrupted, and over workers of which one is killed."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from perfmodel.cli import sweep as sweep_rows
from perfmodel.cli.app import app
from perfmodel.prediction import grid

Run = Callable[..., str]
Refused = Callable[..., str]

ROOT = Path(__file__).parents[2]
PTX = str(ROOT / "tests" / "cuda" / "ptx" / "nvcc-13.0-kernels.ptx")
GRID = ["sweep", "gemm", "--mapping", "naive", "--over", "M=1:40:1", "--over", "N=300:399:1"]
CHUNK = 100
POSIX = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs POSIX signals")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a folder of its own, in this process, in small chunks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("perfmodel.chunks.cores", lambda: 1)
    monkeypatch.setattr(grid, "CHUNK", CHUNK)


def started(*words: str) -> subprocess.Popen[str]:
    """Start a command in a process and session of its own, in small chunks."""
    code = (
        f"import sys, perfmodel.prediction.grid as grid\ngrid.CHUNK = {CHUNK}\n"
        f"sys.argv = ['perfmodel', *{list(words)!r}]\n"
        "from perfmodel.cli import main\nmain()\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def after_parts(running: subprocess.Popen[str], folder: Path, count: int) -> None:
    """Wait until a command has written some parts."""
    while len(list(folder.glob("0*"))) < count:
        assert running.poll() is None, running.communicate()
        time.sleep(0.01)


def lines(path: str) -> list[dict[str, str]]:
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_row_for_each_combination(run: Run) -> None:
    # independent: the same launches as tables of predict have them
    words = ["copy", "-D", "bytes=1Mi"]
    run("sweep", *words, "--over", "vector=1,4,2", "--over", "block=128,256", "-o", "rows.csv")
    found = lines("rows.csv")
    each = json.loads(run("predict", *words, "-D", "vector=1,4,2", "-D", "block=128,256", "--json"))
    assert [(row["vector"], row["block"]) for row in found] == [
        ("1", "128"), ("1", "256"), ("4", "128"), ("4", "256"), ("2", "128"), ("2", "256")
    ]  # fmt: skip
    for row, one in zip(found, each, strict=True):
        assert (one["kernel"]["params"]["vector"], row["bottleneck"]) == (
            int(row["vector"]),
            one["bottleneck"],
        )
        assert float(row["time_s"]) == pytest.approx(one["time_s"], rel=1e-12)
        assert float(row["l2_hit_rate"]) == pytest.approx(one["traffic"]["l2_hit_rate"])
    assert json.loads(Path("rows.csv.json").read_text())["format"] == "perfmodel.rows/1"


def test_parquet_has_what_csv_has(run: Run) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    over = ["--over", "n=1Mi,2Mi,4Mi", "--over", "dtype=int32,float32"]
    for name in ("rows.csv", "rows.parquet"):
        run("sweep", "atomic-add", *over, "-o", name)
    found = parquet.read_table("rows.parquet").to_pylist()
    assert [str(row["time_s"]) for row in found] == [row["time_s"] for row in lines("rows.csv")]
    assert [(row["n"], row["dtype"]) for row in found[:3]] == [
        (1 << 20, "int32"),
        (1 << 20, "float32"),
        (2 << 20, "int32"),
    ]


def test_more_values_than_a_table_takes(run: Run) -> None:
    # by hand: 12,001 values, over what a list on the command line may have otherwise
    run("sweep", "copy", "--over", "bytes=1MiB:121MiB:10240", "-o", "rows.csv")
    found = lines("rows.csv")
    assert len(found) == 12289
    assert found[-1]["bytes"] == str(121 << 20)


def test_a_launch_of_a_source(run: Run) -> None:
    # independent: the table of sweep
    words = ["sweep", PTX, "--kernel", "saxpy", "--grid", "ceil_div(n, 256)", "--block", "256"]
    words += ["--arg", "0=n", "--arg", "1=2.5", "--over", "n=1Mi,2Mi,4Mi"]
    (table,) = json.loads(run(*words, "--json"))
    run(*words, "-o", "rows.csv")
    assert [float(row["time_s"]) for row in lines("rows.csv")] == [
        one["time_s"] for one in table["predictions"]
    ]


def test_who_works_changes_no_bit(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    run(*GRID, "-o", "here.csv")
    monkeypatch.setattr("perfmodel.chunks.cores", lambda: 2)
    run(*GRID, "-o", "processes.csv")
    run(*GRID, "-o", "dask.csv", "--cluster", "local:2")
    expected = Path("here.csv").read_bytes()
    assert expected.count(b"\n") == 4001
    assert Path("processes.csv").read_bytes() == expected
    assert Path("dask.csv").read_bytes() == expected


def test_an_interrupted_command_goes_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run(*GRID, "-o", "whole.csv")
    asked: list[int] = []

    def predicted(stop: int, launches: grid.Launches, values: Any, among: Any) -> dict[str, Any]:
        asked.append(int(values["M"][0]))
        if len(asked) > stop:
            raise KeyboardInterrupt
        return rows_of(launches, values, among)

    rows_of = grid.predicted_rows
    monkeypatch.setattr(grid, "predicted_rows", partial(predicted, 3))
    with pytest.raises(AssertionError):
        run(*GRID, "-o", "rows.csv")
    assert not Path("rows.csv").exists()
    assert len(list(Path("rows.csv.parts").iterdir())) == 3
    monkeypatch.setattr(grid, "predicted_rows", partial(predicted, 99))
    run(*GRID, "-o", "rows.csv")
    # by hand: chunks of 100, of one M; the fourth was asked for twice
    assert asked == [1, 2, 3, 4, *range(4, 41)]
    assert Path("rows.csv").read_bytes() == Path("whole.csv").read_bytes()
    assert not Path("rows.csv.parts").exists()


@POSIX
@pytest.mark.parametrize("cluster", [[], ["--cluster", "local:2"]])
def test_ctrl_c_is_one_line_and_the_same_command_goes_on(cluster: list[str], run: Run) -> None:
    if cluster:
        pytest.importorskip("distributed")
    with started(*GRID, "-o", "rows.csv", *cluster) as running:
        after_parts(running, Path("rows.csv.parts"), 3)
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does, to workers too
        error = running.communicate()[1]
    assert running.returncode == 130
    assert error == ("interrupted: rows so far are in rows.csv.parts; the same command goes on\n")
    kept = {path.name: path.read_bytes() for path in Path("rows.csv.parts").glob("0*")}
    # whoever works on the rest, and all of it
    run(*GRID, "-o", "rows.csv")
    run(*GRID, "-o", "whole.csv")
    expected = Path("whole.csv").read_bytes()
    assert Path("rows.csv").read_bytes() == expected
    assert all(content.split(b"\n", 1)[1] in expected for content in kept.values())


@POSIX
def test_a_worker_that_is_killed_changes_nothing(run: Run) -> None:
    psutil = pytest.importorskip("psutil")  # which Dask brings
    pytest.importorskip("distributed")
    with started(*GRID, "-o", "rows.csv", "--cluster", "local:2") as running:
        after_parts(running, Path("rows.csv.parts"), 3)
        # multiprocessing's own tracker of resources is the other kind of child
        of = [c for c in psutil.Process(running.pid).children() if "spawn_main" in c.cmdline()[-2]]
        os.kill(of[0].pid, signal.SIGKILL)
        after_parts(running, Path("rows.csv.parts"), 6)
        assert running.communicate()[1] == "wrote rows.csv\n"
    assert running.returncode == 0
    run(*GRID, "-o", "whole.csv")
    assert Path("rows.csv").read_bytes() == Path("whole.csv").read_bytes()


def test_a_file_of_another_command_is_refused(run: Run, refused: Refused) -> None:
    small = ["sweep", "copy", "--over", "bytes=1Mi,2Mi", "-o", "rows.csv"]
    run(*small)
    before = Path("rows.csv").read_bytes()
    said = refused(*small[:3], "bytes=1Mi,4Mi", *small[4:])
    assert "rows file 'rows.csv' is of" in said
    assert "delete 'rows.csv', or give another file" in said
    assert "is of" in refused(*small, "--device", "a100-sxm-80")
    assert "is of" in refused(*small, "--timing", "events")
    assert Path("rows.csv").read_bytes() == before
    Path("mine.csv").write_text("precious\n")
    assert "nothing says what it is of" in refused(*small[:-1], "mine.csv")
    assert Path("mine.csv").read_text() == "precious\n"


def test_the_same_command_again_has_nothing_to_do() -> None:
    words = ["sweep", "copy", "--over", "bytes=1Mi,2Mi", "-o", "rows.csv"]
    for said in ("wrote rows.csv\n", "rows.csv has all rows of this command already\n"):
        found = CliRunner().invoke(app, words)
        assert (found.exit_code, found.stdout, found.stderr) == (0, "", said)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--over", "byte=1,2", "-o", "x.csv"], "did you mean 'bytes'?"),
        (["--over", "bytes=1,2", "-o", "x.csv", "--json"], "leave it out with a file of rows"),
        (["--over", "bytes=1,2", "--cluster", "local:2"], "give -o rows.csv or -o rows.parquet"),
        (["--over", "bytes=1,2", "-o", "x.csv", "--cluster", "local"], "or local:8 for 8"),
        (["--over", "bytes=1,2", "-o", "x.txt"], "must end in .svg, .png, .pdf, .csv or .parquet"),
        (["--over", "bytes=1,2", "-o", "no/x.csv"], "create it first"),
        (["--over", "bytes=1:2000000:1", "-o", "x.csv"], "at most 1048576 are allowed"),
        (
            [w for n in ("bytes", "block", "vector") for w in ("--over", f"{n}=1:10000:1")]
            + ["-o", "x.csv"],
            "at most 1000000000 are allowed",
        ),
        (["--over", "bytes=1", "--over", "bytes=2", "-o", "x.csv"], "is given twice"),
        (["--over", "bytes=1", "-D", "bytes=2", "-o", "x.csv"], "by -D and by --over"),
        (["--over", "block=32,5000", "-o", "x.csv"], "must be 1 to 1024, not 5000"),
        (["--over", "hit-ratio=0.5", "-o", "x.csv"], "give --window SIZE"),
    ],
)
def test_rows_that_make_no_sense(words: list[str], part: str, refused: Refused) -> None:
    if "local:2" in words:
        pytest.importorskip("distributed")
    assert part in refused("sweep", "copy", *words)
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.parametrize(
    ("module", "words", "remedy"),
    [
        ("distributed", ["x.csv", "--cluster", "local:2"], "pip install 'perfmodel[dask]'"),
        ("pyarrow", ["x.parquet"], "pip install 'perfmodel[parquet]'"),
    ],
)
def test_an_extra_that_is_missing_is_named(
    module: str, words: list[str], remedy: str, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert remedy in refused("sweep", "copy", "--over", "bytes=1,2", "-o", *words)
    assert list(Path.cwd().iterdir()) == []


def test_progress_counts_configurations(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    # by hand: 4,000 in chunks of 100
    told: list[tuple[float, float]] = []

    def bar(what: str) -> Any:
        from contextlib import contextmanager

        @contextmanager
        def shown() -> Iterator[Callable[[float, float], None]]:
            yield lambda done, total: told.append((done, total))

        return shown()

    monkeypatch.setattr(sweep_rows, "progress_bar", bar)
    run(*GRID, "-o", "rows.csv")
    assert told == [(done, 4000) for done in range(0, 4001, 100)]
