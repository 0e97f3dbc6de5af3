"""Nothing is lost: what was read, written again, is read alike and assembles to the same code."""

from __future__ import annotations

import re
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from ptx_writer import write_module

from perfmodel.cuda.compile.toolchain import find_tool, run_tool
from perfmodel.cuda.parse.reader import parse_ptx, read_ptx_text
from perfmodel.cuda.parse.syntax import Function, Module

FILES = sorted((Path(__file__).parents[1] / "ptx").glob("*.ptx"))
SWITCH = """\
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)
{
.reg .pred %p<2>;
.reg .b32 %r<9>;
.reg .b64 %rd<3>;
ld.param.u64 %rd1, [k_param_0];
ld.param.u32 %r1, [k_param_1];
setp.gt.u32 %p1, %r1, 2;
@%p1 bra D;
T: .branchtargets A, B, C;
brx.idx %r1, T;
A: st.global.u32 [%rd1], 1; bra.uni D;
B: { .reg .b32 %r<2>; mov.u32 %r1, 7; st.global.u32 [%rd1+4], %r1; } bra.uni D;
C: st.global.f32 [%rd1+-4], 0f3F800000;
D: ret;
}
"""


def texts() -> list[str]:
    return [SWITCH, *(read_ptx_text(path) for path in FILES)]


@pytest.mark.parametrize("text", texts(), ids=["switch", *(p.stem for p in FILES)])
def test_written_again_it_is_read_alike(text: str) -> None:
    module = parse_ptx(text)
    again = parse_ptx(write_module(module))
    assert [_essence(f) for f in again.functions] == [_essence(f) for f in module.functions]
    assert again.variables == module.variables


def _essence(function: Function) -> object:
    """Return what a function means, by names that do not depend on its blocks."""
    text = repr(
        (
            function.name,
            function.parameters,
            function.results,
            function.directives,
            [replace(i, line=0, source=None) for i in function.instructions],
            sorted(function.labels.items()),
            sorted(function.branch_tables.items()),
            function.pragmas,
        )
    )
    return text.replace("$inner", "@")


@pytest.mark.parametrize("text", texts(), ids=["switch", *(p.stem for p in FILES)])
def test_it_assembles_to_the_same_machine_code(text: str, tmp_path: Path) -> None:
    """Independent: ptxas makes the same bytes of the original and of what was read of it."""
    ptxas = find_tool("ptxas")
    if ptxas is None:
        pytest.skip("no ptxas here")
    module = parse_ptx(text)
    bare = re.sub(r"\.section\s+\S+\s*\{[^}]*\}", "", text)
    bare = re.sub(r"(?m)^\s*\.(loc|file)\s.*$", "", bare)
    assert _code(ptxas, bare, module, tmp_path) == _code(
        ptxas, write_module(module), module, tmp_path
    )


def _code(ptxas: str, text: str, module: Module, folder: Path) -> dict[str, bytes]:
    """Return the code and constants that ptxas makes, by section."""
    source, made = folder / "a.ptx", folder / "a.cubin"
    source.write_text(text)
    command = [ptxas, f"-arch={module.target}", str(source), "-o", str(made)]
    ended = run_tool(command, "ptxas")
    if "Unsupported .version" in ended.stderr:
        pytest.skip("this ptxas is too old")
    assert ended.returncode == 0, ended.stderr
    elf = made.read_bytes()
    # ELF-64: section headers' place and size, their number, and which holds the names
    (place,) = struct.unpack_from("<Q", elf, 40)
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    headers = [struct.unpack_from("<IIQQQQ", elf, place + i * size) for i in range(count)]
    found = {}
    for header in headers:
        begin = headers[names][4] + header[0]
        name = elf[begin : elf.index(b"\0", begin)].decode()
        if name.startswith((".text", ".nv.constant", ".nv.global")):
            found[name] = elf[header[4] : header[4] + header[5]]
    assert any(name.startswith(".text") for name in found)
    return found
