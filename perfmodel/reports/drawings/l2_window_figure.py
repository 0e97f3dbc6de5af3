"""L2 and an access policy window as a figure: ways set aside, the window's lines, hitRatio."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from perfmodel.models.l2.residency import WAYS
from perfmodel.reports import units
from perfmodel.reports.drawings.canvas import LINE, MARGIN, Canvas, canvas
from perfmodel.reports.drawings.l2_window import L2Window, OverTime
from perfmodel.reports.figure_style import (
    AMBER,
    BAND,
    BLUE,
    FAINT,
    GREEN,
    GREY,
    INK,
    VERMILION,
    Drawing,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BAR: Final = 24.0
_CHART: Final = 120.0
_ROW: Final = _CHART + 58
"""Height of a chart, and of it with its title and axis."""
_STYLES: Final[dict[str, dict[str, Any]]] = {
    "set aside": {"facecolor": GREEN, "alpha": 0.3, "edgecolor": INK, "linewidth": 0.6},
    "rest of L2": {"facecolor": BAND, "edgecolor": GREY, "linewidth": 0.6},
    "kept": {"facecolor": GREEN},
    "spilled": {"facecolor": AMBER},
    "streaming": {"facecolor": VERMILION},
    "normal": {"facecolor": BLUE},
}
_NAMES: Final = {
    "kept": "persisting, in the set-aside",
    "spilled": "persisting, without room there",
    "streaming": "streaming, first to leave",
    "normal": "normal",
}


def l2_window_figure(found: L2Window, width: float) -> Drawing:
    """Draw what is set aside, what becomes of the window's lines, and hitRatios from 0 to 1."""
    with canvas(width) as on:
        on.text(MARGIN, 16, f"L2 of {found.device}", size=12.0, weight="bold")
        on.text(MARGIN, 34, f"{found.kernel}, window over {found.window.buffer}", color=GREY)
        scale = (width - 2 * MARGIN) / max(found.l2_bytes, found.lines.total)
        _ways(on, found, scale)
        _window(on, found, scale, 62 + _BAR + 26)
        y = on.legend(52.0 + 2 * (_BAR + 26), _legend(found))
        for text in (found.text, found.ratios_text):
            y = on.paragraph(y, text)
        _charts(on, found, y + 4)
        y += 8 + _ROW * (2 if on.narrow else 1)
        if found.over_time is not None:
            _over_time(on, found.over_time, y)
            y += _ROW
        on.end(y)
    return on.made


def _legend(found: L2Window) -> list[tuple[dict[str, Any], str]]:
    parts = [(_STYLES[name], name) for name in ("set aside", "rest of L2")]
    return parts + [
        (_STYLES[name], told) for name, told in _NAMES.items() if getattr(found.lines, name) >= 1
    ]


def _ways(on: Canvas, found: L2Window, scale: float) -> None:
    """Draw L2's ways, those set aside first."""
    on.text(MARGIN, 52, f"L2: {units.capacity(found.l2_bytes)} in {WAYS} ways")
    wide = found.way_bytes * scale
    for way in range(WAYS):
        name = "set aside" if way < found.ways else "rest of L2"
        told = f"way {way + 1} of {WAYS}, {units.capacity(found.way_bytes)}: {name}"
        on.box((MARGIN + way * wide, 62, wide, _BAR), told, **_STYLES[name])


def _window(on: Canvas, found: L2Window, scale: float, y: float) -> None:
    """Draw the window's lines by what becomes of them, to the same scale."""
    inside, whole = units.capacity(found.lines.total), units.capacity(found.buffer_bytes)
    ratio = f"hitRatio {found.window.hit_ratio:g}"
    on.text(MARGIN, y - 10, f"window: {inside} of the {whole} of {found.window.buffer}, {ratio}")
    x = MARGIN
    for name, told in _NAMES.items():
        size = getattr(found.lines, name)
        if size >= 1:
            share = units.percent(size / found.lines.total)
            place = (x, y, max(size * scale, 1.0), _BAR)
            on.box(place, f"{told}: {units.capacity(size)}, {share} of the window", **_STYLES[name])
            x += size * scale


def _charts(on: Canvas, found: L2Window, y: float) -> None:
    """Draw DRAM reads and time over hitRatio, below each other where the picture is narrow."""
    ratios = [at.hit_ratio for at in found.ratios]
    biggest = max(at.dram_read_bytes for at in found.ratios)
    longest = max(at.time_s for at in found.ratios)
    byte, data_unit = (1e9, "GB") if biggest >= 1e9 else (1e6, "MB")
    second, time_unit = (1e-3, "ms") if longest >= 1e-3 else (1e-6, "µs")
    reads = [at.dram_read_bytes / byte for at in found.ratios]
    times = [at.time_s / second for at in found.ratios]
    wide = on.width - 2 * MARGIN if on.narrow else (on.width - 3 * MARGIN) / 2
    now = found.prediction
    for i, (values, here, what, colour) in enumerate(
        (
            (reads, now.dram_read_bytes / byte, f"read from DRAM [{data_unit}]", VERMILION),
            (times, now.time_s / second, f"time [{time_unit}]", BLUE),
        )
    ):
        left = MARGIN if on.narrow else MARGIN + i * (wide + MARGIN)
        top = y + (i * _ROW if on.narrow else 0) + LINE + 6
        place = (left + 30, top, wide - 38, _CHART)
        axes = _axes(on, place, (what, "hitRatio"))
        axes.set_xlim(-0.02, 1.02)
        axes.plot(ratios, values, color=colour, marker="o", markersize=4)
        axes.set_ylim(0, 1.1 * max(*values, here))
        for at, value in zip(found.ratios, values, strict=True):
            (dot,) = axes.plot(at.hit_ratio, value, "o", color=colour, markersize=6, alpha=0.01)
            on.made.mark(dot, _told(what, at.hit_ratio, value))
        axes.axvline(now.hit_ratio, color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        (dot,) = axes.plot(now.hit_ratio, here, "D", color=INK, markersize=7, zorder=5,
                           markeredgecolor="white")  # fmt: skip
        on.made.mark(dot, f"this launch: {_told(what, now.hit_ratio, here)}")


def _told(what: str, ratio: float, value: float) -> str:
    name, unit = what.removesuffix("]").split(" [")
    return f"hitRatio {ratio:g}: {name} {units.number(value)} {unit}"


def _over_time(on: Canvas, found: OverTime, y: float) -> None:
    """Draw L2's hit rate over the launch, with the window and without."""
    place = (MARGIN + 30, y + LINE + 6, on.width - 2 * MARGIN - 38, _CHART)
    what = ("L2 hit rate [%], simulated", "share of the launch [%]")
    axes = _axes(on, place, what)
    for rates, style, name in (
        (found.window, {"color": GREEN, "linewidth": 1.8}, "with the window"),
        (found.none, {"color": GREY, "linestyle": "--"}, "without a set-aside and a window"),
    ):
        at = [100 * (i + 0.5) / len(rates) for i in range(len(rates))]
        (line,) = axes.plot(at, [100 * rate for rate in rates], label=name, **style)
        mean = units.percent(sum(rates) / len(rates))
        on.made.mark(line, f"{name}: {mean} hit on average")
    axes.set(xlim=(0, 100), ylim=(0, 105))
    axes.legend(frameon=False, fontsize=9.5, loc="lower right")


def _axes(on: Canvas, place: Sequence[float], names: tuple[str, str]) -> "Axes":
    """Return axes of a chart, in a place of the canvas: what it shows, and over what."""
    what, over = names
    axes = on.chart(place)
    axes.set_xlabel(over, fontsize=9.5, labelpad=1)
    axes.set_title(what, fontsize=9.5, loc="left")
    axes.tick_params(labelsize=9.2)
    axes.grid(color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    return axes
