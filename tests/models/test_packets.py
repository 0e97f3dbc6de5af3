"""What atomics send to L2: against counting lane by lane, and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.hardware import load_device
from perfmodel.kernels import bind, builtin
from perfmodel.models.atomics.to_slices import (
    busiest_slice,
    moves_on,
    operands_of,
    packets_of,
    popular_places,
)
from perfmodel.models.grid.geometry import block_shape
from perfmodel.models.requests.warp_requests import access_requests

H200 = load_device("h200-sxm")


@pytest.mark.parametrize(
    ("addresses", "spacing", "passes", "packets", "filled"),
    [(1 << 17, 1, 4, 1, 1.0), (1 << 17, 8, 32, 8, 0.0), (1, 1, 32, 32, 0.0), (16, 1, 4, 2, 1.0)],
)
def test_a_warp_sends(
    addresses: int, spacing: int, passes: float, packets: float, filled: float
) -> None:
    # by hand: 32 lanes side by side fill four sectors of a line; 32 B apart they are in a sector
    # each, four to a line; at one word they go one by one; at 16 words twice through two sectors
    instance = bind(
        builtin("atomic-add"), {"n": 1 << 17, "addresses": addresses, "spacing": spacing}
    )
    r = access_requests(instance, 0, block_shape((256, 1, 1)), {})
    operands = operands_of(instance, r)
    assert not operands.compares
    sent = packets_of(r, operands)
    warps = (1 << 17) / 32
    assert sent.passes / warps == pytest.approx(passes)
    assert sent.packets / warps == pytest.approx(packets)
    assert sent.sectors == pytest.approx(passes / packets)
    assert sent.filled == pytest.approx(filled)


def test_one_address_is_in_one_slice() -> None:
    # by hand: all passes are in one piece of 256 B; of 64 in turn a 64th each, if not moving on
    for addresses, share in ((1, 1.0), (64, 1 / 64)):
        given = {"n": 1 << 17, "addresses": addresses, "spacing": 64}
        r = access_requests(bind(builtin("atomic-add"), given), 0, block_shape((256, 1, 1)), {})
        assert popular_places(r, H200).granule == pytest.approx(share)
        assert busiest_slice(r, H200).share >= share
        assert not np.any(moves_on(r, H200))
