"""Loops of lone warps on an H200: rows walked in step, passes of L1
(measurements/instructions/h200-sxm/one-warp)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from measured import rows

from perfmodel import predict
from perfmodel.cuda.compile.program import Program, resources
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.spec import Buffer, LaunchSpec, Scalar
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.hardware import load_device
from perfmodel.measure.folders import root
from perfmodel.models.requests.conflict_latency import PASS_CLOCKS

H200 = load_device("h200-sxm")
FOLDER = root() / "instructions/h200-sxm/one-warp"
TURNS = 64
# A thread reads a row of its own, a turn a load; what it adds up keeps the turns apart.
SOURCE = """.version 8.0
.target sm_90
.address_size 64
.visible .entry rows(.param .u64 in, .param .u64 out, .param .u32 turns, .param .u32 pitch)
{{
.reg .pred %p<2>; .reg .f32 %f<6>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
ld.param.u32 %r1, [turns]; ld.param.u32 %r2, [pitch];
mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;
mad.lo.s32 %r6, %r3, %r4, %r5;
mul.wide.u32 %rd3, %r6, %r2; add.s64 %rd4, %rd1, %rd3;
mov.u32 %r7, 0; mov.f32 %f1, 0f00000000;
L:
.pragma "nounroll";
{load}
add.f32 %f1, %f1, %f2;
add.s64 %rd4, %rd4, {bytes};
add.s32 %r7, %r7, 1;
setp.lt.s32 %p1, %r7, %r1;
@%p1 bra L;
mul.wide.u32 %rd5, %r6, 4; add.s64 %rd6, %rd2, %rd5;
st.global.f32 [%rd6], %f1;
ret;
}}"""
LOADS = {
    4: "ld.global.nc.f32 %f2, [%rd4];",
    16: "ld.global.nc.v4.f32 {%f2, %f3, %f4, %f5}, [%rd4];",
}


def clocks_of_a_turn(row: dict[str, Any]) -> float:
    """What the models say of a turn of a lone block: its wait, and a warp's instructions."""
    source = SOURCE.format(load=LOADS[row["bytes"]], bytes=row["bytes"])
    module = parse_ptx(source)
    program = Program("rows.ptx", module, "", "sm_90", None, resources(module, source), {})
    threads = row["warps"] * 32 * row["blocks"]
    spec = LaunchSpec(
        (row["blocks"], 1, 1),
        (row["warps"] * 32, 1, 1),
        0,
        named={
            "in": Buffer(threads * row["pitch"] + 4096),
            "out": Buffer(threads * 4),
            "turns": Scalar(TURNS),
            "pitch": Scalar(row["pitch"]),
        },
    )
    found = predict(translated(program, spec, "rows"), device="h200-sxm", cache=row["cache"])
    chain = found.details.time.chain
    (batch,) = [b for b in chain.batches if b.loop is not None]
    waits = float(np.max(batch.count)) * float(np.max(batch.latency)) * chain.clock
    return (waits + float(np.max(chain.in_loops))) / TURNS


@pytest.mark.parametrize(("cache", "median", "most"), [("warm", 0.1, 0.13), ("cold", 0.12, 0.3)])
def test_rows_in_step_miss_together(cache: str, median: float, most: float) -> None:
    # measured; all lanes come to new sectors in the same turn, and hit in the others: 40 to 60% of
    # the time of rows out of step. What came before said as long for both.
    every = rows("steps", FOLDER, what="rows", cache=cache)
    seen = [
        r
        for r in every
        if r["pitch"] in (1024, 4096)
        # rows that L2 has no room for, were all of them read
        and r["pitch"] * r["warps"] * r["blocks"] * 32 < 50e6
    ]
    off = [clocks_of_a_turn(r) / r["clocks"] - 1 for r in seen]
    assert len(off) == 14
    assert np.median(np.abs(off)) < median
    assert np.max(np.abs(off)) < most


def test_a_pass_of_l1_is_two_clocks() -> None:
    # measured: fit rows; independent: a straight line through them
    for what in ("banks", "lines"):
        seen = rows("steps", FOLDER, what=what, use="fit")
        slope, _ = np.polyfit([r["pitch"] for r in seen], [r["clocks"] for r in seen], 1)
        assert len(seen) == 6
        assert slope == pytest.approx(PASS_CLOCKS(H200), rel=0.15)


BANKS = """.version 8.0
.target sm_90
.address_size 64
.visible .entry banks(.param .u64 out, .param .u32 turns)
{{
.reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<4>; .shared .align 4 .b8 table[8192];
ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [turns];
mov.u32 %r2, %tid.x; mov.u32 %r3, table; mad.lo.s32 %r4, %r2, {stride}, %r3;
mov.u32 %r5, 0; mov.u32 %r6, 0;
L:
.pragma "nounroll";
ld.shared.u32 %r7, [%r4];
add.s32 %r6, %r6, %r7;
add.s32 %r5, %r5, 1;
setp.lt.s32 %p1, %r5, %r1;
@%p1 bra L;
mul.wide.u32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2;
st.global.u32 [%rd3], %r6;
ret;
}}"""


@pytest.mark.parametrize("ways", [2, 8, 32])
def test_lanes_that_meet_in_a_bank_come_later(ways: int) -> None:
    # measured: 33.75 clocks of a load and two more for each lane that it meets
    def clocks(stride: int) -> float:
        text = BANKS.format(stride=stride)
        module = parse_ptx(text)
        program = Program("banks.ptx", module, "", "sm_90", None, resources(module, text), {})
        named = {"out": Buffer(128), "turns": Scalar(TURNS)}
        spec = LaunchSpec((1, 1, 1), (32, 1, 1), 0, named=named)
        found = predict(translated(program, spec, "banks"), device="h200-sxm")
        return float(np.max(found.details.time.chain.in_loops)) / TURNS

    (alone, met) = (
        rows("steps", FOLDER, what="banks", pitch=n, warps=1)[0]["clocks"] for n in (1, ways)
    )
    assert clocks(4 * ways) - clocks(4) == pytest.approx(met - alone, rel=0.02)
