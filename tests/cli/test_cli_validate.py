"""`perfmodel validate` as users run it, on a small measurement folder and on what comes along."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perfmodel.cli.app import app
from perfmodel.cli.progress import progress_bar
from perfmodel.cli.validate import announce
from perfmodel.hardware import load_device
from perfmodel.measure import folders
from perfmodel.measure.folders import measured
from perfmodel.measure.recorded import read_recording
from perfmodel.measure.seal import seal
from perfmodel.validation.validate import transfers

Run = Callable[..., str]
Refused = Callable[..., str]

try:
    import pty
except ImportError:  # Windows
    pty = None  # type: ignore[assignment]

ROOT = Path(__file__).parents[2]
PTX = str(ROOT / "tests" / "cuda" / "ptx" / "nvcc-13.0-kernels.ptx")
SAXPY = ["--grid", "4096", "--block", "256", "--arg", "0=1000000", "--arg", "1=2.5"]
SESSION = 'format = 1\n\n[machine]\ndevice = "h200-sxm"\ngpu = "NVIDIA H200"\n'
HEAD = "kernel,bytes,vector,block,use,timing,cache,repeats,time_us,spread,clock_mhz,flag\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of copies: 12 for fitting, 6 for validation, one that is flagged."""
    rows = [HEAD]
    for n in range(18):
        size = 1 << (14 + n)
        use = "validation" if n % 3 == 0 else "fit"
        rows.append(f"copy,{size},16,256,{use},profiler,cold,9,{2.5 + size / 2e6},0.01,1980,\n")
    rows.append("copy,4096,16,256,fit,profiler,cold,9,99,0.01,900,clock dropped\n")
    path = tmp_path / "mine"
    path.mkdir()
    (path / "streams.csv").write_text("".join(rows))
    (path / "session.toml").write_text(SESSION)
    seal(path)
    return path


def process(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "perfmodel", "validate", *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "COLUMNS": "100"},
    )


def test_a_folder_of_ones_own(folder: Path) -> None:
    found = process("--from", str(folder))
    assert (found.returncode, found.stderr) == (0, "")
    assert "Validation of h200-sxm (NVIDIA H200 SXM 141GB)" in found.stdout
    assert "6 measured launches, never fitted on; 12 for fitting, 1 flagged" in found.stdout
    assert "profiler, cold" in found.stdout
    assert "Worst ten" in found.stdout


def test_without_a_device_it_is_the_one_that_is_predicted(
    folder: Path, run: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # property: what `predict` takes where none is given
    monkeypatch.setattr("perfmodel.measure.folders.measured", lambda: {"h100-sxm": [folder]})
    shown = json.loads(run("validate", "--json"))["device"]
    assert shown == json.loads(run("predict", "copy", "--json"))["device"]


def test_json_has_the_scores(folder: Path, run: Callable[..., str]) -> None:
    found = json.loads(run("validate", "--from", str(folder), "--json"))
    assert found["schema"] == "perfmodel.validation/1"
    assert (found["device"], found["gpu"], found["folders"]) == (
        "h200-sxm",
        "NVIDIA H200",
        ["mine"],
    )
    assert found["flagged"] == 1
    whole = found["validation"]["regimes"][-1]
    assert (whole["name"], whole["cases"]) == ("all", 6)
    assert 0 <= whole["median"] <= whole["ninetieth"]
    assert 0 <= whole["coverage"] <= 1
    assert [s["name"] for s in found["validation"]["protocols"]] == ["profiler, cold"]
    assert found["fitted_roofline"]["profiler"]["cases"] == 12
    # by hand: error is predicted over measured, less one
    worst = found["worst"][0]
    assert worst["error"] == pytest.approx(worst["predicted_s"] / worst["measured_s"] - 1)


def test_report_and_figure_are_written(folder: Path, run: Callable[..., str]) -> None:
    report, figure = folder.parent / "report.md", folder.parent / "report.svg"
    shown = run("validate", "--from", str(folder), "-o", str(report), "--plot", str(figure))
    assert shown == ""
    text = report.read_text()
    assert "# Validation on h200-sxm" in text
    assert "![Predicted over measured time](report.svg)" in text
    assert "| launch |" in text
    assert "-o FILE.md --plot FILE.svg" in text
    assert "predicted over measured time" in figure.read_text()


def test_another_device_can_be_held_against_the_same_folder(
    folder: Path, run: Callable[..., str]
) -> None:
    words = ("validate", "--from", str(folder), "--json", "--device")
    ours, theirs = (json.loads(run(*words, name)) for name in ("h200-sxm", "a100-sxm-40"))
    assert theirs["device"] == "a100-sxm-40"
    assert theirs["validation"] != ours["validation"]


def test_published_measurements_of_a_gpu(run: Callable[..., str]) -> None:
    found = json.loads(run("validate", "--device", "rtx-a6000", "--json"))
    assert found["published"] is True
    # ten products, five sizes in two mappings; none for fitting, so no fitted roofline
    assert found["validation"]["regimes"][-1]["cases"] == 10
    assert found["fitted_roofline"] == {}
    assert found["validation"]["regimes"][-1]["fitted"] is None


def test_a_gpu_without_measurements_is_named_with_what_there_is() -> None:
    found = process("--device", "a100-pcie-80")
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr.count("\n") == 1
    assert "no measurements of 'a100-pcie-80' are recorded" in found.stderr
    for name in (*measured(), "h100-pcie", "a100-sxm-80", "rtx-a6000"):
        assert name in found.stderr


def test_mistakes(folder: Path, tmp_path: Path, refused: Callable[..., str]) -> None:
    here = ["validate", "--from", str(folder)]
    assert "must end in .md" in refused(*here, "-o", "report.txt")
    assert "no directory" in refused(*here, "-o", str(tmp_path / "nowhere" / "report.md"))
    assert "must end in .svg" in refused(*here, "--plot", "figure.gif")
    assert "unknown device 'h300'" in refused(*here, "--device", "h300")
    assert "unknown device ''" in refused(*here, "--device", "")
    assert "does not exist" in refused("validate", "--from", str(tmp_path / "nowhere"))
    assert "does not exist" in refused("validate", "--from", "a" * 300)
    (folder / "streams.csv").write_text(HEAD)
    assert "not as it was recorded" in refused(*here)
    seal(folder)
    assert "no row that a kernel describes" in refused(*here)
    (folder / "streams.csv").write_text(HEAD + "copy,0,16,256,fit,events,warm,9,3,0,1980,\n")
    seal(folder)
    assert "streams.csv, line 2: kernel 'copy', parameter 'bytes'" in refused(*here)
    (folder / "streams.csv").write_text(HEAD)
    seal(folder)
    (folder / "session.toml").write_text("format = 1\n")
    seal(folder)
    assert "give --device" in refused(*here)


def test_help_says_what_it_does(run: Callable[..., str]) -> None:
    text = run("validate", "--help")
    for word in ("--device", "--from", "--transfer", "--json", "--plot", "Examples"):
        assert word in text


def test_no_bar_where_nobody_watches(capfd: pytest.CaptureFixture[str]) -> None:
    with progress_bar("working") as tell:
        tell(1, 2)
    assert capfd.readouterr().err == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("patience", [0.0, 60.0])
def test_a_bar_on_a_terminal_after_a_while(
    monkeypatch: pytest.MonkeyPatch, patience: float
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("perfmodel.cli.progress.SHOWN_AFTER", patience)
    with progress_bar("working") as tell:
        tell(1, 2)
        # One long step, in which nothing is told.
        for _ in range(1000 if patience == 0 else 1):
            if "working" in terminal.getvalue():
                break
            time.sleep(0.01)
        tell(2, 2)
    assert ("working" in terminal.getvalue()) == (patience == 0)


@pytest.mark.parametrize(
    "words",
    [
        ["predict", "gemm", "-D", "N=64,128,192,256"],
        ["sweep", "gemm", "--over", "N=64,128,192,256"],
    ],
)
def test_many_predictions_have_a_bar(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("perfmodel.cli.progress.SHOWN_AFTER", 0.0)
    with pytest.raises(SystemExit, match=r"^0$"):
        app(words)
    assert "predicting" in terminal.getvalue()
    assert "predicting" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "bar"),
    [
        (["roofline", "gemm", "-D", "N=64,128"], "predicting"),
        (["advise", "copy"], "trying changes"),
        (["report", "copy", "--json"], "writing the report"),
        (["simulate", "copy", "-D", "bytes=4MiB"], "simulating"),
        (["predict", PTX, "--kernel", "saxpy", *SAXPY], "translating"),
    ],
)
def test_long_work_has_a_bar(
    words: list[str],
    bar: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("perfmodel.cli.progress.SHOWN_AFTER", 0.0)
    with pytest.raises(SystemExit, match=r"^0$"):
        app(words)
    assert bar in terminal.getvalue()
    assert bar not in capsys.readouterr().out


@pytest.mark.skipif(pty is None, reason="needs pseudo-terminals")
def test_a_terminal_shows_the_bar_and_a_pipe_does_not() -> None:
    code = (
        "import sys, perfmodel.cli.progress as progress\n"
        "progress.SHOWN_AFTER = 0.0\n"
        "from perfmodel.cli import main\n"
        "sys.argv = ['perfmodel', 'predict', 'copy', '-D', 'bytes=1Mi:8Mi:*2', '--json']\n"
        "main()\n"
    )
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs) as shown:
        os.close(theirs)
        assert shown.stdout is not None
        out = shown.stdout.read()
        assert shown.wait() == 0
    written = os.read(ours, 1 << 16)
    os.close(ours)
    assert b"predicting" in written
    piped = subprocess.run(command, capture_output=True, check=True, timeout=60)
    assert (piped.stdout, piped.stderr) == (out, b"")
    assert len(json.loads(out)) == 4


def test_a_sample_is_shown_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["validate", "--from", str(folder)]
    alone = CliRunner().invoke(app, words)
    monkeypatch.setattr("perfmodel.validation.cases.SAMPLE", 6)
    found = CliRunner().invoke(app, words)
    assert (found.exit_code, found.stdout) == (0, alone.stdout)
    assert alone.stderr == ""
    # by hand: of 18 launches in steps of three, all six are for validation
    said = " ".join(found.stderr.split())
    assert (
        "One in 3 of the measured launches, in the order of the recordings: 6, of which 6" in said
    )
    assert "are scored; the whole follows." in said
    assert found.stderr.rstrip().splitlines()[-1].split()[:2] == ["all", "6"]
    assert CliRunner().invoke(app, [*words, "--json"]).stderr == ""


@pytest.mark.parametrize("gpu", ["h100-sxm", "h200-sxm"])
def test_the_committed_report_is_of_what_is_recorded(gpu: str) -> None:
    # property: it names each folder that is recorded of the GPU; its numbers change with the models
    text = (ROOT / "reports" / f"validation-{gpu}.md").read_text()
    for folder in measured()[gpu]:
        assert f"`{folders.name(folder)}`" in text
    transfer = text[text.index("## Transfer to other GPUs") :]
    assert "| a100-sxm-80 | gpu-stream: stream-read |" in transfer
    assert (ROOT / "reports" / f"validation-{gpu}.svg").exists()


def test_a_transfer_takes_what_we_measured_of_other_gpus(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # by hand: of 18 copies every third is kept from fitting; other programs' folders are no GPUs
    ours = {"h100-sxm": [folder], "h200-sxm": [folder], "gather/h200-sxm/tables": [folder]}
    monkeypatch.setattr(folders, "measured", lambda: ours)
    monkeypatch.setattr(folders, "published", dict)
    teacher = load_device("h100-sxm")
    (found,) = transfers(teacher)
    assert (found.device, found.teacher, found.published) == ("h200-sxm", "h100-sxm", False)
    assert len(found.taught) == len(found.own) == 6
    # and topics that the teacher does not have are no part of it
    other = folder.with_name("other")
    shutil.copytree(folder, other)
    (other / "streams.csv").rename(other / "launch.csv")
    seal(other)
    ours["h100-sxm"] = [other]
    assert transfers(teacher)[0].taught == ()
    # property: what is taught is the teacher's launch floor, not the H200's own
    small = [j.case.predicted_s for j in (found.taught[0], found.own[0])]
    assert small[0] - small[1] == pytest.approx(
        teacher.launch_floor - load_device("h200-sxm").launch_floor, rel=0.3
    )


def test_many_launches_are_announced_where_no_bar_shows_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recordings = [read_recording(folder)]
    announce(recordings)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("perfmodel.cli.validate.MANY", 18)
    announce(recordings)
    assert capsys.readouterr().err == "predicting 18 launches, some minutes\n"


def test_a_report_names_the_command_that_made_it(
    folder: Path, run: Callable[..., str], tmp_path: Path
) -> None:
    # property: what was given, and no more
    report = tmp_path / "report.md"
    for words in ((), ("--device", "h200-sxm")):
        run("validate", "--from", str(folder), *words, "-o", str(report))
        command = " ".join(("perfmodel validate --from", str(folder), *words, "-o FILE.md"))
        assert f"Written by `{command}`; do not edit." in report.read_text()


def test_without_says_what_a_mechanism_is_worth(run: Run) -> None:
    # property: the same launches, with what all predict and with what they do without it
    words = ("validate", "--device", "rtx-a6000", "--without", "cold_start")
    found = json.loads(run(*words, "--json"))
    assert (found["schema"], found["without"]) == ("perfmodel.worth/1", ["cold_start"])
    groups = {score["group"]: score for score in found["scores"]}
    assert groups["all"]["cases"] == found["launches"]
    assert groups["launches that change"]["cases"] == found["changed"] > 0
    assert groups["all"]["with"] != groups["all"]["without"]
    text = run(*words)
    assert f"{found['changed']} of {found['launches']} measured launches change" in text


def test_unknown_mechanisms_are_refused(refused: Refused) -> None:
    assert "no mechanism is called 'pipe_contentoin'; did you mean 'pipe_contention'?" in refused(
        "validate", "--without", "pipe_contentoin"
    )
    assert "leave out --transfer" in refused(
        "validate", "--without", "pipe_contention", "--transfer"
    )
