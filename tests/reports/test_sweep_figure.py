"""Figures of sweeps: all is drawn, in units that fit, under a title that says what was held."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from perfmodel.kernels import find_kernel
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.prediction.sweep import Sweep, sweep
from perfmodel.reports.sweep_figure import sweep_figure


@pytest.fixture(scope="module")
def knobs() -> tuple[Sweep, Sweep]:
    """Return gathers by fetch granularity and by run: the second takes six times as long."""
    gather = find_kernel("gather")
    small: dict[str, Any] = {"params": {"n": 1 << 20, "run": 8}}
    alone: dict[str, Any] = {"params": {"n": 1 << 20}}
    return (
        sweep(gather, "fetch-granularity", [32, 64, 128], **small),
        sweep(gather, "run", [1, 2, 4, 8, 16, 32, 64], **alone),
    )


def test_no_column_is_cut_off(knobs: tuple[Sweep, Sweep]) -> None:
    # property: columns share their axes, and every point lies within
    for axes in sweep_figure(knobs).axes:
        low, high = axes.get_ylim()
        assert low == 0
        for line in axes.lines:
            assert np.max(line.get_ydata()) < high


def test_values_that_double_are_as_far_apart(knobs: tuple[Sweep, Sweep]) -> None:
    # property: labels of 1, 2, 4 ... do not lie over each other
    runs = sweep_figure(knobs).axes[3]
    assert runs.get_xscale() == "log"
    assert [label.get_text() for label in runs.get_xticklabels()] == [
        *("1", "2", "4", "8", "16", "32", "64")
    ]


def test_axes_and_title_say_units_and_what_is_held() -> None:
    # by hand: times of milliseconds and bytes of gigabytes; hitRatio varies, the rest does not
    control = L2Control(16 << 20, AccessPolicyWindow("in", 32 << 20))
    values = [0.25, 0.5, 0.75, 1.0]
    sizes: dict[str, Any] = {"params": {"in_bytes": 32 << 20}}
    found = sweep(find_kernel("data-reset"), "hit-ratio", values, control=control, **sizes)
    figure = sweep_figure([found])
    above, below = figure.axes
    assert above.get_ylabel() == "time [ms]"
    assert below.get_ylabel() == "DRAM [GB]"
    assert below.get_xlabel() == "hitRatio"
    assert below.get_xscale() == "linear"
    title = figure.get_suptitle()
    for part in ("in_bytes 32 MiB", "16 MiB set aside", "window of 32 MiB over in"):
        assert part in title
    assert "hitRatio" not in title


def test_values_that_lie_close_share_labels() -> None:
    # property: sizes, not powers of two, and none over another
    values = [float(n << 20) for n in (8, 16, 32, 44, 46, 48, 50, 64, 128)]
    found = sweep(find_kernel("working-set-read"), "bytes", values)
    below = sweep_figure([found]).axes[1]
    below.figure.canvas.draw()
    labels = [label.get_text() for label in below.get_xticklabels()]
    assert "64" in labels
    assert "46" not in labels
