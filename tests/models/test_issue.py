"""Warp instructions: of loops that a guard ends, warps take a part of the turns."""

import numpy as np

from perfmodel import load_device
from perfmodel.kernels import find_kernel
from perfmodel.models.time.issue import guarded_iteration_shares
from perfmodel.prediction.conditions import Conditions

KERNEL = find_kernel("working-set-read")
UNDER = Conditions(load_device("h200-sxm"), "profiler", "cold")


def test_turns_of_a_loop_that_a_guard_ends_are_each_launchs_own() -> None:
    # by hand: 264 blocks of 32 warps. 100,000 vectors are read at one go, so that no loop over
    # strides of the grid is left. 300,000 vectors are 9375 warps, of 2 turns of 8448; 270,336 are
    # a turn of all warps
    vectors = np.array([100_000, 300_000, 264 * 1024])
    given = {"bytes": 16 * vectors, "iterations": 1, "blocks": 264}
    found = guarded_iteration_shares(KERNEL, UNDER.details(KERNEL, given).requests)
    assert list(found) == ["j"]
    assert np.broadcast_to(found["j"].ended, 3).tolist() == [False, True, False]
    np.testing.assert_allclose(found["j"].share, [1.0, 9375 / (2 * 8448), 1.0], rtol=1e-12)
    alone = {**given, "bytes": 16 * 100_000}
    assert not guarded_iteration_shares(KERNEL, UNDER.details(KERNEL, alone).requests)
