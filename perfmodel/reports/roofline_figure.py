"""The hierarchical roofline as a figure: a launch is a row of marks, one under each roof."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from perfmodel.errors import PerfmodelError
from perfmodel.prediction import Prediction
from perfmodel.records import record
from perfmodel.reports import units
from perfmodel.reports.figure_style import (
    FAINT,
    GREY,
    INK,
    LEVEL_COLOURS,
    LEVEL_MARKERS,
    Drawing,
    drawing,
)
from perfmodel.reports.page.svg import Picture
from perfmodel.reports.roofline import (
    LEVELS,
    Placement,
    Roofline,
    ridge_points,
    roof_name,
    roof_rate,
    roofline,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST: Final = 24
"""Launches of one figure."""

# Points, which a page shows as CSS pixels.
_WIDTH: Final = 700.0
_NARROW: Final = 332.0
_ROW: Final = 16.0
_SMALL: Final = 9.5
_THIN: Final[dict[str, Any]] = {"linewidth": 0.9, "linestyle": (0, (5, 3)), "zorder": 2}


def roofline_picture(predictions: Sequence[Prediction], arrows: bool = False) -> Picture:
    """Return predictions on the hierarchical roofline of their GPU as a picture.

    Those that compute nothing are named, but have no marks. With `arrows` there is one from each
    to the next, its mark under the lowest memory roof to the other's.

    Raises `PerfmodelError` if there are none or over `MOST`, they are of several GPUs, or none
    computes anything.
    """
    found = roofline(predictions, arrows=arrows)
    if len(predictions) > MOST:
        raise PerfmodelError(
            f"a roofline figure shows at most {MOST} kernels, not {len(predictions)}: draw several"
        )
    if not found.drawn:
        raise PerfmodelError(
            f"{', '.join(found.nothing)}: no floating-point operations, so there is no place on a "
            "roofline; choose a kernel that computes, such as gemm"
        )
    return Picture("roofline", found.title, found.text, draw_roofline(found))


def draw_roofline(found: Roofline, narrow: bool = False) -> Drawing:
    """Draw launches of which one computes something; `narrow` is for phones, with less beside."""
    width, left, right = (_NARROW, 38.0, 8.0) if narrow else (_WIDTH, 62.0, 150.0)
    rows = len(found.drawn) + bool(found.nothing)
    above = 26.0 if narrow else 62 + 15.0 * len(found.used)
    below, tall = 44 + _ROW * rows, 300.0 if narrow else 336.0
    height = above + tall + below
    # On a phone there is no room for ceilings that nobody counts against.
    peaks = (found.used or found.peaks) if narrow else found.peaks
    with drawing(width, height) as made:
        box = (left / width, below / height, 1 - (left + right) / width, tall / height)
        axes = made.figure.add_axes(box)
        plot = _Plot(found, narrow, made, axes)
        _set_scales(axes, *found.limits(peaks), narrow)
        plot.compute(peaks)
        plot.memory(max(peaks.values()))
        plot.launches()
        plot.arrows()
        plot.key(2.0 if narrow else left, below)
        plot.levels()
        if not narrow:
            plot.heading(left)
            plot.ridges(tall)
    return made


@record
class _Plot:
    """A roofline that is being drawn."""

    found: Roofline
    narrow: bool
    made: Drawing
    axes: "Axes"

    def compute(self, peaks: dict[str, float]) -> None:
        """Draw arithmetic ceilings: dark if a launch counts against them; equal ones as one."""
        fastest = max(self.found.memory.values())
        right = self.axes.get_xlim()[1]
        groups: list[dict[str, float]] = []
        for name, peak in sorted(peaks.items(), key=lambda item: item[1]):
            if not groups or peak > min(groups[-1].values()) * 1.02:
                groups.append({})
            groups[-1][name] = peak
        heights = _spaced(self.axes, [min(group.values()) for group in groups])
        for group, height in zip(groups, heights, strict=True):
            peak, mine = min(group.values()), not self.found.used.keys().isdisjoint(group)
            style = {"linewidth": 1.6, "zorder": 2} if mine else _THIN
            self.axes.plot(
                [peak / fastest, right], [peak] * 2, color=INK if mine else GREY, **style
            )
            rate = roof_rate(peak, *group)
            listed = ", ".join(map(roof_name, group))
            given: dict[str, Any] = {"fontsize": _SMALL, "color": INK if mine else GREY}
            if self.narrow:
                text = self.axes.text(
                    right, peak, f"{listed} {rate} ", va="bottom", ha="right", **given
                )
            else:
                text = self.axes.text(
                    1.012,
                    height,
                    f"{listed}\n{rate}",
                    transform=self.axes.transAxes,
                    va="center",
                    linespacing=1.05,
                    **given,
                )
            self.made.mark(text, f"{listed}: {rate} at most")

    def memory(self, highest: float) -> None:
        """Draw each memory roof up to the highest ceiling, dark below those counted against."""
        left, bottom = self.axes.get_xlim()[0], self.axes.get_ylim()[0]
        peak = self.found.highest
        for name, bandwidth in self.found.memory.items():
            colour, ridge = LEVEL_COLOURS[name], peak / bandwidth
            visible = max(left, bottom / bandwidth)
            for start, stop, style in (
                (visible, ridge, {"linewidth": 1.8, "zorder": 2}),
                (ridge, highest / bandwidth, _THIN),
            ):
                xs = [start, stop]
                self.axes.plot(xs, [x * bandwidth for x in xs], color=colour, **style)
            # A little in from the corner where the roof comes into view.
            at = visible * 1.35
            shown = f"{LEVELS[name]} {units.bandwidth(bandwidth)}"
            text = self.axes.annotate(
                shown,
                (at, at * bandwidth),
                xytext=(-3, 4),
                textcoords="offset points",
                rotation=_slope(self.axes),
                rotation_mode="anchor",
                fontsize=_SMALL,
                color=INK,
                va="bottom",
            )
            self.made.mark(
                text,
                f"{LEVELS[name]} roof: {units.bandwidth(bandwidth)}; intersects "
                f"{units.flop_rate(peak)} at {units.number(ridge)} FLOP/B",
            )

    def ridges(self, tall: float) -> None:
        """Mark the ridge points of the ceilings that launches count against; numbers on top."""
        top = self.axes.get_ylim()[1]
        ridges = ridge_points(self.found.ceilings)
        small: dict[str, Any] = {"fontsize": _SMALL, "va": "center"}
        for i, (compute, peak) in enumerate(self.found.used.items()):
            row = 1 + (12 + 15 * i) / tall
            told = f"ridge points {roof_name(compute)} [FLOP/B]"
            self.axes.text(0, row, told, transform=self.axes.transAxes, **small)
            for memory in self.found.memory:
                ridge = ridges[compute, memory]
                self.axes.plot([ridge] * 2, [peak, top], color=GREY, linewidth=0.7, linestyle=":")
                self.axes.plot(ridge, peak, "o", markersize=4.5, color="white", markeredgecolor=INK,
                          zorder=4)  # fmt: skip
                self.axes.text(ridge, row, units.number(ridge), ha="center", **small,
                          transform=self.axes.get_xaxis_transform())  # fmt: skip

    def launches(self) -> None:
        """Draw each launch's row, its number at the right end where nothing else lies."""
        drawn = self.found.drawn
        taken = [_at(self.axes, p.intensity, x.flop_per_s) for _, _, x in drawn for p in x.points]
        for number, label, place in drawn:
            xs = [point.intensity for point in place.points]
            y = place.flop_per_s
            end = _at(self.axes, max(xs), y)
            free = _free((end[0] + 16, end[1]), taken)
            taken.append(free)
            (row,) = self.axes.plot(xs, [y] * len(xs), color=GREY, linewidth=0.8, zorder=3)
            text = self.axes.annotate(
                str(number),
                (max(xs), y),
                xytext=(free[0] - end[0], free[1] - end[1]),
                textcoords="offset points",
                ha="center",
                va="center",
                weight="bold",
                zorder=7,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
                arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.8},
            )
            for part in (row, text):
                self.made.mark(part, "", number)
            for point in place.points:
                marker, colour = LEVEL_MARKERS[point.level], LEVEL_COLOURS[point.level]
                (dot,) = self.axes.plot(point.intensity, y, marker, markersize=9, color=colour,
                                   markeredgecolor="white", zorder=6)  # fmt: skip
                near = "; nearest roof" if point.level == place.nearest else ""
                self.made.mark(
                    dot,
                    f"{number} {label} at {LEVELS[point.level]}: {units.flop_rate(y)}, "
                    f"{units.number(point.intensity)} FLOP/B; "
                    f"{units.percent(y / point.attainable)} of the "
                    f"{units.flop_rate(point.attainable)} attainable there{near}",
                    number,
                )

    def arrows(self) -> None:
        """Draw an arrow from each version to the next, between marks under the lowest roof."""
        from matplotlib.patches import FancyArrowPatch

        faster = self.found.faster
        for (number, _, place), (after, _, other) in pairwise(self.found.drawn):
            if after not in faster:
                continue
            ends = [(self.found.lowest(p).intensity, p.flop_per_s) for p in (place, other)]
            # The look of an arrow's head, its size, and room for the marks [points].
            look: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 11.0}
            look |= {"shrinkA": 7.0, "shrinkB": 7.0, "linewidth": 1.4, "color": INK}
            arrow = self.axes.add_patch(FancyArrowPatch(*ends, zorder=5, **look))
            told = f"from {number} to {after}: {units.number(faster[after])} times the rate"
            self.made.mark(arrow, told)

    def key(self, left: float, below: float) -> None:
        """Write what the numbers mean, a row each below the plot, and who has none."""
        rows = [(n, self._named(n, label, place)) for n, label, place in self.found.drawn]
        if self.found.nothing:
            rows.append((0, f"{', '.join(self.found.nothing)}: no floating-point operations"))
        width, height = self.made.figure.get_size_inches() * 72
        most = 46 if self.narrow else 94
        for i, (number, text) in enumerate(rows):
            y = (below - 50 - _ROW * i) / height
            shown = text if len(text) <= most else f"{text[: most - 1]}…"
            self.made.figure.text(
                (left + 14) / width, y, str(number or ""), weight="bold", ha="right"
            )
            self.made.mark(self.made.figure.text((left + 20) / width, y, shown), "", number)

    def _named(self, number: int, label: str, place: Placement) -> str:
        near = "" if self.narrow else f", nearest roof {roof_name(place.nearest)}"
        times = self.found.faster.get(number)
        faster = "" if times is None else f", {units.number(times)} times the one before"
        return f"{label}: {units.flop_rate(place.flop_per_s)}{faster}{near}"

    def levels(self) -> None:
        """Name the marks of the memory levels above the plot."""
        from matplotlib.lines import Line2D

        handles = [
            Line2D([], [], marker=LEVEL_MARKERS[level], linestyle="", markersize=8, label=label,
                   color=LEVEL_COLOURS[level])
            for level, label in LEVELS.items()
        ]  # fmt: skip
        # Above the plot; where there is a heading, beside it.
        style: dict[str, Any] = {"ncols": 3, "frameon": False, "handletextpad": 0.1}
        if self.narrow:
            self.axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), **style)
        else:
            self.made.figure.legend(handles=handles, loc="upper right", **style)

    def heading(self, left: float) -> None:
        """Say of which GPU it is, and how to read it."""
        height = self.made.figure.get_size_inches()[1] * 72
        note = "predicted; a launch is a row of marks, each under its memory level's roof"
        for y, size, colour, text in (
            (22, 13, INK, f"Roofline of {self.found.device.title}"),
            (41, _SMALL, GREY, note),
        ):
            self.made.figure.text(left / _WIDTH, 1 - y / height, text, fontsize=size, color=colour)


def _set_scales(
    axes: "Axes", across: tuple[float, float], up: tuple[float, float], narrow: bool
) -> None:
    axes.set(xscale="log", yscale="log", xlim=across, ylim=up)
    axes.set_xlabel("arithmetic intensity [FLOP/B]", labelpad=2)
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}" if 1e-4 <= x < 1e6 else f"{x:.0e}")
    axes.yaxis.set_major_formatter(lambda rate, _: units.count(rate))
    if narrow:
        axes.set_title("FLOP/s", fontsize=_SMALL, loc="right")
    else:
        axes.set_ylabel("performance [FLOP/s]")
    axes.grid(True, color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.minorticks_off()


def _at(axes: "Axes", x: float, y: float) -> tuple[float, float]:
    """Return where a value lies in the figure [points]."""
    across, up = axes.transData.transform((x, y))
    return float(across), float(up)


def _slope(axes: "Axes") -> float:
    """Return the angle of a memory roof [degrees]."""
    x = axes.get_xlim()[0]
    (left, low), (right, high) = _at(axes, x, x), _at(axes, 10 * x, 10 * x)
    return math.degrees(math.atan2(high - low, right - left))


def _spaced(axes: "Axes", rising: Sequence[float]) -> list[float]:
    """Return heights in the axes (0 to 1) of rising values, labels of two lines apart."""
    heights = [float(axes.transAxes.inverted().transform(_at(axes, 1, y))[1]) for y in rising]
    for i, (before, after) in enumerate(pairwise(heights), 1):
        heights[i] = max(after, heights[i - 1] + 0.075, before)
    return heights


def _free(wanted: tuple[float, float], taken: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the place nearest to the wanted one, up or down, where a number hides nothing."""
    x, y = wanted
    for step in range(2 * len(taken) + 1):
        there = y + 14 * ((step + 1) // 2) * (-1 if step % 2 else 1)
        if all(abs(x - a) >= 15 or abs(there - b) >= 13 for a, b in taken):
            return x, there
    return wanted
