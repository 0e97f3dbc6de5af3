"""Barriers and loads in flight of translated kernels: by the PTX ISA, and by hand."""

import pytest
from programs import launch, program, written

from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.spec import Buffer
from perfmodel.expressions import Number


@pytest.mark.parametrize(("barrier", "count"), [("bar.sync 0", 1), ("bar.warp.sync -1", 0)])
def test_a_block_does_not_meet_where_a_warp_does(barrier: str, count: int) -> None:
    # PTX ISA: bar.warp.sync, which __syncwarp() becomes, waits for the lanes of a warp
    body = f"ld.param.u64 %d1, [out]; {barrier}; st.global.u32 [%d1], 1; ret;"
    made = translated(program(written(body)), launch(4, 64, out=Buffer(4096)))
    assert len(made.barriers) == count


@pytest.mark.parametrize(
    ("second", "count"),
    [("global.f32 %f2, [%d1+4096]", 2), ("local.f32 %f2, [a]", 1), ("shared::cta.f32 %f2, [s]", 1)],
)
def test_loads_in_flight_are_those_from_global_memory(second: str, count: int) -> None:
    # by hand: of the two loads of a turn those that go past the SM
    body = f"""
      .local .align 4 .b8 a[64]; .shared .align 4 .b8 s[64];
      ld.param.u64 %d1, [out]; mov.u32 %r1, 0; st.local.u32 [a], %r1;
    again:
      ld.global.f32 %f1, [%d1]; ld.{second}; add.f32 %f3, %f1, %f2; st.shared.f32 [s+4], %f3;
      add.s64 %d1, %d1, 8192; add.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, 9; @%p1 bra again; ret;
    """
    made = translated(program(written(body)), launch(4, 64, out=Buffer(1 << 20)))
    assert made.loads_in_flight == Number(count)
