"""Parts of a context: the rule of a library against what it launched."""

import csv

import numpy as np
import pytest

from perfmodel.errors import PerfmodelError
from perfmodel.expressions import evaluate, parse
from perfmodel.expressions.scalars import full_parts, full_parts_arrays
from perfmodel.kernels import bind, find_kernel
from perfmodel.measure.folders import root


@pytest.mark.parametrize(
    ("blocks", "pieces", "slots", "parts"),
    [
        # by hand: what fits at once is best full with all of it, and 85% of that is enough
        *((8, 32, 264, 32), (132, 16, 264, 2), (264, 16, 264, 1), (1, 4, 264, 4)),
        # 79 pieces: 28 parts are no shorter than 27, and 40 would take two rounds
        *((8, 79, 264, 27), (192, 6, 264, 6)),
    ],
)
def test_parts(blocks, pieces, slots, parts):
    assert full_parts(blocks, pieces, slots) == parts
    assert evaluate(parse(f"full_parts({blocks}, {pieces}, {slots})"), {}) == parts


def test_arrays_give_the_same():
    draw = np.random.default_rng(7).integers(1, 300, (3, 200))
    one_by_one = [full_parts(*(int(value) for value in column)) for column in draw.T]
    assert full_parts_arrays(*draw).tolist() == one_by_one


def test_many_pieces_for_the_same_blocks():
    # independent: one launch after the other; from 128 x 127 pieces on, every part more tells
    pieces = np.array([1, 79, 3000, 127 * 128 - 1, 127 * 128, 128 * 128 + 1, 1 << 20, 79])
    blocks, slots = np.array([9]), np.array([264])
    full = np.arange(1, 129) * 9 / 264
    full /= np.ceil(full)
    by_hand = 1 + int(np.argmax(full >= 0.85 * full.max()))
    found = full_parts_arrays(blocks, pieces, slots)
    assert found[4:7].tolist() == [by_hand] * 3
    columns = (np.full(8, 9), pieces, np.full(8, 264))
    assert found.tolist() == full_parts_arrays(*columns).tolist()
    assert full_parts_arrays(blocks, pieces.reshape(2, 4), slots).tolist() == [
        found[:4].tolist(),
        found[4:].tolist(),
    ]


def test_nothing_to_cut():
    with pytest.raises(PerfmodelError, match="must be 1 or more"):
        evaluate(parse("full_parts(8, n, 264)"), {"n": 0})


def test_every_decode_attention_that_was_launched():
    # independent: the grids that PyTorch's FlashAttention had on an H200, which the rule is not of
    folder = root() / "operators/h200-sxm/pytorch"
    seen = 0
    for sizes, kernels in (("operators", "launches"), ("unseen", "unseen-launches")):
        with (folder / f"{kernels}.csv").open(newline="") as file:
            grids = {r["point"]: r["grid"] for r in csv.DictReader(file) if r["number"] == "0"}
        with (folder / f"{sizes}.csv").open(newline="") as file:
            rows = [r for r in csv.DictReader(file) if r["operator"] == "decode-attention"]
        for row in (r for r in rows if r["impl"] == "flash"):
            names = ("batch", "heads", "kv_heads", "context", "width")
            params = {name: int(row[name]) for name in names if row[name]}
            grid = bind(find_kernel("decode-attention", "flash"), params).grid
            per_block = params["batch"] * params.get("kv_heads", params["heads"])
            launched = grids[row["point"]].split("x")
            parts = int(launched[1]) if int(launched[2]) == per_block else 1
            assert int(np.max(grid[0])) == parts, params
            seen += 1
    assert seen == 112
