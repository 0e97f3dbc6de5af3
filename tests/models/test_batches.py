"""Batches of loads: how late the slowest of the loads is that a warp waits for together."""

from __future__ import annotations

import pytest

from perfmodel import predict
from perfmodel.kernels import Kernel, kernel_from_table


def walk(parts: int) -> Kernel:
    """Return one warp's walk over 128 B a turn: as words, as two halves of each, or as bytes."""
    turn = 32 * parts
    return kernel_from_table(
        {
            "name": "walk",
            "summary": "a line a turn",
            "launch": {"grid": 1, "block": 32},
            "paces": [{"clocks": 20, "loop": "k", "abreast": 1}],
            "loops": [{"variable": "k", "trips": 256}],
            "buffers": {"x": {"length": 256 * turn, "element_bytes": 4 // parts}},
            "accesses": [
                {"load": "x", "name": f"x{j}", "index": f"k*{turn} + {32 * j} + threadIdx.x"}
                | {"loop": "k"}
                for j in range(parts)
            ],
        }
    )


@pytest.mark.parametrize("parts", [2, 4])
def test_loads_of_one_line_miss_together(parts: int) -> None:
    # property: a line comes from DRAM once, whether one load asks for it or several. Measured: a
    # warp's sum of bytes, four loads of 32 B a turn, was 1.44 of the time
    # (measurements/source-kernels/h100-sxm/blind-domains, adler_chunks)
    whole, found = (predict(walk(n), device="h100-sxm", cache="cold").time_s for n in (1, parts))
    assert found == pytest.approx(whole, rel=0.01)
