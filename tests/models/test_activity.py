"""Classes of warps against threads counted one by one."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from brute_force import warps
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.expressions import parse
from perfmodel.models.grid.activity import conditions, warp_classes
from perfmodel.models.grid.affine import index_variables
from perfmodel.models.grid.geometry import block_shape

REGULAR = [(32, 1, 1), (256, 1, 1), (16, 16, 1), (8, 32, 1), (32, 32, 1), (4, 4, 4), (1, 64, 1)]
X_GUARD = "blockIdx.x*blockDim.x + threadIdx.x < n"
Y_GUARD = "blockIdx.y*blockDim.y + threadIdx.y < m"


def classes(
    guards: list[str], block: tuple[int, int, int], grid: tuple[int, int, int], **values: int
) -> Counter[tuple[tuple[str, int], ...]] | None:
    """Requests by the lanes that take part along each lane digit."""
    shape = block_shape(block)
    trips = {"k": values.pop("trips", 1)}
    known = values | {f"blockDim.{a}": n for a, n in zip("xyz", block, strict=True)}
    found = warp_classes([parse(g) for g in guards], known, index_variables(shape, grid, trips))
    if found is None:
        return None
    counts: Counter[tuple[tuple[str, int], ...]] = Counter()
    for c in found.classes:
        key = tuple(
            (name, int(np.ravel(n)[0])) for name, n in c.lanes.items() if np.ravel(n)[0] > 1
        )
        counts[key] += int(np.ravel(c.requests)[0])
        # The spans are the executions: as many as there are requests.
        spans = np.prod([np.ravel(s.count)[0] for s in c.spans])
        if np.ravel(c.requests)[0] > 0:
            assert spans == np.ravel(c.requests)[0]
    return Counter({key: n for key, n in counts.items() if n})


def counted(
    block: tuple[int, int, int], grid: tuple[int, int, int], n: int, m: int
) -> Counter[tuple[tuple[str, int], ...]]:
    """The same from every thread of every block."""
    counts: Counter[tuple[tuple[str, int], ...]] = Counter()
    for y, x, _ in product(range(grid[1]), range(grid[0]), range(grid[2])):
        for warp in warps(block):
            lanes = [t for t in warp if x * block[0] + t[0] < n and y * block[1] + t[1] < m]
            if lanes:
                sides = [(f"lane.{a}", len({t[i] for t in lanes})) for i, a in enumerate("xyz")]
                counts[tuple((name, size) for name, size in sides if size > 1)] += 1
    return counts


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(REGULAR),
    st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 2)),
    st.integers(0, 150),
    st.integers(0, 150),
)
def test_guarded_launches_equal_brute_force(
    block: tuple[int, int, int], grid: tuple[int, int, int], n: int, m: int
) -> None:
    # independent: requests by shape of the active lanes
    assert classes([X_GUARD, Y_GUARD], block, grid, n=n, m=m) == counted(block, grid, n, m)
    assert classes([f"{X_GUARD} and {Y_GUARD}"], block, grid, n=n, m=m) == counted(
        block, grid, n, m
    )


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(REGULAR),
    st.tuples(st.integers(1, 4), st.integers(1, 4), st.just(1)),
    st.tuples(st.integers(0, 150), st.integers(0, 150)),
    st.tuples(st.integers(0, 150), st.integers(0, 150)),
)
def test_bounds_from_both_sides_equal_brute_force(
    block: tuple[int, int, int],
    grid: tuple[int, int, int],
    x: tuple[int, int],
    y: tuple[int, int],
) -> None:
    # independent: an interval holds what the upper bound lets through less what the lower one does
    guards = [X_GUARD, Y_GUARD, X_GUARD.replace("< n", ">= p"), Y_GUARD.replace("< m", ">= q")]
    found = classes(guards, block, grid, n=max(x), p=min(x), m=max(y), q=min(y))
    lanes = Counter[int]()
    for (row, column), warp in product(product(range(grid[1]), range(grid[0])), warps(block)):
        inside = sum(
            min(x) <= column * block[0] + t[0] < max(x) and min(y) <= row * block[1] + t[1] < max(y)
            for t in warp
        )
        lanes[inside] += 1
    assert found is not None
    mine = Counter[int]()
    for sides, requests in found.items():
        mine[int(np.prod([size for _, size in sides]))] += requests
    assert mine == Counter({n: c for n, c in lanes.items() if n})


def test_loops_multiply() -> None:
    once = classes([X_GUARD], (64, 1, 1), (3, 1, 1), n=100)
    many = classes([X_GUARD], (64, 1, 1), (3, 1, 1), n=100, trips=7)
    assert once == Counter({(("lane.x", 32),): 3, (("lane.x", 4),): 1})
    assert many == Counter({key: 7 * n for key, n in once.items()})
    assert classes(["k < 5", X_GUARD], (64, 1, 1), (3, 1, 1), n=192, trips=7) == Counter(
        {(("lane.x", 32),): 30}
    )


def test_guards_on_the_warp_or_the_block_drop_whole_warps() -> None:
    # by hand: rows of 32 lanes, of which the guard on y keeps 5 of 8
    assert classes([Y_GUARD], (32, 4, 1), (1, 2, 1), m=5) == Counter({(("lane.x", 32),): 5})
    assert classes(["blockIdx.x < n"], (32, 1, 1), (9, 1, 1), n=4) == Counter(
        {(("lane.x", 32),): 4}
    )
    assert classes(["n > 3"], (32, 1, 1), (9, 1, 1), n=4) == Counter({(("lane.x", 32),): 9})
    assert classes(["n > 3"], (32, 1, 1), (9, 1, 1), n=3) == Counter()


def test_comparisons_mean_what_they_say() -> None:
    i = "blockIdx.x*blockDim.x + threadIdx.x"
    for text in (
        f"{i} <= n - 1",
        f"n > {i}",
        f"n - 1 >= {i}",
        f"2*({i}) < 2*n",
        f"3*({i}) < 3*n - 2",
    ):
        assert classes([text], (32, 1, 1), (3, 1, 1), n=70) == Counter(
            {(("lane.x", 32),): 2, (("lane.x", 6),): 1}
        ), text


@pytest.mark.parametrize(
    "guard",
    [
        "threadIdx.x % 2 == 0",
        "threadIdx.x*threadIdx.x < n",
        "threadIdx.x < 5 or threadIdx.x > 9",
        "not threadIdx.x < 5",
        "threadIdx.x + 16*threadIdx.y < n",  # two lane digits
        "blockIdx.x*50 + threadIdx.x < n",  # not the mixed radix of 64 threads
        "threadIdx.x < 12 and blockIdx.x*blockDim.x + threadIdx.x < 9",  # one in two counts
        "threadIdx.x",
    ],
)
def test_other_guards_are_refused(guard: str) -> None:
    assert classes([guard], (16, 4, 1), (4, 1, 1), n=40) is None


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([32, 64, 256]),
    st.integers(1, 4),
    st.integers(1, 9),
    st.tuples(st.integers(0, 2500), st.integers(0, 2500)),
)
def test_threads_of_several_elements_equal_brute_force(
    threads: int, blocks: int, each: int, bounds: tuple[int, int]
) -> None:
    # independent: of each warp and turn, the lanes whose element is within both bounds
    index = f"(blockIdx.x*blockDim.x + threadIdx.x)*{each} + k"
    low, high = sorted(bounds)
    found = classes(
        [f"{index} >= p", f"{index} < n"],
        (threads, 1, 1),
        (blocks, 1, 1),
        **{"p": low, "n": high, "trips": each},
    )
    lanes = Counter[int]()
    for first, k in product(range(0, threads * blocks, 32), range(each)):
        lanes[sum(low <= t * each + k < high for t in range(first, first + 32))] += 1
    assert found is not None
    mine = Counter({sides[0][1] if sides else 1: n for sides, n in found.items()})
    assert mine == Counter({n: c for n, c in lanes.items() if n})


def test_lanes_behind_warps() -> None:
    # by hand: 32 threadIdx.x + threadIdx.y < 48 lets two lanes of 16 warps through, one of others
    found = classes(["threadIdx.x*32 + threadIdx.y < n"], (32, 32, 1), (1, 1, 1), n=48)
    assert found == Counter({(("lane.x", 2),): 16, (): 16})


def test_threads_of_several_elements_take_whole_warps_shares() -> None:
    # by hand: 70 elements, three a thread, are those of 23 threads and one of the 24th: all three
    # turns are taken by the one warp that there is
    variables = index_variables(block_shape((32, 1, 1)), (4, 1, 1), {"k": 3})
    guard = parse("(blockIdx.x*32 + threadIdx.x)*3 + k < n")
    found = warp_classes([guard], {"n": 70}, variables)
    assert found is not None
    assert float(np.ravel(found.active_lanes)[0]) == 70
    assert float(np.ravel(found.requests)[0]) == 3
    assert float(np.ravel(found.warp_shares["blockIdx.x"])[0]) == 0.25


def test_conditions_take_conjunctions_apart() -> None:
    assert len(conditions([parse("n < 3 and (n > 1 and n >= 0)")]) or []) == 3
    assert len(conditions([parse("n == 3")]) or []) == 2
    assert conditions([parse("n != 3")]) is None


def test_shares_shrink_the_slowest_variable() -> None:
    shape = block_shape((64, 1, 1))
    variables = index_variables(shape, (10, 1, 1), {})
    found = warp_classes([parse("blockIdx.x*64 + threadIdx.x < n")], {"n": 160}, variables)
    assert found is not None
    assert {n: float(np.ravel(s)[0]) for n, s in found.shares.items() if np.any(s != 1)} == {
        "blockIdx.x": 0.25
    }


def test_shares_go_to_the_slowest_variable_that_moves_in_each_configuration() -> None:
    # regression: with one block there is no blockIdx.x to cut short, whatever others have
    shape = block_shape((64, 1, 1))
    variables = index_variables(shape, (np.array([10, 1]), 1, 1), {})
    guard = parse("blockIdx.x*64 + threadIdx.x < n")
    found = warp_classes([guard], {"n": np.array([160, 16])}, variables)
    assert found is not None
    np.testing.assert_array_equal(found.shares["blockIdx.x"], [0.25, 1])
    np.testing.assert_array_equal(found.shares["warp.x"], [1, 0.25])


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 150).filter(lambda n: n % 32 > 0), st.integers(1, 60), st.integers(1, 40))
def test_rows_that_end_within_a_row(share: int, rows: int, short: int) -> None:
    # hand: chunks of 32 of every row that takes part, the last one of what is left
    blocks, trips = -(-rows // 8), -(-share // 32)
    n = max(1, share * rows - short)
    own, end = "k*32 + threadIdx.x % 32", f"(blockIdx.x*256 + threadIdx.x) // 32*{share}"
    guards = [f"{own} < {share}", f"{end} + {own} < {n}"]
    found = classes(guards, (256, 1, 1), (blocks, 1, 1), trips=trips)
    assert found is not None
    expected = Counter(
        (("lane.x", min(32, share - 32 * k)),) if share - 32 * k > 1 else ()
        for row in range(-(-n // share))
        for k in range(trips)
    )
    assert found == expected


def test_rows_of_another_length_are_counted() -> None:
    # by definition: the guard's rows are those of the other guard
    guards = ["k*32 + threadIdx.x % 32 < 50", "threadIdx.x // 32*60 + k*32 + threadIdx.x % 32 < 99"]
    assert classes(guards, (256, 1, 1), (1, 1, 1), trips=2) is None


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 5), st.integers(1, 60), st.integers(0, 200))
def test_a_bound_on_rows_is_one_on_their_elements(trips: int, rows: int, short: int) -> None:
    # hand: rows of whole chunks, of which both the rows and the elements end
    share, blocks = 32 * trips, -(-rows // 8)
    n = max(1, share * rows - short)
    row = "(blockIdx.x*256 + threadIdx.x) // 32"
    guards = [f"{row} < {rows}", f"{row}*{share} + k*32 + threadIdx.x % 32 < {n}"]
    found = classes(guards, (256, 1, 1), (blocks, 1, 1), trips=trips)
    expected = Counter(
        (("lane.x", min(32, n - first)),) if n - first > 1 else () for first in range(0, n, 32)
    )
    assert found == expected
