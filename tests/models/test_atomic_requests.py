"""Lanes of atomics that share addresses: closed forms against counts, lane by lane."""

import csv
from functools import cache
from typing import Any

import numpy as np
import pytest

from perfmodel import predict
from perfmodel.cuda.compile.program import load_program
from perfmodel.cuda.compile.toolchain import find_tool
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.launch_file import read_launches
from perfmodel.kernels import bind
from perfmodel.kernels.tables import kernel_from_table
from perfmodel.measure.folders import root
from perfmodel.models.grid.geometry import block_shape
from perfmodel.models.requests.addressing import addressing
from perfmodel.models.requests.enumeration import counted_requests
from perfmodel.models.requests.warp_requests import Requests, access_requests

BLOCKS = 33
SESSION = root() / "source-kernels/h200-sxm/atomic-addresses"
needs_nvcc = pytest.mark.skipif(find_tool("nvcc") is None, reason="needs nvcc")


def adds(
    index: str, block: tuple[int, ...] = (256,), guard: str = "", trips: int = 1
) -> dict[str, Any]:
    """Return a kernel of one atomic addition to floats."""
    access = {"atomic": "x", "operation": "add", "index": index, "loop": "k"}
    return {
        "name": "adds",
        "launch": {"grid": [BLOCKS], "block": [*block]},
        "buffers": {"x": {"length": 10_000_000}},
        "definitions": {"i": "blockIdx.x*blockDim.x + threadIdx.x"},
        "loops": [{"variable": "k", "trips": trips}],
        "accesses": [access | ({"guard": guard} if guard else {})],
    }


def both(table: dict[str, Any]) -> tuple[Requests, Requests]:
    """Return the requests of an access as they are worked out, and counted."""
    instance = bind(kernel_from_table(table), {})
    shape = block_shape((*table["launch"]["block"], 1, 1))
    counted = counted_requests(addressing(instance, 0, shape))
    return access_requests(instance, 0, shape, {}), counted


@pytest.mark.parametrize(
    ("index", "guard", "trips"),
    [
        ("i", "i < 6001", 1),
        ("i*2", "i < 6001", 3),
        ("i*33", "threadIdx.x < 5", 3),
        ("blockIdx.x", "threadIdx.x == 0", 1),
        ("blockIdx.x*8", "", 2),
        ("threadIdx.x // 32", "", 1),
        ("i // 256", "", 1),
        ("i // 4 % 33", "", 1),
        ("i // 4 % 20", "", 1),
        ("i // 8", "", 1),
        ("i % 33", "", 1),
    ],
)
def test_closed_forms_against_counts(index: str, guard: str, trips: int) -> None:
    # expected (independent): lane by lane; blocks are no whole number of rounds, hence 1%
    found, counted = both(adds(index, guard=guard, trips=trips))
    assert found.sampled is None
    assert counted.sampled == 1
    for name, value in counted.address_sharing.conflicts._asdict().items():
        own = getattr(found.address_sharing.conflicts, name)
        assert np.ravel(own)[0] == pytest.approx(np.ravel(value)[0], rel=0.01), name
    assert found.address_sharing.addresses == pytest.approx(counted.address_sharing.addresses)
    assert found.address_sharing.hottest == pytest.approx(counted.address_sharing.hottest, rel=0.02)
    assert np.ravel(found.address_sharing.hot) == pytest.approx(
        np.ravel(counted.address_sharing.hot), rel=0.05
    )


def test_addresses_of_warps_lie_as_far_apart_as_they_do() -> None:
    # property: an index of warps, whatever its text, is of neighbouring words
    def time(index: str, *block: int) -> float:
        return float(predict(kernel_from_table(adds(index, block))).time_s)

    assert time("threadIdx.x // 32", 256) == pytest.approx(time("threadIdx.y", 32, 8))
    assert time("blockIdx.x", 256) == pytest.approx(time("i // 256", 256))


def test_random_bins_by_a_definition_are_random() -> None:
    # property: an index is the same through a definition
    plain = adds("random(i, 5000000)")
    named = plain | {"definitions": plain["definitions"] | {"j": "random(i, 5000000)"}}
    named["accesses"] = [plain["accesses"][0] | {"index": "j"}]
    times = [float(predict(kernel_from_table(table)).time_s) for table in (plain, named)]
    assert times[0] == times[1]


def test_warps_of_irregular_blocks_execute_an_access_each() -> None:
    # hand: 100 threads are four warps
    table = adds("random(i, 5000000)", (100,), trips=5)
    load = {"load": "x", "index": "random(i + k, 5000000)", "loop": "k"}
    found, _ = both(table | {"accesses": [load]})
    assert found.executions == pytest.approx(BLOCKS * 4 * 5)
    assert found.requests == pytest.approx(BLOCKS * 4 * 5)


@cache
def ratios() -> dict[str, list[float]]:
    """Return predicted over measured times of the session's launches, by kernel."""
    program = load_program(SESSION / "program" / "addresses.cu", "sm_90")
    launches = read_launches(SESSION / "program" / "addresses.toml")
    found: dict[str, list[float]] = {}
    with (SESSION / "launches.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            kernel = translated(program, launches[int(row["launch"]) - 1])
            time = float(predict(kernel, device="h200-sxm").time_s)
            found.setdefault(row["kernel"], []).append(time * 1e6 / float(row["time_us"]))
    return found


@needs_nvcc
@pytest.mark.parametrize(
    ("kernel", "least", "most"),
    [
        ("warps_of_block", 0.95, 1.05),
        ("few_threads", 0.9, 1.15),
        ("leaders", 0.9, 1.05),
        ("fours", 0.85, 1.15),
        ("blocks", 0.45, 1.0),
        ("blocks_apart", 0.65, 1.0),
        ("warps", 0.55, 1.1),
    ],
)
def test_times_of_warps_that_share_addresses(kernel: str, least: float, most: float) -> None:
    # measured: nothing was fitted on them; the last three queue longer than the models say
    found = ratios()[kernel]
    assert least < min(found) <= max(found) < most
