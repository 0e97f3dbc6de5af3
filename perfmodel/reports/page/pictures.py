"""The pictures of a report: times, roofline, and of each launch what it needs, moves and does."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from perfmodel.errors import PerfmodelError
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.prediction.record import Prediction
from perfmodel.records import record
from perfmodel.reports import units
from perfmodel.reports.binding_text import TERMS
from perfmodel.reports.drawings.canvas import Canvas, canvas
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
from perfmodel.reports.page.svg import Picture
from perfmodel.reports.prediction_text import answer, ranked_terms
from perfmodel.reports.roofline_figure import draw_roofline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

BANK_ROW: Final = 128
"""Bytes that shared memory's 32 banks serve in a clock [B]."""

# Points, which a page shows as CSS pixels.
_FLOW_WIDTH: Final = 340.0
_MARGIN: Final = 18.0
_NODE: Final = 12.0
_BAND: Final = 90.0
"""Height of the widest band."""
_LINE: Final = 13.0
_WAYS: Final = {"read": ("read", 0.85), "written": ("written", 0.5), "atomic": ("atomics", 0.3)}
"""What a band is called, and its opacity."""


@record
class Flow:
    """Bytes between two neighbouring levels."""

    # near and far: "SM", "L1", "L2" or "DRAM"; "shared" for shared memory
    near: str
    far: str
    # read, written and atomic: towards the SMs, away from them, and of atomics, which L2 resolves
    # [B]
    read: float
    written: float
    atomic: float
    bandwidth: float | None  # what the far side could deliver [B/s]

    @property
    def total(self) -> float:
        """Everything that moves [B]."""
        return self.read + self.written + self.atomic

    @property
    def ways(self) -> dict[str, float]:
        """What moves at all, by way [B]."""
        return {way: moved for way in _WAYS if (moved := getattr(self, way))}


def flows(prediction: Prediction) -> tuple[Flow, ...]:
    """Return what moves between SMs and L1, L1 and L2, L2 and DRAM, and to shared memory if used.

    Sectors of 32 B up to L2; wavefronts of 128 B at shared memory, conflicts included.
    """
    traffic, device = prediction.traffic, prediction.details.device

    def sectors(read: str, written: str) -> tuple[float, float, float]:
        names = (f"{read}_sectors", f"{written}_sectors", "l2_atomic_sectors")
        one, two, three = (SECTOR * traffic[name] for name in names)
        return one, two, three

    moved = (traffic["dram_read_bytes"], traffic["dram_write_bytes"], 0.0)
    found = [
        Flow("SM", "L1", *sectors("global_load", "global_store"), device.l1_bandwidth),
        Flow("L1", "L2", *sectors("l2_read", "l2_write"), device.l2_read_bandwidth),
        Flow("L2", "DRAM", *moved, device.dram_bandwidth),
    ]
    shared = BANK_ROW * traffic["shared_wavefronts"]
    if shared:
        found.append(Flow("SM", "shared", shared, 0.0, 0.0, device.shared_bandwidth))
    return tuple(found)


def kept(before: Flow, after: Flow) -> float | None:
    """Return the share of reads that the level between two flows serves itself; None without reads.

    Negative where it fetches more than it was asked for.
    """
    return 1 - after.read / before.read if before.read else None


def flow_text(prediction: Prediction) -> str:
    """Return what moves, level by level."""
    parts = []
    for flow in flows(prediction):
        moved = ", ".join(f"{units.data(b)} {_WAYS[way][0]}" for way, b in flow.ways.items())
        parts.append(f"{flow.near} and {flow.far}: {moved or 'nothing'}")
    return "; ".join(parts)


def flow_figure(prediction: Prediction) -> Drawing:
    """Draw the bytes that move between the levels of memory, widths to scale."""
    found = flows(prediction)
    main, side = found[:3], found[3:]
    largest = max(flow.total for flow in found) or 1.0
    tall = {flow.far: sum(_heights(flow, largest).values()) for flow in found}
    deepest = max(*(tall[flow.far] for flow in main), 12.0)
    lines = {flow.far: _numbers(flow, prediction) for flow in found}
    height = 46 + deepest + _LINE * max(len(lines[flow.far]) for flow in main)
    whole = height + sum(40 + tall[flow.far] for flow in side)
    gap = (_FLOW_WIDTH - 2 * _MARGIN - 4 * _NODE) / 3
    xs = [_MARGIN + i * (gap + _NODE) for i in range(4)]
    with canvas(_FLOW_WIDTH) as on:
        middle = 38 + deepest / 2
        for flow, x in zip(main, xs, strict=False):
            _bands(on, flow, prediction, (x + _NODE, middle, gap, largest))
            for i, line in enumerate(lines[flow.far]):
                _text(on, x + _NODE + gap / 2, 54 + deepest + _LINE * i, line)
        # A level is as tall as what it passes to either side.
        depths = [0.0, *(tall[flow.far] for flow in main), 0.0]
        for name, x, pair in zip(("SMs", "L1", "L2", "DRAM"), xs, pairwise(depths), strict=True):
            _node(on, x, middle, max(pair))
            _text(on, x + _NODE / 2, 14, name, weight="bold", size=10)
        for name, x, flow_pair in zip(("L1", "L2"), xs[1:], pairwise(main), strict=False):
            if (share := kept(*flow_pair)) is not None:
                more = f"+{units.percent(-share)} fetched"
                text = f"{units.percent(share)} hit" if share >= 0 else more
                shown = _text(on, x + _NODE / 2, 27, text)
                on.made.mark(shown, f"{name}: {text}, of the bytes read")
        for flow in side:  # shared memory, below L1, which it divides an SM's memory with
            y = height + 16 + tall[flow.far] / 2
            _bands(on, flow, prediction, (xs[0] + _NODE, y, gap, largest))
            for x in xs[:2]:
                _node(on, x, y, tall[flow.far])
            told = ", ".join([f"shared memory: {units.data(flow.total)}", *lines[flow.far][1:]])
            _text(on, xs[0], y + tall[flow.far] / 2 + 18, told, ha="left")
        on.end(whole)
    return on.made


def _heights(flow: Flow, largest: float) -> dict[str, float]:
    """Return the bands' heights: to scale, but none too thin to see."""
    return {way: max(2.0, moved / largest * _BAND) for way, moved in flow.ways.items()}


def _numbers(flow: Flow, prediction: Prediction) -> list[str]:
    """Return bytes each way, and how much of the bandwidth that is."""
    lines = [f"{units.data(moved)} {_WAYS[way][0]}" for way, moved in flow.ways.items()]
    if flow.bandwidth and flow.total:
        share = flow.total / prediction.time_s / flow.bandwidth
        lines.append(f"{units.percent(share)} of peak")
    return lines or ["nothing"]


def _bands(
    on: Canvas, flow: Flow, prediction: Prediction, place: tuple[float, float, float, float]
) -> None:
    """Draw bands at a left end, around a height, of a length, the bytes of the widest given."""
    x, middle, gap, largest = place
    heights = _heights(flow, largest)
    y = middle - sum(heights.values()) / 2
    for way, height in heights.items():
        moved, (verb, opacity) = getattr(flow, way), _WAYS[way]
        colour = LEVEL_COLOURS.get(flow.far.lower(), LEVEL_COLOURS["l1"])
        rate = units.bandwidth(moved / prediction.time_s)
        told = f"{flow.near} and {flow.far}: {units.data(moved)} {verb}, {rate} on average"
        if flow.far == "shared":
            told += ", in wavefronts of 128 B, conflicts included"
        on.box((x, y, gap, height), told, facecolor=colour, alpha=opacity)
        if height >= 9:
            arrow, size = "<" if way == "read" else ">", min(height * 0.6, 12)
            on.axes.plot(x + gap / 2, y + height / 2, arrow, color="white", markersize=size)
        y += height


def _node(on: Canvas, x: float, middle: float, tall: float) -> None:
    on.box((x, middle - tall / 2 - 3, _NODE, tall + 6), facecolor=INK)


def _text(on: Canvas, x: float, y: float, text: str, **style: Any) -> Any:
    return on.text(x, y, text, **{"size": 9.3, "ha": "center", "va": "baseline"} | style)


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
