"""Turns that are known before a kernel is emulated, against those of the emulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import launch, written

from perfmodel.cuda.addresses.launch import bound
from perfmodel.cuda.emulate import lock_step
from perfmodel.cuda.emulate.budget import Budget
from perfmodel.cuda.emulate.launch import emulated_launch
from perfmodel.cuda.emulate.run import Effort, emulate
from perfmodel.cuda.kernel.counts import sure_turns
from perfmodel.cuda.kernel.kernel_from_ptx import _way
from perfmodel.cuda.launch.spec import Buffer
from perfmodel.cuda.parse.control_flow import control_flow

# Turns of each thread, three in each; then something of every fourth thread; then n turns of all.
BODY = """
    ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; mov.f32 %f1, 0f3F800000; mov.u32 %r3, %r2;
    setp.ge.s32 %p1, %r3, %r1; @%p1 bra after;
outer:
    mov.u32 %r4, 0;
inner:
    add.f32 %f1, %f1, %f1; add.s32 %r4, %r4, 1; setp.lt.s32 %p2, %r4, 3; @%p2 bra inner;
    add.s32 %r3, %r3, 32; setp.lt.s32 %p1, %r3, %r1; @%p1 bra outer;
after:
    and.b32 %r5, %r2, 3; setp.ne.s32 %p3, %r5, 0; @%p3 bra rest;
    mul.f32 %f1, %f1, 0f3F000000;
rest:
    mov.u32 %r6, 0;
last:
    add.f32 %f1, %f1, 0f3F800000; add.s32 %r6, %r6, 1; setp.lt.s32 %p4, %r6, %r1; @%p4 bra last;
    div.rn.f32 %f2, %f1, %f1; ld.param.u64 %d1, [out]; mul.wide.s32 %d2, %r2, 4;
    add.s64 %d3, %d1, %d2; st.global.f32 [%d3], %f2; ret;
"""


def prepared(n: int, grid: int = 1) -> Any:
    module = written(BODY, ".param .u64 out, .param .u32 n")
    (function,) = module.kernels
    given = bound(launch(grid, 32, n=n, out=Buffer(4096)), function, ())
    found = _way(module, function, control_flow(function), given)[1].found
    turns = sure_turns(found, given, {"n": n, **given.dimensions})
    return module, function, emulated_launch(given, function), turns


@pytest.mark.parametrize("n", [32, 40, 75, 128])
def test_known_turns_are_those_of_an_emulation(n: int) -> None:
    module, function, launched, turns = prepared(n)
    found = emulate(module, function, launched)
    blocks = [b for b in range(len(found.warps)) if found.warps[b]]
    assert {*turns} >= {*blocks}
    for block in blocks:
        assert turns[block] == (found.warps[block], found.threads[block] / 32), block


def test_known_work_is_that_of_an_emulation(monkeypatch: pytest.MonkeyPatch) -> None:
    module, function, launched, turns = prepared(75, grid=2)
    made = []

    def kept(*given: Any) -> Budget:
        made.append(Budget(*given))
        return made[-1]

    monkeypatch.setattr(lock_step, "Budget", kept)
    runner = lock_step.LockStep(module, function, launched, 64, {})
    runner.run(1.0, 1000, None)
    assert runner.least_work(turns) == made[0].work
    # What is not known is no work.
    assert runner.least_work({}) == 0


def test_what_will_take_too_long_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    module, function, launched, turns = prepared(4000, grid=64)
    lanes = []
    run = lock_step.LockStep.run

    def told(self: Any, *given: Any, **others: Any) -> None:
        lanes.append(self.sample.lanes)
        run(self, *given, **others)

    monkeypatch.setattr(lock_step.LockStep, "run", told)
    effort = Effort(lanes=1 << 10, seconds=0.5, closely=False)
    tried = emulate(module, function, launched, effort)
    assert lanes == [1024, 64]
    known = emulate(module, function, launched, effort, turns=turns)
    assert lanes == [1024, 64, 64]
    assert known.odd == tried.odd
    assert np.array_equal(known.warps, tried.warps)
