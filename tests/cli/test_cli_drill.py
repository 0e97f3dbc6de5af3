"""`perfmodel drill`: the gallery, questions, answers and their exit codes, and users' files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from perfmodel.cli.app import app
from perfmodel.drills import load_drills

Run = Callable[..., str]
Refused = Callable[..., str]
SCRIPT = Path(sys.executable).with_name("perfmodel")
DRILLS = load_drills()
NUMBER = {drill.id: str(n) for n, drill in enumerate(DRILLS, 1)}

OWN = """
topic = "mine"
[[drill]]
id = "lines"
title = "Lines of a column"
question = "How many lines do {n} floats of a column touch?"
given = { n = 32 }
answer = { value = "lines", unit = "lines", tolerance = 0 }
[[drill.step]]
say = "One each:"
name = "lines"
unit = "lines"
warp = { address = "lane*4096", lanes = "n", granule = 128, read = "granules" }
"""


def outcome(*words: str) -> tuple[int, str, str]:
    result: Any = CliRunner().invoke(app, ["drill", *words])
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def own(tmp_path: Path) -> str:
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    return str(path)


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_the_gallery_lists_all(columns: int, run: Run) -> None:
    text = run("drill", columns=columns)
    assert max(map(len, text.split("\n"))) <= columns
    numbers = [line[:2].strip() for line in text.split("\n") if line[2:4] == "  "]
    numbers = [number for number in numbers if number.isdecimal()]
    assert numbers == list(NUMBER.values())
    squeezed = " ".join(text.split())
    for topic in {drill.topic for drill in DRILLS}:
        assert topic in squeezed
    marked = sum(bool(drill.hardware) for drill in DRILLS)
    assert text.count(" *") == marked + 1  # and the line that says what it means


def test_one_topic(run: Run) -> None:
    text = run("drill", "--topic", "atomics")
    assert "Four adds" in text
    assert "MiniGPT" not in text
    assert f"5 of {len(DRILLS)} drills" in text


def test_the_gallery_as_json(run: Run) -> None:
    found = json.loads(run("drill", "--json"))
    assert [each["number"] for each in found] == list(range(1, len(DRILLS) + 1))
    assert found[1] == {
        "number": 2,
        "id": "decode-cache-time",
        "title": "Time of the cache-read leg of decode",
        "topic": "memory hierarchy",
        "source": "02 - GPU Memory Hierarchy",
        "hardware_disagrees": True,
    }


@pytest.mark.parametrize("name", NUMBER)
def test_questions_fit_and_say_how_to_answer(name: str, run: Run) -> None:
    text = run("drill", name, columns=80)
    assert max(map(len, text.split("\n"))) <= 80
    assert f"perfmodel drill {NUMBER[name]} --answer" in text
    assert "\nanswer " in text
    assert "{" not in text
    assert run("drill", NUMBER[name], columns=80) == text


@pytest.mark.parametrize("name", NUMBER)
def test_solutions_fit_and_are_filled(name: str, run: Run) -> None:
    text = run("drill", name, "--solution", columns=80)
    assert max(map(len, text.split("\n"))) <= 80
    assert "{" not in text
    assert "\nanswer " in text
    assert "nan" not in text.split()


def test_a_right_answer_ends_with_0() -> None:
    status, text, error = outcome("decode-cache-time", "--answer", "1.07ms")
    assert (status, error) == (0, "")
    assert "Right: 1.07ms (0.3% off)." in text  # by hand: 1.07/1.073741824 - 1 = -0.35%
    assert "leg = bytes/bandwidth = 2.147 GB/(2 TB/s) = 1.074 ms" in text
    # The article's claim, and the measurement: 2**30 B in 233.344 us of 4.8143 TB/s.
    squeezed = " ".join(text.split())
    assert "measurements/suite/h200-sxm/foundation/streams.csv, line 432" in squeezed
    assert "reached 4.602 TB/s, 95.58% of the peak" in squeezed
    assert "Next: perfmodel drill 3" in squeezed


def test_a_wrong_answer_ends_with_1_and_says_why() -> None:
    status, text, error = outcome("decode-cache-time", "--answer", "2.15 ms")
    assert (status, error) == (1, "")
    assert "Not 2.15 ms, 100% off." in text
    assert "as the notes say. They get nearly all of it" in " ".join(text.split())
    assert "1.074 ms" in text


@pytest.mark.parametrize(
    ("name", "answer", "status"),
    [
        ("decode-cache-bytes", "2.147GB", 0),
        ("decode-cache-bytes", "2 GiB", 0),
        ("decode-cache-bytes", "1.07GB", 1),
        ("over-fetch", "67%", 0),
        ("over-fetch", "2/3", 0),
        ("over-fetch", "33%", 1),
        ("miniature-strided", "4", 0),
        ("naive-sectors", "32,1,32", 0),
        ("remap", "(1, 1)", 0),
        ("exam-capability", "8.0", 0),
        ("exam-mig", "disabled", 0),
        ("exam-mig", "b", 1),
        ("exam-set-aside-call", "cudaDeviceSetLimit cudaLimitPersistingL2CacheSize", 0),
        ("exam-query", "cudaGetDevice", 1),
    ],
)
def test_answers(name: str, answer: str, status: int) -> None:
    assert outcome(name, "--answer", answer)[0] == status
    code, text, _ = outcome(name, "--answer", answer, "--json")
    assert code == status
    found = json.loads(text)
    assert found["right"] is (status == 0)
    assert found["given"] == answer


def test_json_of_a_worked_drill() -> None:
    status, text, _ = outcome("stride-32-share", "--answer", "1/32", "--json")
    found = json.loads(text)
    assert status == 1
    assert found["schema"] == "perfmodel.drill/1"
    assert found["solution"]["answer"] == [{"value": 0.125, "text": "12.5%"}]
    assert found["error"] == pytest.approx(0.75)  # 1/32 for 1/8
    assert "1/S rule" in found["mistake"]
    measured = next(s for s in found["solution"]["steps"] if s.get("name") == "counted")
    assert measured["value"] == 2**24  # a sector for each of 16 Mi floats
    assert measured["origin"].startswith(
        "measurements/suite/h200-sxm/foundation/strided.csv, line "
    )


def test_json_of_a_question_has_no_solution(run: Run) -> None:
    found = json.loads(run("drill", "exam-mig", "--json"))
    assert "solution" not in found
    assert found["answer"]["choices"][0] == "disabled"
    assert json.loads(run("drill", "exam-mig", "--json", "--solution"))["solution"]["answer"] == [
        {"text": "disabled"}
    ]


def test_another_gpu(run: Run) -> None:
    # 2048 MiB over 40 and over 50 MiB
    assert outcome("llama-cache-in-l2", "--answer", "51.2")[0] == 0
    assert outcome("llama-cache-in-l2", "--answer", "51.2", "--device", "h100-sxm")[0] == 1
    assert outcome("llama-cache-in-l2", "--answer", "40.96", "--device", "h100-sxm")[0] == 0
    assert "NVIDIA H100 SXM5 80GB" in run("drill", "llama-cache-in-l2", "--device", "h100-sxm")
    assert "depends on none" in run("drill", "remap", "--device", "h100-sxm")


def test_own_drills(own: str, run: Run) -> None:
    number = str(len(DRILLS) + 1)
    text = run("drill", "--drills", own)
    assert "Lines of a column" in text
    assert f"{len(DRILLS) + 1} drills" in text
    assert "How many lines do 32 floats" in run("drill", number, "--drills", own)
    assert outcome("lines", "--drills", own, "--answer", "32")[0] == 0
    assert outcome(number, "--drills", own, "--answer", "4 lines")[0] == 1
    assert "perfmodel drill" not in run("drill", number, "--drills", own, "--solution")
    folder = str(Path(own).parent)
    assert run("drill", "lines", "--drills", folder, "--json") == run(
        "drill", "lines", "--drills", own, "--json"
    )


def test_hints_name_the_file_of_own_drills(
    own: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    # property: the command that a hint names finds the drill again
    monkeypatch.chdir(Path(own).parent)
    command = f"perfmodel drill --drills own.toml {len(DRILLS) + 1}"
    listed = run("drill", "--drills", "own.toml", "--topic", "mine")
    assert f"{command} asks" in listed
    asked = run("drill", "--drills", "own.toml", "lines")
    assert f"{command} --answer X" in asked
    last = run("drill", "--drills", "own.toml", str(len(DRILLS)), "--solution")
    assert command in " ".join(last.split())


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["0"], "numbers go from 1 to"),
        (["999"], "there is no drill 999"),
        (["9" * 400], "unknown drill"),
        (["-1"], "no such option"),
        (["stride-7-shar"], "did you mean 'stride-7-share'?"),
        (["x\ny\x1b[31m"], "unknown drill"),
        (["--answer", "4"], "--answer needs a drill"),
        (["--solution"], "--solution needs a drill"),
        (["--device", "h100-sxm"], "--device needs a drill"),
        (["--topic", "atomic"], "there are memory hierarchy, sectors"),
        (["1", "--topic", "atomics"], "--topic lists drills"),
        (["1", "--answer", ""], "1 to 500 characters"),
        (["1", "--answer", "two"], "must be a number such as"),
        (["1", "--answer", "2"], "has no unit: give an amount of data"),
        (["1", "--answer", "x" * 10_000], "not 10000"),
        (["1", "--answer", "2GB\x00"], "no printable text"),
        (["exam-query", "--answer", "\x1b[31mcuda"], "no printable text"),
        (["exam-query", "--answer", "a\nb"], "no printable text"),
        (["2", "--device", "h100"], "did you mean h100-pcie or h100-sxm?"),
        (["2", "--device", "/"], "is a directory"),
        (["--drills", "nowhere.toml"], "does not exist"),
        (["--drills", "/dev/zero"], "is not a regular file"),
        (["stream-persistent-gain", "--solution", "--device", "rtx-a6000"], "can set aside"),
    ],
)
def test_mistakes(words: list[str], part: str, refused: Refused) -> None:
    assert part in refused("drill", *words)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[[drill]]",
        "drill = 3",
        "\x00",
        OWN.replace("lane*4096", "__import__('os').getpid()"),
        OWN.replace("[[drill.step]]", "[[drill.stop]]"),
        OWN.replace("{n}", "{n.__class__}"),
        OWN + "[[drill.step]]\nsay = '{later}'\n",
    ],
)
def test_malformed_files_are_one_line(text: str, tmp_path: Path, refused: Refused) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    assert "bad.toml" in refused("drill", "--drills", str(path))


def process(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, "drill", *words],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
        check=False,
    )


def test_exit_codes_of_the_installed_script() -> None:
    for answer, status in (("28", 0), ("27", 1), ("28 s", 2)):
        found = process("stride-7-sectors", "--answer", answer)
        assert found.returncode == status, found.stderr
        assert (found.stderr == "") is (status != 2)
        assert "\x1b" not in found.stdout


def test_help_states_the_exit_codes() -> None:
    text = " ".join(process("--help", COLUMNS="80").stdout.split())
    assert "exit code is 0 when the answer is right" in text
    assert "1 when it is wrong" in text
    assert "$ perfmodel drill 1 --answer 2.15GB" in text


def test_plain_ascii_output() -> None:
    found = process("decode-cache-time", "--answer", "1.07ms", PYTHONIOENCODING="ascii")
    assert found.returncode == 0
    assert found.stdout.isascii()


def test_the_gallery_is_quick_to_import() -> None:
    code = """
import sys
sys.argv = ["perfmodel", "drill", "1"]
from perfmodel.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print([n for n in ("sympy", "matplotlib", "scipy", "numba") if n in sys.modules], file=sys.stderr)
"""
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert found.stderr == "[]\n"


@pytest.mark.parametrize("name", NUMBER)
def test_every_solution_is_json(name: str, run: Run) -> None:
    found = json.loads(run("drill", name, "--solution", "--json"))
    assert found["id"] == name
    assert len(found["solution"]["steps"]) == len(DRILLS[int(NUMBER[name]) - 1].steps)
    for step in found["solution"]["steps"]:
        assert "{" not in step["say"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("perfmodel dri", {"drill"}),
        ("perfmodel drill stride-7", {"stride-7-sectors", "stride-7-share"}),
        ("perfmodel drill --topic at", {"atomics"}),
        ("perfmodel drill 2 --device h200", {"h200-sxm"}),
    ],
)
def test_completion(line: str, expected: set[str]) -> None:
    found = subprocess.run(
        [SCRIPT],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={
            **os.environ,
            "_PERFMODEL_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(line.count(" ")),
        },
    )
    assert set(found.stdout.split()) == expected


@pytest.mark.parametrize("number", ["37", "51"])  # 50%, and the first of the choices
def test_a_question_does_not_give_its_answer_away(number: str, run: Run) -> None:
    assert run("drill", number).rstrip().endswith(f"perfmodel drill {number} --answer X")
