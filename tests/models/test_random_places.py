"""Random places inside a part of each block's own: against counts and the simulator of caches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from perfmodel import predict
from perfmodel.kernels import Kernel, bind
from perfmodel.kernels.counted import Counted
from perfmodel.kernels.tables import kernel_from_table
from perfmodel.models.grid.geometry import block_shape
from perfmodel.models.l2.random_lines import drawn_share
from perfmodel.models.requests.random_places import Places
from perfmodel.models.requests.warp_requests import access_requests


def rows(columns: int, blocks: int, threads: int = 256, index: str | None = None) -> Kernel:
    """Blocks that each draw from a row, as often as it has words."""
    first = f"blockIdx.x*{columns}"
    own = f"{first} + random({first} + {threads}*k + threadIdx.x, {columns})"
    return kernel_from_table(
        {
            "name": "rows",
            "launch": {"grid": [blocks], "block": [threads]},
            "loops": [{"variable": "k", "trips": columns // threads}],
            "buffers": {"table": {"length": columns * blocks}},
            "accesses": [{"load": "table", "index": index or own, "loop": "k"}],
        }
    )  # fmt: skip


def places(kernel: Kernel, threads: int = 256) -> Places:
    found = access_requests(bind(kernel, {}), 0, block_shape((threads, 1, 1)), {}).places
    assert found is not None
    return found


def test_rows_lie_side_by_side() -> None:
    # hand: 4 KiB of each block, whichever blocks they are
    found = places(rows(1024, 500))
    assert float(found.of(np.full(1, 100.0))[0]) == 100 * 4096
    assert float(found.of(np.full(1, 3.0), 132.0)[0]) == 3 * 4096
    assert float(found.alone[0]) == 1.0


@pytest.mark.parametrize(("blocks", "gap"), [(1, 1), (40, 1), (8, 3), (5, 60), (300, 1)])
def test_bytes_that_blocks_draw_from_together(blocks: int, gap: int) -> None:
    # independent: the union of intervals, word by word
    index = "(blockIdx.x*256 + threadIdx.x) + random(k + threadIdx.x, 5000)"
    found = places(rows(512, 400, index=f"min({index}, {400 * 512} - 1)"))
    words = np.zeros(1 << 18, dtype=bool)
    for block in range(blocks):
        words[block * gap * 256 : block * gap * 256 + 255 + 5000] = True
    assert float(found.of(np.full(1, float(blocks)), gap)[0]) == 4 * np.count_nonzero(words)


def test_a_table_that_all_blocks_draw_from_is_no_blocks_own() -> None:
    kernel = rows(1024, 64, index="random(blockIdx.x*1024 + 256*k + threadIdx.x, 65536)")
    assert access_requests(bind(kernel, {}), 0, block_shape((256, 1, 1)), {}).places is None


def test_rows_that_l2_holds_at_a_time_are_fetched_once() -> None:
    # hand: 64 MiB, of which 8 blocks of each SM draw from 4 MiB at a time
    found = predict(rows(1024, 16384), device="h100-sxm").traffic
    assert found["dram_read_bytes"] == pytest.approx(64 << 20, rel=0.03)


@pytest.mark.parametrize(("columns", "blocks", "threads"), [(1024, 2112, 256), (16384, 528, 1024)])
def test_rows_against_simulated_caches(columns: int, blocks: int, threads: int) -> None:
    kernel = rows(columns, blocks, threads)
    closed = predict(kernel, device="h100-sxm").traffic
    simulated = predict(kernel, device="h100-sxm", traffic="simulated").traffic
    for name, within in (("l2_read_sectors", 0.06), ("dram_read_bytes", 0.1)):
        assert closed[name] == pytest.approx(simulated[name], rel=within), name


def pieces(how: str, words: int, of: int) -> Kernel:
    """Each thread reads the word of its place in rows of so many words, in any order."""
    index = f"{how}(i // {words}, {of // words})*{words} + i % {words}"
    return kernel_from_table(
        {
            "name": "pieces",
            "launch": {"grid": [of // 256], "block": [256]},
            "definitions": {"i": "blockIdx.x*blockDim.x + threadIdx.x"},
            "buffers": {"table": {"length": of}},
            "accesses": [{"load": "table", "index": index}],
        }
    )  # fmt: skip


@pytest.mark.parametrize("words", [8, 32, 256])
def test_a_permutation_of_rows_reads_each_once(words: int) -> None:
    # hand: 16 MiB, all of it; rows of a KiB drawn at random leave out 1/e
    size = 16 << 20
    whole = predict(pieces("shuffled", words, size // 4), device="h100-sxm").traffic
    assert whole["dram_read_bytes"] == pytest.approx(size, rel=0.01)
    drawn = predict(pieces("random", words, size // 4), device="h100-sxm").traffic
    left = np.exp(-2.0) if words == 8 else np.exp(-1.0)  # two rows of 32 B lie in 64 B
    assert drawn["dram_read_bytes"] == pytest.approx(size * (1 - left), rel=0.02)


@pytest.mark.parametrize(("places", "share"), [(1, 0.5), (2, 0.25), (16, 1.0), (32, 0.1)])
def test_lines_that_a_part_of_a_permutation_touches(places: int, share: float) -> None:
    # independent: the start of a shuffled list
    lines = 20_000
    order = np.random.default_rng(3).permutation(lines * places)
    count = int(share * len(order))
    touched = len(np.unique(order[:count] // places)) / lines
    found = drawn_share(np.array(count / lines), np.array(float(places)))
    assert float(found) == pytest.approx(touched, abs=0.01)


@pytest.mark.parametrize(("columns", "blocks"), [(1024, 4224), (16384, 2112), (65536, 1056)])
def test_rows_that_were_followed_are_as_those_of_an_index(columns: int, blocks: int) -> None:
    # independent: the same launch, whose index says where blocks draw; a line that L1 has may
    # not have the sector
    kernel = rows(columns, blocks)
    draws = float(columns * blocks)
    lines = columns / 32
    counted = Counted(
        *(draws / 32, draws, draws, draws, draws, draws, draws, draws, 1.0),
        misses=tuple(
            (n, max(0.125, 1 - 0.875 * (n / lines) ** 2)) for n in (4, 64, 256, 1024, 16384)
        ),
        once=(0.125, 0.0625),
        apart=True,
        jumping=True,
    )
    followed = replace(kernel, accesses=(replace(kernel.accesses[0], counted=counted),))
    found, wanted = (
        predict(k, device="h100-sxm").traffic["dram_read_bytes"] for k in (followed, kernel)
    )
    assert found == pytest.approx(wanted, rel=0.2)
    in_order = replace(counted, jumping=False)
    walked = replace(kernel, accesses=(replace(kernel.accesses[0], counted=in_order),))
    most = predict(walked, device="h100-sxm").traffic["dram_read_bytes"]
    assert (most > 1.2 * found) == (columns == 16384)


@pytest.mark.parametrize("starts", [(0,), (0, 0), (0, 4096), (8192, 0)])
def test_loads_that_draw_from_a_part_of_a_buffer_together(starts: tuple[int, ...]) -> None:
    # hand: 4096 words from where each load's part starts, of a buffer of 64 Ki words
    thread = "blockIdx.x*256 + threadIdx.x"
    kernel = kernel_from_table(
        {
            "name": "parts",
            "launch": {"grid": [64], "block": [256]},
            "buffers": {"table": {"length": 1 << 16}},
            "accesses": [
                {"load": "table", "name": f"part-{n}", "index": f"{at} + random({thread}, 4096)"}
                for n, at in enumerate(starts)
            ],
        }
    )
    traffic = predict(kernel, device="h100-sxm").details.requests
    for r in traffic:
        assert r.drawn is not None
        assert float(np.ravel(r.drawn.start)[0]) == 4 * min(starts)
        assert float(np.ravel(r.drawn.size)[0]) == 4 * (max(starts) - min(starts) + 4096)
