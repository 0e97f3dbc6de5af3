"""Times as pictures: a launch's terms as bars under its time, and launches beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from perfmodel.prediction.record import Prediction
from perfmodel.reports import units
from perfmodel.reports.binding_text import TERMS
from perfmodel.reports.figure_style import (
    BAND,
    BLUE,
    FAINT,
    GREY,
    INK,
    LEVEL_COLOURS,
    OTHER,
    Drawing,
    drawing,
)
from perfmodel.reports.page.content import ReportedLaunch
from perfmodel.reports.prediction_text import answer, ranked_terms

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

# Points, which a page shows as CSS pixels.
_WIDTH: Final = 340.0
_LONGEST: Final = 42


def terms_figure(prediction: Prediction) -> Drawing:
    """Draw what each resource would need alone, as bars, and the predicted time."""
    terms, told = ranked_terms(prediction), answer(prediction)
    total, (low, high) = prediction.time_s, prediction.interval_s
    height = 34.0 + 20 * len(terms)
    with drawing(_WIDTH, height) as made:
        axes = made.figure.add_axes((0.24, 0, 0.5, 1 - 28 / height))
        axes.set(xlim=(0, max(high, terms[0][1]) * 1.02), ylim=(len(terms) - 0.4, -0.6))
        axes.set_axis_off()
        made.mark(axes.axvspan(low, high, color=BAND, linewidth=0), f"90% interval {told}")
        time = axes.axvline(total, color=INK, linewidth=1.5, zorder=4)
        made.mark(time, f"Predicted time {told}")
        made.figure.text(0.5, 1 - 18 / height, told, weight="bold", ha="center")
        for i, (name, value) in enumerate(terms):
            share = units.percent(value / total)
            binds = name == prediction.bottleneck
            colour = LEVEL_COLOURS.get({"writeback": "dram"}.get(name, name), OTHER)
            (bar,) = axes.barh(i, value, 0.6, color=colour, zorder=3)
            made.mark(
                bar,
                f"{name}: {units.seconds(value)} alone, {share} of the time; "
                f"{TERMS.get(name, name)}{'; binds' if binds else ''}",
            )
            for x, text in ((-0.03, name), (1.51, f"{units.seconds(value)}  {share}")):
                _beside(axes, x, i, text, ha="right", weight="bold" if binds else "normal")
    return made


def times_figure(launches: Sequence[ReportedLaunch]) -> Drawing:
    """Draw the times of launches with their 90% intervals."""
    from matplotlib.ticker import LogLocator

    height = 30.0 + 34 * len(launches)
    lows, highs = zip(*(each.prediction.interval_s for each in launches), strict=True)
    few = max(highs) < 30 * min(lows)
    with drawing(_WIDTH, height) as made:
        axes = made.figure.add_axes((0.05, 22 / height, 0.9, 1 - 22 / height))
        axes.set(xscale="log", xlim=(min(lows) / 1.15, max(highs) * 1.15))
        axes.set(yticks=[], ylim=(len(launches) - 0.5, -0.7))
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,), numticks=6))
        axes.xaxis.set_major_formatter(lambda value, _: units.seconds(value))
        axes.minorticks_off()
        axes.tick_params(axis="x", length=0)
        axes.grid(axis="x", color=FAINT)
        axes.spines[:].set_visible(False)
        for i, each in enumerate(launches):
            time, name = each.prediction.time_s, f"{each.number} {each.label}"
            line = axes.hlines(i, *each.prediction.interval_s, color=GREY, linewidth=2.5)
            (dot,) = axes.plot(time, i, "o", markersize=8, color=BLUE, markeredgecolor="white")
            shown = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
            text = _beside(axes, 0, i - 0.45, shown)
            told = f"{name}: {answer(each.prediction)}, {each.prediction.bottleneck} binds"
            for part, said in ((text, ""), (line, ""), (dot, told)):
                made.mark(part, said, each.number)
            _beside(axes, 1, i - 0.45, units.seconds(time), ha="right")
    return made


def _beside(axes: Axes, x: float, y: float, text: str, **style: Any) -> Text:
    """Write a text in a row, at a share of the axes' width."""
    return axes.text(x, y, text, transform=axes.get_yaxis_transform(), va="center", **style)
