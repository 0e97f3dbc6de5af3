"""Contents that nobody states and that decide: what stands for them, what is said, what refused."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs import HEADER, launch, program, written
from typer.testing import CliRunner

from perfmodel import predict
from perfmodel.cli.app import app
from perfmodel.cuda.addresses.launch import bound
from perfmodel.cuda.emulate import assumed_contents
from perfmodel.cuda.emulate.assumed_contents import stand_ins
from perfmodel.cuda.emulate.provenance import provenance
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.kernel.warp_work import BY_RULES
from perfmodel.cuda.launch.spec import Buffer
from perfmodel.cuda.parse.control_flow import control_flow
from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Number
from perfmodel.kernels.kernel import Kernel

PLACE = """mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
mad.lo.s32 %r4, %r2, %r3, %r1; mul.wide.s32 %d1, %r4, 4; ld.param.u64 %d2, [out];
add.s64 %d3, %d2, %d1; ld.param.u64 %d4, [idx]; add.s64 %d5, %d4, %d1;
"""
INDEXED = ".param .u64 out, .param .u64 idx, .param .u64 x"
DONE = "st.global.u32 [%d3], %r9; ret;"
GATHER = """
    ld.param.u64 %d6, [x]; ld.global.u32 %r5, [%d5]; mul.wide.s32 %d7, %r5, 4;
    add.s64 %d8, %d6, %d7; ld.global.u32 %r9, [%d8];
"""
ROWS = """
    ld.param.u64 %d6, [x]; ld.param.u32 %r6, [width]; ld.global.u32 %r5, [%d4];
    mad.lo.s32 %r7, %r5, %r6, %r1; mul.wide.s32 %d7, %r7, 4; add.s64 %d8, %d6, %d7;
    ld.global.u32 %r9, [%d8];
"""
SPARSE = """
    ld.param.u64 %d6, [x]; ld.global.u32 %r5, [%d5]; ld.global.u32 %r6, [%d5+4]; mov.u32 %r9, 0;
    setp.ge.s32 %p1, %r5, %r6; @%p1 bra done;
again:
    mul.wide.s32 %d7, %r5, 4; add.s64 %d8, %d6, %d7; ld.global.u32 %r8, [%d8];
    add.u32 %r9, %r9, %r8; add.u32 %r5, %r5, 1; setp.lt.s32 %p1, %r5, %r6; @%p1 bra again;
done:
"""
LENGTHS = """
    ld.param.u64 %d6, [x]; ld.global.u32 %r5, [%d5]; mov.u32 %r6, 0; mov.u32 %r9, 0;
    setp.ge.s32 %p1, %r6, %r5; @%p1 bra done;
again:
    mad.lo.u32 %r7, %r6, 262144, %r4; mul.wide.u32 %d7, %r7, 4; add.s64 %d8, %d6, %d7;
    ld.global.u32 %r8, [%d8]; add.u32 %r9, %r9, %r8; add.u32 %r6, %r6, 1;
    setp.lt.s32 %p1, %r6, %r5; @%p1 bra again;
done:
"""
CHASE = """
    mov.u32 %r5, %r4; mov.u32 %r9, 0;
again:
    mul.wide.s32 %d7, %r5, 4; add.s64 %d8, %d4, %d7; ld.global.u32 %r5, [%d8];
    add.u32 %r9, %r9, 1; setp.ge.s32 %p1, %r5, 0; @%p1 bra again;
"""
COUNTED = """
    ld.param.u64 %d6, [x]; atom.global.add.u32 %r5, [%d4], 1; mul.wide.u32 %d7, %r5, 4;
    add.s64 %d8, %d6, %d7; ld.global.u32 %r9, [%d8];
"""
MIB = 1 << 20


def made(body: str, parameters: str = INDEXED, assume: bool = False, **given: Any) -> Kernel:
    spec = launch(given.pop("grid", 1024), 256, **{"out": MIB, "idx": MIB} | given)
    return translated(program(written(PLACE + body + DONE, parameters)), spec, assume=assume)


def test_an_index_is_taken_as_uniform_over_the_buffer_that_it_goes_to() -> None:
    # property: the same as where the launch says so, with a wider interval; 64 MiB hold 16 Mi words
    known = Buffer(MIB, "i32", "uniform", 16 * MIB)
    found, stated = predict(made(GATHER, x=64 * MIB)), predict(made(GATHER, idx=known, x=64 * MIB))
    assert found.time_s == pytest.approx(stated.time_s, rel=0.02)
    assert f"idx: uniform over x (integers below {16 * MIB})" in found.warnings[0]
    assert "--arg idx=FILE.npy" in found.warnings[0]
    assert found.interval_s[0] < stated.interval_s[0]
    assert found.interval_s[1] > stated.interval_s[1]
    assert not any("assumed" in w for w in stated.warnings)


def test_an_index_of_rows_is_below_their_number() -> None:
    # by hand: 256 MiB are 65,536 rows of 1024 words, of which each block reads 256
    kernel = made(ROWS, f"{INDEXED}, .param .u32 width", x=256 * MIB, width=1024)
    assert kernel.assumption is not None
    assert kernel.assumption.words == "idx: uniform over x (integers below 65536)"


def test_offsets_grow_evenly_to_the_end_of_what_they_index() -> None:
    # by hand: 262,145 offsets into 4 Mi words: 16 each; so many loads a thread
    kernel = made(SPARSE, idx=MIB + 4, x=16 * MIB)
    assert kernel.assumption is not None
    assert kernel.assumption.words == "idx: offsets that grow evenly to the end of x, by 16"
    found = predict(kernel)
    assert sum(
        float(np.max(r.requests)) for r in found.details.requests if r.access.buffer == "x"
    ) == (pytest.approx(16 * 1024 * 8, rel=0.01))
    assert found.interval_s[1] > 3 * found.time_s


def test_lengths_that_nothing_tells_are_refused_where_the_time_hangs_on_them() -> None:
    kernel = made(LENGTHS, x=512 * MIB)
    with pytest.raises(PerfmodelError, match=r"content of idx decides the time.* ms .*--assume"):
        predict(kernel)
    found = predict(made(LENGTHS, assume=True, x=512 * MIB))
    assert "idx: integers below 64" in found.warnings[0]
    # by hand: lengths below 512 in place of 64 make it last up to eight times as long
    assert found.interval_s[1] > 5 * found.time_s
    assert found.interval_s[0] < found.time_s / 4


def test_lengths_in_a_buffer_whose_size_nobody_states_are_refused_likewise() -> None:
    # property: sizes left out make no time more certain
    spec = launch(1024, 256, out=MIB)
    read = program(written(PLACE + LENGTHS + DONE, INDEXED))
    with pytest.raises(PerfmodelError, match=r"content of idx decides the time.*--assume"):
        predict(translated(read, spec))
    assert predict(translated(read, spec, assume=True)).interval_s[1] > 0


def test_a_loop_that_does_not_end_with_what_is_assumed_is_refused_by_name() -> None:
    parameters = ".param .u64 out, .param .u64 idx"
    with pytest.raises(
        PerfmodelError, match=r"content of idx decides when a loop ends.*idx=FILE.npy"
    ):
        made(CHASE, parameters, grid=1)


def test_counters_begin_at_zero() -> None:
    # property: what threads draw from a counter is in order, as if the launch had said so
    kernel = made(COUNTED, idx=4, x=64 * MIB)
    stated = made(COUNTED, idx=Buffer(4, "u32", "zeros"), x=64 * MIB)
    assert predict(kernel).time_s == predict(stated).time_s


def test_nothing_is_assumed_where_contents_are_stated_or_decide_nothing() -> None:
    stated = made(GATHER, idx=Buffer(MIB, "i32", "index"), x=MIB)
    read = made("ld.global.u32 %r9, [%d5];", ".param .u64 out, .param .u64 idx")
    for kernel in (stated, read):
        assert kernel.assumption is None
        assert kernel.doubt == BY_RULES


def test_provenance_goes_through_shared_memory_and_not_through_selections() -> None:
    body = """
    ld.global.u32 %r5, [%d5]; shl.b32 %r6, %r1, 2; st.shared.u32 [%r6], %r5; bar.sync 0;
    ld.shared.u32 %r7, [%r6]; mul.wide.s32 %d7, %r7, 4; add.s64 %d8, %d4, %d7;
    ld.global.u32 %r8, [%d8]; setp.gt.s32 %p1, %r8, 3; selp.b32 %r10, 1, 2, %p1;
    mul.wide.s32 %d9, %r10, 4; add.s64 %d10, %d4, %d9; ld.global.u32 %r9, [%d10];
    """
    (kernel,) = written(PLACE + body + DONE, INDEXED).kernels
    found = provenance(kernel, control_flow(kernel))
    loads = [n for n, i in enumerate(kernel.instructions) if i.name.startswith("ld.global")]
    assert found.addresses[loads[1]] == {loads[0]}
    assert found.addresses[loads[2]] == set()
    assert found.branches == set()


def test_an_index_below_a_row_is_below_what_the_row_leaves() -> None:
    # by hand: x[row * 1024 + idx[row]] of 1024 rows: of the rows that were looked at, the last
    # leaves 1024 words and those of the rows after it
    body = """
    ld.param.u64 %d6, [x]; ld.global.u32 %r5, [%d5]; shl.b32 %r6, %r2, 10;
    add.u32 %r7, %r6, %r5; mul.wide.s32 %d7, %r7, 4; add.s64 %d8, %d6, %d7;
    ld.global.u32 %r9, [%d8];
    """
    module = written(PLACE + body + DONE, INDEXED)
    (kernel,) = module.kernels
    spec = launch(1024, 256, out=MIB, idx=MIB, x=4 * MIB)
    (found,) = stand_ins(module, kernel, bound(spec, kernel))
    below = found.taken.below if found.taken is not None else None
    assert found.use == "index"
    assert below is not None
    assert 1024 <= below < 1024 * 1024 // 4


LINKED = """
    ld.param.u64 %d6, [idx]; mov.u32 %r5, 0; mov.u32 %r9, 0;
again:
    ld.global.u64 %d6, [%d6]; ld.global.u32 %r8, [%d6+8]; add.u32 %r9, %r9, %r8;
    add.u32 %r5, %r5, 1; setp.lt.s32 %p1, %r5, 20; @%p1 bra again;
"""


def test_a_kernel_whose_accesses_go_to_no_buffer_is_refused() -> None:
    parameters = ".param .u64 out, .param .u64 idx"
    with pytest.raises(PerfmodelError, match=r"9\d% of the kernel's accesses.*indices.*--assume"):
        made(LINKED, parameters)
    found = predict(made(LINKED, parameters, assume=True))
    assert any("no buffer has: they are left out" in w for w in found.warnings[:2])
    assert found.interval_s[1] > 4 * found.time_s


CALL = """{
.param .b32 given; .param .b32 made;
st.param.b32 [given], %r4; call.uni (made), elsewhere, (given); ld.param.b32 %r9, [made];
}
"""
ELSEWHERE = ".extern .func (.param .b32 made) elsewhere (.param .b32 given);\n"


def test_what_a_function_without_a_body_does_is_missing_and_said_first() -> None:
    # property: the interval is as much wider as memory that is left out makes it: 4 times upward
    module = written(PLACE + CALL + DONE, ".param .u64 out, .param .u64 idx", ELSEWHERE)
    found = predict(translated(program(module), launch(1024, 256, out=MIB, idx=MIB)))
    assert found.warnings[0].startswith("calls of elsewhere are left out")
    assert found.interval_s[1] > 4 * found.time_s
    whole = written(PLACE + "mov.u32 %r9, 1;" + DONE, ".param .u64 out, .param .u64 idx")
    other = predict(translated(program(whole), launch(1024, 256, out=MIB, idx=MIB)))
    assert other.interval_s[1] < 2 * other.time_s


def test_a_kernel_that_only_calls_such_a_function_is_refused() -> None:
    module = written("mov.u32 %r4, %tid.x;" + CALL + "ret;", declared=ELSEWHERE)
    with pytest.raises(PerfmodelError, match="what elsewhere does, which has no body"):
        translated(program(module), launch(1024, 256, out=MIB))


NESTED = """
    mul.lo.u32 %r5, %r4, 0x9E3779B1; ld.param.u64 %d6, [x]; mov.u32 %r9, 0; mov.u32 %r6, 0;
outer:
    mad.lo.u32 %r5, %r5, 1664525, 1013904223; shr.u32 %r7, %r5, 8; rem.u32 %r7, %r7, 30;
    setp.ne.u32 %p1, %r7, 0; @%p1 bra next;
    mov.u32 %r8, 0;
middle:
    mad.lo.u32 %r5, %r5, 1664525, 1013904223; shr.u32 %r7, %r5, 8; rem.u32 %r7, %r7, 30;
    setp.ne.u32 %p1, %r7, 0; @%p1 bra skip;
    mov.u32 %r10, 0;
inner:
    mad.lo.u32 %r5, %r5, 1664525, 1013904223; and.b32 %r7, %r5, 0xFFFFC;
    cvt.u64.u32 %d7, %r7; add.s64 %d8, %d6, %d7; ld.global.u32 %r11, [%d8];
    add.u32 %r9, %r9, %r11; add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, 30; @%p1 bra inner;
skip:
    add.u32 %r8, %r8, 1; setp.lt.u32 %p1, %r8, 30; @%p1 bra middle;
next:
    add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 30; @%p1 bra outer;
"""


def test_a_warp_waits_no_more_often_than_it_issues_loads() -> None:
    # property: of loops that few iterations enter, the product of their iterations counts what no
    # warp runs; a launch waits at most for all loads of each block, one after the other
    kernel = made(NESTED, x=MIB, grid=4)
    found = predict(kernel)
    loads = sum(
        float(np.max(r.requests)) for r in found.details.requests if r.access.kind == "load"
    )
    device = found.details.device
    assert found.terms_s["stalls"] < loads / 4 * 3 * device.dram_latency
    innermost = kernel.loops[-1].variable
    (pace,) = (p for p in kernel.paces if p.loop == innermost)
    assert isinstance(pace.abreast, Number)
    turns = float(np.max(found.details.instance.turns(innermost)))
    # by definition: one load an iteration, and 32 warps, of which the pace is the mean one's
    assert turns / pace.abreast.value == pytest.approx(loads / 32, rel=0.05)
    assert turns / pace.abreast.value < 30**3


TEXT = f"{HEADER}.visible .entry k({INDEXED})\n{{\n" + (
    ".reg .pred %p<9>; .reg .b32 %r<32>; .reg .b64 %d<32>; .reg .f32 %f<9>;\n"
)


def test_the_commands_say_first_what_was_assumed(tmp_path: Path) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(f"{TEXT}{PLACE}{GATHER}{DONE}\n}}")
    words = ["predict", str(path), "--grid", "1024", "--block", "256"]
    words += ["--arg", "out=1MiB", "--arg", "idx=1MiB", "--arg", "x=64MiB"]
    said = " ".join(CliRunner().invoke(app, words).output.split())  # lines end anywhere
    assert said.index("uniform over x") < said.index("90%")
    told = json.loads(CliRunner().invoke(app, [*words, "--json"]).output)
    assert "idx: uniform over x" in told["warnings"][0]


def test_the_commands_go_on_with_assumed_contents_if_told_to(tmp_path: Path) -> None:
    path = tmp_path / "k.ptx"
    path.write_text(f"{TEXT}{PLACE}{LENGTHS}{DONE}\n}}")
    words = ["--grid", "1024", "--block", "256"]
    words += ["--arg", "out=1MiB", "--arg", "idx=1MiB", "--arg", "x=512MiB"]
    refused = CliRunner().invoke(app, ["predict", str(path), *words])
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert re.fullmatch(r"error: content of idx decides .*--assume.*\n", refused.stderr)
    allowed = CliRunner().invoke(app, ["predict", str(path), *words, "--assume", "--json"])
    assert "integers below 64" in json.loads(allowed.stdout)["warnings"][0]
    other = CliRunner().invoke(app, ["predict", "copy", "--assume"])
    assert "--assume goes with a CUDA source or PTX file" in other.stderr


def test_an_assumption_may_be_taken_away() -> None:
    # property: what was compared is not in the time, only in the interval
    kernel = made(GATHER, x=64 * MIB)
    assert predict(replace(kernel, assumption=None)).time_s == predict(kernel).time_s


def test_contents_that_change_nothing_are_not_compared() -> None:
    # by hand: nobody finds the number that makes a thread store once more; lengths are found
    seldom = """
        ld.global.u32 %r9, [%d5]; setp.ne.u32 %p1, %r9, 305419897; @%p1 bra done;
        st.global.u32 [%d3], %r9;
    done:
    """
    kernel = made(seldom)
    assert kernel.assumption is not None
    assert kernel.assumption.others == ()
    assert "idx: random numbers" in predict(kernel).warnings[0]
    lengths = made(LENGTHS, assume=True, x=512 * MIB).assumption
    assert lengths is not None
    assert len(lengths.others) == 2


def test_larger_numbers_are_tried_where_an_address_moves_with_them_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # by hand: lengths move none, an index does
    tried = []
    run = assumed_contents.emulate

    def told(module: Any, function: Any, prepared: Any, *given: Any) -> Any:
        tried.append(prepared.buffers["idx"].below)
        return run(module, function, prepared, *given)

    monkeypatch.setattr(assumed_contents, "emulate", told)
    for body, below in ((LENGTHS, [64]), (GATHER, [64, 256])):
        tried.clear()
        made(body, assume=True, x=512 * MIB)
        assert tried == below


EITHER = """
    ld.param.u64 %d6, [x]; setp.gt.s32 %p1, %r1, 7; selp.b64 %d5, %d5, %d6, %p1;
    ld.global.u32 %r5, [%d5]; mul.wide.s32 %d7, %r5, 4; add.s64 %d8, %d6, %d7;
    ld.global.u32 %r9, [%d8];
"""
LOADED = """
    ld.param.u64 %d6, [x]; ld.global.u64 %d9, [%d6]; add.s64 %d5, %d5, %d9;
    ld.global.u32 %r5, [%d5]; mul.wide.s32 %d7, %r5, 4; add.s64 %d8, %d6, %d7;
    ld.global.u32 %r9, [%d8];
"""
SUM = """
    ld.param.u64 %d6, [x]; add.s64 %d7, %d6, %d1; ld.global.f32 %f1, [%d7]; mov.u32 %r9, 0;
    setp.gt.f32 %p1, %f1, 0f3F000000; @%p1 bra done;
"""


@pytest.mark.parametrize(
    ("body", "looked"),
    # by hand: which loads decide, and from which arguments their addresses are
    [(GATHER, False), (EITHER, True), (LOADED, True), (SUM, False)],
)
def test_nothing_is_looked_for_where_the_code_shows_that_what_decides_is_stated(
    body: str, looked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    probes: list[int] = []
    emulate = assumed_contents.emulate
    monkeypatch.setattr(
        assumed_contents, "emulate", lambda *given: probes.append(1) or emulate(*given)
    )
    stated = Buffer(MIB, "i32", "uniform", below=1 << 18)
    module = written(PLACE + body + "done: " + DONE, INDEXED)
    (kernel,) = module.kernels
    spec = launch(1024, 256, out=MIB, idx=stated, x=MIB)
    stand_ins(module, kernel, bound(spec, kernel))
    assert bool(probes) == looked
