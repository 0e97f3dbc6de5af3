"""Advice on uncoalesced accesses: all that read a buffer alike move together."""

from __future__ import annotations

from typing import Any

import pytest

from perfmodel.kernels import Kernel
from perfmodel.kernels.tables import kernel_from_table
from perfmodel.prediction.advise import advise
from perfmodel.prediction.predict import predict

ROW = 256


def rows(index: str, together: int) -> Kernel:
    """Return a kernel whose threads read a row of 256 floats each, some of them an iteration."""
    table: dict[str, Any] = {
        "name": "rows",
        "parameters": {},
        "launch": {"grid": [4096, 1, 1], "block": [256, 1, 1]},
        "buffers": {"in": {"length": 4096 * 256 * ROW, "element_bytes": 4}},
        "loops": [{"variable": "k", "trips": ROW // together}],
        "accesses": [
            {
                "load": "in",
                "name": f"in-{u}",
                "loop": "k",
                "index": index.format(f"k * {together} + {u}"),
            }
            for u in range(together)
        ],
    }
    return kernel_from_table(table)


@pytest.mark.parametrize("together", [1, 4, 32])
def test_loads_of_an_unrolled_loop_move_together(together: int) -> None:
    # independent: the kernel that a user would write, whose warps read 32 rows side by side
    thread = "(blockIdx.x * blockDim.x + threadIdx.x)"
    first = "(blockIdx.x * blockDim.x + threadIdx.x - threadIdx.x % 32)"
    apart = rows(f"{thread} * {ROW} + {{}}", together)
    dense = rows(f"{first} * {ROW} + ({{}}) * 32 + threadIdx.x % 32", together)
    advice = advise(apart, device="h200-sxm")
    (option,) = (o for o in (*advice.options, *advice.rejected) if o.kind == "coalescing")
    wanted = predict(dense, device="h200-sxm")
    assert option.prediction.time_s == pytest.approx(wanted.time_s, rel=1e-6)
    assert option.prediction.traffic == pytest.approx(wanted.traffic, rel=1e-6)
    others = f"and {together - 1} more alike"
    assert (others in option.cuda[0]) == (together > 1)
