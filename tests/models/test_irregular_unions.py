"""Loads of one buffer at irregular places: what they have in common, counted sector by sector."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.kernels import kernel_from_table
from perfmodel.prediction import Prediction, predict

CHANNELS, WIDTH, HEIGHT = 24, 96, 64  # quads of floats, and pixels


def taps(element: int = 16, *, rows: tuple[int, ...] = (0, 1), table: bool = False) -> Prediction:
    """Return what is predicted of 3 x 2 taps over pixels whose channels lie side by side."""
    place = "blockIdx.x*192 + threadIdx.x"
    c, x, y = (
        f"({place}) % {CHANNELS}",
        f"({place}) // {CHANNELS} % {WIDTH}",
        f"({place}) // {CHANNELS * WIDTH}",
    )
    loads = [
        {"load": "image", "index": f"(({y} + {dy})*{WIDTH + 2} + {x} + {dx})*{CHANNELS} + {c}"}
        for dy in rows
        for dx in range(3)
    ]
    if table:
        loads += [{"load": "weights", "index": f"{CHANNELS * k} + {c}"} for k in range(6)]
    kernel = {
        "name": "taps",
        "launch": {"grid": [CHANNELS * WIDTH * HEIGHT // 192], "block": [192]},
        "buffers": {
            "image": {"length": CHANNELS * (WIDTH + 2) * (HEIGHT + 1), "element_bytes": element},
            "weights": {"length": CHANNELS * 6, "element_bytes": element},
        },
        "accesses": loads,
    }
    return predict(kernel_from_table(kernel), device="h200-sxm")


def fills(prediction: Prediction) -> float:
    """Return the sectors that come into L1."""
    return float(prediction.details.traffic.l1_fill_sectors[0])


def touched(rows: tuple[int, ...]) -> tuple[int, int]:
    """Return the sectors of all pixels that taps read, and those of every block apart."""
    thread = np.arange(CHANNELS * WIDTH * HEIGHT)
    c, x, y = thread % CHANNELS, thread // CHANNELS % WIDTH, thread // (CHANNELS * WIDTH)
    sectors = np.stack(
        [
            ((y + dy) * (WIDTH + 2) + x + dx) * CHANNELS * 16 // 32 + c * 16 // 32
            for dy in rows
            for dx in range(3)
        ]
    )
    blocks = [np.unique(sectors[:, t : t + 192]).size for t in range(0, len(thread), 192)]
    return np.unique(sectors).size, sum(blocks)


@pytest.mark.parametrize("rows", [(0, 1), (0,)])
def test_what_several_loads_share_comes_once(rows: tuple[int, ...]) -> None:
    # independent: the sectors of all threads, listed
    every, blocks = touched(rows)
    found = taps(rows=rows).traffic
    assert found["l2_read_sectors"] == pytest.approx(blocks, rel=0.02)
    assert found["dram_read_bytes"] == pytest.approx(every * 32, rel=0.05)


def test_a_table_in_parts_comes_once_to_each_sm() -> None:
    # property: loads that have a part of a small table each bring all of it, and no more
    more = fills(taps(table=True)) - fills(taps())
    assert more == pytest.approx(132 * CHANNELS * 6 * 16 / 32, rel=0.01)


@pytest.mark.parametrize("panel", ["blockIdx.x // 8 ^ 1", "blockIdx.x % 128 ^ 1"])
def test_what_blocks_read_in_step_comes_once_of_more_than_l2_holds(panel: str) -> None:
    # by hand: 128 panels of 512 KiB, 64 MiB beside an L2 of 60 MB, each read by 8 of 1024 blocks
    # that run together, 2 KiB an iteration
    size = 128 * 256 * 512
    kernel = {
        "name": "panels",
        "launch": {"grid": [1024], "block": [128]},
        "buffers": {"b": {"length": size, "element_bytes": 4}},
        "loops": [{"variable": "k", "trips": 256}],
        "accesses": [
            {
                "load": "b",
                "vector": 4,
                "loop": "k",
                "index": f"(({panel})*256 + k)*512 + threadIdx.x*4",
            }
        ],
    }
    found = predict(kernel_from_table(kernel), device="h200-sxm").traffic
    assert found["global_load_sectors"] == 8 * size * 4 / 32
    assert found["dram_read_bytes"] == pytest.approx(size * 4, rel=0.02)


def test_long_blocks_are_known_by_some_of_their_iterations() -> None:
    # hand count: 8 of 16 blocks share a head of 64 floats; a thread reads one row of it in 64
    # turns, of which every eighth comes to a sector that L1 has not; 16 rows one after the other
    rows, heads = 4096, 2
    kernel = {
        "name": "scores",
        "launch": {"grid": [16], "block": [256]},
        "buffers": {"keys": {"length": rows * heads * 64, "element_bytes": 4}},
        "loops": [
            {"variable": "t", "trips": rows // 256},
            {"variable": "d", "trips": 64, "parent": "t"},
        ],
        "accesses": [
            {
                "load": "keys",
                "loop": "d",
                "index": f"((t*256 + threadIdx.x)*{heads} + blockIdx.x // 8)*64 + d",
            }
        ],
    }
    found = predict(kernel_from_table(kernel), device="h100-sxm").details.traffic
    assert found.global_load_sectors[0] == 16 * 8 * 16 * 64 * 32
    assert found.l1_fill_sectors[0] == pytest.approx(16 * rows * 64 * 4 / 32, rel=0.01)
