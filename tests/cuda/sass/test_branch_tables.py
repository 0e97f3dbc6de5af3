"""Comparisons that become tables of branches: machine code of sm_90 (nvcc 13.0)."""

from __future__ import annotations

from perfmodel.cuda.parse.control_flow import control_flow
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.cuda.sass.branch_tables import branch_tables


def tables(*values: int, between: str = "") -> dict[int, tuple[int, ...]]:
    """Return the tables of a kernel that compares a word with these values one after the other."""
    tests = f"{between}\n".join(
        f"setp.eq.s32 %p{n}, %r1, {v}; @%p{n} bra W{n};" for n, v in enumerate(values, 1)
    )
    ways = "\n".join(
        f"W{n}: add.f32 %f1, %f1, 0f3F80000{n}; bra.uni E;" for n in range(1, len(values) + 1)
    )
    text = f"""
    .version 8.0
    .target sm_90
    .address_size 64
    .visible .entry k(.param .u64 out) {{
      .reg .pred %p<9>; .reg .b32 %r<4>; .reg .f32 %f<6>; .reg .b64 %d<3>;
      ld.param.u64 %d1, [out]; ld.global.u32 %r1, [%d1]; ld.global.f32 %f1, [%d1+8];
      {tests}
      bra.uni E;
      {ways}
    E:
      st.global.f32 [%d1+4], %f1; ret;
    }}
    """
    function = parse_ptx(text).functions[0]
    return dict(branch_tables(function, control_flow(function)))


def test_three_neighbouring_numbers_make_a_table() -> None:
    # machine code of a switch over 0 to 6: BRX for 0, 1, 2 and for 3, 4, 5
    (ways,) = tables(3, 4, 5).values()
    assert len(ways) == 4  # and what is left
    assert len(tables(0, 1, 2, 3)) == 1


def test_fewer_or_sparse_numbers_make_none() -> None:
    # machine code of the same: 5 and 6 alone are compared; sparse ones: assumed
    assert tables(5, 6) == {}
    assert tables(1, 100, 10000) == {}


def test_what_lies_between_comparisons_keeps_them() -> None:
    assert tables(0, 1, 2, between="add.f32 %f1, %f1, %f1;") == {}
