"""The installed console script as a process: start-up, streams, signals, help and completion."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = Path(sys.executable).with_name("perfmodel")
ROOT = Path(__file__).parents[2]


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, *words],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
        env={**os.environ, **environment},
        check=False,
    )


def test_predict() -> None:
    found = run("predict", "gemm", "--mapping", "coalesced", "--json")
    assert (found.returncode, found.stderr) == (0, "")
    assert json.loads(found.stdout)["kernel"]["name"] == "gemm"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("simulate copy -D bytes=256KiB", "copy on h100-sxm, simulated"),
        ("ladder -D N=512", "gemm on h100-sxm"),
        ("inspect docs/examples/row_softmax.ptx", "row_softmax.ptx: PTX 8.7"),
        ("measure --help", "Usage: perfmodel measure"),
    ],
)
def test_commands_that_no_page_or_other_test_runs_as_a_process(line: str, told: str) -> None:
    # the site runs what its pages show in the process that builds it
    found = run(*line.split())
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.strip().startswith(told)


def test_a_mistake_is_one_line_and_exit_code_2() -> None:
    found = run("predict", "gemm", "-D", "N=-5")
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr == "error: -D N must not be negative, not '-5'\n"


def test_words_that_are_no_text_do_not_break_the_error() -> None:
    found = subprocess.run(
        [os.fsencode(SCRIPT), b"predict", b"\xff\xfe"], capture_output=True, timeout=60, check=False
    )
    assert (found.returncode, found.stdout) == (2, b"")
    assert found.stderr.count(b"\n") == 1
    assert found.stderr.startswith(b"error: ")


def test_version() -> None:
    from importlib.metadata import version

    assert run("--version").stdout == f"perfmodel {version('perfmodel')}\n"


@pytest.mark.parametrize("command", [[], ["predict"], ["devices"], ["kernels"]])
def test_help_has_examples(command: list[str]) -> None:
    found = run(*command, "--help", COLUMNS="80")
    assert found.returncode == 0
    assert "Usage: perfmodel" in found.stdout
    assert max(map(len, found.stdout.split("\n"))) <= 80
    assert "\x1b" not in found.stdout
    if command:
        assert f"  $ perfmodel {command[0]}" in found.stdout
    else:
        assert run(COLUMNS="80").stdout == found.stdout


@pytest.mark.parametrize("more", [[], ["--json"], ["-D", "N=64,128"]])
def test_slow_imports_stay_out(more: list[str]) -> None:
    words = ["perfmodel", "predict", "gemm", "--mapping", "coalesced", *more]
    code = f"""
import sys
sys.argv = {words!r}
from perfmodel.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
slow = "jinja2 matplotlib numba perfmodel.cuda perfmodel.trace rich scipy sympy typer".split()
print([name for name in slow if name in sys.modules], file=sys.stderr)
"""
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert found.stderr == "[]\n"


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts threads in /proc")
def test_numpy_starts_no_threads() -> None:
    # they take longer to start than a prediction takes
    code = """
import os, sys
sys.argv = ["perfmodel", "predict", "gemm", "--json"]
from perfmodel.cli import main
try:
    main()
except SystemExit:
    print(len(os.listdir("/proc/self/task")), "numpy" in sys.modules, file=sys.stderr)
"""
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert found.stderr == "1 True\n"


def test_numpy_is_imported_when_it_is_needed() -> None:
    code = "import sys, perfmodel; print('numpy' in sys.modules, perfmodel.predict.__name__)"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert found.stdout == "False predict\n"


def test_ascii_output() -> None:
    found = run("predict", "copy", PYTHONIOENCODING="ascii")
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.isascii()
    assert "####" in found.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("simulate", "working-set-read", "-D", "bytes=8MiB"),
        ("predict", "{folder}/fill.cu", "--grid", "64", "--block", "256", "--show"),
        ("roofline", "copy", "--device", "{folder}/mine.toml"),
        ("explain", "copy", "--device", "{folder}/mine.toml", "--latex"),
    ],
)
@pytest.mark.parametrize(
    "variables", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}]
)
def test_what_ascii_lacks(
    words: tuple[str, ...], variables: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "fill.cu").write_text(
        "__global__ void fill(float* y) {\n"
        "  y[blockIdx.x * blockDim.x + threadIdx.x] = 1;  // takes a µs\n}\n",
        encoding="utf-8",
    )
    title = 'name = "mine"\ntitle = "Müller\'s"\nextends = "h100-sxm"\n'
    (tmp_path / "mine.toml").write_text(title, encoding="utf-8")
    found = run(*(word.format(folder=tmp_path) for word in words), **variables)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.isascii()
    said = " ".join(found.stdout.split())  # whatever the width of the terminal
    assert "over time" in said or "?" in said or words[0] == "explain"


@pytest.mark.skipif(sys.platform == "win32", reason="needs pseudo-terminals")
@pytest.mark.parametrize(
    ("variables", "title", "colours"),
    [
        ({"TERM": "xterm"}, "\x1b[1mRoofline of h100-sxm (NVIDIA H100 SXM5 80GB)\x1b[0m", True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, "\x1b[1mRoofline of", False),
        ({"TERM": "dumb"}, "Roofline of", False),
    ],
)
def test_a_terminal(variables: dict[str, str], title: str, colours: bool) -> None:
    import pty

    ours, theirs = pty.openpty()
    usual = {name: text for name, text in os.environ.items() if name != "NO_COLOR"}
    command = [SCRIPT, "roofline", "gemm"]
    with subprocess.Popen(
        command, stdout=theirs, env={**usual, "COLUMNS": "70", **variables}
    ) as process:
        os.close(theirs)
        out = b""
        with contextlib.suppress(OSError):  # how Linux says that nobody writes any more
            while part := os.read(ours, 1 << 16):
                out += part
    os.close(ours)
    text = out.decode()
    assert process.returncode == 0
    assert text.startswith(title)
    assert ("\x1b[31m" in text) == colours
    assert ("\x1b" in text) == (variables["TERM"] != "dumb")
    lines = [re.sub(r"\x1b\[\d+m", "", line) for line in text.split("\r\n")]
    assert 60 < max(map(len, lines)) <= 70


def test_width_of_a_pipe() -> None:
    assert max(map(len, run("kernels", COLUMNS="60").stdout.split("\n"))) <= 60
    assert max(map(len, run("kernels", COLUMNS="").stdout.split("\n"))) <= 100
    assert run("kernels", COLUMNS="nonsense").returncode == 0


def test_a_reader_that_leaves_early() -> None:
    with subprocess.Popen(
        [SCRIPT, "devices", "h100-sxm"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk() -> None:
    with open("/dev/full", "w") as full:
        found = subprocess.run(
            [SCRIPT, "devices"], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert found.returncode == 1
    assert found.stderr == b"error: cannot write the output: No space left on device\n"


def test_interrupt() -> None:
    words = ["perfmodel", "predict", "gemm", "-D", "N=32:320000:32", "--json"]  # takes minutes
    code = f"""
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a shell's background
sys.argv = {words!r}
from perfmodel.cli import app, main
print("ready", file=sys.stderr, flush=True)
main()
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == b"ready\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=30)
    assert (process.returncode, out, error) == (130, b"", b"")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_run_that_is_ended_takes_its_compiler_along(name: str, tmp_path: Path) -> None:
    """Property: no process and no temporary file of it stays."""
    tools, scratch = tmp_path / "bin", tmp_path / "scratch"
    tools.mkdir()
    scratch.mkdir()
    script = f"#!/bin/sh\nsleep 300 &\necho $$ $! > {tmp_path}/started\nmv {tmp_path}/started "
    (tools / "nvcc").write_text(f"{script}{tmp_path}/ids\nwait\n")
    (tools / "nvcc").chmod(0o755)
    source = tmp_path / "k.cu"
    source.write_text("__global__ void k() {}")
    environment = {**os.environ, "TMPDIR": str(scratch), "PATH": f"{tools}:{os.environ['PATH']}"}
    code = f"""
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored below nohup
sys.argv = ["perfmodel", "inspect", {str(source)!r}]
from perfmodel.cli import main
main()
"""
    with subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as process:
        ids = tmp_path / "ids"
        for _ in range(600):
            if ids.exists():
                break
            time.sleep(0.1)
        assert list(scratch.glob("perfmodel-*"))
        process.send_signal(signal.Signals[name])
        out, error = process.communicate(timeout=60)
    assert (process.returncode, out, error) == (128 + signal.Signals[name], b"", b"")
    assert not list(scratch.iterdir())
    for number in map(int, ids.read_text().split()):
        assert _ended(number)


def _ended(number: int) -> bool:
    """Say whether a process is gone, or dead and only not yet waited for by who adopted it."""
    for _ in range(100):
        try:
            os.kill(number, 0)
            state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
        except (ProcessLookupError, FileNotFoundError):
            return True
        if state == "Z":
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("perfmodel pre", {"predict"}),
        ("perfmodel predict strid", {"strided-copy"}),
        ("perfmodel predict copy --device h200", {"h200-sxm"}),
        ("perfmodel predict gemm --mapping n", {"naive"}),
        ("perfmodel predict copy --mapping n", set()),
        ("perfmodel devices h200", {"h200-sxm"}),
        ("perfmodel kernels gem", {"gemm"}),
        ("perfmodel predict copy --cache ", {"cold", "warm"}),
        ("perfmodel drill reads-of", {"reads-of-the-peak"}),
        ("perfmodel drill --topic perm", set()),
        ("perfmodel operators --model mini", {"minigpt"}),
        ("perfmodel measure --sweep strea", {"streams"}),
    ],
)
def test_completion(line: str, expected: set[str]) -> None:
    words = line.split(" ")
    found = run(
        _PERFMODEL_COMPLETE="complete_bash",
        COMP_WORDS=line,
        COMP_CWORD=str(len(words) - 1),
    )
    assert set(found.stdout.split()) == expected


@pytest.mark.parametrize("line", ["perfmodel predict gemm --mapping n", "perfmodel drill a"])
def test_completion_imports_nothing_that_computes(line: str) -> None:
    typed = {
        "_PERFMODEL_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(line.count(" ")),
    }
    code = f"""
import os, sys
os.environ |= {typed!r}
sys.argv = ["perfmodel"]
from perfmodel.cli import main
try:
    main()
except SystemExit:
    slow = "numpy perfmodel.hardware perfmodel.kernels perfmodel.models rich".split()
    print([name for name in slow if name in sys.modules], file=sys.stderr)
"""
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert (found.stdout != "", found.stderr) == (True, "[]\n")
