"""PTX of nvcc 12 and 13, Triton and Numba: what each sample is known to contain."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from perfmodel.cuda.parse import opcodes
from perfmodel.cuda.parse.control_flow import control_flow
from perfmodel.cuda.parse.pointers import pointer_parameters
from perfmodel.cuda.parse.reader import read_ptx
from perfmodel.cuda.parse.syntax import Function, Vector

SAMPLES = Path(__file__).parents[1] / "ptx"
FILES = sorted(SAMPLES.glob("*.ptx"))


def only(name: str) -> Function:
    (kernel,) = read_ptx(SAMPLES / f"{name}.ptx").kernels
    return kernel


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_every_sample_is_read_whole_and_soon(path: Path) -> None:
    began = time.monotonic()
    module = read_ptx(path)
    for kernel in module.kernels:
        assert opcodes.unknown(kernel) == {}
        control_flow(kernel)
    # independent: an instruction or declaration ends in a semicolon, and nothing else in a body
    text = path.read_text()
    statements = text.count(";") - text.count(".reg") - text.count(".pragma")
    instructions = sum(len(f.instructions) for f in module.functions)
    declared = len(module.variables) + sum(
        v.space != "param" for f in module.functions for v in f.variables
    )
    assert statements == instructions + declared
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("name", ["nvcc-13.0-scans", "nvrtc-12.9-scans"])
def test_scans_as_their_source_has_them(name: str) -> None:
    kernels = {k.name: k for k in read_ptx(SAMPLES / f"{name}.ptx").kernels}
    assert set(kernels) == {"scan_doubling", "scan_tree", "scan_shuffle"}
    shuffle = kernels["scan_shuffle"]
    # two unrolled scans of five steps each, and two barriers
    assert [i.opcode for i in shuffle.instructions].count("shfl") == 10
    assert [i.opcode for i in shuffle.instructions].count("bar") == 2
    assert len(pointer_parameters(shuffle)) == 2
    assert [v.size for v in kernels["scan_tree"].variables if v.space == "shared"] == [512 * 4]


def test_attention_of_triton() -> None:
    kernel = only("triton-3.6-flash")
    assert kernel.directives["reqntid"] == (256,)
    (loop,) = control_flow(kernel).loops
    assert loop.depth == 1
    products = [i for i in kernel.instructions if i.name.startswith("wgmma.mma_async")]
    assert products
    # m64n128k16 in float32: 64 accumulators a thread; n64: 32
    widths = {len(i.operands[0].elements) for i in products if isinstance(i.operands[0], Vector)}
    assert widths == {64, 32}
    assert [p.pointer for p in kernel.parameters].count(True) == 6
    assert {i.source.file for i in kernel.instructions if i.source} >= {1}


def test_histogram_of_triton() -> None:
    kernel = only("triton-3.6-histogram")
    atomics = [i for i in kernel.instructions if i.opcode in ("atom", "red")]
    assert atomics
    assert all(i.guard is not None for i in atomics)


def test_tiles_of_numba() -> None:
    kernel = only("numba-cuda-0.30-tiled")
    # three arrays: parent, meminfo, items, itemsize, data, 2 of shape, 2 of strides
    assert len(kernel.parameters) == 3 * 7 + 3 * 2
    loops = control_flow(kernel).loops
    assert [loop.depth for loop in loops] in ([1], [1, 2])
    assert [i.opcode for i in kernel.instructions].count("bar") == 2
    data = pointer_parameters(kernel)
    assert len(data) == 3
