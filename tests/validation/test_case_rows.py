"""Cases in a file of rows, and over other processes: the same as here, also when interrupted."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perfmodel.chunks import Workers, workers
from perfmodel.cli.app import app
from perfmodel.hardware import load_device
from perfmodel.measure.recorded import Recording, read_recording
from perfmodel.measure.seal import seal
from perfmodel.models.mechanism import without
from perfmodel.rows_file import RowsFile, origin
from perfmodel.validation import cases as module
from perfmodel.validation.case import Case
from perfmodel.validation.cases import cases_of

H200 = load_device("h200-sxm")
SESSION = (
    'format = 1\n[machine]\ndevice = "h200-sxm"\ngpu = "NVIDIA H200"\n'
    "[protocol]\nevent_floor_us = 5.5\n"
)
HEAD = "kernel,bytes,vector,block,use,timing,cache,repeats,time_us\n"
COUNT = 20


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """Copies of several sizes."""
    folder = tmp_path_factory.mktemp("mine")
    uses = ("validation", "fit", "fit")
    timings = ("profiler,cold", "events,warm")
    lines = [
        f"copy,{1 << (10 + n)},16,256,{uses[n % 3]},{timings[n % 2]},9,{3 + n / 7}\n"
        for n in range(COUNT)
    ]
    (folder / "streams.csv").write_text(HEAD + "".join(lines))
    (folder / "session.toml").write_text(SESSION)
    seal(folder)
    return read_recording(folder)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have three rows predicted together, however few there are."""
    monkeypatch.setattr(module, "_TOGETHER", 3)
    monkeypatch.setattr(module, "_WORTH_WORKERS", 1)


@pytest.fixture(scope="module")
def here(recording: Recording) -> tuple[Case, ...]:
    """Return the recording's cases, predicted in this process and not written."""
    return tuple(cases_of([recording], H200))


def rows_in(folder: Path, suffix: str = ".csv") -> RowsFile:
    return RowsFile(folder / f"rows{suffix}", origin("a", 1))


@pytest.mark.parametrize("cluster", [None, "local:2"])
def test_who_predicts_changes_nothing(
    recording: Recording,
    here: tuple[Case, ...],
    cluster: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # property: also with a mechanism switched off, which is for one call
    if cluster is not None:
        pytest.importorskip("distributed")
    with without("cold_start"):
        less = cases_of([recording], H200)
    given: list[list[Case]] = []
    with workers(2, cluster) as some:
        with without("cold_start"):
            assert cases_of([recording], H200, workers=some) == less
        assert cases_of([recording], H200, workers=some) == [*here]
        monkeypatch.setattr(module, "SAMPLE", 5)
        found = cases_of(
            [recording], H200, workers=some, sampled=lambda sample, step: given.append(sample)
        )
    assert found == [*here]
    assert given == [[*here[::4]]]  # by hand: 20 cases in a sample of 5


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_cases_are_read_as_they_were_written(
    suffix: str, recording: Recording, here: tuple[Case, ...], tmp_path: Path
) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    rows = rows_in(tmp_path, suffix)
    told: list[tuple[int, int]] = []
    found = cases_of([recording], H200, lambda *done: told.append(done), rows=rows)
    assert found == [*here]
    assert told[0] == (0, COUNT)
    assert told[-1] == (COUNT, COUNT)
    # a second time they are read
    assert cases_of([recording], H200, workers=_nobody(), rows=rows) == [*here]


def test_an_interrupted_run_goes_on(
    recording: Recording,
    here: tuple[Case, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows, predict = rows_in(tmp_path), module.one_case
    lines: list[int] = []

    def stopped(*given: object) -> Case:
        case = predict(*given)  # type: ignore[arg-type]
        lines.append(case.line)
        if len(lines) == 8:
            raise KeyboardInterrupt
        return case

    monkeypatch.setattr(module, "one_case", stopped)
    with pytest.raises(KeyboardInterrupt):
        cases_of([recording], H200, rows=rows)
    assert cases_of([recording], H200, rows=rows) == [*here]
    # by hand: of three in a chunk two chunks were whole, so the seventh and eighth come again
    assert lines == [*range(2, 10), *range(8, 22)]
    with rows.path.open(newline="") as file:
        assert [int(line["line"]) for line in csv.DictReader(file)] == list(range(2, 22))


def test_the_command_writes_rows_and_the_same_scores(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["validate", "--from", str(recording.folder), "--json"]
    alone = CliRunner().invoke(app, words)
    found = CliRunner().invoke(app, [*words, "--rows", "rows.csv"])
    assert (found.exit_code, found.stdout, found.stderr) == (0, alone.stdout, "wrote rows.csv\n")
    with open("rows.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    # by hand: the rows above
    assert [json.loads(line["params"])["bytes"] for line in lines] == [
        1 << (10 + n) for n in range(COUNT)
    ]
    assert {(line["timing"], line["cache"]) for line in lines} == {
        ("profiler", "cold"),
        ("events", "warm"),
    }
    assert [float(line["measured_s"]) for line in lines] == pytest.approx(
        [(3 + n / 7) * 1e-6 for n in range(COUNT)]
    )
    # other launches, or another device, are another file
    other = CliRunner().invoke(app, [*words, "--device", "h100-sxm", "--rows", "rows.csv"])
    assert other.exit_code == 2
    assert "rows file 'rows.csv' is of" in other.stderr


def test_what_does_not_go_together(recording: Recording) -> None:
    words = ["validate", "--from", str(recording.folder), "--rows"]
    for more, part in (
        (["rows.csv", "--without", "pipe_contention"], "leave out --transfer, -o, --plot, --rows"),
        (["rows.md"], "must end in .csv or .parquet"),
        (["rows.csv", "--cluster", "local"], "or local:8 for 8 processes"),
    ):
        found = CliRunner().invoke(app, [*words, *more])
        assert (found.exit_code, part in found.stderr) == (2, True), found.stderr


def _nobody() -> Workers:
    def submit(work: Callable[..., object], chunk: object) -> None:
        raise AssertionError("everything is there")

    return Workers(submit)  # type: ignore[arg-type]
