"""Advice on a kernel's own code: wider threads, private sums, and what a GPU cannot run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

SCALE = """
name = "scale"
parameters.n = { default = 16777216 }
guard = "i < n"
launch = { grid = "ceil_div(n, 256)", block = 256, registers = 16 }
definitions.i = "blockIdx.x*blockDim.x + threadIdx.x"
buffers.x = { length = "n" }
buffers.y = { length = "n" }
accesses = [{ load = "x", index = "i" }, { store = "y", index = "i" }]
arithmetic = [{ pipe = "other", count = 14 }]
"""


def test_threads_of_vectors_come_with_their_lines(run: Callable[..., str], tmp_path: Path) -> None:
    # property: the grid, the types and the index to write
    path = tmp_path / "scale.toml"
    path.write_text(SCALE)
    advice = json.loads(run("advise", str(path), "--device", "h200-sxm", "--json"))
    (option,) = (o for o in advice["options"] if o["kind"] == "vector width")
    assert option["gain"] > 1.3
    assert option["kernel"]["grid"] == [16384, 1, 1]
    assert "*reinterpret_cast<float4*>(&y[at]) = y_4;  /* what comes of it */" in option["cuda"]


def test_private_sums_come_with_their_lines(run: Callable[..., str]) -> None:
    # property: clear, add, add up, each before a barrier of its own
    words = ["-D", "addresses=256", "-D", "pattern=random", "-D", "dtype=float32"]
    advice = json.loads(run("advise", "atomic-add", *words, "--device", "h200-sxm", "--json"))
    (option,) = (o for o in advice["options"] if o["kind"] == "privatisation")
    cuda = option["cuda"]
    assert cuda[0] == "__shared__ float data_block[256];"
    assert [line.startswith("__syncthreads();") for line in cuda].count(True) == 2
    assert cuda[-1].endswith("atomicAdd(&data[b], data_block[b]);")
    assert option["kernel"]["grid"][0] in (132, 264, 528, 1056)


@pytest.mark.parametrize("command", ["predict", "explain", "simulate", "advise"])
def test_a_mapping_that_a_gpu_cannot_run(command: str, refused: Callable[..., str]) -> None:
    # published: wgmma is an instruction of sm_90a (PTX ISA, wgmma.mma_async: target architecture)
    words = [command, "prefill-attention", "--mapping", "wgmma", "--device", "a100-sxm-80"]
    assert refused(*words) == (
        "kernel prefill-attention wgmma needs compute capability 9.0 or later, and "
        "a100-sxm-80 has 8.0: choose another mapping or GPU"
    )
