"""`perfmodel inspect`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from perfmodel.cuda.compile.toolchain import find_tool

Run = Callable[..., str]

ROOT = Path(__file__).parents[2]
MATRICES = str(ROOT / "measurements" / "source-kernels/h200-sxm/corpus/program" / "matrices.cu")

PTX = """\
.version 8.0
.target sm_90
.address_size 64
.visible .entry first(.param .u64 .ptr .global .align 4 first_param_0, .param .u32 first_param_1)
{
.reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<2>; .shared .align 4 .b8 tile[2048];
ld.param.u64 %rd1, [first_param_0];
mov.u32 %r1, 0;
L:
ld.global.u32 %r2, [%rd1];
st.shared.u32 [tile], %r2;
add.s32 %r1, %r1, 1;
setp.lt.s32 %p1, %r1, 10;
@%p1 bra L;
st.global.u32 [%rd1], %r1;
ret;
}
"""
SECOND = """.visible .entry second() { frob.x %r1; ret; }
"""


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str], str]:
    """Write a PTX file and return its path."""

    def write(text: str) -> str:
        path = tmp_path / "some.ptx"
        path.write_text(text)
        return str(path)

    return write


def needs_compiler() -> None:
    if find_tool("nvcc") is None:
        pytest.importorskip("cuda.bindings.nvrtc")


def test_one_kernel(run: Run, file: Callable[[str], str]) -> None:
    text = run("inspect", file(PTX), columns=80)
    assert max(map(len, text.split("\n"))) <= 80
    assert text.startswith("some.ptx: PTX 8.0 for sm_90\n")
    squeezed = " ".join(text.split())
    assert "kernel first takes" in squeezed
    assert "2 KiB of shared memory per block" in squeezed
    assert "param_0 u64 8 pointer" in squeezed
    assert "param_1 u32 4 " in squeezed
    assert "PTX line 10 5 2 1 " in squeezed  # the loop: 5 instructions, 2 accesses, 1 exit
    assert "PTX line 15 1 0 st.global.u32" in squeezed


def test_several_kernels_and_a_warning(run: Run, file: Callable[[str], str]) -> None:
    text = run("inspect", file(PTX + SECOND), columns=80)
    assert max(map(len, text.split("\n"))) <= 80
    rows = {line.split()[0]: line.split() for line in text.split("\n") if line.strip()}
    assert rows["first"][1:4] == ["2", "9", "1"]
    assert rows["second"][1:4] == ["0", "2", "0"]
    assert "warning  second: 1 instruction of unknown kind" in text
    assert "estimated from PTX" in text  # no assembler takes frob
    alone = run("inspect", file(PTX + SECOND), "--kernel", "first")
    assert "\nloop" in alone


def test_json(run: Run, file: Callable[[str], str]) -> None:
    record = json.loads(run("inspect", file(PTX + SECOND), "--json"))
    assert record["schema"] == "perfmodel.inspection/1"
    assert (record["target"], record["ptx_version"], record["compiler"]) == ("sm_90", "8.0", None)
    first, second = record["kernels"]
    assert first["parameters"][0] == {
        "name": "param_0",
        "ptx_name": "first_param_0",
        "type": "u64",
        "size": 8,
        "alignment": 8,
        "pointer": True,
    }
    assert first["instructions"] == 9
    assert sum(first["mix"].values()) == 9
    assert [(loop["depth"], loop["instructions"]) for loop in first["loops"]] == [(1, 5)]
    assert [a["instruction"] for a in first["accesses"]] == [
        "ld.global.u32",
        "st.shared.u32",
        "st.global.u32",
    ]
    assert [a["depth"] for a in first["accesses"]] == [1, 1, 0]
    assert second["resources"]["origin"] == "estimated"
    assert len(second["warnings"]) == 1


def test_a_source_shows_its_lines(run: Run) -> None:
    needs_compiler()
    text = run("inspect", MATRICES, "--kernel", "matmul_tile", "--arch", "sm_80", columns=100)
    assert max(map(len, text.split("\n"))) <= 100
    source = Path(MATRICES).read_text().split("\n")
    line = next(i for i, t in enumerate(source, 1) if "ta[threadIdx.y][threadIdx.x] = a[" in t)
    assert f"matrices.cu:{line} " in text
    assert "ta[threadIdx.y][threadIdx.x] = a[row" in text
    assert "for sm_80" in text
    squeezed = " ".join(text.split())
    assert "a u64 8 pointer b u64 8 pointer c u64 8 pointer n u32 4" in squeezed


def test_refusals(refused: Run, file: Callable[[str], str], tmp_path: Path) -> None:
    assert "does not exist" in refused("inspect", str(tmp_path / "none.ptx"))
    assert "no kernel 'firts'; did you mean 'first'?" in refused(
        "inspect", file(PTX + SECOND), "--kernel", "firts"
    )
    assert "architecture must be" in refused("inspect", file(PTX), "--arch", "h100")
    assert "is the file whole?" in refused("inspect", file(PTX[:300]))
    assert "has no kernel" in refused("inspect", file(PTX[: PTX.index(".visible")]))
    assert "bra has no label" in refused("inspect", file(PTX.replace("bra L;", "bra M;")))
