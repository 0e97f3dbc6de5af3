"""Loops of compare-and-swap: which ones try again, and what becomes of them."""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import median

import numpy as np
import pytest
from programs import launch, program, written

from perfmodel import predict
from perfmodel.cuda.addresses.launch import bound
from perfmodel.cuda.emulate.launch import emulated_launch
from perfmodel.cuda.emulate.run import emulate
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.spec import Buffer
from perfmodel.cuda.parse.control_flow import control_flow
from perfmodel.cuda.parse.waiting_loops import retry_loops, wait_exits
from perfmodel.kernels.kernel import Kernel

START = """
    ld.param.u64 %d1, [out]; mov.u32 %r30, %tid.x; mov.u32 %r29, %ctaid.x; mov.u32 %r28, %ntid.x;
    mad.lo.s32 %r30, %r29, %r28, %r30; and.b32 %r1, %r30, MASK; mul.wide.u32 %d2, %r1, 4;
    add.s64 %d1, %d1, %d2; mul.lo.s32 %r2, %r30, -1640531527; shr.u32 %r2, %r2, 1;
    ld.volatile.global.u32 %r4, [%d1];
"""
ADD = """
AGAIN: add.s32 %r5, %r4, 1; atom.global.cas.b32 %r6, [%d1], %r4, %r5;
    setp.ne.s32 %p1, %r6, %r4; mov.u32 %r4, %r6; @%p1 bra AGAIN; ret;
"""
RAISE = """
AGAIN: setp.le.s32 %p2, %r2, %r4; @%p2 bra DONE;
    atom.global.cas.b32 %r6, [%d1], %r4, %r2;
    setp.ne.s32 %p1, %r6, %r4; mov.u32 %r4, %r6; @%p1 bra AGAIN;
DONE: ret;
"""
LOCK = """
AGAIN: atom.global.cas.b32 %r6, [%d1], 0, 1; setp.ne.s32 %p1, %r6, 0; @%p1 bra AGAIN;
    st.global.u32 [%d1], 0; ret;
"""
PROBE = """
AGAIN: atom.global.cas.b32 %r6, [%d1], %r4, %r2; setp.ne.s32 %p1, %r6, %r4; mov.u32 %r4, %r6;
    add.s64 %d1, %d1, 4; @%p1 bra AGAIN; ret;
"""


COUNTS = """
    mov.u32 %r9, 0; add.s64 %d3, %d1, 0;
AGAIN: atom.global.add.u32 %r6, [%d3], 1; add.s32 %r9, %r9, 1; setp.ne.s32 %p1, %r9, %r7;
    @%p1 bra AGAIN; ret;
"""
"""A counter that is raised again and again, by no order of what the atomic returned."""


def text(body: str, mask: int = 0) -> str:
    return START.replace("MASK", str(mask)) + body


def made(body: str, blocks: int, words: int) -> Kernel:
    out = Buffer(4 * words, dtype="u32", fill="zeros")
    return translated(program(written(text(body, words - 1))), launch(blocks, 256, out=out))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (ADD, [True]),
        (ADD.replace("global", "shared"), [True]),
        (RAISE, [False]),
        (LOCK, []),
        (PROBE, []),
        (COUNTS, []),
    ],
)
def test_who_tries_again(body: str, expected: list[bool]) -> None:
    # by hand: an addition goes on until it succeeds, a maximum also ends where it is not needed; a
    # lock waits for a value that the text states, and a probe goes on elsewhere
    kernel = written(text(body)).kernels[0]
    flow = control_flow(kernel)
    assert [tried.always for tried in retry_loops(kernel, flow)] == expected
    assert bool(wait_exits(kernel, flow)) == (body == PROBE)


def test_who_only_adds_waits_for_nobody() -> None:
    # by hand: odd threads add 24 times, the others 8 times
    times = "and.b32 %r3, %r30, 1; mad.lo.s32 %r7, %r3, 16, 8;"
    kernel = made(times + COUNTS, 64, 64)
    (asked,) = [r for r in predict(kernel).details.requests if r.access.kind == "atomic"]
    # places that are looked at stand for the others
    assert float(asked.active_lanes.max()) == pytest.approx(64 * 256 * 16, rel=0.01)
    assert not any("wait" in note for note in kernel.notes)


def test_additions_are_retries_of_every_lane() -> None:
    # by hand: one loop of each of 64 x 256 lanes, whose tries the model counts
    kernel = made(ADD, 64, 64)
    (tried,) = [a for a in kernel.accesses if a.kind == "atomic"]
    assert tried.operation == "cas-loop"
    assert tried.counted is not None
    assert tried.counted.lanes == pytest.approx(64 * 256)
    assert tried.counted.requests == pytest.approx(64 * 8)


@pytest.mark.parametrize(("blocks", "words"), [(4, 1), (64, 64), (128, 1024), (512, 4096)])
def test_additions_take_as_long_as_the_built_in_loop(blocks: int, words: int) -> None:
    # independent: the same loop as a description, whose addresses are worked out
    given = {"device": "h200-sxm", "timing": "profiler", "cache": "warm"}
    n = 256 * blocks
    known = predict("cas-loop", **given, n=n, addresses=words, dtype="uint32", block=256)
    found = predict(made(ADD, blocks, words), **given)
    assert found.time_s == pytest.approx(known.time_s, rel=0.15)


@pytest.mark.parametrize(("number", "words"), [("7", 1), ("8", 64)])
def test_loops_of_sources_as_measured(number: str, words: int) -> None:
    # measured on an H200 (atomics/h200-sxm/streams), medians of five places: additions of 20,000
    # doubles, here of integers, which try as often; without retries 60 us and 14. These rows were
    # in view while samples were mended; no figure was fitted on them.
    path = Path(__file__).parents[3] / "measurements" / "atomics/h200-sxm/streams" / "loops.csv"
    with path.open(newline="") as file:
        found = [r for r in csv.DictReader(file) if (r["launch"], r["cache"]) == (number, "warm")]
    assert len(found) == 5
    measured = median(float(r["time_us"]) for r in found)
    p = predict(made(ADD, 78, words), device="h200-sxm", timing="events", cache="warm")
    assert p.time_s * 1e6 == pytest.approx(measured, rel=0.35)


def test_maxima_end_with_the_largest_value() -> None:
    # property: whoever leaves has its value stored, or found a larger one
    module = written(text(RAISE))
    kernel = module.kernels[0]
    out = Buffer(4, dtype="u32", fill="zeros")
    prepared = emulated_launch(bound(launch(8, 256, out=out), kernel), kernel)
    found = emulate(module, kernel, prepared)
    values = (np.arange(8 * 256, dtype=np.uint32) * np.uint32(2654435769)) >> 1
    region = next(r for r in found.regions if r.size == 4)
    assert region.load(np.zeros(1, dtype=np.int64), 4, "u32")[0] == values.max()
    assert not any("wait in a loop" in note for note in found.notes)


def test_places_from_loops_are_no_longer_their_turns() -> None:
    # regression: an atomic behind a loop, at a place that the loop read, had the loop's variable
    body = """
    mov.u32 %r7, 0;
MORE: mul.wide.u32 %d3, %r7, 4; add.s64 %d3, %d3, %d1; ld.global.u32 %r8, [%d3];
    add.s32 %r7, %r7, 1; setp.lt.u32 %p3, %r7, 8; @%p3 bra MORE;
    ld.param.u64 %d4, [sums]; and.b32 %r8, %r8, 1023; mul.wide.u32 %d5, %r8, 4;
    add.s64 %d4, %d4, %d5; red.global.add.u32 [%d4], 1; ret;
"""
    module = written(text(body, 63), parameters=".param .u64 out, .param .u64 sums")
    kernel = translated(program(module), launch(64, 256, out=1 << 20, sums=1 << 12))
    assert predict(kernel, device="h200-sxm").time_s > 0
