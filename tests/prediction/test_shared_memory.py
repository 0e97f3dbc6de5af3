"""Shared memory: requests and bank conflicts of a kernel that stages a tile."""

from __future__ import annotations

from typing import Any

import pytest

from perfmodel.errors import PerfmodelError
from perfmodel.kernels import kernel_from_table
from perfmodel.prediction import predict, predict_many


def staged(stride: int) -> dict[str, Any]:
    return {
        "name": "staged",
        "summary": "each thread stores one float to shared memory and loads one",
        "parameters": {"blocks": {"default": 264}},
        "launch": {"grid": "blocks", "block": 256, "shared_bytes": 4 * 256 * stride},
        "buffers": {
            "in": {"length": "blocks*256"},
            "tile": {"length": 256 * stride, "space": "shared"},
        },
        "accesses": [
            {"load": "in", "index": "blockIdx.x*256 + threadIdx.x"},
            {"store": "tile", "index": f"threadIdx.x*{stride}"},
            {"load": "tile", "index": f"threadIdx.x*{stride}", "name": "back"},
        ],
    }


# hand count: 32 banks of 4 B, so lanes `stride` words apart share one by gcd(stride, 32)
@pytest.mark.parametrize(("stride", "conflicts"), [(1, 1), (2, 2), (8, 8), (33, 1), (32, 32)])
def test_bank_conflicts(stride: int, conflicts: int) -> None:
    found = predict(kernel_from_table(staged(stride), "staged"), device="h100-sxm")
    warps = 264 * 8
    assert found.traffic["shared_requests"] == 2 * warps
    assert found.traffic["shared_wavefronts"] == 2 * warps * conflicts
    # Shared memory is no global traffic.
    assert found.traffic["global_load_requests"] == warps
    assert found.traffic["global_load_sectors"] == 4 * warps


def test_conflicts_cost_time() -> None:
    times = [
        predict(kernel_from_table(staged(s), "staged"), device="h100-sxm", blocks=1 << 16).time_s
        for s in (1, 8, 32)
    ]
    assert times == sorted(times)


def test_more_shared_memory_than_a_block_can_have() -> None:
    from perfmodel.errors import PerfmodelError

    with pytest.raises(PerfmodelError, match="shared"):
        predict(kernel_from_table(staged(256), "staged"), device="h100-sxm")


@pytest.mark.parametrize("call", [predict, predict_many])
def test_a_block_over_the_limit_is_refused(call: Any) -> None:
    # published: 227 KiB a block on compute capability 9.0; a stride of 228 needs 228 KiB
    with pytest.raises(PerfmodelError, match="shared"):
        call(kernel_from_table(staged(228), "staged"), device="h100-sxm", blocks=264)
    assert call(kernel_from_table(staged(227), "staged"), device="h100-sxm", blocks=264).time_s > 0
