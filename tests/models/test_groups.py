"""Which accesses are taken together: against sets of sectors and by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from perfmodel import predict
from perfmodel.kernels import Kernel, kernel_from_table


def kernel(indices: list[str], grid: list[int], block: list[int], length: int) -> Kernel:
    loads = [{"load": "in", "name": f"load-{n}", "index": at} for n, at in enumerate(indices)]
    return kernel_from_table(
        {
            "name": "neighbours",
            "launch": {"grid": grid, "block": block},
            "buffers": {"in": {"length": length}},
            "accesses": loads,
        }
    )


def fills(found: Kernel) -> float:
    """Return the sectors that loads bring into L1."""
    return float(predict(found, device="h100-sxm").details.traffic.l1_fill_sectors[0])


def test_neighbours_at_periodic_edges_share_their_sectors() -> None:
    # independent: sectors of each block's points and four neighbours, which go round at the edges.
    # Counted: 56,232 L1 misses of a field of 1,152 by 129 pairs of floats, where 92,880 were said
    # (measurements/source-kernels/h100-sxm/independent, gray_scott_step)
    nx, ny, block = 256, 128, (32, 8)
    x, y = (f"(blockIdx.{a}*blockDim.{a} + threadIdx.{a})" for a in "xy")
    around = [(0, 0), (nx - 1, 0), (1, 0), (0, ny - 1), (0, 1)]
    indices = [f"({y} + {dy}) % {ny} * {nx} + ({x} + {dx}) % {nx}" for dx, dy in around]
    read = 0
    for bx, by in product(range(nx // block[0]), range(ny // block[1])):
        px = bx * block[0] + np.arange(block[0])[None, :]
        py = by * block[1] + np.arange(block[1])[:, None]
        at = [(py + dy) % ny * nx + (px + dx) % nx for dx, dy in around]
        read += len(np.unique(np.stack(at) // 8))
    found = fills(kernel(indices, [nx // block[0], ny // block[1]], [*block], nx * ny))
    assert found == pytest.approx(read, rel=0.12)


def test_what_has_one_iteration_keeps_no_loads_apart() -> None:
    # hand: a row and the next one, the same sectors but for one row, with and without a loop whose
    # only iteration a formula cannot see
    nx = 512
    x, y = "(blockIdx.x*256 + threadIdx.x)", "blockIdx.y"
    plain = [f"{y}*{nx} + {x}", f"{y}*{nx} + {x} + 1", f"{y}*{nx} + {x} + 8"]
    apart = [plain[0], f"where({x} < 100000, {plain[1]}, 0)", plain[2]]
    both = (fills(kernel(some, [2, 64], [256], nx * 80)) for some in (plain, apart))
    assert next(both) == pytest.approx(next(both), rel=1e-9)


@pytest.mark.parametrize(("pool", "stride"), [(3, 2), (2, 2), (3, 3), (4, 4)])
def test_rows_between_those_of_neighbours_are_rows_of_their_own(pool: int, stride: int) -> None:
    # independent: sectors that blocks read for windows of some rows and columns, a stride apart, as
    # pools and restrictions do. Counted: 7.1 M L2 reads of a field's three directions halved, where
    # 16.7 M were said (measurements/source-kernels/h100-sxm/blind-domains, coarsen_full_weight)
    across, down, block = 96, 40, (32, 4)
    pitch = stride * across + pool
    x, y = (f"(blockIdx.{a}*blockDim.{a} + threadIdx.{a})" for a in "xy")
    window = list(product(range(pool), repeat=2))
    indices = [f"({stride}*{y} + {j})*{pitch} + {stride}*{x} + {i}" for j, i in window]
    read = 0
    for bx, by in product(range(across // block[0]), range(down // block[1])):
        px = stride * (bx * block[0] + np.arange(block[0])[None, :])
        py = stride * (by * block[1] + np.arange(block[1])[:, None])
        at = [(py + j) * pitch + px + i for j, i in window]
        read += len(np.unique(np.stack(at) // 8))
    grid = [across // block[0], down // block[1]]
    found = fills(kernel(indices, grid, [*block], pitch * (stride * down + pool)))
    assert found == pytest.approx(read, rel=0.08)
