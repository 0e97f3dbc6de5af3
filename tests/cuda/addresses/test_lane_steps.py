"""How far apart lanes load: in which iterations they come to new sectors."""

from __future__ import annotations

import pytest

from perfmodel.cuda.addresses.conditions import TRUE
from perfmodel.cuda.addresses.lane_steps import lane_steps
from perfmodel.cuda.addresses.launch import KernelLaunch
from perfmodel.cuda.addresses.records import Followed, MemoryAccess
from perfmodel.cuda.addresses.sums import sum_of
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.expressions import parse

TEXT = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 a)
{
.reg .f32 %f<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>; .shared .align 4 .b8 t[128];
ld.param.u64 %rd1, [a]; ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd1];
ld.shared.f32 %f3, [%r1]; st.global.f32 [%rd1], %f1; ret;
}"""


def step(*addresses: str | None, block: tuple[int, int, int] = (128, 1, 1)) -> int:
    function = parse_ptx(TEXT, "k.ptx").functions[0]
    accesses = [
        MemoryAccess(at, None if a is None else sum_of(parse(a)), TRUE, "i", frozenset())
        for at, a in enumerate(addresses, 1)
    ]
    launch = KernelLaunch((4, 1, 1), block)
    return lane_steps(function, Followed(accesses=accesses), launch, {"n": 500})["i"]


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("base__a + 4*i + 32*threadIdx.x", 32),
        ("base__a + 4*i + 4*n*(threadIdx.x + 128*blockIdx.x)", 16),
        ("base__a + 4*i + 1028*threadIdx.x", 4),
        ("base__a + 4*i", 32),
        ("base__a + 4*datum__1 + 32*threadIdx.x", 0),
        ("base__a + 32*threadIdx.x // i", 0),
        (None, 0),
    ],
)
def test_what_divides_the_distances_between_lanes(address: str | None, expected: int) -> None:
    # by hand: rows of 32, 2000 and 1028 bytes, one place for all, and places that data decides
    assert step(address) == expected


def test_all_loads_of_a_loop_count_and_nothing_else() -> None:
    # by hand: rows of 64 and of 48 bytes; shared memory and stores are not waited for
    assert step("64*threadIdx.x", "48*threadIdx.x") == 16
    assert step("64*threadIdx.x", None) == 0
    assert step("64*threadIdx.x", "i", "4*threadIdx.x", "4*threadIdx.x") == 32
    # lanes of two rows of a block
    assert step("64*threadIdx.x + 8*threadIdx.y", block=(16, 8, 1)) == 8
