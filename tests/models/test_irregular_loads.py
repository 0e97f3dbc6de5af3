"""Loads at irregular places: what several of one buffer bring, and what L1 has of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from perfmodel import predict
from perfmodel.kernels.counted import Counted
from perfmodel.models.l2.l2_misses import irregular
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.request_record import past_l1


def test_loads_of_one_buffer_bring_each_sector_once_all_together() -> None:
    # Property: three loads of 1000 sectors each of a buffer of as many bring them once, not thrice
    # (links of a lattice on an H200: 37.8 MB read; 113 MB were predicted when each counted alone).
    asked, size, all_of_it = np.full(1, 1000.0), np.full(1, 1000.0 * SECTOR), np.ones(1)
    alone, read = irregular(asked, size, 64.0, all_of_it, asked)
    assert (alone[0], read[0]) == (1000, 1000 * SECTOR)
    each, part = irregular(asked, size, 64.0, all_of_it, 3 * asked)
    assert np.allclose([3 * each[0], 3 * part[0]], [1000, 1000 * SECTOR])


def test_places_that_l1_has_are_not_drawn_from_l2() -> None:
    # Derived: of followed loads that ask L2 for a tenth of their bytes, a tenth of the lines count.
    (r, *_) = predict("gather", n=1 << 20, table_bytes=1 << 26).details.requests
    known = Counted(1, 1, 1, 1, 1, 1, 1, 1, 1, misses=((8, 0.1),))
    followed = replace(r, access=replace(r.access, counted=known))
    asked = r.sectors * SECTOR / 10
    assert np.allclose(past_l1([followed], [0], asked)[0].lines, r.lines / 10)
    assert past_l1([r], [0], asked)[0] is r
