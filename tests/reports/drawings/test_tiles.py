"""A block's tiles as a record: rows and columns by hand, from the mappings' parameters."""

from __future__ import annotations

from typing import Any

import pytest

from perfmodel import PerfmodelError, predict
from perfmodel.reports.drawings.place import Place
from perfmodel.reports.drawings.tiles import BlockTiles, Part, block_tiles


def tiles(mapping: str, place: Place | None = None, **given: Any) -> BlockTiles:
    return block_tiles(predict("gemm", mapping=mapping, **given), place)


def part(rows: tuple[int, int], columns: tuple[int, int]) -> Part:
    return Part((rows,), (columns,))


@pytest.mark.parametrize(
    ("mapping", "tile", "depth", "warp", "thread"),
    [
        # by hand: rows of a warp walk down m, or along n; tiles are the mappings' defaults
        ("naive", (32, 32), 1, "32 x 1", "1 x 1"),
        ("coalesced", (32, 32), 1, "1 x 32", "1 x 1"),
        ("smem", (32, 32), 32, "1 x 32", "1 x 1"),
        # TM = 8 rows of a thread; 64 columns are two warps
        ("blocktile-1d", (64, 64), 8, "8 x 32", "8 x 1"),
        # 8 x 8 of a thread; 16 threads along 128 columns, so two rows of them are a warp
        ("blocktile-2d", (128, 128), 8, "16 x 128", "8 x 8"),
        # WM x WN; 4 pieces of TM x TN = 8 x 4, a piece every 16 columns
        ("warptile", (128, 128), 16, "64 x 64", "8 x 16"),
    ],
)
def test_parts_by_hand(
    mapping: str, tile: tuple[int, int], depth: int, warp: str, thread: str
) -> None:
    # by hand: block 1 along x and 2 along y, step 3; naive has its rows along x
    found = tiles(mapping, Place((1, 2, 0), 0, {"k" if depth == 1 else "step": 3}), N=512)
    rows, columns = (1, 2) if mapping == "naive" else (2, 1)
    down = (rows * tile[0], (rows + 1) * tile[0])
    across = (columns * tile[1], (columns + 1) * tile[1])
    along = (3 * depth, 4 * depth)
    assert found.c == part(down, across)
    assert found.a == part(down, along)
    assert found.b == part(along, across)
    assert found.warp is not None
    assert found.thread is not None
    assert (found.warp.size, found.thread.size) == (warp, thread)
    assert found.steps == 512 // depth


def test_a_threads_pieces_of_a_warp_tile() -> None:
    # by hand: TN = 4 columns, then those of the three other lanes
    found = tiles("warptile", N=512)
    assert found.thread is not None
    assert found.thread.rows == ((0, 8),)
    assert found.thread.columns == ((0, 4), (16, 20), (32, 36), (48, 52))


def test_tensor_cores_read_b_as_rows_of_k() -> None:
    # by hand: tiles of 128 x 128 of C, and 64 of K = 128 B of bf16 rows
    found = tiles("tensor-core", Place(loops={"k": 2}), N=1024, BM=128, BN=128)
    assert found.c == part((0, 128), (0, 128))
    assert found.a == part((0, 128), (128, 192))
    assert found.b == part((128, 192), (0, 128))
    assert (found.warp, found.thread) == (None, None)
    assert found.step_bytes == 2 * 2 * 128 * 64


def test_reuse_by_hand() -> None:
    # by hand: 2*128*128*8 FLOP for (128 + 128)*8 floats: 32 FLOP/B; of single elements 8
    assert tiles("blocktile-2d", N=512).step_flop == 2 * 128 * 128 * 8
    assert tiles("blocktile-2d", N=512).step_bytes == 4 * 8 * 256
    assert "8 KiB for 262k FLOP: 32 FLOP/B" in tiles("blocktile-2d", N=512).text
    assert tiles("coalesced", N=512).text.endswith("256 B for 2048 FLOP: 8 FLOP/B")


def test_a_block_at_the_edge_has_less() -> None:
    # by hand: 100 rows and columns are three blocks of 32 and 4 more
    found = tiles("coalesced", Place((3, 3, 0)), N=100)
    assert found.c == part((96, 100), (96, 100))


def test_a_block_beyond_the_matrix_takes_nothing() -> None:
    # by hand: K = 16 of tf32 and N = 3 are copied in tiles of 64 rows: two of them, of a grid of 12
    with pytest.raises(PerfmodelError, match="this block takes nothing of C here; choose another"):
        tiles("tensor-core", Place((4, 0, 0)), M=100, N=3, K=16, dtype="tf32")


def test_one_step_of_odd_rows_is_still_a_tile() -> None:
    # by hand: K = 96 of 3 steps of 32, each a block's own; B is 33 rows of 96
    found = tiles("tensor-core", Place((0, 0, 2)), M=100, N=33, K=96, dtype="tf32", split_k=3)
    assert (found.b, found.steps) == (part((64, 96), (0, 33)), 1)


def test_what_is_no_product() -> None:
    with pytest.raises(PerfmodelError, match="copy is no matrix product: tiles are drawn of"):
        block_tiles(predict("copy"))
    with pytest.raises(PerfmodelError, match="--at step must be 0 to 15 in this launch, not 16"):
        tiles("smem", Place(loops={"step": 16}), N=512)
    with pytest.raises(PerfmodelError, match="--at warp must be 0 to 31 in this launch, not 32"):
        tiles("smem", Place(warp=32), N=512)
