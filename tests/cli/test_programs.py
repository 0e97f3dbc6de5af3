"""CUDA sources and PTX on the command line: predict, explain, roofline and simulate."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

Run = Callable[..., str]
Refused = Callable[..., str]

PTX = str(Path(__file__).parents[1] / "cuda" / "ptx" / "nvcc-13.0-kernels.ptx")
SAXPY = (PTX, "--kernel", "saxpy", "--grid", "4096", "--block", "256")
NUMBERS = ("--arg", "0=1000000", "--arg", "1=2.5")


def test_a_kernel_of_ptx_is_predicted(run: Run) -> None:
    found = json.loads(run("predict", *SAXPY, *NUMBERS, "--device", "h200-sxm", "--json"))
    assert found["kernel"]["name"] == "saxpy"
    # by hand: 31250 warps read x and y and write y, 4 sectors each time
    assert found["traffic"]["global_load_requests"] == 62500
    assert found["traffic"]["global_load_sectors"] == 250000
    assert found["traffic"]["global_store_sectors"] == 125000
    assert found["traffic"]["dram_read_bytes"] == 8e6
    assert 3e-6 < found["time_s"] < 12e-6
    assert any("taken to have" in warning for warning in found["warnings"])


def test_sources_show_their_accesses(run: Run) -> None:
    text = run("predict", *SAXPY, *NUMBERS, "--show")
    assert "4: if (i < n) y[i] = a * x[i] + y[i];" in text
    found = json.loads(run("predict", *SAXPY, *NUMBERS, "--show", "--json"))
    assert [(a["source"], a["kind"], a["accesses"]) for a in found["accesses"]] == [
        ("kernels.cu:4", "load", 1),
        ("kernels.cu:4", "load", 1),
        ("kernels.cu:4", "store", 1),
    ]
    assert sum(a["time_share"] for a in found["accesses"]) <= 1
    assert [a["sectors_per_request"] for a in found["accesses"]] == [4, 4, 4]


def test_arguments_have_any_name(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "filled.cu"
    source.write_text(
        "__global__ void filled(int* y, int seed, int device) {\n"
        "  y[blockIdx.x * blockDim.x + threadIdx.x] = seed + device;\n}\n"
    )
    launch = ("--grid", "device", "--block", "256", "-D", "seed=3", "-D", "device=64")
    found = json.loads(run("predict", str(source), *launch, "--json"))
    # by hand: 64 blocks of 8 warps store 4 sectors each
    assert found["traffic"]["global_store_sectors"] == 64 * 8 * 4


def test_formulas_are_explained(run: Run) -> None:
    words = (PTX, "--kernel", "product", "--grid", "8,8", "--block", "16x16")
    text = run("explain", *words, "--arg", "3=128", "--arg", "4=128", "--arg", "5=128")
    assert "param_0[k*4 + param_5*y]" in text
    assert "y = blockIdx.y*blockDim.y + threadIdx.y" in text


def test_launches_of_a_file_are_predicted(run: Run, refused: Refused, tmp_path: Path) -> None:
    file = tmp_path / "launches.toml"
    file.write_text(
        """
        [[launch]]
        kernel = "copy_vectors"
        grid = [64]
        block = [256]
        arguments = [{ bytes = "1MiB" }, { bytes = "1MiB" }, 16384]
        [[launch]]
        kernel = "copy_vectors"
        grid = [128]
        block = [256]
        arguments = [{ bytes = "256KiB" }, { bytes = "1MiB" }, 32768]
        """
    )
    words = (PTX, "--kernel", "copy_vectors", "--launch")
    message = refused("predict", *words, str(file))
    assert "index" in message
    assert "outside buffer" in message
    one = json.loads(run("predict", *words, f"{file}:1", "--json"))
    assert one["traffic"]["dram_read_bytes"] == 16384 * 16
    file.write_text(file.read_text().replace("256KiB", "4MiB"))
    both = json.loads(run("predict", *words, str(file), "--json"))
    assert [p["kernel"]["grid"][0] for p in both] == [64, 128]
    # launches are told by their names, else by their places in the file
    file.write_text(file.read_text().replace("[[launch]]", "[[launch]]\n name = 'small'", 1))
    rows = run("predict", *words, str(file)).splitlines()
    assert [row.split()[0] for row in rows if " us " in row] == ["small", "2"]
    assert "one is needed" in refused("explain", *words, str(file))


def test_simulator_and_roofline_take_programs(run: Run) -> None:
    found = json.loads(run("simulate", *SAXPY, *NUMBERS, "--json"))
    assert found["traffic"]["global_load_sectors"] == 250000
    assert "saxpy" in run("roofline", *SAXPY, *NUMBERS)
    words = (PTX, "--kernel", "collatz", "--grid", "40", "--block", "256", "--arg", "1=10000")
    assert "collatz" in run("predict", *words)
    sparse = (PTX, "--kernel", "sparse", "--grid", "2", "--block", "64", "--arg", "5=128")
    # With random numbers for the starts of its rows it would not end: small ones stand for them.
    message = run("predict", *sparse, "--arg", "0=516", "--arg", "1=4000", "--arg", "2=4000")
    assert "decides what threads do and is assumed" in message


def test_a_file_that_is_no_array(refused: Refused, tmp_path: Path) -> None:
    # property: numpy's own words advise to load objects, which is never allowed here
    junk = tmp_path / "junk.npy"
    for content in (b"junk", b"", b"\x93NUMPY nonsense"):
        junk.write_bytes(content)
        message = refused("predict", *SAXPY, *NUMBERS, "--arg", f"2={junk}")
        assert "with numpy.save" in message or "no array of numbers as numpy.save" in message


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ((PTX,), "kernels: choose one of"),
        ((PTX, "--kernel", "saxpi"), "did you mean 'saxpy'?"),
        ((PTX, "--kernel", "saxpy"), "needs --grid"),
        ((PTX, "--kernel", "saxpy", "--grid", "4"), "needs --block"),
        ((*SAXPY, "--arg", "1=2"), "no argument for param_0"),
        ((*SAXPY, *NUMBERS, "--arg", "9=1"), "no parameter '9'"),
        ((*SAXPY, *NUMBERS, "--arg", "n"), "must be NAME=VALUE"),
        ((*SAXPY, *NUMBERS, "--arg", "0=1"), "is given twice"),
        ((*SAXPY, "--arg", "0=x", "--arg", "1=2"), "must be a number such as 4096"),
        ((*SAXPY, *NUMBERS, "--arg", "2=1.5"), "is a pointer: give the bytes"),
        ((*SAXPY, *NUMBERS, "--arg", "2=missing.npy"), "missing.npy"),
        ((*SAXPY, *NUMBERS, "-D", "N=3"), "has no parameter 'N'"),
        ((*SAXPY, *NUMBERS, "--mapping", "naive"), "goes with built-in kernels"),
        ((*SAXPY, "--launch", "x.toml"), "exclude each other"),
        ((PTX, "--kernel", "saxpy", "--grid", "1,1,1,1", "--block", "2"), "1 to 3 numbers"),
        ((PTX, "--kernel", "saxpy", "--grid", "99999999999", "--block", "2"), "grid x must be"),
        ((PTX, "--kernel", "saxpy", "--grid", "1", "--block", "2048"), "block x must be"),
        (("copy", "--grid", "4"), "--grid goes with a CUDA source or PTX"),
        (("nowhere.cu", "--grid", "1", "--block", "1"), "does not exist"),
        (("nowhere.ptx", "--grid", "1", "--block", "1"), "nowhere.ptx"),
    ],
)
def test_mistakes_are_one_clear_line(refused: Refused, words: tuple[str, ...], part: str) -> None:
    assert part in refused("predict", *words)


def test_truncated_ptx_is_one_clear_line(refused: Refused, tmp_path: Path) -> None:
    whole = Path(PTX).read_text()
    for share in (0.1, 0.37, 0.64, 0.98):
        file = tmp_path / "cut.ptx"
        file.write_text(whole[: int(len(whole) * share)])
        message = refused(
            "predict", str(file), "--kernel", "forever", "--grid", "1", "--block", "32"
        )
        assert len(message) < 400


def test_programs_are_advised_on_swept_and_reported(run: Run, tmp_path: Path) -> None:
    advice = json.loads(run("advise", *SAXPY, *NUMBERS, "--json"))
    predicted = json.loads(run("predict", *SAXPY, *NUMBERS, "--json"))
    assert advice["prediction"]["time_s"] == predicted["time_s"]
    swept = json.loads(
        run("sweep", *SAXPY, *NUMBERS, "--over", "fetch-granularity=32,64", "--json")
    )
    assert swept[0]["predictions"][1]["time_s"] == predicted["time_s"]
    run("report", *SAXPY, *NUMBERS, "-o", str(tmp_path / "page"))
    assert "saxpy" in (tmp_path / "page" / "report.md").read_text()
    # advice in a report is that of advise, blocks of other sizes and all
    (launch,) = json.loads(run("report", *SAXPY, *NUMBERS, "--json"))["launches"]
    assert launch["advice"] == advice
    assert "block size" in {each["kind"] for each in advice["options"] + advice["rejected"]}


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("advise", PTX, "--kernel", "saxpy"), "needs --grid"),
        (("sweep", PTX, "--kernel", "saxpy", "--over", "window=1"), "needs --grid"),
        (("report", PTX, "--kernel", "saxpy", "--json"), "needs --grid"),
        (("advise", "nope.cu"), "'nope.cu' does not exist: give"),
        (("kernels", "mine.cu"), "perfmodel inspect"),
        (("roofline", "copy", "--grid", "4"), "--grid goes with a CUDA source"),
        (("report", "copy", "--arg", "n=3", "--json"), "--arg goes with a CUDA source"),
    ],
)
def test_programs_and_their_options_go_together(
    words: tuple[str, ...], part: str, refused: Refused
) -> None:
    assert part in refused(*words)


@pytest.mark.parametrize(
    ("index", "sectors"),
    [
        # by hand, n = 1024: 32 requests of neighbours, of one place, and of lines of their own
        (np.arange(1024), 128),
        (np.zeros(1024), 32),
        (np.arange(1024) * 32, 1024),
    ],
    ids=["in order", "one", "apart"],
)
def test_the_content_of_a_file_decides_what_a_gather_asks_for(
    index: npt.NDArray[np.int64], sectors: int, run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "index.npy"
    np.save(path, index.astype(np.int32))
    words = (PTX, "--kernel", "gather", "--grid", "4", "--block", "256")
    given = ("--arg", f"0={path}", "--arg", "1=1MiB", "--arg", "3=1024")
    found = json.loads(run("predict", *words, *given, "--json"))
    assert found["traffic"]["global_load_sectors"] == 128 + sectors


ONE_STORE = """.version 9.0
.target sm_90
.address_size 64
.visible .entry zero(.param .u64 out)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, 0;
  st.global.u32 [%rd2], %r1;
  ret;
}
"""


@pytest.mark.parametrize("command", ["predict", "explain"])
def test_a_launch_without_numbers_begins_with_no_separator(
    command: str, run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "zero.ptx"
    path.write_text(ONE_STORE)
    text = run(command, str(path), "--grid", "4", "--block", "256")
    assert not any(line.startswith((",", ";")) for line in text.split("\n"))


def test_sizes_that_are_taken_say_what_states_them(run: Run) -> None:
    words = (PTX, "--kernel", "reduce", "--grid", "256", "--block", "256", "--arg", "2=1000000")
    found = json.loads(run("predict", *words, "--json"))
    dynamic = [w for w in found["warnings"] if "dynamic shared memory" in w]
    assert len(dynamic) == 1
    assert "--shared" in dynamic[0]
    assert "--arg" not in dynamic[0]
    stated = json.loads(run("predict", *words, "--shared", "2KiB", "--json"))
    assert not any("dynamic shared memory" in w for w in stated["warnings"])


@pytest.mark.parametrize(
    "words", [("predict", "-D", "param_0=5"), ("sweep", "--over", "param_0=5,6")]
)
def test_what_the_launch_states_is_not_given_by_name(
    words: tuple[str, ...], refused: Refused
) -> None:
    text = refused(words[0], *SAXPY, *NUMBERS, *words[1:])
    assert "--arg" in text


def test_a_report_advises_on_each_launch_of_a_file(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "launches.toml"
    launch = (
        "[[launch]]\nkernel = 'copy_vectors'\ngrid = [{0}]\nblock = [256]\n"
        "arguments = [{{ bytes = '4MiB' }}, {{ bytes = '4MiB' }}, {1}]\n"
    )
    file.write_text(launch.format(64, 16384) + launch.format(128, 32768))
    words = (PTX, "--kernel", "copy_vectors", "--json", "--launch")
    found = [each["advice"] for each in json.loads(run("report", *words, str(file)))["launches"]]
    assert found == [json.loads(run("advise", *words, f"{file}:{i}")) for i in (1, 2)]
