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


LOCAL = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry _Z4workPfi(.param .u64 _Z4workPfi_param_0, .param .u32 _Z4workPfi_param_1)
{
    .local .align 4 .b8 scratch[128];
    .reg .b32 %r<9>;
    .reg .b64 %rd<9>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    mov.u64 %rd1, scratch;
    and.b32 %r5, %r4, 31;
    mul.wide.u32 %rd2, %r5, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.local.u32 [%rd3], %r4;
    ld.local.u32 %r6, [%rd3];
    ld.param.u64 %rd4, [_Z4workPfi_param_0];
    cvta.to.global.u64 %rd5, %rd4;
    mul.wide.s32 %rd6, %r4, 4;
    add.s64 %rd7, %rd5, %rd6;
    st.global.u32 [%rd7], %r6;
    ret;
}
"""


def test_words_in_local_memory_are_no_vectors(run: Callable[..., str], tmp_path: Path) -> None:
    # property: local words lie by thread, and advice on global ones stands beside them
    path = tmp_path / "local.ptx"
    path.write_text(LOCAL)
    launch = ["--grid", "4096", "--block", "256", "--arg", "0=4MiB", "--arg", "1=5"]
    advice = json.loads(run("advise", str(path), *launch, "--device", "h200-sxm", "--json"))
    tried = {o["kind"] for o in (*advice["options"], *advice["rejected"])}
    assert "fetch granularity" in tried
    assert "vector width" not in tried


def test_messages_call_kernels_as_the_source_does(
    refused: Callable[..., str], tmp_path: Path
) -> None:
    # property: no mangled name, and one form for files that are not there
    path = tmp_path / "local.ptx"
    path.write_text(LOCAL)
    said = refused("predict", str(path), "--grid", "1", "--block", "32", "--arg", "m=1")
    assert said.startswith("kernel work has no parameter 'm'")
    gone = refused("predict", "gone.ptx", "--grid", "1", "--block", "32")
    assert gone == "program 'gone.ptx' does not exist: give the path of a .cu or .ptx file"


@pytest.mark.parametrize("command", ["predict", "explain", "simulate", "advise"])
def test_a_mapping_that_a_gpu_cannot_run(command: str, refused: Callable[..., str]) -> None:
    # published: wgmma is an instruction of sm_90a (PTX ISA, wgmma.mma_async: target architecture)
    words = [command, "prefill-attention", "--mapping", "wgmma", "--device", "a100-sxm-80"]
    assert refused(*words) == (
        "kernel prefill-attention wgmma needs compute capability 9.0 or later, and "
        "a100-sxm-80 has 8.0: choose another mapping or GPU"
    )
