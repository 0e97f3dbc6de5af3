"""An access policy window as a record: ways, shares and bytes by hand."""

from __future__ import annotations

from typing import Final

import pytest

from perfmodel import PerfmodelError, Prediction, predict
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.reports.drawings.l2_window import l2_window

MIB: Final = 1 << 20


def reset(set_aside: int, window: int, ratio: float = 1.0, **given: str) -> Prediction:
    control = L2Control(set_aside, AccessPolicyWindow("in", window, ratio, **given))  # type: ignore[arg-type]
    return predict("data-reset", in_bytes=32 * MIB, l2=control)


def test_ways_and_lines_by_hand() -> None:
    # by hand: 50 MiB are 16 ways of 3.125; 16 MiB take 6. hitRatio 1/4 picks 5/16 of 32 MiB
    found = l2_window(reset(16 * MIB, 32 * MIB, 0.25))
    assert (found.ways, found.way_bytes) == (6, 3.125 * MIB)
    assert found.picked == 5 / 16
    assert found.lines.kept + found.lines.spilled == pytest.approx(10 * MIB)
    assert found.lines.streaming == pytest.approx(22 * MIB)
    assert found.lines.normal == pytest.approx(0, abs=1)
    assert found.lines.total == pytest.approx(32 * MIB)


def test_a_window_over_the_set_aside_spills() -> None:
    # derived: all 32 MiB are picked, and 18.75 MiB is all there is room for
    found = l2_window(reset(16 * MIB, 32 * MIB))
    assert found.lines.kept <= 18.75 * MIB
    assert found.lines.spilled >= 13.25 * MIB
    assert found.lines.streaming == pytest.approx(0, abs=1)


def test_a_short_window_and_normal_lines() -> None:
    # by hand: a quarter of the buffer, half of it picked by 7/16 and the sixteenth more
    found = l2_window(reset(16 * MIB, 8 * MIB, 7 / 16, miss_prop="normal"))
    assert found.lines.total == pytest.approx(8 * MIB)
    assert found.lines.normal == pytest.approx(4 * MIB)


def test_hit_ratios_are_predictions() -> None:
    # independent: the same launch, predicted at that hitRatio alone
    found = l2_window(reset(16 * MIB, 32 * MIB, 0.25))
    assert [at.hit_ratio for at in found.ratios] == [n / 16 for n in range(17)]
    alone = reset(16 * MIB, 32 * MIB, 0.5)
    assert found.ratios[8].time_s == alone.time_s
    assert found.ratios[8].dram_read_bytes == alone.traffic["dram_read_bytes"]
    assert found.ratios[4] == found.prediction
    assert found.best.time_s == min(at.time_s for at in found.ratios)


def test_hit_rates_over_time() -> None:
    # derived: the first of 8 passes over 4 MiB misses what it reads and hits what it writes; then
    # the set-aside has all of it
    control = L2Control(8 * MIB, AccessPolicyWindow("in", 4 * MIB))
    prediction = predict("data-reset", in_bytes=4 * MIB, out_bytes=32 * MIB, l2=control)
    found = l2_window(prediction, over_time=True).over_time
    assert found is not None
    assert found.window[0] == pytest.approx(0.5, abs=0.1)
    assert min(found.window[len(found.window) // 4 :]) == pytest.approx(1, abs=0.01)
    assert l2_window(prediction).over_time is None


def test_without_a_window() -> None:
    with pytest.raises(PerfmodelError, match="copy has no access policy window to draw: give"):
        l2_window(predict("copy"))
