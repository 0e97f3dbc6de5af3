"""From changed PTX to a prediction or one clear line: in bounded time and memory, whatever changed.

The parser's own fuzzing is in `test_ptx_fuzz`. Here valid kernels are changed so that they mostly
still parse: what follows them, emulates them and predicts them must cope.
"""

from __future__ import annotations

import math
import re
import time
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from programs import HEADER, SAMPLES, launch, program, written

from perfmodel import predict
from perfmodel.cuda.compile.program import load_program
from perfmodel.cuda.emulate import run as emulation
from perfmodel.cuda.emulate.run import Effort
from perfmodel.cuda.kernel import kernel_from_ptx as emulating
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.spec import Buffer
from perfmodel.cuda.parse.pointers import pointer_parameters
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.cuda.parse.syntax import Function
from perfmodel.errors import PerfmodelError

NUMBERS = ["0", "1", "-1", "31", "64", "4097", str(2**31), str(2**63), "-" + str(2**63), "9" * 30]
OPCODES = ["add", "sub", "mul.lo", "div", "rem", "xor", "and", "or", "min", "max", "shl", "shr"]
_OPCODE = re.compile(r"\b(add|sub|mul\.lo|shl|shr|and|or|xor|min|max|div|rem)\b")
_LABEL = re.compile(r"\$L__BB\d+_\d+")
_SECONDS = 20.0
_IMPATIENT = 0.2


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give emulations up sooner than users' ones, so that many can be tried."""

    def brief(
        module: Any, function: Any, launch: Any, effort: Effort, *others: Any, **known: Any
    ) -> Any:
        effort = replace(effort, seconds=_IMPATIENT, lanes=1 << 11)
        return emulation.emulate(module, function, launch, effort, *others, **known)

    monkeypatch.setattr(emulating, "emulate", brief)
    monkeypatch.setattr(emulating, "_GUESS_SECONDS", _IMPATIENT)
    monkeypatch.setattr(emulating, "_SMALL_SECONDS", _IMPATIENT)


@lru_cache
def kernels() -> tuple[str, ...]:
    """PTX of single kernels."""
    found = []
    for name in ("nvcc-13.0-kernels.ptx", "nvcc-13.0-scans.ptx"):
        head, *parts = re.split(r"(?=\.visible \.entry)", (SAMPLES / name).read_text())
        found += [f"{head}{part}" for part in parts]
    return tuple(found)


def arguments(kernel: Function, number: int) -> dict[str, Any]:
    pointers = pointer_parameters(kernel)
    return {
        str(i): Buffer(1 << 16) if p.name in pointers else number
        for i, p in enumerate(kernel.parameters)
    }


def goes_through(text: str, grid: Any = 5, block: Any = 96, number: int = 300) -> str:
    """Translate and predict: anything but a `PerfmodelError` of one line is a failure."""
    began = time.process_time()
    said = ""
    try:
        module = parse_ptx(text, "fuzz.ptx")
        for kernel in module.kernels[:1]:
            spec = launch(grid, block, 1024, **arguments(kernel, number))
            found = predict(translated(program(module), spec, kernel.name))
            assert 0 < found.time_s < math.inf
    except PerfmodelError as error:
        said = str(error)
    assert "\n" not in said
    assert len(said) < 700
    assert time.process_time() - began < _SECONDS
    return said


def changed(lines: list[str], change: tuple[str, int, int, int]) -> None:
    """Change lines of PTX in place."""
    what, where, other, pick = change
    at = where % len(lines)
    line, source = lines[at], lines[other % len(lines)]
    if what == "delete" and len(lines) > 1:
        del lines[at]
    elif what == "repeat":
        lines.insert(at, source)
    elif what == "swap":
        lines[at], lines[other % len(lines)] = source, line
    elif what == "register":
        lines[at] = re.sub(
            r"%(r|rd|f|p)(\d+)", lambda m: f"%{m[1]}{1 + pick % 12}", line, count=1 + pick % 2
        )
    elif what == "number":
        lines[at] = re.sub(r"\b\d+\b", NUMBERS[pick % len(NUMBERS)], line, count=1 + pick % 3)
    elif what == "opcode":
        lines[at] = _OPCODE.sub(OPCODES[pick % len(OPCODES)], line, count=1)
    elif what == "target":
        labels = sorted(set(_LABEL.findall("\n".join(lines)))) or ["$L__BB0_1"]
        lines[at] = _LABEL.sub(labels[pick % len(labels)].replace("$", r"$"), line, count=1)
    elif what == "guard":
        lines[at] = f"@{'!' * (pick % 2)}%p{1 + pick % 4} {line.lstrip()}"
    elif what == "cut":
        lines[at] = line[: pick % (len(line) + 1)]


CHANGES = st.tuples(
    st.sampled_from(
        ["delete", "repeat", "swap", "register", "number", "opcode", "target", "guard", "cut"]
    ),
    st.integers(0, 1 << 16),
    st.integers(0, 1 << 16),
    st.integers(0, 1 << 16),
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.integers(0, 1 << 16),
    st.lists(CHANGES, min_size=1, max_size=5),
    st.sampled_from([1, 7, (3, 5), (2, 2, 2)]),
    st.sampled_from([1, 32, 100, (16, 16), 1024]),
    st.sampled_from([0, 1, 7, 300, 100000, -1, 2**31 - 1]),
)
def test_changed_kernels(
    which: int, changes: list[tuple[str, int, int, int]], grid: Any, block: Any, number: int
) -> None:
    lines = kernels()[which % len(kernels())].split("\n")
    for change in changes:
        changed(lines, change)
    goes_through("\n".join(lines), grid, block, number)


STATEMENTS = [
    "add.s32 %r1, %r1, 1;",
    "mad.lo.s32 %r1, %r2, %r1, %r3;",
    "shl.b32 %r2, %r1, %r3;",
    "mul.wide.s32 %d2, %r1, 4;",
    "add.s64 %d1, %d1, %d2;",
    "mov.u32 %r1, %tid.x;",
    "mov.u32 %r2, %ctaid.x;",
    "ld.global.u32 %r3, [%d1];",
    "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%d1];",
    "st.global.u32 [%d1], %r1;",
    "st.shared.u32 [%r1], %r2;",
    "ld.local.u64 %d2, [%d1+8];",
    "atom.global.add.u32 %r2, [%d1], %r1;",
    "red.global.add.v4.f32 [%d1], {%f1, %f2, %f3, %f4};",
    "cp.async.cg.shared.global [%r1], [%d1], 16, %r2;",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d1], %r2, [%r3];",
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
    "[%r1], [%d1, {%r2, %r3}], [%r3];",
    "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], %r2;",
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%r1];",
    "setp.lt.s32 %p1, %r1, %r2;",
    "setp.ne.u32 %p1, %r3, 0;",
    "@%p1 bra L0;",
    "@!%p1 bra L1;",
    "bra L2;",
    "L0:",
    "L1:",
    "L2:",
    "bar.sync 0;",
    "@%p1 ret;",
    "shfl.sync.down.b32 %r3, %r1, 16, 31, -1;",
    "call (%r1), f, (%r2);",
    "div.s32 %r1, %r1, %r2;",
]
FUNCTION = """.func (.reg .b32 r) f(.reg .b32 x) { .reg .pred %p<2>; setp.lt.s32 %p1, x, 3;
@%p1 ret; add.s32 r, x, 1; ret; }
"""


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=24))
@example(["L0:", "ld.global.u32 %r3, [%d1];", "setp.ne.u32 %p1, %r3, 0;", "@%p1 bra L0;"])
def test_statements_in_any_order(statements: list[str]) -> None:
    seen: set[str] = set()
    kept = [s for s in statements if not ((s.endswith(":") and s in seen) or seen.add(s))]  # type: ignore[func-returns-value]
    kept += [f"{label}:" for label in ("L0", "L1", "L2") if f"{label}:" not in seen]
    registers = ".reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>;"
    body = "ld.param.u64 %d1, [p];\n" + "\n".join(kept) + "\nret;"
    goes_through(f"{HEADER}{FUNCTION}.visible .entry k(.param .u64 p)\n{{{registers}\n{body}\n}}")


@pytest.mark.parametrize(
    "whole", [*STATEMENTS, "selp.b32 %r1, 1, 2, %p1;", "cvt.f32.u16 %f1, %r1;"]
)
def test_statements_cut_off_anywhere(whole: str) -> None:
    # found by fuzzing: a selp without type and operands was an IndexError
    registers = ".reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>;"
    for end in range(1, len(whole)):
        body = f"ld.param.u64 %d1, [p];\n{whole[:end]};\nst.global.u32 [%d1], %r1;\nret;"
        goes_through(f"{HEADER}.visible .entry k(.param .u64 p)\n{{{registers}\n{body}\n}}")


# Each of these was said to be hostile in the issue.


def refused(text: str, match: str, grid: Any = 5, block: Any = 96, **named: Any) -> None:
    began = time.process_time()
    module = parse_ptx(text, "hostile.ptx")
    with pytest.raises(PerfmodelError, match=match) as error:
        predict(translated(program(module), launch(grid, block, **named)))
    assert "\n" not in str(error.value)
    assert time.process_time() - began < _SECONDS


LOOP = "ld.param.u64 %d1, [out];\nL: {body}\nbra L;\nret;"


@pytest.mark.parametrize(
    "body", ["", "add.s32 %r1, %r1, 1;", "ld.global.u32 %r1, [%d1];", "bar.sync 0;"]
)
def test_loops_without_an_end_are_refused(body: str) -> None:
    module = written(LOOP.format(body=body))
    with pytest.raises(PerfmodelError, match="end"):
        predict(translated(program(module), launch(2, 64, out=4096)))


def test_mutual_recursion_is_refused() -> None:
    refused(
        f"{HEADER}.func g();\n.func f() {{ call g; ret; }}\n.func g() {{ call f; ret; }}\n"
        ".visible .entry k() { call f; ret; }",
        "calls itself",
    )


def test_calls_that_double_are_refused() -> None:
    # 2 ** 40 copies of the last body if nobody stopped
    functions = ".func f0() { .reg .b32 %r<2>; mov.u32 %r1, 1; ret; }\n" + "".join(
        f".func f{i}() {{ call f{i - 1}; call f{i - 1}; ret; }}\n" for i in range(1, 40)
    )
    kernel = ".visible .entry k() { call f39; ret; }"
    refused(f"{HEADER}{functions}{kernel}", "more than are analysed")


def test_huge_grids() -> None:
    text = kernels()[0]
    assert goes_through(text, grid=(2**31 - 1, 65535, 65535), number=7) == ""
    kernel = parse_ptx(text).kernels[0]
    with pytest.raises(PerfmodelError, match="grid y must be 1 to 65535"):
        launch((1, 1 << 20), 32, **arguments(kernel, 1))


def test_a_missing_argument() -> None:
    refused(kernels()[0], "has no argument for", param_0=4096)


@pytest.mark.parametrize("size", [0, -1, 2**41, 0.5, float("nan"), float("inf")])
def test_wrong_sizes_of_buffers(size: float) -> None:
    module = parse_ptx(kernels()[0])
    kernel = module.kernels[0]
    named = arguments(kernel, 300)
    pointer = next(
        i for i, p in enumerate(kernel.parameters) if p.name in pointer_parameters(kernel)
    )
    named[str(pointer)] = size
    with pytest.raises(PerfmodelError, match=r"argument|bytes"):
        translated(program(module), launch(5, 96, **named))


def test_a_buffer_in_place_of_a_narrow_number() -> None:
    refused(
        f"{HEADER}.visible .entry k(.param .u32 n) {{ .reg .b32 %r<2>; ld.param.u32 %r1, [n]; "
        "ret; }",
        "not the 8 of a pointer",
        n=Buffer(64),
    )


def test_huge_dynamic_shared_memory() -> None:
    with pytest.raises(PerfmodelError, match="shared_bytes must be 0 to 232448"):
        launch(1, 32, 1 << 40)
    text = HEADER + (
        ".extern .shared .align 16 .b8 s[];\n.visible .entry k() { .reg .b32 %r<4>;"
        "mov.u32 %r1, %tid.x; shl.b32 %r1, %r1, 24; mov.u32 %r2, s; add.u32 %r1, %r1, %r2;"
        "st.shared.u32 [%r1], %r1; ret; }"
    )
    refused(text, "shared")


def large(kernel_count: int, body_lines: int) -> str:
    body = "add.s32 %r1, %r1, 1; mul.lo.s32 %r2, %r1, %r1;\n" * body_lines
    kernel = (
        ".visible .entry k{i}(.param .u64 p) {{ .reg .b32 %r<4>; .reg .b64 %d<4>;"
        " ld.param.u64 %d1, [p];\n{body} st.global.u32 [%d1], %r2; ret; }}\n"
    )
    return HEADER + "".join(kernel.format(i=i, body=body) for i in range(kernel_count))


def test_ten_megabytes(tmp_path: Any) -> None:
    text = large(1, 220_000)
    assert len(text) > 10_000_000
    path = tmp_path / "large.ptx"
    path.write_text(text)
    began = time.process_time()
    with pytest.raises(PerfmodelError, match=r"^[^\n]*$"):
        predict(translated(load_program(path), launch(4, 64, p=4096)))
    assert time.process_time() - began < 120


def test_thousands_of_kernels(tmp_path: Any) -> None:
    path = tmp_path / "many.ptx"
    path.write_text(large(4000, 2))
    began = time.process_time()
    loaded = load_program(path, kernel="k3999")
    found = predict(translated(loaded, launch(4, 64, p=4096), "k3999"))
    assert found.time_s > 0
    with pytest.raises(PerfmodelError, match="4000 kernels"):
        loaded.kernel()
    assert time.process_time() - began < 60


def nested(depth: int, trips: str) -> str:
    starts = "".join(f"mov.u32 %r{i}, 0;\nl{i}:\n" for i in range(depth))
    ends = "".join(
        f"add.u32 %r{i}, %r{i}, 1; setp.lt.u32 %p1, %r{i}, {trips}; @%p1 bra l{i};\n"
        for i in reversed(range(depth))
    )
    body = f"ld.param.u64 %d1, [p];\n{starts}ld.global.u32 %x, [%d1];\n{ends}ret;"
    return (
        f"{HEADER}.visible .entry k(.param .u64 p)\n{{.reg .pred %p<2>; .reg .b32 %x; "
        f".reg .b32 %r<{depth + 1}>; .reg .b64 %d<4>;\n{body}\n}}"
    )


@pytest.mark.parametrize("trips", ["2", "%x"])
@pytest.mark.parametrize("depth", [3, 12, 40])
def test_deep_nesting(depth: int, trips: str) -> None:
    goes_through(nested(depth, trips))


def test_deep_blocks_and_branches() -> None:
    blocks = "{" * 60 + "}" * 60
    goes_through(f"{HEADER}.visible .entry k() {{ {blocks} ret; }}")
    branches = "".join(
        f"setp.lt.s32 %p1, %r1, {i}; @%p1 bra l{i}; add.s32 %r1, %r1, {i}; l{i}:\n"
        for i in range(300)
    )
    text = written(
        "ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x;\n"
        + branches
        + "st.global.u32 [%d1], %r1; ret;"
    )
    began = time.process_time()
    predict(translated(program(text), launch(4, 64, out=4096)))
    assert time.process_time() - began < _SECONDS


def test_garbage_is_told_in_one_line() -> None:
    with pytest.raises(PerfmodelError) as error:
        parse_ptx("garbage", "x.ptx")
    assert str(error.value) == (
        "x.ptx, line 1: expected .version, with which PTX begins, but 'garbage' came"
    )
