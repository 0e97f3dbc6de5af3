"""The timeline of four atomics as a figure: in single file, and in parallel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from perfmodel.models.atomics.timeline import Timeline, Turn, timeline
from perfmodel.prediction import Prediction
from perfmodel.reports import units
from perfmodel.reports.figure_style import BLUE, FAINT, GREY, INK, VERMILION, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE: Final = (9.6, 5.2)
_BAR: Final = 0.62


def timeline_figure(prediction: Prediction) -> Figure:
    """Draw four requests of a kernel's first global atomic, to scale in SM clocks.

    Raises
    ------
    PerfmodelError
        If the kernel has no global atomic.
    """
    details = prediction.details
    found = timeline(details.device, list(details.requests), list(details.time.atomics))
    clock = details.device.sm_clock
    with new_figure(*_SIZE) as figure:
        above, below = figure.subplots(2, 1, sharex=True)
        figure.subplots_adjust(left=0.12, right=0.97, top=0.84, bottom=0.17, hspace=0.42)
        _draw(above, found.single_file, clock, VERMILION)
        _draw(below, found.side_by_side, clock, BLUE)
        together, alone = (time * clock for time in found.adding)
        above.set_title(
            f"one address: single file, {units.number(together)} clocks of adding",
            loc="left", fontsize=10.5,
        )  # fmt: skip
        below.set_title(
            f"an address each: in parallel, {units.number(alone)} clocks of adding",
            loc="left", fontsize=10.5,
        )  # fmt: skip
        below.set_xlabel("SM clocks since the request left")
        above.set_xlim(0, found.single_file[-1].ends * clock * 1.04)
        figure.text(0.12, 0.955, _heading(prediction, found), fontsize=13, va="center")
        _legend(figure)
    return figure


def _heading(prediction: Prediction, found: Timeline) -> str:
    count = len(found.single_file)
    return (
        f"{prediction.kernel} on {prediction.details.device.title}: {count} requests of "
        f"{units.number(found.lanes)} lanes"
    )


def _draw(axes: Axes, turns: Sequence[Turn], clock: float, colour: str) -> None:
    for row, turn in enumerate(turns):
        arrives, starts, ends = (t * clock for t in (turn.arrives, turn.starts, turn.ends))
        axes.barh(row, arrives, _BAR, color=FAINT)
        if starts > arrives:
            axes.barh(row, starts - arrives, _BAR, left=arrives, color="white", hatch="////",
                      edgecolor=GREY, linewidth=0.6)  # fmt: skip
        axes.barh(row, ends - starts, _BAR, left=starts, color=colour)
    axes.set_yticks(range(len(turns)), ["far" if turn.far else "near" for turn in turns])
    axes.invert_yaxis()
    axes.set_ylabel("request from", color=INK)


def _legend(figure: Figure) -> None:
    from matplotlib.patches import Patch

    figure.legend(
        handles=[
            Patch(color=FAINT, label="way to L2, longer from the far side"),
            Patch(facecolor="white", edgecolor=GREY, hatch="////", label="queued"),
            Patch(color=VERMILION, label="adding, serialised"),
            Patch(color=BLUE, label="adding, undisturbed"),
        ],
        loc="lower center", ncols=4, frameon=False, fontsize=9,
    )  # fmt: skip
