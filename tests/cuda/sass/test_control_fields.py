"""Machine code: its fields, its loops, and their clocks against measured ones."""

from __future__ import annotations

import csv
import gzip
import struct
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.cuda.sass.latencies import latencies
from perfmodel.cuda.sass.machine_code import MachineCode, decoded, read_cubin
from perfmodel.cuda.sass.machine_loops import (
    FAR,
    NEAR,
    MachineLoop,
    Wanted,
    kinds_of,
    machine_loops,
    matched,
)
from perfmodel.measure.folders import root

SAMPLE = Path(__file__).parents[1] / "ptx" / "nvcc-13.0-lone.cubin.gz"
ODD = ("divide", "divide_d", "sine", "sine_d", "exponential_d", "rest_l", "power")
"""Loops with ways inside that the machine code does not tell apart: see the session's "odd"."""


@cache
def sample() -> dict[str, MachineCode]:
    return dict(read_cubin(gzip.decompress(SAMPLE.read_bytes())))


def measured(use: str) -> dict[str, float]:
    with (root() / "instructions/h200-sxm/one-warp" / "lone.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        r["kernel"]: float(r["clocks"])
        for r in rows
        if r["use"] == use and r["warps"] == "1" and r["kernel"] not in ODD
    }


def word(low: int, high: int) -> bytes:
    return struct.pack("<QQ", low, high)


def test_fields_of_instructions() -> None:
    # independent: nvdisasm and cuobjdump 13.0 print "@!P0 BRA 0x690" at 0xc0, "@P1 BRA 0x1a0" at
    # 0x3d0 for these words
    forth = decoded(word(0, 0) * 12 + word(0x400708947, 0xFEA0003800000))[12]
    assert (forth.target, forth.guarded, forth.stall) == (0x690 // 16, True, 5)
    back = decoded(word(0, 0) * 61 + word(0xFFFFFFFC00701947, 0xFEA000383FFFF))[61]
    assert (back.target, back.result, back.operands) == (0x1A0 // 16, None, None)


def test_every_kernel_of_a_cubin_is_there() -> None:
    # independent: lone.cu has 43 kernels, and machine code ends with a branch to itself
    assert len(sample()) == 43
    for code in sample().values():
        assert any(i.target == at for at, i in enumerate(code))


@pytest.mark.parametrize("cut", [0, 6, 40, 64, 1000, 100_000])
def test_what_is_no_cubin_has_no_kernels_or_fewer(cut: int) -> None:
    data = gzip.decompress(SAMPLE.read_bytes())
    assert len(read_cubin(data[:cut])) <= 43
    assert read_cubin(b"\x00" * cut) == {}
    assert read_cubin(data[:64] + b"\xff" * 64) == {}


@pytest.mark.parametrize(
    ("use", "median", "most"), [("fit", 0.02, 0.02), ("validation", 0.03, 0.2)]
)
def test_clocks_of_a_lone_warp_are_those_measured(use: str, median: float, most: float) -> None:
    # measured: instructions/h200-sxm/one-warp; what is furthest off has barriers, whose wait is
    # counted elsewhere (neighbours, 20%), and places in shared memory that conflict (lookups, 9%)
    seen = measured(use)
    assert len(seen) >= 4
    off = [
        max(loop.clocks for loop in machine_loops(sample()[name])) / clocks - 1
        for name, clocks in seen.items()
    ]
    assert np.median(np.abs(off)) < median
    assert np.max(np.abs(off)) < most


def test_waits_are_counted_by_barriers() -> None:
    # by hand: a load, what needs it, another load, what needs that, and the branch back
    load, use = 0x7981, 0x7221
    never = 7 << 46 | 7 << 49 | 1 << 41

    def barrier(b: int) -> int:
        return b << 46 | 7 << 49 | 1 << 41

    back = word(0x7947 | (-80 // 4 & 0xFF) << 16 | (2**30 - 1) << 34, never | 0x3FFFF)
    twice = [(load, barrier(0)), (use, never | 1 << 52), (load, barrier(1)), (use, never | 2 << 52)]
    once = [(load, barrier(0)), (load, barrier(1)), (use, never | 1 << 52), (use, never | 2 << 52)]
    for code, waits in ((twice, 2), (once, 1)):
        (loop,) = machine_loops(decoded(b"".join(word(*w) for w in code) + back))
        assert loop.kinds == {"load": 2}
        assert loop.waits == pytest.approx(waits, abs=0.05)
        # the loads go out while it waits: the two that need them are left, and the branch
        assert loop.clocks == pytest.approx(2 + latencies().branch)


@pytest.mark.parametrize("meets", [True, False])
def test_other_warps_of_a_block_hide_loads_that_are_used_behind_a_barrier(meets: bool) -> None:
    # hand count: beside 32 warps a scheduler issues each instruction of one every 8th clock, so
    # that the load's user comes 50 * 8 clocks behind it; where no warp meets others, 50
    never = 7 << 46 | 7 << 49 | 1 << 41
    load = word(0x7981, 7 << 49 | 1 << 41)  # the result holds barrier 0
    meet, use = word(0x7B1D if meets else 0x7221, never), word(0x7221, never | 1 << 52)
    back = word(0x7947 | (-4 * 52 & 0xFF) << 16 | (2**30 - 1) << 34, never | 0x3FFFF)
    code = decoded(load + meet + word(0x7221, never) * 48 + use + back)
    assert code[-1].target == 0
    (alone,), (beside,) = machine_loops(code), machine_loops(code, warps=32)
    hidden = 50 * 8 if meets else 50
    assert beside.waits == pytest.approx((FAR - hidden) / (FAR - NEAR))
    assert alone.waits == pytest.approx((FAR - 50) / (FAR - NEAR))
    assert alone.clocks == pytest.approx(beside.clocks)


def test_a_thread_waits_once_for_what_one_sector_holds() -> None:
    # by hand: two floats beside each other, the second asked for when the first is there; another
    # sector, other steps between lanes, and another value in the register of the address are waits
    never = 7 << 46 | 7 << 49 | 1 << 41
    back = word(0x7947 | (-80 // 4 & 0xFF) << 16 | (2**30 - 1) << 34, never | 0x3FFFF)

    def load(register: int, offset: int, b: int) -> bytes:
        low = 0x7981 | 20 + b << 16 | register << 24 | offset << 40
        return word(low, b << 46 | 7 << 49 | 1 << 41)

    def use(b: int, writes: int) -> bytes:
        return word(0x7221 | writes << 16, never | 1 << 52 + b)

    def waits(offset: int, step: int, writes: int = 9) -> float:
        code = load(4, 0, 0) + use(0, writes) + load(4, offset, 1) + use(1, 9) + back
        (loop,) = machine_loops(decoded(code), step)
        return loop.waits

    assert waits(4, 32) == pytest.approx(1)
    assert waits(32, 32) == waits(4, 4) == waits(4, 0) == waits(4, 32, 4) == pytest.approx(2)


def test_loops_are_known_by_what_they_do_to_memory() -> None:
    source = """.version 8.0
    .target sm_90
    .address_size 64
    .visible .entry k(.param .u64 a)
    {
    .reg .f32 %f<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>; .shared .align 4 .b8 t[128];
    ld.param.u64 %rd1, [a]; mov.u32 %r1, t;
    ld.global.f32 %f1, [%rd1]; ld.shared.f32 %f2, [%r1];
    shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1; bar.sync 0;
    st.global.f32 [%rd1], %f2; red.global.add.f32 [%rd1], %f1;
    ret;
    }"""
    kinds = kinds_of(parse_ptx(source, "k.ptx").functions[0].instructions)
    assert kinds == {
        **{"load": 1, "shared load": 4, "shfl": 1, "barrier": 1, "store": 1, "atomic": 1}
    }
    (loop,) = machine_loops(sample()["sums_of_eight"])
    assert loop.kinds == {"shfl": 40}
    # eight iterations put together, if there are as many
    assert matched([Wanted({"shfl": 5}, 20, 100.0)], [loop]) == [(8, 0)]
    assert matched([Wanted({"shfl": 5}, 20, 4.0)], [loop]) == [None]
    assert matched([Wanted({"shfl": 7}, 20, 100.0)], [loop]) == [None]
    assert matched([Wanted({}, 20, 100.0)], [loop]) == [None]
    assert matched([Wanted({"shfl": 5}, 20, 100.0)], []) == [None]


@pytest.mark.parametrize(("divisor", "functions"), [("%f1", 1), ("0f40400000", 0)])
def test_a_division_by_a_constant_asks_for_no_reciprocal(divisor: str, functions: int) -> None:
    # machine code of a stencil that divides by 3: no MUFU in it (nvcc 13.0)
    source = f""".version 8.0
    .target sm_90
    .address_size 64
    .visible .entry k()
    {{
    .reg .f32 %f<4>;
    div.rn.f32 %f2, %f1, {divisor};
    ret;
    }}"""
    kinds = kinds_of(parse_ptx(source, "k.ptx").functions[0].instructions)
    assert kinds.get("function", 0) == functions


def test_of_loops_that_load_as_much_the_functions_and_then_the_length_tell() -> None:
    # by hand: a maximum over a row, a sum of exponentials over it, and a longer sum of them
    maximum = MachineLoop({"load": 4}, 20, 44.0, 1.0)
    sums = MachineLoop({"load": 4, "function": 4}, 36, 124.0, 1.0)
    longer = MachineLoop({"load": 4, "function": 4}, 60, 200.0, 1.0)
    loops = [longer, sums, maximum]

    def found(kinds: dict[str, int], length: int) -> tuple[int, int] | None:
        (one,) = matched([Wanted(kinds, length, 16.0)], loops)
        return one

    assert found({"load": 1}, 5) == (4, 2)
    assert found({"load": 1, "function": 1}, 9) == (4, 1)
    assert found({"load": 1, "function": 1}, 16) == (4, 0)
    assert found({"load": 1, "function": 2}, 9) is None
    assert found({"function": 4}, 36) is None


def test_loops_that_do_the_same_are_told_by_their_order() -> None:
    # by hand: two sums of exponentials, of which ptxas puts iterations of the second together only;
    # between them a loop that is none of the machine code
    one = MachineLoop({"load": 1, "function": 1}, 18, 80.0, 1.0)
    four = MachineLoop({"load": 4, "function": 4}, 50, 124.0, 1.0)
    sums = Wanted({"load": 1, "function": 1}, 14, 16.0)
    gone = Wanted({"store": 1}, 4, 2.0)
    assert matched([sums, gone, sums], [one, four]) == [(1, 0), None, (4, 1)]
    assert matched([sums, sums], [four, one]) == [(4, 0), (1, 1)]
    # with one loop fewer, the one of more iterations together
    assert matched([sums], [one, four]) == [(4, 1)]
    assert matched([sums, sums], [one]) in ([(1, 0), None], [None, (1, 0)])


def test_loops_that_do_nothing_to_memory_are_told_by_their_length() -> None:
    # by hand: two loops of arithmetic, of which ptxas puts four iterations of the first together
    short, long = MachineLoop({}, 40, 90.0, 0.0), MachineLoop({}, 200, 400.0, 0.0)
    loops = [short, long]
    assert matched([Wanted({}, 10, 64.0), Wanted({}, 220, 24.0)], loops) == [(4, 0), (1, 1)]
    assert matched([Wanted({}, 10, 3.0)], [short]) == [None]  # not as many iterations
    assert matched([Wanted({}, 28, 64.0)], [short]) == [None]  # neither one nor two
    assert matched([Wanted({"function": 1}, 10, 64.0)], [short]) == [None]


def test_shared_memory_is_known_by_its_bytes() -> None:
    # independent: nvdisasm 13.0 prints "LDS.128 R4, [R22+0x10]" and "LDS R22, [R21]" for these
    (wide,) = decoded(word(0x0000100016047984, 0x000FE80000000C00))
    (one,) = decoded(word(0x0000000015167984, 0x000FE80000000800))
    assert (wide.opcode, wide.width, one.opcode, one.width) == (0x184, 16, 0x184, 4)
    # by hand: a loop that loads four words at a time, of which the source has each
    loop = MachineLoop({"shared load": 64}, 43, 103.0, 0.0)
    assert matched([Wanted({"shared load": 64}, 60, 8.0)], [loop]) == [(1, 0)]


def test_predicates_leave_a_loop_straight_and_branches_do_not() -> None:
    # by hand: two instructions that a predicate decides on, or a way past the second; and back
    never = 7 << 46 | 7 << 49 | 1 << 41
    back = word(0x7947 | (-48 // 4 & 0xFF) << 16 | (2**30 - 1) << 34, never | 0x3FFFF)
    guarded, past = word(0x0221, never), word(0x0947 | (16 // 4) << 16, never)
    (loop,) = machine_loops(decoded(guarded * 2 + back))
    assert loop.straight
    (loop,) = machine_loops(decoded(past + guarded + back))
    assert not loop.straight
