"""Loads at irregular places that later waves of blocks read again: tables, as periodic ones are."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.kernels import kernel_from_table
from perfmodel.prediction import Prediction, predict

THREAD = "(blockIdx.x*1024 + threadIdx.x)"
QUADS = 1 << 20  # of 16 bytes: 16 MiB
OUT = 1 << 30


def reset(index: str, grid: int = OUT // 16384, quads: int = QUADS) -> Prediction:
    """Return what is predicted of the built-in data-reset with another index of its table."""
    kernel = {
        "name": "reset",
        "launch": {"grid": [grid], "block": [1024], "registers": 14},
        "buffers": {
            "in": {"length": quads, "element_bytes": 16},
            "out": {"length": grid * 1024, "element_bytes": 16},
        },
        "accesses": [{"load": "in", "index": index}, {"store": "out", "index": THREAD}],
        "arithmetic": [{"pipe": "other", "count": 40}],
    }
    return predict(kernel_from_table(kernel), device="h100-sxm")


def missed(prediction: Prediction) -> float:
    return float(np.max(prediction.traffic["dram_read_bytes"]))


@pytest.mark.parametrize(
    "index",
    [
        f"({THREAD} ^ ({THREAD} // 32 % 8)) % {QUADS}",  # lanes of a line in another order
        f"({THREAD} ^ ({THREAD} // 1024 % 8)) & {QUADS - 1}",
        f"{THREAD} // 1000 % 1024 * 1024 + {THREAD} % 1000",  # rows with a gap
    ],
)
def test_a_table_in_another_order_misses_as_in_order(index: str) -> None:
    # independent: the built-in, whose index is i % m, over the same lines in the same blocks
    built_in = predict("data-reset", device="h100-sxm", in_bytes=QUADS * 16, out_bytes=OUT)
    found = reset(index)
    assert any(r.sampled is not None for r in found.details.requests)
    assert missed(found) == pytest.approx(missed(built_in), rel=0.03)
    assert found.time_s == pytest.approx(built_in.time_s, rel=0.02)


def test_its_interval_holds_the_case_that_none_of_it_is_missed() -> None:
    # property: when later waves come back nobody has seen, so that the bytes may be a stream's
    found = reset(f"({THREAD} ^ ({THREAD} // 32 % 8)) % {QUADS}")
    once = reset(f"{THREAD} % 1024")  # a table that L1 holds: nothing missed, the same stores
    assert missed(once) < 1e6
    moved = missed(found) + float(np.max(found.traffic["dram_write_bytes"]))
    left = float(np.max(once.traffic["dram_write_bytes"]))
    assert found.interval_s[0] < found.time_s * left / moved * 1.1
    assert any("later waves of blocks read in again" in w for w in found.warnings)


def test_what_neighbouring_blocks_share_is_no_table() -> None:
    # by hand: 8 blocks in a row read the same KiB in another order, and nobody later: once each
    found = reset(f"{THREAD} // 8192*1024 + ({THREAD} ^ 5) % 1024", quads=OUT // 128)
    assert missed(found) == pytest.approx(OUT / 8, rel=0.02)
    assert not any("later waves" in w for w in found.warnings)
