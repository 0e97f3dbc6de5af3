"""Sweeps as a figure: time above, DRAM bytes below, one column a sweep, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from perfmodel.prediction.sweep import SIZES, Sweep
from perfmodel.reports.figure_style import BLUE, FAINT, STYLE, VERMILION
from perfmodel.reports.prediction_text import title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLUMN: Final = 4.6
_HEIGHT: Final = 5.6
_MIB: Final = 2.0**20
_LABELLED: Final = 12
"""Values up to which each has a label of its own."""
_WIDE: Final = 8.0
"""Ratio of the last to the first value from which sizes are drawn on a logarithmic axis."""


def sweep_figure(sweeps: Sequence[Sweep]) -> Figure:
    """Draw sweeps side by side: time with its 90% band above, DRAM bytes below.

    Parameters
    ----------
    sweeps : sequence of Sweep

    Returns
    -------
    matplotlib.figure.Figure
        Not attached to any window; `perfmodel.reports.figure_style.save_figure` writes it.
    """
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(_COLUMN * len(sweeps) + 0.6, _HEIGHT), layout="constrained")
        axes = figure.subplots(2, len(sweeps), squeeze=False, sharey="row", sharex="col")
        figure.suptitle(title(sweeps[0].predictions[0]), fontsize=11)
        for column, sweep in enumerate(sweeps):
            _draw(axes[0][column], axes[1][column], sweep)
        axes[0][0].set_ylabel("time [µs]")
        axes[1][0].set_ylabel("DRAM [MiB]")
    return figure


def _draw(above: Any, below: Any, sweep: Sweep) -> None:
    sized = sweep.name in SIZES or sweep.name.endswith("bytes")
    labels = [value if isinstance(value, str) else None for value in sweep.values]
    at = [
        float(i) if isinstance(value, str) else value / _MIB if sized else value
        for i, value in enumerate(sweep.values)
    ]
    found = sweep.predictions
    micro = [p.time_s * 1e6 for p in found]
    low, high = ([p.interval_s[i] * 1e6 for p in found] for i in (0, 1))
    above.fill_between(at, low, high, color=BLUE, alpha=0.15, linewidth=0)
    above.plot(at, micro, color=BLUE, marker="o", markersize=4, label="time, 90% band")
    for name, colour, marker, key in (
        ("read", BLUE, "o", "dram_read_bytes"),
        ("written", VERMILION, "s", "dram_write_bytes"),
    ):
        moved = [p.traffic[key] / _MIB for p in found]
        below.plot(at, moved, color=colour, marker=marker, markersize=4, label=name)
    below.set_xlabel(f"{sweep.name} [MiB]" if sized else sweep.name)
    for axes in (above, below):
        axes.grid(color=FAINT)
        axes.set_ylim(bottom=0)
        if sized and min(at) > 0 and max(at) >= _WIDE * min(at):
            axes.set_xscale("log", base=2)
        if len(at) <= _LABELLED:
            shown = [label or f"{value:g}" for label, value in zip(labels, at, strict=True)]
            axes.set_xticks(at, labels=shown)
    below.legend(frameon=False)
