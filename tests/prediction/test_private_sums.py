"""Advice on privatisation: global additions made in shared memory first, in the record."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from perfmodel.kernels.tables import kernel_from_table
from perfmodel.prediction.predict import predict
from perfmodel.prediction.private_sums import private_sums
from perfmodel.prediction.record import Prediction

BLOCKS = 4000


def launch(bins: int, threads: int = 256, **atomic: Any) -> Prediction:
    """Return a launch whose threads each add to one of some words."""
    table: dict[str, Any] = {
        "name": "histogram",
        "launch": {"grid": BLOCKS, "block": threads, "registers": 16},
        "definitions": {"i": "blockIdx.x*blockDim.x + threadIdx.x"},
        "buffers": {"keys": {"length": BLOCKS * threads}, "bins": {"length": bins}},
        "accesses": [
            {"load": "keys", "index": "i"},
            {"atomic": "bins", "index": f"random(i, {bins})", "needs": "keys", **atomic},
        ],
        "arithmetic": [{"pipe": "other", "count": 20}],
    }
    return predict(kernel_from_table(table), device="h200-sxm")


def made(base: Prediction) -> dict[int | None, Prediction]:
    """Return the predictions of launches with private sums by their blocks, None as now."""
    found = ((re.search(r"memory of (\d+) blocks", s.what), s.kernel) for s in private_sums(base))
    return {int(b[1]) if b else None: predict(k, device="h200-sxm") for b, k in found}


@pytest.mark.parametrize("bins", [1, 100, 256, 257, 5000])
def test_every_block_adds_each_word_once(bins: int) -> None:
    # property: a global addition a word and block, in warps of 32 words, whatever the grid
    for blocks, found in made(launch(bins)).items():
        merged = next(r for r in found.details.requests if r.access.kind == "atomic")
        count = BLOCKS if blocks is None else blocks
        assert found.grid[0] == count
        assert float(np.max(merged.active_lanes)) == count * bins
        assert float(np.max(merged.requests)) == count * -(-bins // 32)


def test_turns_do_all_blocks_work() -> None:
    # property: fewer blocks load every key once and add as often, also where turns come out uneven
    base = launch(256)
    for blocks, found in made(base).items():
        loads = next(r for r in found.details.requests if r.access.buffer == "keys")
        adds = next(r for r in found.details.on_chip if r.access.kind == "atomic")
        assert float(np.max(loads.active_lanes)) == BLOCKS * 256, blocks
        assert float(np.max(adds.active_lanes)) == pytest.approx(BLOCKS * 256, rel=1e-6)
    assert {None, 132, 1056} < made(base).keys()


@pytest.mark.parametrize(
    "atomic",
    [{"returns": True}, {"operation": "exchange"}, {"operation": "cas"}],
    ids=["old value used", "exchange", "compare-and-swap"],
)
def test_only_sums_that_nobody_asks_for(atomic: dict[str, Any]) -> None:
    # property: a block cannot know what others have added
    assert not made(launch(256, **atomic))


def test_only_what_fits_into_shared_memory() -> None:
    # published: 227 KiB a block on compute capability 9.0 (CUDA programming guide)
    assert made(launch((227 << 10) // 4))
    assert not made(launch((227 << 10) // 4 + 1))
