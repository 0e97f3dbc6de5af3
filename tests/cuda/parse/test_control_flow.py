"""Control flow by hand, and against the definitions: a dominator is a block that no way avoids."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.cuda.parse.control_flow import ControlFlow, control_flow
from perfmodel.cuda.parse.reader import parse_ptx
from perfmodel.errors import PerfmodelError

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"


def flow(body: str) -> ControlFlow:
    return control_flow(
        parse_ptx(f"{HEADER}.entry k()\n{{\n.reg .pred %p<9>;\n{body}\n}}").kernels[0]
    )


NESTED = """
    mov.u32 %r1, 0;
outer:
    mov.u32 %r2, 0;
inner:
    add.s32 %r2, %r2, 1;
    @%p1 bra inner;
    add.s32 %r1, %r1, 1;
    @%p2 bra outer;
    ret;
"""


def test_nested_loops_by_hand() -> None:
    graph = flow(NESTED)
    outer, inner = graph.loops
    assert (outer.header, outer.blocks, outer.depth, outer.parent) == (1, {1, 2, 3}, 1, None)
    assert (inner.header, inner.blocks, inner.depth, inner.parent) == (2, {2}, 2, 0)
    assert inner.back_edges == ((2, 2),)
    assert outer.back_edges == ((3, 1),)
    assert outer.exits == ((3, 4),)
    assert graph.innermost[2] == 1
    assert graph.innermost[3] == 0
    assert graph.innermost[4] is None
    assert graph.dominators == (None, 0, 1, 2, 3)
    assert graph.post_dominators == (1, 2, 3, 4, graph.exit)


def test_a_divergent_warp_meets_behind_both_ways() -> None:
    graph = flow("@%p1 bra A;\n mov.u32 %r1, 1;\n bra B;\nA: mov.u32 %r1, 2;\nB: ret;")
    assert [b.successors for b in graph.blocks] == [(2, 1), (3,), (3,), (4,)]
    assert graph.post_dominators == (3, 3, 3, 4)


def test_a_guarded_return_leaves_and_goes_on() -> None:
    graph = flow("@%p1 ret;\n mov.u32 %r1, 1;\n exit;")
    assert graph.blocks[0].successors == (graph.exit, 1)


def test_an_indirect_branch_goes_to_its_whole_table() -> None:
    graph = flow("T: .branchtargets A, B, A;\n brx.idx %r1, T;\nA: ret;\nB: trap;")
    assert graph.blocks[0].successors == (1, 2)


def test_a_loop_with_two_entries_is_told_apart() -> None:
    graph = flow("@%p1 bra B;\nA: mov.u32 %r1, 1;\nB: mov.u32 %r2, 1;\n @%p2 bra A;\n ret;")
    assert graph.loops == ()
    assert len(graph.irreducible) == 1


def test_code_that_nothing_reaches() -> None:
    graph = flow("ret;\nA: bra A;")
    assert graph.dominators == (None, None)
    assert graph.post_dominators == (2, None)
    assert graph.loops == ()


def test_no_instructions() -> None:
    assert flow("").blocks == ()


def test_an_unknown_label_is_refused() -> None:
    with pytest.raises(PerfmodelError, match="line 7: bra has no label 'nowhere'"):
        flow("bra nowhere;")


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["", "@%p1 "])), max_size=10))
def test_dominators_and_loops_as_their_definitions_have_them(
    branches: list[tuple[int, str]],
) -> None:
    """Property: removing a dominator cuts off what it dominates, in every small graph."""
    lines = [f"L{i}: {guard}bra L{to % len(branches)};" for i, (to, guard) in enumerate(branches)]
    graph = flow("\n".join([*lines, "ret;"]))
    following = [set(b.successors) for b in graph.blocks] + [set()]
    leading = [{b for b, s in enumerate(following) if t in s} for t in range(len(following))]
    for start, edges, found in (
        (0, following, graph.dominators),
        (graph.exit, leading, graph.post_dominators),
    ):
        reached = reach(start, edges, None)
        strict = {
            b: {d for d in reached if d != b and b not in reach(start, edges, d)} for b in reached
        }
        for block, told in enumerate(found):
            if block == start or block not in reached:
                assert told is None
            else:
                assert told in strict[block]
                assert all(d == told or d in strict[told] for d in strict[block])
    for loop in graph.loops:
        for source, target in loop.back_edges:
            assert target == loop.header
            assert source in loop.blocks
        for block in loop.blocks - {loop.header}:
            assert block not in reach(0, following, loop.header)
            assert loop.header in reach(block, following, None)


def reach(start: int, edges: list[set[int]], without: int | None) -> set[int]:
    if start == without:
        return set()
    found, waiting = {start}, [start]
    while waiting:
        for target in edges[waiting.pop()] - found - {without}:
            found.add(target)
            waiting.append(target)
    return found
