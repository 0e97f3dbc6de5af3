"""Walks of one buffer that go along with each other bring it from DRAM once; counted by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from perfmodel.kernels import kernel_from_table
from perfmodel.kernels.counted import Counted
from perfmodel.models.requests.sampled_places import once_of_sample
from perfmodel.prediction import Prediction, predict, predict_many
from perfmodel.prediction.conditions import by_the_models

WIDTH, HEIGHT = 8192, 4096  # floats: 128 MiB, more than an L2
X, Y = "(blockIdx.x*64 + threadIdx.x)", "(blockIdx.y*4 + threadIdx.y)"


def table(*places: str) -> dict[str, Any]:
    """Return a kernel that loads from some places of a grid, by column and row."""
    return {
        "name": "walks",
        "launch": {"grid": [WIDTH // 64, HEIGHT // 4], "block": [64, 4]},
        "buffers": {"c": {"length": WIDTH * HEIGHT, "element_bytes": 4}},
        "accesses": [{"load": "c", "index": place} for place in places],
    }


def launched(kernel: dict[str, Any]) -> Prediction:
    return predict(kernel_from_table({"name": "walks", **kernel}), device="h100-sxm")


HERE = f"{Y}*{WIDTH} + {X}"
RIGHT = f"{Y}*{WIDTH} + ({X} + 1) % {WIDTH}"
BELOW = f"({Y} + 1) % {HEIGHT}*{WIDTH} + {X}"


def test_neighbours_that_wrap_around_are_brought_with_the_rest() -> None:
    # by hand: no byte twice, though the grid is more than L2 holds
    found = launched(table(HERE, RIGHT, BELOW)).traffic
    assert found["dram_read_bytes"] == pytest.approx(WIDTH * HEIGHT * 4, rel=0.02)


def test_neighbours_that_data_chooses_are_brought_with_the_rest() -> None:
    # by hand: as above; either neighbour is read where data says so, seen in a sample of blocks
    requests = WIDTH * HEIGHT / 32
    seen = Counted(
        *(requests, requests * 16, requests * 16, requests * 4, requests),
        *(requests * 2, requests, requests, 0.002),
        misses=((16, 0.25), (4096, 0.25)),
        once=(0.25, 0.125),
    )
    made = kernel_from_table(table(HERE, RIGHT, BELOW))
    first, *others = made.accesses
    chosen = (first, *(replace(a, counted=seen) for a in others))
    found = predict(replace(made, accesses=chosen), device="h100-sxm").traffic
    assert found["dram_read_bytes"] == pytest.approx(WIDTH * HEIGHT * 4, rel=0.02)


def test_walks_that_do_not_meet_are_brought_each() -> None:
    # by hand: the other half of the rows is elsewhere when L2 has this one
    far = f"({Y} + {HEIGHT // 2}) % {HEIGHT}*{WIDTH} + {X}"
    found = launched(table(HERE, far)).traffic
    assert found["dram_read_bytes"] == pytest.approx(2 * WIDTH * HEIGHT * 4, rel=0.02)


def test_a_window_that_an_unrolled_loop_and_its_rest_go_through_is_brought_once() -> None:
    # by hand: 31 rows around each, 28 in an unrolled loop and 3 in the rest; no byte twice, though
    # the grid is more than L2 holds
    row = "(blockIdx.y*8 + threadIdx.y)"
    kernel = {
        "launch": {"grid": [WIDTH // 64, HEIGHT // 8 - 4], "block": [64, 8]},
        "buffers": {"c": {"length": WIDTH * HEIGHT, "element_bytes": 4}},
        "loops": [{"variable": "r", "trips": 3}, {"variable": "k", "trips": 7}],
        "accesses": [
            {"load": "c", "index": f"({row} + r)*{WIDTH} + {X}", "loop": "r"},
            *(
                {"load": "c", "index": f"({row} + 3 + 4*k + {j})*{WIDTH} + {X}", "loop": "k"}
                for j in range(4)
            ),
        ],
    }
    found = launched(kernel).traffic
    assert found["dram_read_bytes"] == pytest.approx(WIDTH * HEIGHT * 4, rel=0.02)


def counted(requests: float, sectors: float, once: float) -> Counted:
    """Return what a sample of blocks says of loads of which so much is new to a block."""
    return Counted(
        *(requests, requests * 32, requests * 32, requests * sectors, requests * sectors / 4),
        *(requests * sectors / 2, requests, requests, 0.002),
        misses=((16, once), (4096, once)),
        once=(once, once / 2),
    )


def test_neighbours_anywhere_nearby_are_brought_with_the_rest() -> None:
    # by hand: data says which of many near places is read, the block's own or a neighbour's, and
    # all of the grid is read in order beside
    nearby = f"min({Y}*{WIDTH} + {X} + random({X}, 64), {WIDTH * HEIGHT - 1})"
    made = kernel_from_table({"name": "walks", **table(HERE, nearby)})
    here, near = made.accesses
    seen = replace(near, counted=counted(WIDTH * HEIGHT / 32, 6.0, 0.15))
    found = predict(replace(made, accesses=(here, seen)), device="h100-sxm").traffic
    assert found["dram_read_bytes"] == pytest.approx(WIDTH * HEIGHT * 4, rel=0.02)


def test_rows_that_a_sample_followed_come_from_dram_once() -> None:
    # by hand: rows that start anywhere, of whose sectors 0.7 are new to a block, in pieces of 64 B
    # that are read whole; what all blocks touch at a time is more than L2 holds
    place = f"random({X}, {WIDTH * HEIGHT})"
    made = kernel_from_table(
        {"name": "walks", **table(place), "launch": {"grid": [1056], "block": [256]}}
    )
    seen = replace(made.accesses[0], counted=counted(WIDTH * HEIGHT / 32, 4 / 0.7, 0.7))
    found = predict(replace(made, accesses=(seen,)), device="h100-sxm").traffic
    assert found["dram_read_bytes"] == pytest.approx(WIDTH * HEIGHT * 4, rel=0.02)


@pytest.mark.parametrize("columns", [100, 68])
def test_what_is_left_of_rows_shares_its_atoms(columns: int) -> None:
    # by hand: rows that start inside atoms of 64 B, the last columns in loads of their own
    rows = 1 << 19
    row = "(blockIdx.x*8 + threadIdx.y)"
    found = launched(
        {
            "launch": {"grid": [rows // 8], "block": [32, 8]},
            "buffers": {"c": {"length": rows * columns, "element_bytes": 4}},
            "loops": [{"variable": "k", "trips": columns // 32}],
            "accesses": [
                {"load": "c", "index": f"{row}*{columns} + k*32 + threadIdx.x", "loop": "k"},
                {
                    "load": "c",
                    "index": f"{row}*{columns} + {columns // 32 * 32} + threadIdx.x",
                    "guard": f"threadIdx.x < {columns % 32}",
                },
            ],
        }
    ).traffic
    assert found["dram_read_bytes"] == pytest.approx(rows * columns * 4, rel=0.02)


def test_atomics_of_one_table_bring_it_once() -> None:
    # by hand: a table that L2 holds, gone to by each of four atomics
    kernel = {
        "launch": {"grid": [16384], "block": [256]},
        "buffers": {"t": {"length": 1 << 21, "element_bytes": 4}},
    }
    draws = f"random(blockIdx.x*256 + threadIdx.x + {{}}, {1 << 21})"
    found = [
        launched(
            {**kernel, "accesses": [{"atomic": "t", "index": draws.format(k)} for k in range(n)]}
        ).traffic["dram_read_bytes"]
        for n in (1, 4)
    ]
    assert found[0] < (1 << 23)
    assert found[0] <= found[1] <= (1 << 23) * 1.01


def test_launches_together_are_as_alone() -> None:
    # property; regression: several launches at a time were taken to share nothing
    place = "(blockIdx.x*n + {})*2"
    unrolled = [{"load": "c", "index": place.format(f"4*k + {j}"), "loop": "k"} for j in range(4)]
    rest = {"load": "c", "index": place.format("n//4*4 + r"), "loop": "r"}
    kernel = kernel_from_table(
        {
            "name": "walks",
            "parameters": {"n": {"default": 39}},
            "launch": {"grid": [64], "block": [32]},
            "buffers": {"c": {"length": "64*n*2", "element_bytes": 4}},
            "loops": [
                {"variable": "k", "trips": "n//4"},
                {"variable": "r", "trips": "n%4"},
            ],
            "accesses": [*unrolled, rest],
        }
    )
    sizes = [39, 39, 43, 46]
    together = predict_many(kernel, n=sizes)
    with by_the_models():
        alone = [predict(kernel, n=n) for n in sizes]
    np.testing.assert_array_equal(together.time_s, [float(each.time_s) for each in alone])
    read = [each.traffic["dram_read_bytes"] for each in alone]
    np.testing.assert_array_equal(together.traffic["dram_read_bytes"], read)


def test_what_is_changed_in_place_takes_its_room_once() -> None:
    # derived: lines read and then written are the written ones; as much stays as of a copy
    place = "blockIdx.x*256 + threadIdx.x"
    n = 1 << 23
    kernel = {
        "launch": {"grid": [n // 256], "block": [256]},
        "buffers": {b: {"length": n, "element_bytes": 4} for b in "xy"},
    }
    loads = [{"load": b, "index": place} for b in "xy"]
    store = [{"store": "y", "index": place}]
    copied = launched({**kernel, "accesses": [*loads[:1], *store]}).traffic
    added = launched({**kernel, "accesses": [*loads, *store]}).traffic
    assert copied["dram_write_bytes"] > 0
    assert added["dram_write_bytes"] == pytest.approx(copied["dram_write_bytes"], rel=1e-6)


def test_runs_that_meet_share_their_sectors() -> None:
    # by hand: warps append 12 words each: 48 B are 2 sectors or 3, of 32 B in all
    lanes = np.arange(32)
    ends = 4 * (12 * np.arange(64)[:, None] + lanes)
    addresses = np.where(lanes < 12, ends, -1)
    asked = np.mean([len(np.unique(row[row >= 0] // 32)) for row in addresses])
    assert once_of_sample(addresses, 32) == pytest.approx(12 * 4 / 32 / asked)
    assert once_of_sample(addresses * 64, 32) == pytest.approx(1.0)
    assert once_of_sample(None, 32) == 1.0
