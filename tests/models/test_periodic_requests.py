"""Loads that read on through a period: in closed form as lane by lane."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from perfmodel.arrays import Array
from perfmodel.kernels import bind
from perfmodel.kernels.files import parse_kernel
from perfmodel.kernels.tables import kernel_from_table
from perfmodel.models.grid.geometry import block_shape
from perfmodel.models.requests import wavefronts
from perfmodel.models.requests.enumeration import counted_requests
from perfmodel.models.requests.periodic_requests import counted_through
from perfmodel.models.requests.warp_requests import access_requests, addressing
from perfmodel.models.requests.wavefronts import tag_bank

KERNEL = """
name = "periodic"
summary = "a table read again and again"
parameters = {{ n = {{}}, m = {{}}, b = {{ minimum = 0 }}, again = {{}} }}
launch = {{ grid = ["ceil_div(n, {threads}*{trips})", "again"], block = {threads} }}
definitions = {{ i = "blockIdx.x*blockDim.x + threadIdx.x + t*gridDim.x*blockDim.x" }}
buffers = {{ x = {{ length = "4*m + 64", element_bytes = {width} }} }}
loops = [{{ variable = "t", trips = {trips} }}]
accesses = [{{ load = "x", index = "{index}", guard = "{guard}", loop = "t" }}]
"""
INDICES = ("i % m", "(i + b) % m", "i % m + b", "(i + 7*b) % m + b")


def by_hand(width: int, threads: int, first: int, period: int, start: int) -> list[int]:
    """Return sectors, halves, lines, data and tag wavefronts, warp by warp and lane by lane."""
    found = [0] * 5
    for warp in range(0, threads, 32):
        lanes = range(warp, min(warp + 32, threads))
        at = [start + (first + lane * width - start) % period for lane in lanes]
        for place, granule in enumerate((32, 64, 128)):
            found[place] += len({address // granule for address in at})
        part = 128 // width
        for begin in range(0, len(at), part):
            words = {address // width for address in at[begin : begin + part]}
            banks = [word % part for word in words]
            found[3] += max(banks.count(bank) for bank in banks)
        tags = [int(tag_bank(line)) for line in {address // 128 for address in at}]
        found[4] += max(tags.count(bank) for bank in tags)
    return found


def requests(columns: dict[str, Any], **words: Any) -> tuple[Any, Any]:
    """Return the requests of launches, and what is counted lane by lane."""
    instance = bind(parse_kernel(KERNEL.format(**words)), columns)
    shape = block_shape((words["threads"], 1, 1))
    counted = counted_requests(addressing(instance, 0, shape))
    return access_requests(instance, 0, shape, {}), counted


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([4, 8, 16]),
    st.integers(1, 2500),
    st.integers(0, 400),
    st.integers(32, 300),
    st.integers(0, 100),
)
def test_each_warp_is_counted(
    width: int, threads: int, first: int, period: int, start: int
) -> None:
    # expected (independent): lane by lane
    places = [width * n for n in (first, period, start)]
    found = counted_through(width, *map(np.atleast_1d, (threads, *places)))
    assert [each.item() for each in found] == by_hand(width, threads, *places)


@pytest.mark.parametrize("width", [4, 8, 16])
@pytest.mark.parametrize("start", [0, 17])
def test_every_period_of_some_warps(width: int, start: int) -> None:
    # expected (independent): lane by lane
    periods = np.arange(32, 131)
    found = counted_through(width, 1500, 0, periods * width, start * width)
    every = [by_hand(width, 1500, 0, int(p) * width, start * width) for p in periods]
    assert np.array_equal(np.array(found).T, every)


@pytest.mark.parametrize("elements", [4096 * 8 * 3 + 5, 4096 * 8 - 7, 50_001])
def test_tags_of_tables_of_several_pages(elements: int) -> None:
    # expected (independent): lane by lane; warps across pages of lines may differ
    given = 16, 5 * elements + 77, 48, 16 * elements, 0
    *found, tags = counted_through(*given)
    *every, tags_by_hand = by_hand(*given)
    assert [each.item() for each in found] == every
    assert tags.item() == pytest.approx(tags_by_hand, rel=3e-4)


WORDS = {
    "width": st.sampled_from([4, 8, 16]),
    "threads": st.sampled_from([32, 64, 256]),
    "trips": st.sampled_from([1, 3]),
    "index": st.sampled_from(INDICES),
    "guard": st.sampled_from(["i < n", "i + 3*b < n", "i < 2*n"]),
}


@settings(max_examples=60, deadline=None)
@given(
    st.integers(64, 4500),
    st.floats(1.2, 40),
    st.integers(0, 9),
    st.integers(1, 2),
    st.fixed_dictionaries(WORDS),
)
def test_kernels_ask_for_what_their_lanes_do(
    half: int, turns: float, b: int, again: int, words: dict[str, Any]
) -> None:
    # expected (independent): counted lane by lane, all of it
    m = np.array([2 * half + 1])
    columns = {"m": m, "n": (m * turns).astype(int) + 9, "b": b, "again": again}
    found, counted = requests(columns, **words)
    assume(found.pairs is not None)  # not taken for affine, as a period of a grid may be
    assert found.sampled is None
    assert np.all(counted.sampled == 1)
    for name in ("requests", "active_lanes", "sectors", "pairs", "lines", "data_wavefronts"):
        expected = getattr(counted, name)
        np.testing.assert_allclose(getattr(found, name), expected, rtol=1e-12, err_msg=name)
    np.testing.assert_allclose(found.tag_wavefronts, counted.tag_wavefronts, rtol=1e-3)
    assert np.all(found.step == counted.step)


@pytest.mark.parametrize(
    ("index", "guard"),
    [
        ("(2*i) % m", "i < n"),
        ("i % m", "threadIdx.x < 50"),
        ("i % m", "i >= b"),
        ("i % m", "i < n and blockIdx.x < 90 + b"),
        ("(i + blockIdx.y) % m", "i < n"),
        ("(threadIdx.x + blockIdx.x*96) % m", "i < n"),
    ],
)
def test_others_are_counted(index: str, guard: str) -> None:
    # expected (by hand): elements are left out, or come in another order
    columns = {"m": np.array([4001]), "n": 100_000, "b": 7, "again": 3}
    words = {"width": 4, "threads": 64, "trips": 1, "index": index, "guard": guard}
    found, counted = requests(columns, **words)
    assert found.sampled is not None
    np.testing.assert_allclose(found.sectors, counted.sectors, rtol=1e-2)


def test_periods_shorter_than_a_warp_are_counted() -> None:
    # expected (by hand): warps that the period ends in more than once
    words = {"width": 4, "threads": 64, "trips": 1, "index": INDICES[0], "guard": "i < n"}
    columns = {"m": np.array([31]), "n": 100_000, "b": 0, "again": 1}
    assert requests(columns, **words)[0].sampled is not None


@pytest.mark.parametrize("width", [4, 8, 16])
def test_tags_of_warps_add_up(width: int) -> None:
    # expected (independent): warps one after the other, lane by lane
    clocks = wavefronts.tags_of_warps(width)
    for inside in (0, 1):
        lanes = np.arange(40 * 32) * width + 64 * inside
        own = wavefronts.tag_wavefronts(lanes.reshape(-1, 32))
        assert clocks[inside, 40 * width // 4] == _total(own)


def _total(each: Array) -> int:
    return int(np.sum(each))


@pytest.mark.parametrize("period", [32, 64])
def test_requests_as_long_as_the_period_that_start_anywhere(period: int) -> None:
    # expected (independent): lane by lane; a request of the whole period touches all of it, and no
    # more, wherever it starts
    table = {
        "name": "around",
        "launch": {"grid": [8], "block": [128]},
        "buffers": {"x": {"length": period}},
        "loops": [{"variable": "k", "trips": 8}],
        "accesses": [{"load": "x", "index": f"(threadIdx.x + k) % {period}", "loop": "k"}],
    }
    instance, shape = bind(kernel_from_table(table), {}), block_shape((128, 1, 1))
    found = access_requests(instance, 0, shape, {})
    counted = counted_requests(addressing(instance, 0, shape))
    for name in ("requests", "sectors", "lines"):
        assert getattr(found, name) == pytest.approx(getattr(counted, name)), name
