"""Following a kernel ends after counted work, at the same place on every machine."""

from __future__ import annotations

import pytest

from perfmodel.cuda.addresses import flow as symbolic_flow
from perfmodel.cuda.addresses.flow import Flow
from perfmodel.cuda.addresses.launch import KernelLaunch, start
from perfmodel.cuda.addresses.records import NotFollowedError
from perfmodel.cuda.launch.spec import Buffer
from perfmodel.cuda.parse.control_flow import control_flow
from perfmodel.cuda.parse.reader import parse_ptx


def flow(exits: int) -> Flow:
    """Return a kernel with many ways to its end, whose conditions grow."""
    ways = "".join(
        f"setp.lt.s32 %p1, %r3, {i * 7}; @%p1 bra T{i};setp.gt.s32 %p2, %r4, {i}; @%p2 bra E; T{i}:"
        for i in range(exits)
    )
    text = f"""
    .version 8.0
    .target sm_90
    .address_size 64
    .visible .entry k(.param .u64 out, .param .u32 n) {{
      .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %d<9>;
      ld.param.u64 %d1, [out]; mov.u32 %r3, %tid.x; mov.u32 %r4, %ctaid.x;
      {ways}
      add.s32 %r3, %r3, 1;
    E:
      mul.wide.s32 %d2, %r3, 4; add.s64 %d3, %d1, %d2; st.global.u32 [%d3], %r3; ret;
    }}
    """
    module = parse_ptx(text)
    launch = KernelLaunch(
        *((100, 1, 1), (256, 1, 1), 0, {"n": 1000}),
        *({"out": Buffer(1 << 30)}, {}, frozenset({"out"})),
    )
    begin = start(module, module.functions[0], launch)
    follower, shown = begin.interpreter, begin.shown
    function = module.functions[0]
    return Flow(function, control_flow(function), follower, [*shown.values(), "bin"])


def test_a_kernel_is_given_up_after_the_same_work(monkeypatch: pytest.MonkeyPatch) -> None:
    # property: at the same instruction, whatever was followed before
    assert flow(10).run().accesses
    monkeypatch.setattr(symbolic_flow, "MOST_WORK", 20_000)
    given_up = []
    for _ in range(2):
        with pytest.raises(NotFollowedError, match="takes too long to follow") as error:
            flow(20).run()
        given_up.append(str(error.value))
    assert given_up[0] == given_up[1]
