"""The order in which ptxas issues a block, and a lone warp's clocks: by hand, and by properties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.cuda.sass.schedule import GUARD, Clock, Step, scheduled


def fma(reads: tuple[str, ...], write: str) -> Step:
    return Step(reads, (write,), 1.0, 4.0, "fma32", 1.0)


def load(write: str) -> Step:
    return Step(("p",), (write,), 1.0, 0.0, "memory", 2.0, load=True)


def ordered(steps: list[Step], budget: int = 255) -> list[Step]:
    return scheduled(steps, {}, frozenset(), 0, budget, 600.0)


def test_a_chain_takes_its_latencies() -> None:
    # By hand: each waits 4 clocks for the one before; the last is issued and done.
    steps = [fma((f"x{i}",), f"x{i + 1}") for i in range(10)]
    assert Clock().run(steps) == 9 * 4 + 1


def test_independent_instructions_follow_each_other() -> None:
    assert Clock().run([fma(("a",), f"x{i}") for i in range(10)]) == 10


def test_a_pipe_takes_the_next_when_it_is_free() -> None:
    steps = [Step(("a",), (f"x{i}",), 1.0, 17.0, "sfu", 8.0) for i in range(5)]
    assert Clock().run(steps) == 4 * 8 + 1


def test_two_chains_are_interleaved() -> None:
    chains = [[fma((f"{c}{i}",), f"{c}{i + 1}") for i in range(8)] for c in "ab"]
    text = [*chains[0], *chains[1]]
    together = Clock().run(ordered(text))
    # Side by side they take hardly longer than one; in the order of the text, twice as long.
    assert together <= 8 * 4 + 2
    assert Clock().run(text) > 1.8 * together


def test_loads_come_first_where_registers_allow() -> None:
    text = [s for i in range(8) for s in (load(f"v{i}"), fma((f"v{i}", f"s{i}"), f"s{i + 1}"))]
    kinds = [s.load for s in ordered(text)]
    assert kinds == [True] * 8 + [False] * 8
    # With room for a few values the loads are waited for more often.
    few = Clock().run(ordered(text, budget=4), 600.0)
    many = Clock().run(ordered(text), 600.0)
    assert many < 700 < 2 * 600 < few


def test_what_is_counted_too_much_keeps_no_loads_apart() -> None:
    # Machine code of a tile within 32 registers: both loads leave together, though more values are
    # counted than that (nvcc 13.0). By hand: the sum at the end needs two registers, which two
    # addresses have before it. By property: how many more are counted makes no difference.
    address = [fma(("a",), f"p{i}") for i in (0, 1)]
    loads = [Step((f"p{i}",), (f"v{i}",), 1.0, 0.0, "memory", 2.0, load=True) for i in (0, 1)]
    store = [Step((f"v{i}",), (), 1.0, 0.0, "memory", 2.0, memory="shared:store") for i in (0, 1)]
    fence = Step((), (), 1.0, 0.0, fence=True)
    text = [s for triple in zip(address, loads, store, strict=True) for s in triple]
    text += [fence, *(fma(("a",), f"y{i}") for i in (0, 1)), fma(("y0", "y1"), "z")]
    few, many = (scheduled(text, {}, frozenset("az"), n, 31, 600.0) for n in (33, 60))
    assert few == many
    assert [s.load for s in few if s.pipe == "memory"] == [True, True, False, False]


def test_a_comparison_is_late_as_a_guard() -> None:
    compare = Step(("a",), ("p",), 1.0, 4.0, "int32", 2.0)
    as_operand = [compare, fma(("p",), "x")]
    as_guard = [compare, fma(("p" + GUARD,), "x")]
    assert Clock(guard=10.0).run(as_guard) - Clock(guard=10.0).run(as_operand) == 10


def test_stores_stay_behind_loads_of_their_kind_and_nothing_passes_a_fence() -> None:
    store = Step(("a",), (), 1.0, 0.0, "memory", 2.0, memory="global:store")
    read = Step(("p",), ("v",), 1.0, 0.0, "memory", 2.0, load=True, memory="global:load")
    fence = Step((), (), 1.0, 0.0, fence=True)
    assert ordered([store, read])[0] is store
    found = ordered([store, fence, read])
    assert found.index(store) < found.index(fence) < found.index(read)


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=30),
    st.integers(2, 40),
)
def test_every_order_keeps_what_depends(pairs: list[tuple[int, int]], budget: int) -> None:
    steps = [fma(tuple(f"x{j}" for j in pair if j < i), f"x{i}") for i, pair in enumerate(pairs)]
    found = ordered(steps, budget)
    assert sorted(map(id, found)) == sorted(map(id, steps))
    made: set[str] = set()
    for step in found:
        assert set(step.reads) <= made
        made |= set(step.writes)
    longest = Clock().run(steps)
    # No schedule beats the longest way; with all registers none is slower than the text.
    assert Clock().run(ordered(steps)) <= longest + 1e-9 or len(steps) > 20


@pytest.mark.parametrize("count", [5000])
def test_very_long_blocks_stay_as_they_are(count: int) -> None:
    steps = [fma(("a",), f"x{i}") for i in range(count)]
    assert ordered(steps) == steps
