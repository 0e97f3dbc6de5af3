"""`perfmodel devices` and `perfmodel kernels`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perfmodel.hardware import device_names, hierarchy, load_device
from perfmodel.kernels import builtin, builtin_names, mappings

Run = Callable[..., str]


def test_all_devices_are_listed(run: Run) -> None:
    text = run("devices", columns=80)
    assert max(map(len, text.split("\n"))) <= 80
    rows = {line.split()[0]: line for line in text.split("\n") if line}
    assert set(device_names()) <= set(rows)
    # NVIDIA H100 data sheet and deviceQuery; 50 MiB and 80 GiB are the catalogue's.
    assert rows["h100-sxm"].split()[-7:] == ["9.0", "132", "1980", "50", "79.2", "3352", "66.9"]


@pytest.mark.parametrize("name", device_names())
def test_device_report_fits_80_columns(name: str, run: Run) -> None:
    text = run("devices", name, columns=80)
    assert max(map(len, text.split("\n"))) <= 80
    assert text.startswith(f"{name}: ")


def test_device_report_shows_figures_with_sources(run: Run) -> None:
    text = run("devices", "h100-sxm")
    device = load_device("h100-sxm")
    for name in device.figures:
        assert f"\n{name} " in text
    squeezed = " ".join(text.split())
    for figure in device.figures.values():
        for one in (figure, *figure.also):
            assert f"{one.kind}: {' '.join(one.source.split())}" in squeezed


def test_a_file_of_ones_own_names_all_that_it_inherits(run: Run) -> None:
    file = Path(__file__).parents[2] / "docs" / "examples" / "rtx-4090.toml"
    found = load_device(file).inherited
    assert found is not None
    squeezed = " ".join(run("devices", str(file)).split())
    names = ", ".join(found.figures)
    assert f"Inherited from rtx-a6000, not measured on this GPU: {names}." in squeezed
    assert "Inherited" not in run("devices", "h100-sxm")


def test_latency_comes_in_cycles_and_ns_and_disagreement_shows(run: Run) -> None:
    lines = run("devices", "h100-sxm").split("\n")
    at = next(i for i, line in enumerate(lines) if line.startswith("L2 "))
    # 284.6 cycles at 1980 MHz are 143.7 ns; another source gives 295 cycles, 149.0 ns.
    assert " 285[" in lines[at]
    assert " 144 " in lines[at]
    assert " 295[" in lines[at + 1]
    assert " 149" in lines[at + 1]
    assert lines[at].endswith("GPU   hardware") or "hardware" in lines[at]


def test_every_mark_has_a_source(run: Run) -> None:
    import re

    text, _, sources = run("devices", "a100-sxm-80").partition("\nSources\n")
    used = {int(n) for group in re.findall(r"\[([0-9,]+)\]", text) for n in group.split(",")}
    known = {int(n) for n in re.findall(r"^\[([0-9]+)\]", sources, re.MULTILINE)}
    assert used == known == set(range(1, len(known) + 1))


def test_device_json(run: Run) -> None:
    found = json.loads(run("devices", "h100-sxm", "--json"))
    device = load_device("h100-sxm")
    assert found["schema"] == "perfmodel.device/1"
    assert found["values"]["dram_bandwidth"] == 3352.3e9
    assert found["values"]["l2_size"] == 52428800
    figure = found["figures"]["l2_latency"]
    assert (figure["value"], figure["unit"], figure["kind"]) == (284.6, "cycles", "measured")
    assert len(figure["also"]) == len(device.figures["l2_latency"].also)
    assert [level["name"] for level in found["hierarchy"]] == [x.name for x in hierarchy(device)]
    l2 = found["hierarchy"][3]
    assert l2["latency_cycles"] == pytest.approx(284.6)
    assert l2["latency_s"] == pytest.approx(284.6 / 1.98e9)


def test_coefficients_as_json_are_those_of_the_device(run: Run) -> None:
    found = json.loads(run("devices", "h100-sxm", "--coefficients", "--json"))
    assert found == json.loads(run("devices", "h100-sxm", "--json"))["coefficients"]


def test_devices_json_lists_all(run: Run) -> None:
    found = json.loads(run("devices", "--json"))
    assert [device["name"] for device in found] == device_names()
    assert all(device["values"]["sm_count"] > 0 for device in found)


def test_device_files_work(run: Run, tmp_path: Any) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\ntitle = "[red]My GPU"\nextends = "a100-sxm-80"\n')
    assert run("devices", str(path)).startswith("mine: [red]My GPU, compute capability 8.0")
    assert json.loads(run("devices", str(path), "--json"))["name"] == "mine"


def test_all_kernels_are_listed(run: Run) -> None:
    text = run("kernels", columns=80)
    assert max(map(len, text.split("\n"))) <= 80
    for name in builtin_names():
        assert f"\n{name} " in text
    assert "naive" in text
    assert [k["name"] for k in json.loads(run("kernels", "--json"))] == builtin_names()


@pytest.mark.parametrize("name", builtin_names())
def test_kernel_reports(name: str, run: Run) -> None:
    for mapping in mappings(name) or [None]:
        chosen = ["--mapping", mapping] if mapping else []
        text = run("kernels", name, *chosen, columns=80)
        kernel = builtin(name, mapping)
        assert max(map(len, text.split("\n"))) <= 80
        for parameter in kernel.parameters:
            assert f"\n{parameter.name} " in text
        for access in kernel.accesses:
            assert f"{access.kind} {access.name or access.buffer}" in text
        found = json.loads(run("kernels", name, *chosen, "--json"))
        assert found["schema"] == "perfmodel.kernel/1"
        assert [p["name"] for p in found["parameters"]] == [p.name for p in kernel.parameters]
        assert len(found["accesses"]) == len(kernel.accesses)


def test_kernel_report_shows_expressions(run: Run) -> None:
    text = run("kernels", "gemm", "--mapping", "coalesced")
    assert "A[m * K + k]" in text
    assert "blockIdx.x * 32 + threadIdx.x % 32" in text
    assert "2 * M * N * K (fp32)" in text
    assert "m < M and n < N" in text


def test_kernel_json_can_be_made_a_kernel_again(run: Run) -> None:
    # Property: what is printed states the same kernel, in the words of kernel files.
    import perfmodel

    found = json.loads(run("kernels", "gemm", "--mapping", "naive", "--json"))
    table = {
        "name": found["name"],
        "guard": found["guard"],
        "flop": found["flop"],
        "precision": found["precision"],
        "parameters": {p["name"]: {"default": p["default"]} for p in found["parameters"]},
        "launch": found["launch"],
        "definitions": found["definitions"],
        "buffers": {b.pop("name"): b for b in found["buffers"]},
        "loops": [{k: v for k, v in loop.items() if v is not None} for loop in found["loops"]],
        "accesses": [
            {
                a["kind"]: a["buffer"],
                "index": a["index"],
                **({"loop": a["loop"]} if a["loop"] else {}),
            }
            for a in found["accesses"]
        ],
        "arithmetic": [
            {k: v for k, v in work.items() if v is not None} for work in found["arithmetic"]
        ],
    }
    again = perfmodel.predict(perfmodel.kernel_from_table(table), N=1000)
    assert again.time_s == perfmodel.predict("gemm", mapping="naive", N=1000).time_s


def test_kernel_source(run: Run) -> None:
    assert 'extern "C" __global__ void gemm_naive(' in run(
        "kernels", "gemm", "--mapping", "naive", "--source"
    )
    found = json.loads(run("kernels", "copy", "--source", "--json"))
    assert (found["schema"], found["file"]) == ("perfmodel.source/1", "copy.cu")
    assert found["compiler_options"] == ["-DVECTOR=16"]
    assert found["launch"]["grid"] == [65536, 1, 1]  # 256 MiB by 16 B, blocks of 256
    assert found["launch"]["arguments"]["n"] == 1 << 24


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("softmax", "--source"), "it stands for PyTorch's kernels"),
        (("--source",), "--source needs a kernel"),
    ],
)
def test_kernels_without_source_say_why(
    arguments: tuple[str, ...], said: str, refused: Callable[..., str]
) -> None:
    assert said in refused("kernels", *arguments)
