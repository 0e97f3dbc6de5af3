"""Values that all lanes share and no loop changes stand in uniform registers."""

from __future__ import annotations

from perfmodel.cuda.parse.control_flow import control_flow
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.cuda.sass.divergence import uniform_registers

KERNEL = """.version 8.0
.target sm_90
.address_size 64
.visible .entry walk(.param .u32 n, .param .u64 a)
{
  .reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .f32 %f<3>; .reg .pred %p<2>;
  ld.param.u32 %r0, [n]; ld.param.u64 %rd0, [a];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
  mul.lo.s32 %r3, %r0, %r1;
  min.s32 %r4, %r3, 7;
  add.s32 %r5, %r3, %r2;
  cvt.rn.f32.s32 %f1, %r3;
  mov.u32 %r6, 0;
$L:
  add.s32 %r6, %r6, 1;
  mul.lo.s32 %r7, %r6, %r3;
  setp.lt.s32 %p1, %r6, %r4;
  @%p1 bra $L;
  ret;
}
"""


def test_strides_are_uniform_and_what_lanes_or_loops_change_is_not() -> None:
    # by hand: r3 = n*block; r4 is a minimum, r5 a thread's, r6 and r7 change in a loop, f1 a number
    (function,) = parse_ptx(KERNEL, "walk.ptx").functions
    found = uniform_registers(function, control_flow(function))
    assert {"%r1", "%r3"} <= found
    assert not found & {"%r2", "%r4", "%r5", "%r6", "%r7", "%f1", "%p1"}
