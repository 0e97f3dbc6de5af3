"""Asynchronous copies that a loop leaves under way; expected values by hand."""

from __future__ import annotations

import pytest

from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.cuda.sass.copies_ahead import copies_ahead

SOURCE = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a)
{{
.reg .pred %p<3>; .reg .b32 %r<4>; .reg .b64 %rd<4>; .shared .align 16 .b8 t[1024];
ld.param.u64 %rd1, [a]; mov.u32 %r1, t; mov.u32 %r2, 0;
cp.async.cg.shared.global [%r1], [%rd1], 16;
cp.async.commit_group;
L:
cp.async.cg.shared.global [%r1+512], [%rd1+512], 16;
cp.async.commit_group;
cp.async.wait_group {left};
bar.sync 0;
add.s32 %r2, %r2, 1;
setp.lt.s32 %p1, %r2, 8;
@%p1 bra L;
cp.async.wait_group 0;
ret;
}}"""


@pytest.mark.parametrize(("left", "count"), [(0, 0), (1, 1), (3, 1)])
def test_only_copies_of_loops_that_leave_groups_are_ahead(left: int, count: int) -> None:
    function = parse_ptx(SOURCE.format(left=left), "k.ptx").functions[0]
    found = [function.instructions[at].modifiers for at in copies_ahead(function)]
    assert sum("global" in m for m in found) == count
