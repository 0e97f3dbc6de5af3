"""The pictures of a report: times, roofline, and of each launch what it needs and does."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from perfmodel.errors import PerfmodelError
from perfmodel.prediction.record import Prediction
from perfmodel.reports import units
from perfmodel.reports.binding_text import TERMS
from perfmodel.reports.drawings.l2_window import has_window, l2_window
from perfmodel.reports.drawings.pictures import picture
from perfmodel.reports.drawings.sectors import warp_request
from perfmodel.reports.drawings.tiles import block_tiles, is_product
from perfmodel.reports.explain import terms_text
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
from perfmodel.reports.page.content import Report, ReportedLaunch
from perfmodel.reports.page.flow import flow_figure, flow_text
from perfmodel.reports.page.svg import Picture
from perfmodel.reports.prediction_text import answer, ranked_terms
from perfmodel.reports.roofline_figure import draw_roofline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

DOES: Final = {
    "sectors": "A request of the access with the most sectors: its lanes, and what they touch.",
    "tiles": "What a block works on in its first step.",
    "l2": "What is set aside of L2, and what becomes of the access policy window.",
}
"""Pictures of what a launch does, with what is written above them."""


def pictures(report: Report) -> dict[str, Picture]:
    """Return the pictures of a report by name, each drawn once."""
    of_all = (_times(report), _roofline(report))
    each_has = (_terms, _traffic, _sectors, _tiles, _window)
    of_each = (f(each) for each in report.launches for f in each_has)
    return {found.name: found for found in (*of_all, *of_each) if found is not None}


def _times(report: Report) -> Picture | None:
    """Return the launches' times with their 90% intervals; None for a single launch."""
    if len(report.launches) < 2:
        return None
    told = "; ".join(f"{each.label} {answer(each.prediction)}" for each in report.launches)
    title = "Predicted times, with 90% intervals"
    return Picture("times", title, f"{told}.", times_figure(report.launches))


def _roofline(report: Report) -> Picture | None:
    """Return the launches under their roofs; None if none of them computes anything."""
    found = report.roofline
    if not found.drawn:
        return None
    wide, narrow = draw_roofline(found), draw_roofline(found, narrow=True)
    return Picture("roofline", found.title, found.text, wide, narrow)


def _terms(launch: ReportedLaunch) -> Picture:
    """Return what each resource would need alone, and the predicted time."""
    p = launch.prediction
    return Picture(
        f"terms-{launch.number}",
        f"Time of {launch.label}, and of each resource alone",
        f"Predicted {answer(p)}; alone: {terms_text(ranked_terms(p))}.",
        terms_figure(p),
    )


def _traffic(launch: ReportedLaunch) -> Picture:
    """Return the bytes that move between the levels of memory."""
    return Picture(
        f"traffic-{launch.number}",
        f"Traffic of {launch.label} at each level",
        f"{flow_text(launch.prediction)}.",
        flow_figure(launch.prediction),
    )


def _sectors(launch: ReportedLaunch) -> Picture | None:
    """Return a request of the most expensive access; None where no index says where it goes."""
    try:
        found = warp_request(launch.prediction)
    except PerfmodelError:
        return None
    return picture(found, f"sectors-{launch.number}")


def _tiles(launch: ReportedLaunch) -> Picture | None:
    """Return what a block of a matrix product works on; None of other kernels."""
    if not is_product(launch.prediction):
        return None
    try:
        found = block_tiles(launch.prediction)
    except PerfmodelError:
        return None
    return picture(found, f"tiles-{launch.number}")


def _window(launch: ReportedLaunch) -> Picture | None:
    """Return what an access policy window does; None without one."""
    if not has_window(launch.prediction):
        return None
    return picture(l2_window(launch.prediction), f"l2-{launch.number}")


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


def _beside(axes: "Axes", x: float, y: float, text: str, **style: Any) -> "Text":
    """Write a text in a row, at a share of the axes' width."""
    return axes.text(x, y, text, transform=axes.get_yaxis_transform(), va="center", **style)
