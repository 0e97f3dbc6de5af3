"""Walks from drawn places: what several loads, and turns, at one drawn place come to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from perfmodel import predict
from perfmodel.kernels import Kernel, kernel_from_table

THREADS = 1 << 16


def walks(pitch: int, words: int, element: int = 4, loop: bool = False, **more: Any) -> Kernel:
    """Return a kernel whose threads draw a row of a table each, and read its first words."""
    drawn = f"random(blockIdx.x*256 + threadIdx.x, 1048576)*{pitch}"
    load = {"load": "t"} | more
    if loop:
        accesses = [load | {"index": f"{drawn} + k", "loop": "k"}]
    else:
        accesses = [load | {"index": f"{drawn} + {n}", "name": f"t{n}"} for n in range(words)]
    return kernel_from_table(
        {
            "name": "walks",
            "launch": {"grid": THREADS // 256, "block": 256},
            "buffers": {"t": {"length": 1048576 * pitch, "element_bytes": element}},
            "accesses": accesses,
        }
        | ({"loops": [{"variable": "k", "trips": words}]} if loop else {})
    )


def came_to(pitch: int, words: int, granule: int, element: int = 4) -> float:
    """Count the granules that rows drawn by NumPy reach into, one thread after the other."""
    begins = np.random.default_rng(3).integers(0, 1048576, 4096) * pitch * element
    ends = begins + words * element - 1
    return float(np.mean(ends // granule - begins // granule + 1)) * THREADS


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize(
    ("pitch", "words", "element"),
    [(4, 4, 4), (8, 8, 4), (12, 12, 4), (16, 16, 4), (6, 5, 4), (3, 3, 8), (50, 50, 1)],
)
def test_words_of_a_drawn_row_come_with_its_sectors(
    pitch: int, words: int, element: int, loop: bool
) -> None:
    # independent: rows drawn and counted one by one
    found = predict(walks(pitch, words, element, loop), device="h100-sxm").traffic
    assert found["global_load_sectors"] == pytest.approx(words * THREADS, rel=0.01)
    expected = came_to(pitch, words, 32, element)
    assert found["l2_read_sectors"] == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("loop", [False, True])
def test_atoms_of_a_drawn_row_come_from_dram_once(loop: bool) -> None:
    # independent: 64 B atoms of rows of 48 B, 64 Ki of them in 50 MB, drawn and counted
    found = predict(walks(12, 12, 4, loop), device="h100-sxm", cache="cold").traffic
    begins = np.random.default_rng(3).integers(0, 1048576, THREADS) * 48
    atoms = len(np.union1d(begins // 64, (begins + 47) // 64))
    assert found["dram_read_bytes"] == pytest.approx(atoms * 64, rel=0.02)


@pytest.mark.parametrize(
    "index",
    [
        "random(blockIdx.x*256 + threadIdx.x + {n}, 1048576)*4 + {n}",  # other numbers
        "random(blockIdx.x*256 + threadIdx.x, 1048576)*4 + {n}*64",  # sectors between
    ],
)
def test_words_of_other_places_are_read_by_themselves(index: str) -> None:
    # by hand: each of four words is in a sector of its own
    kernel = kernel_from_table(
        {
            "name": "apart",
            "launch": {"grid": THREADS // 256, "block": 256},
            "buffers": {"t": {"length": 1048576 * 4 + 256, "element_bytes": 4}},
            "accesses": [
                {"load": "t", "name": f"t{n}", "index": index.format(n=n)} for n in range(4)
            ],
        }
    )
    found = predict(kernel, device="h100-sxm").traffic
    assert found["l2_read_sectors"] == pytest.approx(4 * THREADS, rel=0.03)


def test_atomics_at_a_drawn_place_bring_its_sector_once() -> None:
    # by hand: eight words of a sector each in 32 MiB, warm or cold below what L2 holds: DRAM reads
    # no more for eight than for the first
    one, eight = (
        kernel_from_table(
            {
                "name": "filter",
                "launch": {"grid": 4096, "block": 256},
                "buffers": {"t": {"length": 1 << 26, "element_bytes": 4}},
                "accesses": [
                    {
                        "atomic": "t",
                        "name": f"t{n}",
                        "index": f"random(blockIdx.x*256 + threadIdx.x, 8388608)*8 + {n}",
                    }
                    for n in range(words)
                ],
            }
        )
        for words in (1, 8)
    )
    first, every = (predict(k, device="h100-sxm", cache="cold").traffic for k in (one, eight))
    assert every["l2_atomic_sectors"] == pytest.approx(8 * first["l2_atomic_sectors"], rel=0.01)
    assert every["dram_read_bytes"] == pytest.approx(first["dram_read_bytes"], rel=0.05)
