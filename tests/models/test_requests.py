"""Requests of whole launches against every thread counted one by one."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest
from brute_force import AXES, Case, totals
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.kernels import Kernel, bind
from perfmodel.kernels.tables import kernel_from_table
from perfmodel.models.agreement import DisagreementError
from perfmodel.models.grid.geometry import BlockShape, block_shape
from perfmodel.models.requests import enumeration
from perfmodel.models.requests.warp_requests import Requests, access_requests

BLOCKS = (
    *((32, 1, 1), (64, 1, 1), (16, 1, 1), (3, 1, 1), (48, 1, 1), (100, 1, 1)),
    *((8, 4, 1), (16, 4, 1), (32, 2, 1), (8, 32, 1), (24, 3, 1), (12, 4, 1), (1, 64, 1)),
    *((4, 4, 4), (2, 4, 8), (8, 8, 2), (2, 16, 2), (16, 2, 2)),
)
ELEMENTS = (1, 2, 4, 8, 16, 3, 6, 12)
COEFFICIENTS = (0, 1, 1, 2, 3, 4, 5, 7, 8, 16, 17, 25, 31, 32, 33, 64, 100, -1, -2, -7)
MOST_THREADS = 4000


def found(case: Case) -> Requests:
    return access_requests(case.instance(), 0, block_shape(case.block), {})


def assert_counted(case: Case, got: Requests | None = None) -> Requests:
    """Compare with brute force: exactly, but for rounding of means."""
    got = got or found(case)
    for name, expected in totals(case).items():
        value = float(np.ravel(getattr(got, name))[0])
        assert value == pytest.approx(expected, rel=1e-12, abs=1e-9), (name, case)
    assert got.sampled in (None, 1.0)
    return got


def random_case(generator: random.Random, element: int | None = None) -> Case:
    """A small launch: any block, grid, loops, strides of any sign, guards and element."""
    block = generator.choice(BLOCKS)
    grid = [generator.choice((1, 1, 2, 3, 4, 5)) for _ in AXES]
    trips = [generator.choice((1, 2, 3, 4, 8)) for _ in range(generator.choice((0, 0, 1, 2)))]
    while np.prod([*block, *grid, *trips]) > MOST_THREADS:
        grid = [max(1, n - 1) for n in grid]
        trips = [max(1, n // 2) for n in trips]
        if max([*grid, *trips]) == 1:
            break
    loops = [f"k{i}" for i in range(len(trips))]
    names = [f"{base}.{a}" for base in ("threadIdx", "blockIdx") for a in AXES] + loops
    coefficients = {n: generator.choice(COEFFICIENTS) for n in names if generator.random() < 0.8}
    if generator.random() < 0.5:  # rows of a matrix, one way round or the other
        x, y = generator.sample((1, generator.choice((7, 32, 33, 50, 64, 100))), 2)
        coefficients |= {"threadIdx.x": x, "blockIdx.x": x * block[0]}
        coefficients |= {"threadIdx.y": y, "blockIdx.y": y * block[1]}
    limits = {
        a: generator.randint(1, block[i] * grid[i] + 3)
        for i, a in enumerate(AXES)
        if generator.random() < 0.35
    }
    return Case(
        block=block,
        grid=tuple(grid),  # type: ignore[arg-type]
        trips=tuple(trips),
        offset=100_000 + generator.randint(0, 200),
        coefficients=coefficients,
        limits=limits,
        element=element or generator.choice(ELEMENTS),
    )


@pytest.mark.parametrize("seed", range(8))
def test_random_launches_equal_brute_force(seed: int) -> None:
    # independent: requests, sectors, lines and lanes of every thread, 8 x 150 launches
    generator = random.Random(seed)
    closed = 0
    for _ in range(150):
        closed += assert_counted(random_case(generator)).sampled is None
    # Irregular blocks and blocks of three lane digits are counted, others mostly not.
    assert closed > 60


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([b for b in BLOCKS if block_shape(b).regular]),
    st.tuples(*[st.integers(1, 4)] * 3),
    st.lists(st.integers(0, 5), max_size=2),
    st.dictionaries(
        st.sampled_from(["threadIdx.x", "threadIdx.y", "blockIdx.x", "blockIdx.y", "k0", "k1"]),
        st.integers(-70, 70),
    ),
    st.dictionaries(st.sampled_from("xyz"), st.integers(0, 140)),
    st.sampled_from(ELEMENTS),
    st.integers(0, 130),
)
def test_regular_launches_equal_brute_force(
    block: tuple[int, int, int],
    grid: tuple[int, int, int],
    trips: list[int],
    coefficients: dict[str, int],
    limits: dict[str, int],
    element: int,
    offset: int,
) -> None:
    known = {n: c for n, c in coefficients.items() if n[0] != "k" or int(n[1]) < len(trips)}
    assert_counted(Case(block, grid, tuple(trips), 100_000 + offset, known, limits, element))


@pytest.mark.parametrize(
    "case",
    [
        # Rows of 1001 floats: 1001 of them are no multiple of the 32 alignments.
        Case(
            (32, 4, 1),
            (2, 3, 1),
            coefficients={
                "threadIdx.x": 1,
                "blockIdx.x": 32,
                "threadIdx.y": 1001,
                "blockIdx.y": 4004,
            },
            limits={"x": 40, "y": 11},
        ),
        # A transposing warp: the guarded variable is not the one that moves along a row.
        Case(
            (8, 8, 1),
            (3, 3, 1),
            coefficients={"threadIdx.x": 21, "blockIdx.x": 168, "threadIdx.y": 1, "blockIdx.y": 8},
            limits={"x": 21, "y": 21},
        ),
        # Blocks a few bytes apart, of which a guard cuts the last ones off: digits do not add up.
        Case(
            (64, 1, 1),
            (7, 2, 1),
            coefficients={"threadIdx.x": 3, "blockIdx.x": 5, "blockIdx.y": 9},
            limits={"x": 333},
            element=2,
        ),
        Case((32, 1, 1), (1, 1, 1), (7,), 3, {"threadIdx.x": 1, "k0": 1}),
        Case((32, 1, 1), (1, 1, 1), (0,), 3, {"threadIdx.x": 1, "k0": 1}),
        Case((32, 1, 1), (3, 1, 1), coefficients={"threadIdx.x": 1}, limits={"x": 0}),
        Case((256, 1, 1), (3, 1, 1), coefficients={"threadIdx.x": 3, "blockIdx.x": 768}, element=1),
    ],
)
def test_launches_whose_alignments_are_uneven_are_exact(case: Case) -> None:
    # independent: brute force; each of these misses if alignments count as equally frequent
    assert assert_counted(case).sampled is None


@pytest.mark.parametrize(
    ("element", "pieces", "width"),
    [
        *((1, 1, 1), (2, 1, 2), (3, 3, 1), (4, 1, 4), (5, 5, 1), (6, 3, 2), (8, 1, 8)),
        *((10, 5, 2), (12, 3, 4), (13, 13, 1), (16, 1, 16)),
    ],
)
def test_elements_of_odd_sizes_move_in_pieces(element: int, pieces: int, width: int) -> None:
    # independent: a load instruction moves 1, 2, 4, 8 or 16 aligned bytes a lane
    case = Case((64, 1, 1), (3, 1, 1), (), 5, {"threadIdx.x": 1, "blockIdx.x": 64}, {}, element)
    assert case.pieces() == (pieces, width)
    got = assert_counted(case)
    assert got.width == width
    assert float(got.requests[0]) == 6 * pieces
    assert float(got.wanted_bytes[0]) == 3 * 64 * element


@pytest.mark.parametrize(("element", "vector"), [(4, 2), (4, 4), (2, 8), (1, 16), (8, 2)])
def test_vectors_are_one_request(element: int, vector: int) -> None:
    coefficients = {"threadIdx.x": vector, "blockIdx.x": 32 * vector}
    case = Case((32, 1, 1), (3, 1, 1), (), 0, coefficients, {}, element, vector)
    got = assert_counted(case)
    assert got.width == element * vector
    assert float(got.requests[0]) == 3
    assert float(got.sectors[0]) == 3 * element * vector


def gather(index: str, guard: str | None = None, block: Any = 64, grid: Any = 4) -> Requests:
    access = {"load": "x", "index": index} | ({"guard": guard} if guard else {})
    table = {
        "name": "gather",
        "launch": {"grid": grid, "block": block},
        "definitions": {"i": "blockIdx.x*blockDim.x + threadIdx.x"},
        "buffers": {"x": {"length": 1 << 20}},
        "accesses": [access],
    }
    instance = bind(kernel_from_table(table), {})
    shape = block_shape(tuple(int(n) for n in instance.block))  # type: ignore[arg-type]
    return access_requests(instance, 0, shape, {})


@pytest.mark.parametrize(
    ("index", "guard", "python_index", "python_guard"),
    [
        ("i*i % 1000", None, lambda i: i * i % 1000, lambda i: True),
        ("i ^ 5", None, lambda i: i ^ 5, lambda i: True),
        ("min(i, 77)", None, lambda i: min(i, 77), lambda i: True),
        ("i", "i % 3 == 0", lambda i: i, lambda i: i % 3 == 0),
        ("i", "i < 50 or i >= 200", lambda i: i, lambda i: i < 50 or i >= 200),
    ],
)
def test_what_has_no_closed_form_is_counted(
    index: str, guard: str | None, python_index: Any, python_guard: Any
) -> None:
    got = gather(index, guard)
    warps = [[i for i in range(w, w + 32) if python_guard(i)] for w in range(0, 256, 32)]
    warps = [w for w in warps if w]
    assert got.sampled == 1.0
    assert float(got.requests[0]) == len(warps)
    assert float(got.active_lanes[0]) == sum(map(len, warps))
    assert float(got.sectors[0]) == sum(len({python_index(i) // 8 for i in w}) for w in warps)
    assert float(got.lines[0]) == sum(len({python_index(i) // 32 for i in w}) for w in warps)


@pytest.mark.parametrize(
    ("index", "guard", "python_index", "python_guard"),
    [
        ("i*2", "i > 10", lambda i: i * 2, lambda i: i > 10),
        ("i*2", "i >= 10 and i < 99", lambda i: i * 2, lambda i: 10 <= i < 99),
        ("i*3", "i >= 38 and i < 51", lambda i: i * 3, lambda i: 38 <= i < 51),
        ("i + 1", "i < 99 and i < 70", lambda i: i + 1, lambda i: i < 70),
        ("i", "i >= 1 and i < 255", lambda i: i, lambda i: 1 <= i < 255),
        ("i*8", "i == 70", lambda i: i * 8, lambda i: i == 70),
        ("i", "threadIdx.x == 0", lambda i: i, lambda i: i % 64 == 0),
        ("i*4", "threadIdx.x % 32 == 5", lambda i: i * 4, lambda i: i % 32 == 5),
    ],
)
def test_bounds_from_both_sides_have_a_closed_form(
    index: str, guard: str, python_index: Any, python_guard: Any
) -> None:
    # independent: every thread in Python
    got = gather(index, guard)
    warps = [[i for i in range(w, w + 32) if python_guard(i)] for w in range(0, 256, 32)]
    warps = [w for w in warps if w]
    assert got.sampled is None
    assert float(got.requests[0]) == len(warps)
    assert float(got.active_lanes[0]) == sum(map(len, warps))
    assert float(got.sectors[0]) == sum(len({python_index(i) // 8 for i in w}) for w in warps)
    assert float(got.lines[0]) == sum(len({python_index(i) // 32 for i in w}) for w in warps)


@pytest.mark.parametrize(
    ("index", "python_index"),
    [
        ("threadIdx.x // 8*100 + threadIdx.x % 8", lambda t: t // 8 * 100 + t % 8),
        ("threadIdx.x % 4*256 + threadIdx.x // 4", lambda t: t % 4 * 256 + t // 4),
        ("(threadIdx.x & 15)*3 + (threadIdx.x >> 4)*64", lambda t: t % 16 * 3 + t // 16 * 64),
    ],
)
def test_a_thread_number_split_by_division_has_a_closed_form(index: str, python_index: Any) -> None:
    got = gather(index, block=256, grid=1)
    warps = [range(w, w + 32) for w in range(0, 256, 32)]
    assert got.sampled is None  # independent: the lanes' addresses, one by one
    assert float(got.sectors[0]) == sum(len({python_index(t) // 8 for t in w}) for w in warps)
    assert float(got.lines[0]) == sum(len({python_index(t) // 32 for t in w}) for w in warps)


@pytest.mark.parametrize(
    ("index", "guard", "passes"),
    [
        ("t", "t // 64 < 3 and t % 64 < 50", lambda t, k: t // 64 < 3 and t % 64 < 50),
        ("t*4 + k", "t*4 + k < 301", lambda t, k: 4 * t + k < 301),  # elements of a thread
    ],
)
def test_guards_of_several_digits_have_a_closed_form(index: str, guard: str, passes: Any) -> None:
    # independent: the lanes that take part, one by one
    each = 4 if "k" in index else 1
    names = str.maketrans({"t": "threadIdx.x", "k": "threadIdx.y"})
    got = gather(index.translate(names), guard.translate(names), [256, each], 1)
    turns = itertools.product(range(0, 256, 32), range(each))
    warps = [[each * t + k for t in range(w, w + 32) if passes(t, k)] for w, k in turns]
    assert (got.sampled, float(got.requests[0])) == (None, sum(map(bool, warps)))
    assert float(got.active_lanes[0]) == sum(map(len, warps))
    assert float(got.sectors[0]) == sum(len({e // 8 for e in w}) for w in warps)


def test_a_guard_that_counts_across_the_lanes_first_is_not_taken_for_whole_warps() -> None:
    # independent: ty + 32 tx < 48 lets one lane of every warp pass, and a second of the first 16
    got = gather("threadIdx.x", "threadIdx.y + 32*threadIdx.x < 48", [32, 32], 1)
    assert float(got.requests[0]) == 32
    assert float(got.active_lanes[0]) == 48


def alike_requests(
    kernel: Kernel, columns: dict[str, Any], places: Any, shape: BlockShape
) -> list[tuple[Any, Requests]]:
    """Return the requests of configurations, and where, parted until each part needs one form."""
    try:
        instance = bind(kernel, {name: values[places] for name, values in columns.items()})
        return [(places, access_requests(instance, 0, shape, {}))]
    except DisagreementError as parted:
        labels = parted.labels
    parts = [places[labels == label] for label in np.unique(labels)]
    return [found for part in parts for found in alike_requests(kernel, columns, part, shape)]


def test_arrays_of_configurations_equal_single_ones() -> None:
    # independent of the array path: the same launches one at a time, through brute force
    generator = random.Random(1)
    for block in ((32, 2, 1), (8, 8, 1), (64, 1, 1), (4, 4, 4)):
        names = ["threadIdx.x", "threadIdx.y", "blockIdx.x", "blockIdx.y", "k"]
        table = {
            "name": "family",
            "parameters": {n: {"minimum": 0} for n in ("gx", "gy", "t", "n", "o", *"abcde")},
            "launch": {"grid": ["gx", "gy"], "block": list(block)},
            "guard": "blockIdx.x*blockDim.x + threadIdx.x < n",
            "buffers": {"x": {"length": 2**30}},
            "loops": [{"variable": "k", "trips": "t"}],
            "accesses": [
                {
                    "load": "x",
                    "index": "o + "
                    + " + ".join(f"{p}*{n}" for p, n in zip("abcde", names, strict=True)),
                    "loop": "k",
                }
            ],
        }
        rows = [
            {
                "gx": generator.randint(1, 4),
                "gy": generator.randint(1, 3),
                "t": generator.randint(0, 5),
            }
            | {"n": generator.randint(0, 150), "o": generator.randint(0, 99)}
            | {p: generator.choice([c for c in COEFFICIENTS if c >= 0]) for p in "abcde"}
            for _ in range(40)
        ]
        kernel = kernel_from_table(table)
        columns = {p: np.array([r[p] for r in rows]) for p in rows[0]}
        parts = alike_requests(kernel, columns, np.arange(40), block_shape(block))
        assert len(parts) < 40 or block == (4, 4, 4)  # three digits of a lane are counted
        cases = [
            Case(
                block,
                (r["gx"], r["gy"], 1),
                (r["t"],),
                r["o"],
                {("k0" if n == "k" else n): r[p] for p, n in zip("abcde", names, strict=True)},
                {"x": r["n"]},
            )
            for r in rows
        ]
        for name in ("requests", "sectors", "lines", "active_lanes"):
            expected = np.array([totals(case)[name] for case in cases])
            for places, got in parts:
                values = np.broadcast_to(getattr(got, name), len(places))
                np.testing.assert_allclose(values, expected[places], rtol=1e-12, atol=1e-9)


def test_a_clamped_index_is_counted_with_the_strides_of_its_middle() -> None:
    got = gather("max(min(i - 3, 250), 0)")
    assert got.sampled == 1.0
    assert got.strides is not None
    assert {n: float(v[0]) for n, v in got.strides.items() if v[0]} == {
        "lane.x": 4.0,
        "warp.x": 128.0,
        "blockIdx.x": 256.0,
    }
    assert gather("i*i % 1000").strides is None


def test_runs_at_random_places_that_go_on_in_the_next_block() -> None:
    # by hand: of three blocks of 32 the first two end within a run of 24 floats, at a sector's end:
    # each has two lines, six for four runs, and no sector twice
    kernel = kernel_from_table(
        {
            "name": "runs",
            "parameters": {"n": {"default": 3072}},
            "launch": {"grid": "n // 32", "block": 32},
            "buffers": {"a": {"length": "1 << 30", "element_bytes": 4}},
            "accesses": [
                {
                    "load": "a",
                    "index": "random((blockIdx.x*32 + threadIdx.x) // 24, 1 << 24)*32"
                    " + (blockIdx.x*32 + threadIdx.x) % 24",
                }
            ],
        }
    )
    got = access_requests(bind(kernel, {}), 0, block_shape((32, 1, 1)), {})
    each, common = got.distinct_per_block, got.next_block_share
    assert each is not None
    assert each[2] * (1 - common[2]) == pytest.approx(3072 / 24, rel=0.01)
    assert each[0] * (1 - common[0]) == pytest.approx(3072 / 8, rel=0.01)
    assert float(each[2][0]) == pytest.approx(3072 / 24 * 1.5, rel=0.01)


def test_samples_of_a_grid_have_their_share_of_every_box() -> None:
    # property: 1500 points, boxes of a quarter to nearly all of the grid; at random 3% off
    points = enumeration.spread([60, 270, 7], 1500)
    assert all(p.min() >= 0 and p.max() < n for p, n in zip(points, (60, 270, 7), strict=True))
    for part, whole in (((15, 270, 7), 1 / 4), ((60, 30, 7), 1 / 9), ((30, 200, 7), 10 / 27)):
        inside = np.logical_and.reduce([p < n for p, n in zip(points, part, strict=True)])
        assert inside.mean() == pytest.approx(whole, rel=0.01)
