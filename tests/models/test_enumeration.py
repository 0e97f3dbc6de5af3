"""Counting addresses of sampled warps: piece by piece as all at once."""

from __future__ import annotations

import numpy as np
import pytest
from digests import forget

from perfmodel.kernels import bind
from perfmodel.kernels.files import parse_kernel
from perfmodel.models.grid.geometry import block_shape
from perfmodel.models.requests import enumeration, patterns, wavefronts
from perfmodel.models.requests.warp_requests import Requests, access_requests

KERNEL = """
name = "places"
summary = "random, odd and guarded places"
parameters = { n = { default = 100000 }, m = { default = 77777 } }
launch = { grid = "ceil_div(n, 96)", block = 96 }
definitions = { i = "blockIdx.x*blockDim.x + threadIdx.x" }
buffers = { x = { length = "m*2" }, out = { length = "m*2" }, bins = { length = "m" } }
accesses = [
  { load = "x", index = "random(i, m)", guard = "i < n" },
  { load = "x", index = "2*random(i, m)", vector = 2, guard = "i % 3 != 1" },
  { load = "x", index = "i*i % m", guard = "i < n" },
  { store = "out", index = "random(i, m)", name = "scattered" },
  { atomic = "bins", index = "random(i, m)", guard = "random(i, 4) > 0" },
]
"""


def requests() -> list[Requests]:
    instance = bind(parse_kernel(KERNEL), {})
    shape = block_shape((96, 1, 1))
    return [access_requests(instance, at, shape, {}) for at in range(5)]


@pytest.mark.parametrize("piece", [1, 1 << 10, 1 << 13])
def test_pieces_count_what_the_whole_does(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # expected (property): to the bit, since all that is added up is whole numbers
    monkeypatch.setattr(patterns, "MAX_LANES", 1 << 16)
    monkeypatch.setattr(enumeration, "_PIECE", 1 << 30)
    forget()
    whole = requests()
    monkeypatch.setattr(enumeration, "_PIECE", piece)
    forget()
    for found, expected in zip(requests(), whole, strict=True):
        for name in expected.__slots__:
            one, other = getattr(found, name), getattr(expected, name)
            if isinstance(other, np.ndarray):
                assert np.array_equal(one, other), name
            elif name in ("sharing", "stored", "banks", "random", "sampled"):
                assert str(one) == str(other), name


@pytest.mark.parametrize("width", [1, 4, 16])
def test_lanes_in_order_take_the_clocks_of_the_lanes_as_they_are(width: int) -> None:
    # independent: lanes in their places, those without an address left out
    random = np.random.default_rng(width)
    address = width * random.integers(0, 9000, (60, 32))
    active = random.random((60, 32)) < np.linspace(0, 1, 60)[:, None]
    some = active.any(axis=-1)
    assert not some.all()
    assert active.all(axis=-1).any()
    ordered = enumeration._without_gaps(enumeration._ordered(address, active))
    tags = wavefronts.tag_wavefronts(address, active)
    np.testing.assert_array_equal(wavefronts.tags_in_order(ordered)[some], tags[some])
    data = wavefronts.data_in_order(ordered, width)
    assert (data is None) == (width > 4)
    if data is not None:
        expected = wavefronts.data_wavefronts(address, width, active)
        np.testing.assert_array_equal(data[some], expected[some])
