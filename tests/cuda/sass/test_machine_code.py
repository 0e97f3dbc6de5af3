"""Machine code: its fields, its loops, and their clocks against measured ones."""

from __future__ import annotations

import csv
import gzip
import struct
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from perfmodel.cuda.compile.program import resources
from perfmodel.cuda.compile.toolchain import find_tool
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.cuda.sass.frequencies import Issued
from perfmodel.cuda.sass.machine_code import (
    CALL,
    MachineCode,
    decoded,
    lines_by_section,
    machine_flow,
    read_cubin,
)
from perfmodel.cuda.sass.machine_pace import FAR, NEAR, body_takes
from perfmodel.cuda.sass.opcodes import latencies, opcodes
from perfmodel.measure.folders import root

SAMPLE = Path(__file__).parents[1] / "ptx" / "nvcc-13.0-lone.cubin.gz"
ODD = ("divide", "divide_d", "sine", "sine_d", "exponential_d", "rest_l", "power")
"""Loops with ways inside that the machine code does not tell apart: see the session's "odd"."""


@cache
def sample() -> dict[str, MachineCode]:
    return dict(read_cubin(gzip.decompress(SAMPLE.read_bytes())))


def innermost(code: MachineCode, step: int = 0, warps: int = 1) -> list[tuple[float, float]]:
    """Return the clocks and the waits of a turn of each loop without loops in it.

    Blocks that call functions for odd values are not run.
    """
    flow = machine_flow(code)
    found = []
    for number, loop in enumerate(flow.loops):
        if any(other.parent == number for other in flow.loops):
            continue
        bodies = [code[b.start : b.stop] for b in (flow.blocks[n] for n in sorted(loop.blocks))]
        parts = [
            Issued(body, 0.0 if any(i.opcode == CALL for i in body) else 1.0, 0, number)
            for body in bodies
        ]
        taken = body_takes(parts, True, step, warps)
        found.append((sum(c for c, _ in taken), sum(w for _, w in taken)))
    return found


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


def test_branches_before_sm_90_are_in_bytes() -> None:
    # independent: ptxas 13.0 ends a kernel for sm_80, sm_86 and sm_89 with this branch to itself
    code = decoded(word(0, 0) * 5 + word(0xFFFFFFF000007947, 0xFC0000383FFFF), 80)
    assert code[5].target == 5


def test_a_branch_of_diverged_warps_leads_nowhere() -> None:
    # read from what ptxas 13.0 makes of shuffles in group_query_scores (corpus-blind9): it leads to
    # the same shuffles lane after lane, behind the kernel's end
    branch = decoded(word(0xA0A007947, 0xFEC000B800000))[0]
    assert branch.target is None


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
        max(taken for taken, _ in innermost(sample()[name])) / clocks - 1
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
        ((clocks, waited),) = innermost(decoded(b"".join(word(*w) for w in code) + back))
        assert waited == pytest.approx(waits, abs=0.05)
        # the loads go out while it waits: the two that need them are left, and the branch
        assert clocks == pytest.approx(2 + latencies().branch)


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
    (alone,), (beside,) = innermost(code), innermost(code, warps=32)
    hidden = 50 * 8 if meets else 50
    assert beside[1] == pytest.approx((FAR - hidden) / (FAR - NEAR))
    assert alone[1] == pytest.approx((FAR - 50) / (FAR - NEAR))
    assert alone[0] == pytest.approx(beside[0])


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
        ((_, waited),) = innermost(decoded(code), step)
        return waited

    assert waits(4, 32) == pytest.approx(1)
    assert waits(32, 32) == waits(4, 4) == waits(4, 0) == waits(4, 32, 4) == pytest.approx(2)


def test_widths_of_accesses() -> None:
    # independent: nvdisasm 13.0 prints "LDS.128 R4, [R22+0x10]" and "LDS R22, [R21]" for these
    (wide,) = decoded(word(0x0000100016047984, 0x000FE80000000C00))
    (one,) = decoded(word(0x0000000015167984, 0x000FE80000000800))
    assert (wide.opcode, wide.width, one.opcode, one.width) == (0x184, 16, 0x184, 4)


@pytest.mark.parametrize(
    ("low", "high", "width"),
    [
        (0x00000013060079A6, 0x0003E2000C10F384, 4),
        (0x0000000C040079A6, 0x0003E6000C10FF84, 8),
        (0x000000150800798E, 0x0003E2000C10E184, 4),
        (0x000000100C00798E, 0x0001E8000D10E784, 8),
        (0x000000100210 << 16 | 0x79A8, 0x000EE2000C1EE5C4, 8),
        (0x0000040CFF17098C, 0x000E620008000004, 4),
        (0x00002002FF12798C, 0x000FE80009000204, 4),
        (0x000010021003738D, 0x010EE80000000003, 4),
        (0x00000806FF0E798C, 0x000EA8000C000404, 8),
        (0x00001808190A738D, 0x020FE8000000040A, 8),
    ],
)
def test_widths_of_atomics(low: int, high: int, width: int) -> None:
    # independent: nvcc 13.0 makes these of atomicAdd of a float, a double and an int whose old
    # values nobody reads, of atomicMax of a long long, of atomicExch of an unsigned long long; and,
    # in shared memory, of additions, maxima and compare-and-swaps of an int, and of an exchange and
    # a compare-and-swap of an unsigned long long
    (atomic,) = decoded(word(low, high))
    assert atomic.width == width


def test_lines_are_those_of_the_table() -> None:
    # by hand: a header of 16 bytes behind its length (DWARF 2, opcodes from 10 on, line base -1,
    # range 4); then the address of section code is set to 0, line + 4, copy; 16 bytes on and line
    # + 1 by a special opcode; 32 bytes on, copy; end
    header = struct.pack("<HIBBbBB9B", 2, 16, 1, 1, -1, 4, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1)
    header += b"\0\0"
    program = b"\0\x09\x02" + b"\0" * 8 + b"\x03\x04\x01"
    program += bytes([10 + 16 * 4 + 2]) + b"\x02\x20\x01" + b"\0\x01\x01"
    table = struct.pack("<I", len(header + program)) + header + program
    place = 4 + len(header) + 3
    found = lines_by_section(table, {place: ".text.k"})
    assert found == {".text.k": {0: 5, 16: 6, 48: 6}}


@pytest.mark.skipif(find_tool("ptxas") is None, reason="needs ptxas")
def test_each_instruction_has_a_line_of_the_kernel() -> None:
    path = Path(__file__).parents[1] / "ptx" / "nvcc-13.0-kernels.ptx"
    text = path.read_text()
    module = parse_ptx(text, path.name)
    made = resources(module, text)
    for kernel in module.kernels:
        lines = {i.line for i in kernel.instructions}
        used = {i.line for i in made[kernel.name].code}
        # independent: a store is made of what stores
        stores = {i.line for i in made[kernel.name].code if i.opcode in (0x186, 0x185)}
        text_of = {i.line: i.opcode for i in kernel.instructions}
        assert len(used & lines) > len(lines) / 4
        assert {text_of[line] for line in stores if line in text_of} <= {"st"}


def test_a_wait_for_all_copies_waits_for_their_barrier() -> None:
    # hand: DEPBAR.LE SB0, 0x0 and SB2, 0x1, as nvcc 13.0 writes __pipeline_wait_prior of 0 and 1
    codes = [0x000080000000791A, 0x000080400000791A | 2 << 44]
    found = decoded(b"".join(struct.pack("<QQ", low, 0x000FC80000000000) for low in codes), 90)
    assert [i.waits for i in found] == [(0,), ()]


def test_what_is_never_run_accesses_nothing() -> None:
    # hand: @!PT LDS RZ, [RZ], three of which stand before a copy to shared memory
    (found,) = decoded(struct.pack("<QQ", 0xFFFFF984, 0x000FE20000000800), 90)
    assert found.opcode not in opcodes().access
    (plain,) = decoded(struct.pack("<QQ", 0xFF7984, 0x000FE20000000800), 90)
    assert opcodes().access[plain.opcode] == "shared"


def test_copies_to_shared_memory_are_waited_for() -> None:
    # hand: LDGDEPBAR holds barrier 0 until the copies before it are there, which DEPBAR waits for:
    # one wait a turn, and none where a group may be left
    held, left = (
        decoded(
            struct.pack("<QQ", 0x79AF, 0x000E220000000000)
            + struct.pack("<QQ", wait, 0x000FC80000000000)
            + struct.pack("<QQ", 0xFFFFFFFC00FC7947, 0x000FEA000383FFFF),
            90,
        )
        for wait in (0x000080000000791A, 0x000080400000791A)
    )
    assert held[0].result == 0
    assert [
        round(sum(w for _, w in body_takes([Issued(code, 1.0, 0, 0)], True)), 3)
        for code in (held, left)
    ] == [1.0, 0.0]
