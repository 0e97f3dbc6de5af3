"""`sweep` and `advise`: what they print, and that the numbers are those of `predict`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import perfmodel
from perfmodel.cuda.compile.toolchain import find_tool
from perfmodel.hardware import load_device
from perfmodel.prediction.cuda_lines import MPS_VARIABLE
from perfmodel.prediction.l2_rules import percent_of_l2

Run = Callable[..., str]
NEWLINE = "\n"
Refused = Callable[..., str]


def test_a_sweep_is_so_many_predictions(run: Run) -> None:
    words = ["-D", "in_bytes=32MiB", "--set-aside", "16MiB", "--window", "32MiB"]
    over = ["--over", "hit-ratio=0.25:1:0.25", "--over", "set-aside=8MiB,16MiB"]
    ratios, sizes = json.loads(run("sweep", "data-reset", *words, *over, "--json"))
    assert ratios["over"] == "hit-ratio"
    assert ratios["values"] == [0.25, 0.5, 0.75, 1.0]
    assert sizes["values"] == [8 << 20, 16 << 20]
    for ratio, found in zip(ratios["values"], ratios["predictions"], strict=True):
        one = run("predict", "data-reset", *words, "--hit-ratio", str(ratio), "--json")
        assert found == json.loads(one)


def test_a_sweep_over_a_parameter(run: Run) -> None:
    text = run("sweep", "copy", "--over", "bytes=1MiB:4MiB:*2")
    assert [line.split()[0] for line in text.splitlines()[3:6]] == ["1", "2", "4"]
    assert "DRAM" in text
    found = json.loads(run("sweep", "copy", "--over", "bytes=1MiB", "--json"))[0]["values"]
    assert isinstance(found[0], int)  # of which JSON says 1048576, not 1048576.0


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_a_sweep_as_a_figure(suffix: str, run: Run, tmp_path: Path) -> None:
    path = tmp_path / f"knobs.{suffix}"
    over = ["--over", "run=1:32:*2", "--over", "fetch-granularity=32,64,128"]
    assert run("sweep", "gather", "-D", "n=65536", *over, "-o", str(path)) == ""
    content = path.read_bytes()
    assert len(content) > 5000
    if suffix == "svg":
        for label in (b"time [", b"DRAM [MB]", b"fetch granularity [B]", b"run"):
            assert label in content


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--over", "hit-ratio=0.5"], "give --window SIZE"),
        (["--over", "byte=1,2"], "did you mean 'bytes'?"),
        (["--over", "hit-ratio=a"], "must be NAME=a,b,c"),
        (["--over", "hit-ratio=0:1:0"], "by finite steps above 0"),
        (["--over", "hit-ratio=0:1:inf"], "by finite steps above 0"),
        (["--over", "bytes"], "--over bytes has no value"),
        (["--over", "=1,2"], "--over '=1,2' must start with a parameter's name"),
        (["--over", "bytes=4:2:1"], "--over bytes must not stop before it starts"),
        (["--over", "bytes=1MiB", "-D", "vector=1,2"], "-D vector gives 2 values"),
        ([], "--over"),
        (["--over", "bytes=1,2", "-o", "x.txt"], "must end in .svg"),
    ],
)
def test_sweeps_that_make_no_sense(words: list[str], part: str, refused: Refused) -> None:
    assert part in refused("sweep", "copy", *words)


def test_advice_is_ranked_and_says_what_to_write(run: Run) -> None:
    words = ["advise", "strided-copy", "-D", "stride=32"]
    found = json.loads(run(*words, "--json"))
    assert found["schema"] == "perfmodel.advice/1"
    assert not found["leave_it_alone"]
    gains = [option["gain"] for option in found["options"]]
    assert gains == sorted(gains, reverse=True)
    kinds = {option["kind"]: option for option in found["options"]}
    # a stride of 128 B asks for one sector in four of a 128 B line
    assert kinds["coalescing"]["gain"] > 4
    assert kinds["fetch granularity"]["cuda"] == [
        "cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, 32);"
    ]
    base = perfmodel.predict("strided-copy", stride=32)
    assert found["prediction"]["time_s"] == base.time_s
    for option in found["options"]:
        assert option["gain"] == pytest.approx(base.time_s / option["time_s"])
        low, high = option["gain_interval"]
        assert 1 < low < option["gain"] < high
    assert "coalesc" not in run(*words) or "neighbouring elements" in run(*words)


@pytest.mark.parametrize(
    "word",
    [
        *("8.0", "11.0", "annotated_ptr", "11.5", "cudaLimitPersistingL2CacheSize"),
        *("persistingL2CacheMaxSize", "l2CacheSize", "accessPolicyMaxWindowSize", "MIG", "MPS"),
        *("base_ptr", "num_bytes", "hitRatio", "hitProp", "missProp", "num_bytes = 0"),
        *("cudaStreamAttributeAccessPolicyWindow", "cudaKernelNodeAttributeAccessPolicyWindow"),
        *("cudaAccessPropertyNormal", "cudaCtxResetPersistingL2Cache", "add up"),
        "CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT",
    ],
)
def test_help_answers_what_notes_ask(word: str, run: Run) -> None:
    # the rows of the exam table of notes on L2 cache control
    text = " ".join(run("advise", "--help", columns=200).split())
    assert word in text


def test_leave_it_alone_is_an_answer(run: Run) -> None:
    found = json.loads(run("advise", "copy", "--json"))
    assert found["leave_it_alone"]
    assert "no buffer is read from L2 twice" in found["reason"]
    said = run("advise", "copy")
    assert "Leave it alone" in said
    # what was tried is in the reason, what was not, and why, in a line of its own
    assert "residency" in {each["kind"] for each in found["not_tried"]}
    assert "says why): residency, remap, coalescing" in " ".join(said.split())


@pytest.mark.skipif(find_tool("nvcc") is None, reason="needs nvcc")
def test_the_lines_of_advice_are_cuda(run: Run, tmp_path: Path) -> None:
    # independent: the compiler takes them; the ratio of 1 is the one that wants its point
    words = ["-D", "in_bytes=16MiB", "-D", "out_bytes=4GiB"]
    options = json.loads(run("advise", "data-reset", *words, "--json"))["options"]
    lines = next(c["cuda"] for c in options if c["kind"] == "residency")
    assert any("hitRatio = 1.000f;" in line for line in lines)
    # the article on L2 cache control: close the window, reset the lines; and undo the limit
    assert lines[-3:] == [
        "                       &attribute);",
        "cudaCtxResetPersistingL2Cache();",
        "cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0);",
    ]
    compiled(f"void use(cudaStream_t stream, float* in) {{\n{NEWLINE.join(lines)}\n}}\n", tmp_path)


def compiled(text: str, folder: Path) -> None:
    """Let nvcc compile a source, and fail with what it says."""
    source = folder / "advice.cu"
    source.write_text(text)
    nvcc = str(find_tool("nvcc"))
    made = subprocess.run(
        [nvcc, "-arch=sm_90", "-c", str(source), "-o", str(folder / "advice.o")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr


@pytest.mark.skipif(find_tool("nvcc") is None, reason="needs nvcc")
def test_every_kind_of_change_has_lines_that_compile(run: Run, tmp_path: Path) -> None:
    # independent: the compiler takes them, with the kernel's own names around them
    names = "float* in, float* out, float* A, float* B, float* C, int* data"
    sizes = "int i, int k, int n, int m, int K, int N, int stride, int offset"
    kinds, functions = set(), []
    for words in (
        ("strided-copy", "-D", "stride=32"),
        ("copy", "-D", "vector=1", "-D", "block=1024"),
        ("atomic-add", "-D", "n=1048576", "-D", "addresses=1"),
        ("gemm", "--mapping", "naive", "-D", "N=1024"),
        ("data-reset", "--mps"),
        ("data-reset", "--set-aside", "30MiB", "--window", "8MiB", "--hit-ratio", "0.25"),
    ):
        found = json.loads(run("advise", *words, "--json"))
        for option in (*found["options"], *found["rejected"]):
            assert option["cuda"], (words, option["kind"])
            kinds.add(option["kind"])
            own = "__global__ " if "threadIdx" in " ".join(option["cuda"]) else ""
            stream = "" if own else ", cudaStream_t stream"
            head = f"{own}void f{len(functions)}({names}, {sizes}{stream})"
            # a block of its own: lines may define what is an argument here
            functions.append(f"{head} {{ {{\n{NEWLINE.join(option['cuda'])}\n}} }}")
    assert kinds == {
        *("coalescing", "vector width", "block size", "privatisation", "remap", "tiling"),
        *("rewrite", "fetch granularity", "residency", "coarsening"),
    }
    compiled(NEWLINE.join(functions), tmp_path)


def test_under_mps_the_environment_sets_l2_aside(run: Run) -> None:
    # the rule of the platform: no call does
    (option,) = json.loads(run("advise", "data-reset", "--mps", "--json"))["options"]
    lines, aside = option["cuda"], option["l2_control"]["set_aside"]
    percent = percent_of_l2(aside, load_device("h100-sxm"))
    assert f"/* {MPS_VARIABLE}={percent} */" in lines
    assert not any("cudaDeviceSetLimit" in line for line in lines)


def test_a_window_that_harms_is_closed(run: Run) -> None:
    # property: a change is offered that is not what there is, and it gains what it says
    words = ("data-reset", "--set-aside", "30MiB", "--window", "8MiB", "--hit-ratio", "0")
    found = json.loads(run("advise", *words, "--json"))
    assert found["options"][0]["gain"] > 2
    now = found["prediction"]["l2_control"]
    windows = [o for o in found["options"] if o["kind"] == "residency"]
    assert windows
    assert all(option["l2_control"] != now for option in windows)


def test_advice_says_why_no_window_was_tried(run: Run) -> None:
    found = json.loads(run("advise", "data-reset", "--mig", "--json"))
    assert "MIG" in found["reason"]
    assert not any(o["kind"] == "residency" for o in (*found["options"], *found["rejected"]))
