"""Each example in the tables of the reference pages is what the readers of the files accept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from reference_tables import examples, keys

from perfmodel.cuda.launch.launch_file import launch_from_table
from perfmodel.hardware import load_device
from perfmodel.hardware.coefficients import stated_coefficients
from perfmodel.hardware.device import quantities
from perfmodel.hardware.figure_tables import read_figure
from perfmodel.kernels import kernel_from_table
from perfmodel.operators.model_shape import shape_from_table

BASE: Final[Mapping[str, Any]] = {
    "name": "base",
    "parameters": {"n": 1024, "split": 1},
    "launch": {"grid": "ceil_div(n, 256)", "block": 256},
    "definitions": {"i": "blockIdx.x*256 + threadIdx.x"},
    "buffers": {"x": {"length": "n"}, "y": {"length": "n"}, "bins": {"length": 256}},
    "loops": [
        {"variable": "step", "trips": 4},
        {"variable": "k", "trips": 8, "parent": "step"},
    ],
    "accesses": [{"load": "x", "index": "i", "loop": "k", "name": "rows"}],
}
ATOMICS: Final = {"returns", "dtype", "operation", "aggregated"}


def of_kernel(title: str) -> dict[str, Any]:
    found = examples("kernel-files", title)
    assert [*found] == keys("kernel-files", title)
    return found


def test_examples_of_a_kernel() -> None:
    stated = of_kernel("The kernel")
    # its tables have too few names for the other examples: those of the base are taken
    own = {k: v for k, v in stated.items() if k not in BASE or k == "name"}
    kernel = kernel_from_table({**BASE, **own})
    assert kernel.loads_a_wait is not None
    few = kernel_from_table({k: stated[k] for k in BASE if k != "loops"})
    assert few.buffers[0].name == "x"
    kernel_from_table({**BASE, "loops": [*BASE["loops"][:1], *stated["loops"]], "accesses": []})


def test_examples_of_parameters_launch_buffers_and_loops() -> None:
    parameters = {**BASE["parameters"], "block": of_kernel("Parameters")}
    assert kernel_from_table({**BASE, "parameters": parameters}).parameters[-1].choices
    assert kernel_from_table({**BASE, "launch": of_kernel("Launch")})
    buffers = {**BASE["buffers"], "z": of_kernel("Buffers")}
    assert kernel_from_table({**BASE, "buffers": buffers}).buffer("z").space == "shared"
    loops = [BASE["loops"][0], of_kernel("Loops")]
    assert kernel_from_table({**BASE, "loops": loops}).loops[1].parent == "step"


@pytest.mark.parametrize("kind", ["load", "store", "atomic"])
def test_examples_of_accesses(kind: str) -> None:
    without = {"load", "store", "atomic", "joins"} - {kind}
    without |= {"load": ATOMICS, "store": {*ATOMICS, "cache"}, "atomic": {"cache"}}[kind]
    entry = {k: v for k, v in of_kernel("Accesses").items() if k not in without}
    made = kernel_from_table({**BASE, "accesses": [*BASE["accesses"], entry]})
    assert made.accesses[1].kind == kind


def test_example_of_a_load_that_joins_a_loop() -> None:
    stated = of_kernel("Accesses")
    entry = {"load": "y", "index": "i", "joins": stated["joins"]}
    assert kernel_from_table({**BASE, "accesses": [entry]}).accesses[0].joins == "k"


@pytest.mark.parametrize("title", ["Arithmetic", "Barriers", "Paces"])
def test_examples_of_instructions(title: str) -> None:
    assert kernel_from_table({**BASE, title.lower(): [of_kernel(title)]})


def test_examples_of_a_pipeline() -> None:
    assert kernel_from_table({**BASE, "pipeline": of_kernel("Pipeline")}).pipeline is not None


def test_examples_of_a_launch() -> None:
    launch = {**examples("launch-files", "The launch")}
    assert [*launch] == keys("launch-files", "The launch")
    assert launch_from_table(launch, "example").shared_bytes == 16384
    buffer = examples("launch-files", "Content of a buffer")
    for other in ("fill", "npy"):
        given = {k: v for k, v in buffer.items() if k != other}
        launch["arguments"] = {"n": 1024, "x": given}
        assert launch_from_table(launch, "example").named["x"].known  # type: ignore[union-attr]


def test_examples_of_a_device(tmp_path: Path) -> None:
    figure = examples("device-files", "A figure")
    assert [*figure] == keys("device-files", "A figure")
    assert read_figure(figure, quantities()["dram_bandwidth"], "example").also
    headers = examples("device-files", "The file")
    assert {*headers} == {*keys("device-files", "The file")} - {"coefficients"}
    lines = [f'{k} = "{v}"' for k, v in headers.items() if k not in ("abstract", "format")]
    path = tmp_path / "device.toml"
    path.write_text("\n".join([*lines, f"format = {headers['format']}"]))
    assert load_device(path).compute_capability == "8.9"
    coefficient = examples("device-files", "Coefficients")
    assert stated_coefficients({"dram.dirty_lines.stream_room": coefficient}, "example")


def test_examples_of_a_model_shape() -> None:
    shape = examples("device-files", "Model shapes")
    assert [*shape] == keys("device-files", "Model shapes")
    # published: arXiv 2407.21783, table 3, is the package's llama-3-8b
    assert shape_from_table(shape).kv_width == 8 * 128
