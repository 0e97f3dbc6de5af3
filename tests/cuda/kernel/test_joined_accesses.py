"""Neighbouring accesses of a thread that ptxas joins to wider ones, by their widths."""

from __future__ import annotations

import pytest
from programs import launch, program, written

from perfmodel.cuda.kernel.translate import translated
from perfmodel.expressions import text


@pytest.mark.parametrize(
    ("loaded", "used", "vectors"),
    [
        ("u8 %h", "st.global.u8 [%d2+{place}],%h{i};", ["1"] * 16),
        ("u16 %h", "st.global.u16 [%d2+{place}],%h{i};", ["4"] * 4),
        ("u16 %h", "cvt.u32.u16 %r{i},%h{i}; st.global.u32 [%d2+{place}],%r{i};", ["1"] * 16),
        ("u16 %r", "st.global.u32 [%d2+{place}],%r{i};", ["1"] * 16),
        ("u32 %r", "st.global.u32 [%d2+{place}],%r{i};", ["4"] * 4),
    ],
)
def test_bytes_and_halves_that_become_words_stay_apart(
    loaded: str, used: str, vectors: list[str]
) -> None:
    # read from machine code of ptxas 13.0 for sm_90: LDS.U8, LDS.64, LDS.U16, LDS.U16 and LDS.128
    size = int(loaded[1 : loaded.index(" ")]) // 8
    begin = (
        ".shared .align 16 .b8 s[4096]; .reg .b16 %h<20>; mov.u32 %r18,s;"
        f"mov.u32 %r16,%tid.x; mul.lo.u32 %r17,%r16,{16 * size};"
        "add.u32 %r18,%r18,%r17; ld.param.u64 %d1,[out]; mul.wide.u32 %d2,%r16,4;"
        "add.u64 %d2,%d1,%d2;"
    )
    loads = "".join(f"ld.shared.{loaded}{i},[%r18+{size * i}];" for i in range(16))
    uses = "".join(used.format(i=i, place=256 * i) for i in range(16))
    made = translated(program(written(f"{begin} {loads} {uses} ret;")), launch(4, 32, out=1 << 16))
    found = [text(a.vector) for a in made.accesses if a.kind == "load"]
    assert found == vectors
