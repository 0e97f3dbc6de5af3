"""Launches of programs at any size: ``-D`` with rules for grid, block and arguments."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from perfmodel.cuda.compile.toolchain import find_tool

Run = Callable[..., str]
Refused = Callable[..., str]

PTX = str(Path(__file__).parents[1] / "cuda" / "ptx" / "nvcc-13.0-kernels.ptx")
SAXPY = (PTX, "--kernel", "saxpy", "--block", "256", "--arg", "1=2.5")
RULES = ("--grid", "ceil_div(param_0, blockDim.x)", "--arg", "0=4*n", "--arg", "2=16*n B")
FILE = """
[[launch]]
kernel = "saxpy"
grid = "ceil_div(param_0, blockDim.x)"
block = 256
arguments = ["4*n", 2.5, { bytes = "16*n" }, { bytes = "16*n" }]
"""


def stated(n: int) -> tuple[str, ...]:
    """The launch that the rules make, in numbers."""
    sizes = ("--arg", f"0={4 * n}", "--arg", f"2={16 * n}")
    return (*SAXPY, "--grid", str(-(-4 * n // 256)), *sizes)


@pytest.mark.parametrize("by_file", [False, True])
def test_a_launch_follows_from_a_size(by_file: bool, run: Run, tmp_path: Path) -> None:
    # property: a rule gives what its numbers give, whoever states them
    file = tmp_path / "launches.toml"
    file.write_text(FILE)
    words = (PTX, "--launch", str(file)) if by_file else (*SAXPY, *RULES)
    found = json.loads(run("predict", *words, "-D", "n=1Ki:64Ki:*64", "--json"))
    assert [p["kernel"]["params"]["n"] for p in found] == [1 << 10, 1 << 16]
    for n, swept in zip((1 << 10, 1 << 16), found, strict=True):
        one = json.loads(run("predict", *stated(n), "--arg", f"3={16 * n}", "--json"))
        assert swept["kernel"]["grid"] == one["kernel"]["grid"]
        assert swept["time_s"] == one["time_s"]
        if by_file:
            assert swept["warnings"] == one["warnings"]


def test_every_command_takes_sizes(run: Run, tmp_path: Path) -> None:
    # property: all of them ask the same launch
    words = (*SAXPY, *RULES, "-D", "n=4096", "--json")
    one = json.loads(run("predict", *stated(4096), "--json"))
    time = one["time_s"]
    assert json.loads(run("explain", *words))["prediction"]["time_s"] == time
    (point,) = json.loads(run("roofline", *words))["kernels"]
    assert point["flop_per_s"] == one["roofline"]["flop_per_s"]
    assert json.loads(run("advise", *words))["prediction"]["time_s"] == time
    (launch,) = json.loads(run("report", *words))["launches"]
    assert launch["explanation"]["prediction"]["time_s"] == time
    over = ("--over", "n=4096,8192", "--json")
    (swept,) = json.loads(run("sweep", *SAXPY, *RULES, *over))
    assert swept["values"] == [4096, 8192]
    assert swept["predictions"][0]["time_s"] == time
    simulated = json.loads(run("simulate", *words))
    # by hand: 512 warps read x and y, 4 sectors each
    assert simulated["traffic"]["global_load_sectors"] == 4096


def test_a_table_shows_the_sizes(run: Run) -> None:
    lines = run("predict", *SAXPY, *RULES, "-D", "n=1Ki,64Ki").splitlines()
    assert lines[3].split()[:2] == ["param_0", "n"]
    assert lines[4].split()[:2] == ["4096", "1024"]
    assert lines[5].split()[:2] == ["262144", "65536"]
    (warning,) = (line for line in lines if line.startswith("warning"))
    assert "param_3 16384" in warning
    assert "(and 1 more like this)" in " ".join(lines)


def test_a_file_of_launches_goes_without_sizes_where_it_states_them(
    run: Run, refused: Refused, tmp_path: Path
) -> None:
    file = tmp_path / "launches.toml"
    file.write_text(FILE)
    assert "'n' has none" in refused("predict", PTX, "--launch", str(file))
    text = FILE.replace("arguments = [", "arguments = [4096, ").replace('"4*n", ', "")
    file.write_text(text.replace("16*n", "4*param_0"))
    one = json.loads(run("predict", PTX, "--launch", str(file), "--json"))
    assert one["kernel"]["grid"] == [16, 1, 1]
    two = json.loads(
        run("predict", PTX, "--launch", str(file), "-D", "param_0=4096,8192", "--json")
    )
    assert [p["kernel"]["grid"] for p in two] == [[16, 1, 1], [32, 1, 1]]
    assert two[0]["time_s"] == one["time_s"]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (RULES, "'n' has none"),
        ((*RULES, "-D", "n=4", "-D", "m=4"), "has no parameter 'm'"),
        ((*RULES, "-D", "n=4", "-D", "param_0=4"), "given by -D and by --arg: give it once"),
        (("--grid", "ceil_div(m, 256)", "--arg", "0=5"), "'m' has none"),
        (("--grid", "param_0/256", "--arg", "0=300"), "--grid must be a whole number"),
        (("--grid", "gridDim.y", "--arg", "0=gridDim.q"), "only threadIdx"),
        (("--grid", "print(1)", "--arg", "0=5"), "calling 'print' is not allowed"),
        (("--grid", "1", "--arg", "0=2*param_0"), "rules go in a circle: param_0 from param_0"),
        (("--grid", "n", "--arg", "0=n/4", "-D", "n=6"), "must be a whole number, not 1.5"),
        (("--grid", "n", "--arg", "0=5", "-D", "n=1,0"), "grid x must be 1 to"),
    ],
)
def test_rules_that_do_not_work_out(words: tuple[str, ...], part: str, refused: Refused) -> None:
    message = refused("predict", *SAXPY, *words)
    assert part in message


def test_a_sweep_over_a_size_that_is_given(refused: Refused) -> None:
    over = ("--over", "n=1Ki,2Ki")
    assert "give it once" in refused("sweep", *SAXPY, *RULES, *over, "-D", "n=4")
    assert "has no parameter 'm'" in refused("sweep", *SAXPY, *RULES, "--over", "m=1", "-D", "n=4")


@pytest.mark.skipif(find_tool("nvcc") is None, reason="needs nvcc")
def test_rules_use_the_names_of_the_source(run: Run, tmp_path: Path) -> None:
    # regression: "parameter 'n4' is 67108864 in this launch, not 1048576"
    source = tmp_path / "copy4.cu"
    source.write_text(
        "__global__ void copy4(const float4* in, float4* out, size_t n4) {\n"
        "  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;\n"
        "  for (; i < n4; i += gridDim.x * (size_t)blockDim.x) out[i] = in[i];\n"
        "}\n"
    )
    rules = ("--grid", "ceil_div(n4, 256)", "--block", "256", "--arg", "n4=n/4")
    found = json.loads(
        run("predict", str(source), *rules, "--arg", "in=4*n B", "-D", "n=4Ki,1Mi", "--json")
    )
    assert [p["kernel"]["params"] for p in found] == [
        {"n4": 1 << 10, "n": 1 << 12},
        {"n4": 1 << 18, "n": 1 << 20},
    ]
    # by hand: each element is read once, 16 B a lane
    assert [p["traffic"]["dram_read_bytes"] for p in found] == [4 << 12, 4 << 20]
    direct = run("predict", str(source), *rules[:4], "-D", "n4=1Ki:256Ki:*256", "--json")
    assert [p["time_s"] for p in json.loads(direct)] == [p["time_s"] for p in found]


def test_kernels_mappings_and_gpus_make_a_table(run: Run) -> None:
    words = ("gemm", "--mapping", "naive,coalesced", "-D", "N=1024,4096")
    gpus = ("h100-sxm", "a100-sxm-80")
    found = json.loads(run("predict", *words, "--device", ",".join(gpus), "--json"))
    told = [(p["device"], p["kernel"]["mapping"], p["kernel"]["params"]["N"]) for p in found]
    assert told == [(g, m, n) for g in gpus for m in ("naive", "coalesced") for n in (1024, 4096)]
    alone = ("predict", "gemm", "--mapping", "coalesced", "-D", "N=4096", "--device", gpus[1])
    assert found[-1] == json.loads(run(*alone, "--json"))
    table = run("predict", *words, "--device", ",".join(gpus)).splitlines()
    assert table[0] == "gemm"
    assert table[3].split()[:3] == ["mapping", "GPU", "N"]
    after = 4 + len(found)
    # below the rows: whose coefficients the A100 has
    assert "inherited from compute capability" in " ".join(table[after:])
    assert all(line.startswith(("naive", "coalesced")) for line in table[4:after])


def test_kernels_of_several_kinds_make_a_table(run: Run, refused: Refused) -> None:
    words = ("copy", "read", "gemm:naive", "-D", "bytes=1MiB", "-D", "N=512")
    lines = run("predict", *words, columns=140).splitlines()
    assert lines[0].startswith("3 launches on h100-sxm")
    rows = [line.split() for line in lines[4:]]
    assert [row[0] for row in rows] == ["copy", "read", "gemm"]
    assert "bytes=1048576," in rows[0]
    assert "N=512," in rows[2]
    assert "such a parameter" in refused("predict", *words, "-D", "stride=4")
    assert "unknown device 'h1000'" in refused("predict", "copy", "--device", "h100-sxm,h1000")


def test_a_device_file_may_have_a_comma_in_its_name(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mine, at home.toml"
    path.write_text('name = "mine"\nextends = "h100-sxm"\n')
    found = json.loads(run("predict", "copy", "--device", str(path), "--json"))
    assert found["device"] == "mine"
