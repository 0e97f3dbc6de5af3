"""GPCs: which blocks of a grid their SMs get, and what that costs sets smaller than a grid."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from perfmodel.hardware import load_device
from perfmodel.models.launch.gpcs import SEPARATE, busiest_gpc, gpc_sizes
from perfmodel.prediction import predict

H100 = load_device("h100-sxm")
PART = 16384
GRIDS = Path(__file__).parents[2] / "measurements" / "l2/h100-sxm/partitions" / "grids.txt"


def load(busy: float, blocks: int = 264, held: int = 2) -> float:
    """Return the load of the GPC that has most."""
    found = busiest_gpc(np.array([busy]), np.array([float(blocks)]), np.array([float(held)]), H100)
    return float(found[0])


def test_gpcs_hold_all_sms() -> None:
    # measured: six GPCs of 16 SMs and two of 18, 8 SMs of a die's get their blocks by themselves
    assert sum(gpc_sizes(132, 8, int(SEPARATE(H100)))) + SEPARATE(H100) == 132
    assert sorted(gpc_sizes(132, 8, int(SEPARATE(H100)))) == [8, 16, 16, 16, 16, 16, 18, 18]


def test_the_gpc_with_most_decides_where_blocks_have_no_work() -> None:
    # derived from places.txt: 80 blocks are one on each SM of five GPCs, 176 two on some GPC's
    assert load(80) == pytest.approx(132 / 80)
    assert load(176) == pytest.approx(2 * 132 / 176)
    assert load(263) == pytest.approx(2 * 132 / 263)
    # all at work, more than run together, or one block an SM: no GPC has more than others
    assert load(264) == load(80, blocks=400) == load(80, blocks=132, held=1) == 1


def test_launches_together_have_the_load_of_each_alone() -> None:
    # property: of many launches each pair of blocks at work and rounds is worked out once
    random = np.random.default_rng(8)
    busy = random.integers(1, 600, 400).astype(float)
    blocks, held = busy + random.integers(0, 200, 400), random.integers(1, 5, 400).astype(float)
    found = busiest_gpc(busy, blocks, held, H100)
    each = [load(b, int(n), int(h)) for b, n, h in zip(busy, blocks, held, strict=True)]
    assert found.tolist() == each
    assert 0.1 < np.mean(found > 1) < 0.9  # some of either kind


@pytest.mark.parametrize(
    ("parts", "us"),
    [(32, 15.74), (48, 15.78), (80, 16.03), (112, 18.75), (160, 26.98), (240, 27.81)],
)
def test_small_sets_take_what_a_gpc_gets(parts: int, us: float) -> None:
    # measured, l2/h100-sxm/partitions/sets.csv, 40 times, warm, fit rows; empty kernels read 3.04
    # us there. Without GPCs -8 to -24%
    found = predict(
        "working-set-read", device=H100, cache="warm", bytes=parts * PART, iterations=40
    )
    time = found.time_s * 1e6 - found.terms_s["launch"] * 1e6 + 3.04
    assert time == pytest.approx(us, rel=0.05)


def test_the_gpc_with_most_is_as_blocks_were_placed() -> None:
    # measured: the SM of each block at work; places are of one die, the model's the mean of starts
    sizes = {0: 16, **dict.fromkeys(range(1, 6), 16), 6: 18, 7: 18}
    seen = set()
    for line in GRIDS.read_text(encoding="utf-8").splitlines()[1:]:
        busy, _, _, _, places = line.split(",", 4)
        if not 24 <= int(busy) < 264:
            continue
        own = dict.fromkeys(sizes, 0)
        for place in places.split():
            own[_gpc(int(place.split(":")[0]))] += 1
        most = max(n / sizes[g] for g, n in own.items())
        assert load(int(busy)) * int(busy) / 132 == pytest.approx(most, rel=0.35)
        seen.add(int(busy))
    assert len(seen) >= 10


def _gpc(sm: int) -> int:
    """Return the GPC of an SM: pairs go round them, the last 8 SMs lie in the first."""
    pair = sm // 2
    if pair >= 62:
        return 0
    if pair < 32:
        return pair % 8
    return 1 + (pair - 32) % 7 if pair < 60 else 6 + (pair - 60)
