"""Where a warp's lanes differ: words of constant memory, tables of branches, counters, copies."""

from __future__ import annotations

import csv
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from programs import launch, program, written

from perfmodel import predict
from perfmodel.cuda.compile.program import Program, load_program
from perfmodel.cuda.compile.toolchain import find_tool
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.spec import Buffer
from perfmodel.cuda.parse.control_flow import control_flow
from perfmodel.cuda.parse.memory_parts import moved
from perfmodel.cuda.parse.syntax import Module
from perfmodel.cuda.sass.divergence import Run, aggregated, partings, varying_constants
from perfmodel.expressions import Number, text
from perfmodel.kernels import Kernel

ROOT = Path(__file__).parents[3] / "measurements"
TABLE = ".const .align 4 .b32 table[64];\n"
COUNTERS = ".shared .align 4 .b32 s[64];\n"


def made(module: Module, block: int = 64) -> Kernel:
    return translated(program(module), launch(4, block, out=Buffer(4096)), "k")


def test_words_that_lanes_read_from_constant_memory() -> None:
    # Derived: lanes t // 4 read eight words a warp; one address for all is no such load.
    read = "mov.u32 %r1,%tid.x; shr.u32 %r2,%r1,2; mul.wide.u32 %d2,%r2,4; mov.u64 %d3,table;"
    kernel = made(
        written(f"{read} add.s64 %d3,%d3,%d2; ld.const.b32 %r4,[%d3]; ret;", declared=TABLE)
    )
    words = [a.count for a in kernel.arithmetic if a.pipe == "constant"]
    assert [float(w.value) for w in words if isinstance(w, Number)] == [8.0]
    alike = written("ld.const.b32 %r4,[table+4]; ret;", declared=TABLE)
    assert not varying_constants(alike.kernels[0])
    assert not [a for a in made(alike).arithmetic if a.pipe == "constant"]


@pytest.mark.parametrize("size", [1, 2, 4])
def test_each_address_of_constant_memory_is_a_pass(size: int) -> None:
    # Measured: loads of crc16_frames of corpus-blind16, each lane one of 16 shorts at random, take
    # 14.0 passes (address_instructions): 16*(1 - (15/16)^32) = 13.97 addresses of at most 8 words.
    # By hand: lanes t // 2 read sixteen addresses, also where those of bytes are in four words.
    read = "mov.u32 %r1,%tid.x; and.b32 %r1,%r1,31; shr.u32 %r2,%r1,1; mov.u64 %d3,table;"
    read += f"mul.wide.u32 %d2,%r2,{size}; add.s64 %d3,%d3,%d2; ld.const.u{8 * size} %r4,[%d3];"
    kernel = made(written(f"{read} ret;", declared=TABLE))
    passes = [a.count for a in kernel.arithmetic if a.pipe == "constant"]
    assert [float(w.value) for w in passes if isinstance(w, Number)] == [16.0]


def test_a_table_of_branches_parts_lanes_for_each_way_beyond_the_first() -> None:
    ways = " ".join(f"W{i}: mul.lo.s32 %r2,%r1,{i + 3}; bra END;" for i in range(3))
    body = f"mov.u32 %r1,%tid.x; T: .branchtargets W0,W1,W2; brx.idx %r1,T; {ways} END: ret;"
    flow = control_flow(written(body).kernels[0])
    runs = [Run(0, None, 1.0, 96), *(Run(i, None, 1.0, 32) for i in (1, 2, 3))]
    assert partings(flow, [*runs, Run(4, None, 1.0, 96)], frozenset({0})) == {None: 2.0}


def test_counting_lanes_is_no_addition_that_they_queue_for() -> None:
    # Read from machine code of sm_90 (nvcc 13.0): ATOMS.POPC.INC for the first alone, REDUX.SUM and
    # one lane's ATOMS.ADD for the others of 32 bits.
    head = "mov.u32 %r1,s; mov.u32 %r5,%tid.x;"
    for atomic, end, operation in (
        ("atom.shared.add.u32 %r2,[%r1],1;", "", "increment"),
        ("atom.shared.add.u32 %r2,[%r1],3;", "", "add"),
        ("atom.shared.add.u32 %r2,[%r1],%r5;", "", "add"),
        ("atom.shared.add.u64 %d2,[%r1],1;", "", "add"),
        ("atom.shared.add.u32 %r2,[%r1],1;", "st.shared.u32 [%r1+4],%r2;", "add"),
    ):
        function = written(f"{head} {atomic} {end} ret;", declared=COUNTERS).kernels[0]
        assert moved(function, 2).operation == operation
        assert (2 in aggregated(function)) == (operation == "add" and ".u64" not in atomic)


def test_fields_that_a_permutation_of_bytes_joins() -> None:
    # By hand: 0x2104 puts a byte of the second below three of the first, 256 a + b % 256.
    start = "ld.param.u64 %d1,[out]; mov.u32 %r1,%ctaid.x; mov.u32 %r2,%tid.x;"
    end = "mul.wide.u32 %d2,%r3,4; add.s64 %d3,%d1,%d2; st.global.u32 [%d3],%r2; ret;"
    kernel = made(written(f"{start} prmt.b32 %r3,%r2,%r1,8452; {end}"))
    assert text(kernel.accesses[0].index) == "blockIdx.x + threadIdx.x * 256"


def test_a_wide_product_of_unsigned_numbers_is_unsigned() -> None:
    # What compilers make of t / 3 and t % 3: the constant is 2863311531, not -1431655765.
    start = "ld.param.u64 %d1,[out]; mov.u32 %r1,%tid.x; mul.wide.u32 %d2,%r1,-1431655765;"
    third = "shr.u64 %d2,%d2,33; cvt.u32.u64 %r2,%d2; mul.lo.s32 %r3,%r2,3; sub.s32 %r4,%r1,%r3;"
    end = "mul.wide.u32 %d3,%r4,4; add.s64 %d4,%d1,%d3; st.global.u32 [%d4],%r2; ret;"
    kernel = made(written(f"{start} {third} {end}"))
    assert text(kernel.accesses[0].index) == "threadIdx.x % 3"


def test_a_pointer_from_unknown_memory_goes_nowhere() -> None:
    start = "ld.param.u64 %d1,[out]; mov.u32 %r1,%tid.x; mul.wide.u32 %d2,%r1,8;"
    rest = "add.s64 %d3,%d1,%d2; ld.global.u64 %d4,[%d3]; ld.global.u32 %r2,[%d4]; ret;"
    kernel = made(written(f"{start} {rest}"))
    assert {a.buffer for a in kernel.accesses} == {"out"}


def rows(name: str) -> list[dict[str, str]]:
    with (ROOT / "instructions/h200-sxm/branches" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@cache
def compiled(source: str) -> Program:
    return load_program(ROOT / "instructions/h200-sxm/branches/program" / source)


needs_nvcc = pytest.mark.skipif(find_tool("nvcc") is None, reason="needs nvcc")


@needs_nvcc
def test_words_of_constant_memory_take_two_clocks_each() -> None:
    # The rows of 528 blocks were fitted, those of 132 are apart; 92% short before.
    source = compiled("tables.cu")
    taken = [r for r in rows("tables") if r["kernel"] == "constants" and r["threads"] != "32"]
    taken = [r for r in taken if r["ways"] in ("8", "32")]
    assert len(taken) == 6  # 8 and 32 ways side by side, 32 apart; two grids
    for row in taken:
        given = {"rounds": int(row["rounds"]), "ways": int(row["ways"]), "apart": int(row["apart"])}
        buffers = {"out": Buffer(4 << 20), "sel": Buffer(4096)}
        spec = launch(int(row["blocks"]), int(row["threads"]), **given, **buffers)
        found = predict(translated(source, spec, "constants"), device="h200-sxm").time_s
        # Words that are 64 bytes apart do not all stay in the cache of constants.
        band = 0.05 if row["apart"] == "1" else 0.25
        assert found * 1e6 == pytest.approx(float(row["time_us"]), rel=band), row


@needs_nvcc
@pytest.mark.parametrize(("size", "band"), [(4, 0.20), (8, 0.20), (16, 0.10)])
def test_copies_take_the_passes_of_one_side(size: int, band: float) -> None:
    # Of 16 bytes a lane 65% long before, when both sides had passes of their own.
    source = compiled("branches.cu")
    row = next(
        r for r in rows("branches") if (r["kernel"], r["threads"]) == (f"async_{size}", "1024")
    )
    given = {"param_0": Buffer(64 << 20), "param_1": Buffer(64 << 20), "param_2": 64}
    spec = launch(132, 1024, 1024 * size, **given)
    prediction = predict(translated(source, spec, f"async_{size}"), device="h200-sxm")
    assert prediction.time_s * 1e6 == pytest.approx(float(row["time_us"]), rel=band)
    assert np.max(prediction.details.time.sm.l1.stages.data) > 0


def test_dynamic_shared_memory_takes_room_whoever_uses_it() -> None:
    # Counted: eight blocks that state 24 KiB each and use none leave L1 28 KiB, and of a table of
    # 64 KiB 0.88 misses (measurements/l1/h200-sxm/reuse).
    module = written("ret;")
    stated = replace(launch(4, 64, out=Buffer(4096)), shared_bytes=24 << 10)
    kernel = translated(program(module), stated, "k")
    assert kernel.launch.shared_bytes == Number(24 << 10)
