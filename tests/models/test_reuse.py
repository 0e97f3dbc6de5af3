"""What loads of one buffer touch together, against sets of sectors."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from perfmodel.hardware import load_device
from perfmodel.kernels import bind
from perfmodel.kernels.tables import kernel_from_table
from perfmodel.models.derivation import figure, recording
from perfmodel.models.grid.geometry import block_shape
from perfmodel.models.l2.warm_lines import WARM_HALF, found_warm
from perfmodel.models.requests.warp_requests import Requests, access_requests
from perfmodel.models.reuse.groups import apart, grouped
from perfmodel.models.reuse.spreads import by_parts


def requests_of(
    block: tuple[int, int, int], grid: tuple[int, int, int], indices: list[str], trips: int = 0
) -> list[Requests]:
    """Return the requests of loads at some indices, in a loop over `k` if it has iterations."""
    loop = {"loop": "k"} if trips else {}
    table: dict[str, Any] = {
        "name": "neighbours",
        "parameters": {},
        "launch": {"grid": list(grid), "block": list(block)},
        "buffers": {"in": {"length": 2**40, "element_bytes": 4}},
        "loops": [{"variable": "k", "trips": trips}] if trips else [],
        "accesses": [
            {"load": "in", "name": f"load-{n}", "index": at} | loop for n, at in enumerate(indices)
        ],
    }
    instance = bind(kernel_from_table(table), {})
    return [access_requests(instance, i, block_shape(block), {}) for i in range(len(indices))]


def sectors_of(requests: list[Requests], **window: int) -> float:
    """Return the sectors of their one group, over all threads and some blocks and iterations."""
    (group,) = grouped(requests)
    inside = {
        v.name: v.extent if v.target.startswith("threadIdx") else np.array([window.get(v.name, 1)])
        for v in requests[0].variables
    }
    inside |= {name.replace("_", "."): np.array([count]) for name, count in window.items()}
    return float(np.ravel(group.granules(inside, 32))[0])


@pytest.mark.parametrize("block", [(64, 2, 2), (64, 4, 1), (32, 2, 4), (32, 8, 2)])
@pytest.mark.parametrize("radius", [1, 2, 3])
def test_neighbours_of_a_block(block: tuple[int, int, int], radius: int) -> None:
    # independent: every place that a block's threads and their neighbours along y and z touch.
    # Neighbours in blocks beside this one are as far away as those in it.
    nx, ny = 256, 256
    at = "(({z}) * 256 + {y}) * 256 + blockIdx.x * blockDim.x + threadIdx.x"
    y, z = (f"blockIdx.{a} * blockDim.{a} + threadIdx.{a}" for a in "yz")
    steps = range(2 * radius + 1)
    indices = [at.format(z=f"{z} + {dz}", y=f"({y} + {dy})") for dz, dy in product(steps, steps)]
    rows = {
        (tz + dz, ty + dy, x // 8)
        for tz, ty, x in product(range(block[2]), range(block[1]), range(block[0]))
        for dz, dy in product(steps, steps)
    }
    grid = (nx // block[0], ny // block[1], 16)
    assert sectors_of(requests_of(block, grid, indices)) == pytest.approx(len(rows), rel=1e-9)


@pytest.mark.parametrize("together", [2, 4, 8, 16, 32])
def test_iterations_put_together(together: int) -> None:
    # independent: 1024 columns of 64 rows come once, however many rows one
    # iteration of the loop reads
    at = "blockIdx.x * blockDim.x + threadIdx.x"
    indices = [f"(k * {together} + {i}) * 1024 + {at}" for i in range(together)]
    found = requests_of((128, 1, 1), (8, 1, 1), indices, 64 // together)
    assert sectors_of(found, blockIdx_x=8, k=64 // together) == 64 * 1024 * 4 / 32


@pytest.mark.parametrize("words", [(0, 3), (0, 4), (1, 2, 4)])
def test_words_of_other_widths_share_a_records_sectors(words: tuple[int, ...]) -> None:
    # independent: every sector that 256 threads touch of records of 32 B, floats in front and a
    # double at 16 B behind them: a record is one sector, whatever is read of it.
    # Measured: 1,042,863 sectors of as many records (source-kernels/h100-sxm/mixed-sizes, aos_push)
    thread = "(blockIdx.x * blockDim.x + threadIdx.x) * 8"
    loads = [{"load": "in", "name": f"w{w}", "index": f"{thread} + {w}"} for w in words]
    double = {"load": "in", "name": "double", "index": f"{thread} + 4", "vector": 2}
    table: dict[str, Any] = {
        "name": "records",
        "parameters": {},
        "launch": {"grid": [4, 1, 1], "block": [256, 1, 1]},
        "buffers": {"in": {"length": 2**20, "element_bytes": 4}},
        "accesses": [*loads, double],
    }
    instance = bind(kernel_from_table(table), {})
    every = range(len(table["accesses"]))
    requests = [access_requests(instance, i, block_shape((256, 1, 1)), {}) for i in every]
    touched = {(t * 32 + 4 * w) // 32 for t in range(256) for w in (*words, 4)}
    assert sectors_of(requests) == len(touched) == 256


@pytest.mark.parametrize("trips", [1, 4, 16])
def test_neighbours_of_the_next_iteration(trips: int) -> None:
    # independent: places that are read, counted one by one; the load before the next row's
    # middle one belongs to that row
    at = "blockIdx.x * blockDim.x + threadIdx.x"
    offsets = (0, 1023, 1024, 1025)
    found = requests_of((128, 1, 1), (8, 1, 1), [f"k * 1024 + {o} + {at}" for o in offsets], trips)
    read = {(k * 1024 + o + t) // 8 for k in range(trips) for o in offsets for t in range(1024)}
    assert sectors_of(found, blockIdx_x=8, k=trips) == pytest.approx(len(read), abs=4)


def test_lines_at_random_places_fill_sets_unevenly() -> None:
    # independent: sets that are full at 0.713 of the capacity on average, lines in order in equal
    # numbers but for what `FOUND_WARM` says of them, lines at random Poisson; those of full sets go
    generator = np.random.default_rng(7)
    sets, ways = 200_000, 16
    gpu = load_device("h200-sxm")
    half = WARM_HALF(gpu)
    for in_order, at_random in ((0.3, 0.25), (0.1, 0.5), (0.3, 0.45), (0.0, 0.8)):
        each = generator.poisson(at_random / half * ways, sets) + generator.logistic(
            in_order / half * ways, 0.0365 / np.log(2) / half * ways, sets
        )
        lost = float(np.mean(each > ways))
        kept = float(found_warm(in_order + at_random, 1.0, at_random, half, gpu))
        assert kept == pytest.approx(1 - lost, abs=0.05)
    assert found_warm(0.3, 1.0, 0.3, half, gpu) == 1


@pytest.mark.parametrize("start", range(0, 16))
def test_two_neighbours_of_a_row_lie_in_one_sector_or_in_two(start: int) -> None:
    # independent, an anti-diagonal: rows of 512 floats, of each of which a thread reads two
    indices = [f"threadIdx.x * 512 + {start + i}" for i in range(2)]
    places = {(t * 512 + start + i) // 8 for t, i in product(range(256), range(2))}
    assert sectors_of(requests_of((256, 1, 1), (1, 1, 1), indices)) == len(places)


@pytest.mark.parametrize("block", [(32, 4, 2), (32, 8, 1), (64, 2, 4)])
@pytest.mark.parametrize("radius", [1, 2])
def test_neighbours_along_the_axes_alone(block: tuple[int, int, int], radius: int) -> None:
    # independent: every sector of a block's threads and their neighbours along one axis at a time.
    # Counted: 4,737,978 L1 misses of seven points, where a box with corners has 6,220,800
    # (measurements/l1/h100-sxm/lookups, levelset_upwind)
    nx = 256
    places = [(0, 0, 0)]
    for axis, far in product(range(3), range(1, radius + 1)):
        places += [tuple(s * far * (a == axis) for a in range(3)) for s in (1, -1)]
    x, y, z = (f"blockIdx.{a} * blockDim.{a} + threadIdx.{a}" for a in "xyz")
    indices = [
        f"(({z} + {dz + radius}) * {nx} + {y} + {dy + radius}) * {nx} + {x} + {dx + 8}"
        for dx, dy, dz in places
    ]
    read = {
        (tz + dz, ty + dy, (tx + dx) // 8)
        for tx, ty, tz in product(*map(range, block))
        for dx, dy, dz in places
    }
    grid = (nx // block[0], nx // block[1], 16)
    found = sectors_of(requests_of(block, grid, indices))
    assert found == pytest.approx(len(read), rel=1e-9)


@pytest.mark.parametrize(("together", "trips"), [(1, 8), (2, 4), (4, 2), (4, 8)])
def test_planes_of_iterations_put_together(together: int, trips: int) -> None:
    # independent: sectors of planes that a block walks through, read with neighbours in a plane
    # and ahead of it, one by one
    block, nx = (32, 4, 1), 148
    x, y = (f"blockIdx.{a} * blockDim.{a} + threadIdx.{a}" for a in "xy")
    around = [(0, -1, 0), (0, 1, 0), (-1, 0, 0), (1, 0, 0), (0, 0, 1)]
    indices = [
        f"((k * {together} + {u + dz}) * 83 + {y} + {dy + 1}) * {nx} + {x} + {dx + 8}"
        for u in range(together)
        for dx, dy, dz in around
    ]
    read = {
        (((k + dz) * 83 + ty + dy + 1) * nx + tx + dx + 8) // 8
        for k in range(together * trips)
        for tx, ty in product(range(32), range(4))
        for dx, dy, dz in around
    }
    found = sectors_of(requests_of(block, (4, 20, 1), indices, trips), k=trips)
    assert found == pytest.approx(len(read), rel=0.12)


def test_planes_that_no_block_walks_between_are_apart() -> None:
    # independent: sectors of eight points in three planes, one by one. Counted: 3,334,112 L1
    # misses, where one box for all had 4,800,198 (measurements/l1/h100-sxm/lookups, conv3d_111)
    block, nk, plane = (32, 8, 1), 3328, 3328 * 1893
    x, y = (f"blockIdx.{a} * blockDim.{a} + threadIdx.{a}" for a in "xy")
    points = [(0, -1, -1), (2, -1, -1), (0, -1, 0), (1, 1, -1)]
    points += [(1, 0, -1), (1, 0, 1), (2, 1, 0), (1, 1, 1)]
    indices = [
        f"{x} + 8 + {dx} + ({y} + 1 + {dy}) * {nk} + {dz} * {plane}" for dz, dy, dx in points
    ]
    requests = requests_of(block, (104, 237, 1), indices)
    (every,) = grouped(requests)
    inside = {v.name: v.extent for v in requests[0].variables if v.target.startswith("threadIdx")}
    parts = apart(every, requests)
    read = {
        (dz, ty + dy, (tx + dx) // 8)
        for tx, ty in product(range(32), range(8))
        for dz, dy, dx in points
    }
    assert len(parts) == 3
    found = sum(float(np.ravel(g.granules(inside, 32))[0]) for g in parts)
    assert found == pytest.approx(len(read), rel=0.05)


def test_parts_of_a_step_are_told_apart_while_a_program_is_recorded() -> None:
    # by hand: halves at 0.5 and 2.5, whole steps at 0, 1 and 1
    steps = np.array([[0.0], [2.5], [1.0], [0.5], [1.0]])
    with recording(in_parts=True):
        recorded = by_parts(figure("steps", steps))
    for found in (by_parts(steps), recorded):
        assert [(float(s.reach[0]), float(s.copies[0])) for s in found] == [(1.0, 2.0), (2.0, 2.0)]
