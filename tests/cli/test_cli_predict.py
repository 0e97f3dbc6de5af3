"""`perfmodel predict`: its report and its JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest

import perfmodel
from perfmodel.hardware import load_device
from perfmodel.kernels import builtin_names, mappings

Run = Callable[..., str]
Make = Callable[..., str]

# The keys of the design's "Prediction JSON", which may be extended but not renamed.
TOP = [
    "schema",
    "kernel",
    "device",
    "method",
    "protocol",
    "time_s",
    "interval_s",
    "bottleneck",
    "terms_s",
    "traffic",
    "occupancy",
    "roofline",
    "warnings",
    "l2_control",
    "over_fetch",
]
TRAFFIC = {
    "global_load_requests",
    "global_load_sectors",
    "global_store_requests",
    "global_store_sectors",
    "l1_hit_sectors",
    "l2_read_sectors",
    "l2_write_sectors",
    "l2_atomic_sectors",
    "l2_hit_rate",
    "dram_read_bytes",
    "dram_write_bytes",
}


@pytest.fixture(scope="module")
def validator() -> Any:
    text = resources.files(perfmodel).joinpath("prediction/schema.json").read_text("utf-8")
    schema = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_json_has_the_keys_of_the_design(run: Run) -> None:
    found = json.loads(run("predict", "gemm", "--mapping", "coalesced", "-D", "N=4096", "--json"))
    assert list(found) == TOP
    assert found["schema"] == "perfmodel.prediction/1"
    assert found["kernel"] == {
        "name": "gemm",
        "mapping": "coalesced",
        "params": {"N": 4096, "M": 4096, "K": 4096},
        "grid": [128, 128, 1],  # ceil(4096/32) a side
        "block": [1024, 1, 1],
    }
    assert found["device"] == "h100-sxm"
    assert found["method"] == "closed-form"
    assert found["protocol"] == {"timing": "profiler", "cache": "cold"}
    assert set(found["traffic"]) >= TRAFFIC
    assert {"warps_per_sm", "fraction", "limiter", "waves"} <= set(found["occupancy"])
    assert set(found["roofline"]) == {"flop", "flop_per_s", "intensity", "ceilings"}
    assert set(found["roofline"]["intensity"]) == {"l1", "l2", "dram"}
    assert found["roofline"]["flop"] == 2 * 4096**3


def test_a_kernel_of_a_replayed_graph(run: Run, validator: Any) -> None:
    # regression of the words; the times are in tests/measurements/test_graph_replays.py
    assert "timing as a kernel of a replayed CUDA graph" in run(
        "predict", "copy", "--timing", "graph"
    )
    found = json.loads(run("predict", "copy", "--timing", "graph", "--json"))
    validator.validate(found)
    assert found["protocol"] == {"timing": "graph", "cache": "cold"}


COLD: Final = ()
WARM: Final = ("--timing", "events", "--cache", "warm")


@pytest.mark.parametrize("kernel", builtin_names())
@pytest.mark.parametrize("device", perfmodel.device_names())
def test_json_of_all_built_in_kernels_fits_the_schema(
    kernel: str, device: str, run: Run, validator: Any
) -> None:
    # every kernel with both protocols on one device; each of its mappings on some of the others
    number = perfmodel.device_names().index(device) + builtin_names().index(kernel)
    for mapping in mappings(kernel) or [None]:
        number += 1
        protocols = (
            (COLD, WARM) if device == "h200-sxm" else ((COLD, WARM, None, None)[number % 4],)
        )
        chosen = ["--mapping", mapping] if mapping else []
        for protocol in protocols:
            if protocol is None or (
                mapping == "wgmma" and float(load_device(device).compute_capability) < 9
            ):  # it has no such instructions
                continue
            text = run("predict", kernel, *chosen, "--device", device, *protocol, "--json")
            found = json.loads(text, parse_constant=pytest.fail)  # no NaN, no Infinity
            validator.validate(found)
            low, high = found["interval_s"]
            assert low < found["time_s"] < high
            assert found["bottleneck"] in found["terms_s"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("time_s", 0),
        ("time_s", "1"),
        ("method", "guess"),
        ("interval_s", [1.0]),
        ("terms_s", {"l1": -1}),
        ("traffic", {}),
        ("warnings", [""]),
    ],
)
def test_the_schema_refuses_what_is_wrong(key: str, value: Any, run: Run, validator: Any) -> None:
    found = json.loads(run("predict", "copy", "--json"))
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**found, key: value})
    del found[key]
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(found)


def test_json_is_what_the_library_says(run: Run) -> None:
    words = ["-D", "bytes=16MiB", "--device", "a100-sxm-80", "--timing", "events"]
    found = json.loads(run("predict", "copy", *words, "--cache", "warm", "--json"))
    expected = perfmodel.predict(
        "copy", device="a100-sxm-80", timing="events", cache="warm", bytes=16 * 2**20
    )
    assert found == json.loads(json.dumps(expected.to_json()))


def test_several_values_are_an_array(run: Run) -> None:
    found = json.loads(
        run("predict", "copy", "-D", "bytes=1MiB,2MiB", "-D", "vector=4:16:*4", "--json")
    )
    chosen = [(o["kernel"]["params"]["bytes"], o["kernel"]["params"]["vector"]) for o in found]
    assert chosen == [(2**20, 4), (2**20, 16), (2**21, 4), (2**21, 16)]


def test_report_says_what_matters(run: Run) -> None:
    text = run("predict", "gemm", "--mapping", "naive", "-D", "N=4096")
    predicted = perfmodel.predict("gemm", mapping="naive", N=4096)
    lines = text.split("\n")
    assert lines[0] == "gemm naive on h100-sxm (NVIDIA H100 SXM5 80GB)"
    assert lines[1] == "N=4096, M=4096, K=4096, grid 128 x 128, block 32 x 32"
    assert "profiler" in lines[2]
    assert "cold" in lines[2]
    assert lines[4].startswith(f"{predicted.time_s * 1e3:.0f} ms   90%: ")
    assert lines[4].endswith(" GFLOP/s")
    assert "The L1 data stage is busy" in text
    for name in predicted.terms_s:
        assert f"\n{name} " in text
    for part in ("load A", "load B", "store C", "L2 ", "DRAM ", "occupancy", "roofline"):
        assert f"\n{part}" in text


@pytest.mark.parametrize("name", builtin_names())
def test_report_fits_80_columns_and_is_plain_in_a_pipe(name: str, run: Run) -> None:
    text = run("predict", name, columns=80)
    assert max(map(len, text.split("\n"))) <= 80
    assert "\x1b" not in text
    assert not any(line != line.rstrip() for line in text.split("\n"))


def test_hit_rates_and_bytes_of_accesses(run: Run) -> None:
    # 2**20 floats are 2**15 warps of 4 sectors; each is read once, so nothing hits.
    text = run("predict", "copy", "-D", "bytes=4MiB", "-D", "vector=4")
    row = next(line for line in text.split("\n") if line.startswith("load in"))
    assert row.split() == ["load", "in", "32768", "131k", "4", "0%", "4.19", "MB", "4.19", "MB"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["gemm", "--mapping", "naive"], "The L1 data stage is busy"),
        (["read", "-D", "bytes=4GiB"], "DRAM is busy"),
        (["copy", "-D", "bytes=1MiB"], "The launch takes"),
        (["gemm", "-D", "N=64", "-D", "K=4096"], "Waiting for loads takes"),
        (["read", "-D", "bytes=4MiB", "-D", "vector=1", "-D", "block=32"], "Starting blocks takes"),
        (
            ["gemm", "--mapping", "tensor-core", "-D", "M=1000", "-D", "N=1001", "-D", "K=1001"],
            "Waiting in the pipeline takes",
        ),
    ],
)
def test_what_binds_is_one_sentence(words: list[str], sentence: str, run: Run) -> None:
    text = run("predict", *words, columns=300)
    line = next(line for line in text.split("\n") if line.startswith(sentence))
    assert line.endswith(".")
    assert "of the time (" in line


def test_what_binds_is_no_wait_for_loads_where_there_are_none(run: Run, tmp_path: Path) -> None:
    source = tmp_path / "chain.cu"
    source.write_text(
        "__global__ void chain(float* y, int n) {\n"
        "  float v = threadIdx.x;\n"
        "  for (int i = 0; i < n; ++i) v = v * v + 1.0f;\n"
        "  y[blockIdx.x * blockDim.x + threadIdx.x] = v;\n}\n"
    )
    text = run("predict", str(source), "--grid", "1", "--block", "32", "-D", "n=4096")
    assert "The critical path takes" in text


def test_tiles_go_to_kernels_that_have_them(run: Run) -> None:
    words = ("predict", "gemm:warptile", "gemm:naive", "copy", "--tile", "64,64", "--json")
    sizes = [each["kernel"]["params"].get("BM") for each in json.loads(run(*words))]
    assert sizes == [64, None, None]


def test_tables_of_several_values(run: Run) -> None:
    text = run("predict", "strided-copy", "-D", "stride=1:32:*2", columns=80)
    lines = text.split("\n")
    assert lines[1] == "n=16777216, offset=0"
    start = next(i for i, line in enumerate(lines) if line.startswith("stride "))
    assert [line.split()[0] for line in lines[start + 1 : start + 7]] == [
        str(2**power) for power in range(6)
    ]
    assert max(map(len, lines)) <= 80


def test_kernel_and_device_files(run: Run, kernel_file: Make, tmp_path: Any) -> None:
    device = tmp_path / "gpu.toml"
    device.write_text('name = "mine-gpu"\nextends = "h100-sxm"\n')
    text = run("predict", kernel_file(), "-D", "n=1e6", "--device", str(device))
    assert text.startswith("mine on mine-gpu (")


def test_nothing_in_names_is_markup(run: Run, tmp_path: Any) -> None:
    device = tmp_path / "mine.toml"
    device.write_text('name = "x"\ntitle = "[bold]GPU[/] :smile:"\nextends = "h100-sxm"\n')
    assert "([bold]GPU[/] :smile:)" in run("predict", "copy", "--device", str(device))


def test_what_is_out_of_range_says_so(run: Run) -> None:
    # independent: the simulator misses otherwise where a set nearly fills L2 (reports/)
    words = ("predict", "working-set-read", "-D", "bytes=40MiB", "-D", "iterations=4")
    says = "outside the closed form's range"
    warnings = json.loads(run(*words, "--json"))["warnings"]
    (found,) = [w for w in warnings if says in w]
    assert found.endswith("--traffic simulated counts them")
    assert says in " ".join(run(*words).split())


def test_a_copy_beyond_l2_may_be_slower_warm(run: Run) -> None:
    # property: help says so, and why; that it is so on an H200 is a test of measurements/
    assert "may be slower warm" in " ".join(run("predict", "--help").replace("│", " ").split())
    words = ("predict", "copy", "-D", "bytes=256MiB", "--device", "h200-sxm", "--json")
    cold, warm = (json.loads(run(*words, "--cache", cache)) for cache in ("cold", "warm"))
    assert 1 < warm["time_s"] / cold["time_s"] < 1.08
    assert warm["traffic"]["dram_write_bytes"] > cold["traffic"]["dram_write_bytes"]
