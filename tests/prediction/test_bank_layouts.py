"""Padding and swizzle: that they move nothing onto something else, and spread lanes over banks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from perfmodel.expressions import Name, evaluate
from perfmodel.kernels import Kernel
from perfmodel.kernels.tables import kernel_from_table
from perfmodel.models.requests.wavefronts import data_wavefronts
from perfmodel.prediction import predict
from perfmodel.prediction.advise import advise
from perfmodel.prediction.bank_layouts import Layout, conflict, layouts
from perfmodel.prediction.rewrites import element_type


def transpose(**tile: Any) -> Kernel:
    """Return a kernel that transposes tiles of 32 x 32 floats through shared memory."""
    place = {"loop": "k"}
    other = {"loop": "j"}
    return kernel_from_table(
        {
            "name": "transpose",
            "launch": {"grid": [64, 64], "block": [32, 8], "shared_bytes": 4096, "registers": 24},
            "buffers": {
                "in": {"length": 2048 * 2048},
                "out": {"length": 2048 * 2048},
                "tile": {"length": 1024, "space": "shared"} | tile,
            },
            "loops": [{"variable": "k", "trips": 4}, {"variable": "j", "trips": 4}],
            "accesses": [
                {"load": "in", **place, "index": "(blockIdx.y*32 + threadIdx.y + 8*k)*2048 + "
                 "blockIdx.x*32 + threadIdx.x"},
                {"store": "tile", **place, "index": "(threadIdx.y + 8*k)*32 + threadIdx.x"},
                {"load": "tile", **other, "index": "threadIdx.x*32 + threadIdx.y + 8*j"},
                {"store": "out", **other, "index": "(blockIdx.x*32 + threadIdx.y + 8*j)*2048 + "
                 "blockIdx.y*32 + threadIdx.x"},
            ],
            "arithmetic": [{"pipe": "other", "count": 60}],
            "barriers": [{"count": 1}],
        }
    )  # fmt: skip


LAYOUTS = [
    Layout("tile", 32, pad=1),
    Layout("tile", 64, pad=4),
    Layout("tile", 32, unit=1, period=32),
    Layout("tile", 64, unit=4, period=8),
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_every_element_has_a_place_of_its_own(layout: Layout) -> None:
    index = layout.index(Name("i"))
    places = np.asarray(evaluate(index, {"i": np.arange(4096)}))
    assert len(set(places.tolist())) == 4096
    # Vectors stay together, and where a multiple of their size is.
    vectors = places.reshape(-1, 4)
    if layout.pad % 4 == 0 and layout.unit in (1, 4) and not (layout.period > 1 > layout.unit - 3):
        assert np.all(np.diff(vectors, axis=1) == 1)
        assert np.all(vectors[:, 0] % 4 == 0)


@pytest.mark.parametrize("layout", [LAYOUTS[0], LAYOUTS[2]], ids=str)
def test_columns_and_rows_take_one_pass(layout: Layout) -> None:
    # independent: the banks of each lane, counted
    index, lanes = layout.index(Name("i")), np.arange(32)
    for row in range(32):
        for elements in (lanes * 32 + row, row * 32 + lanes):
            places = np.asarray(evaluate(index, {"i": elements}))
            assert int(data_wavefronts(places * 4, 4)) == 1


def test_advice_on_a_tile() -> None:
    found = advise(transpose(), device="h200-sxm")
    best = {option.kind: option for option in found.options}
    assert best["padding"].gain > 1.5
    assert best["swizzle"].gain > 1.5
    assert any("tile[32][32 + 1]" in line for line in best["padding"].cuda)
    assert "tile[i ^ (i / 32 % 32)]" in best["swizzle"].cuda
    for kind in ("padding", "swizzle"):
        for r in best[kind].prediction.details.on_chip:
            assert conflict(r) == 1
    # Padding takes memory, the swizzle none.
    blocks = {kind: option.prediction.details for kind, option in best.items()}
    assert int(np.max(blocks["padding"].instance.shared_bytes)) == 4096 + 128
    assert int(np.max(blocks["swizzle"].instance.shared_bytes)) == 4096


def test_tiles_without_conflicts_are_left_alone() -> None:
    base = predict("gemm", mapping="smem", device="h200-sxm", M=1024, N=1024)
    assert not list(layouts(base))


def test_elements_of_any_size_have_a_type() -> None:
    # C++: an array's size follows its name, so char[12] is no type of a declaration's start
    kinds = [element_type(size) for size in (1, 4, 12, 16)]
    assert kinds == ["char", "float", "std::array<char, 12>", "float4"]
    (line, _) = Layout("tile", 32, pad=1).cuda(1024, 12)
    assert line.startswith("__shared__ std::array<char, 12> tile[32][32 + 1];")
