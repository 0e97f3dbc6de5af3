"""The hierarchical roofline as a picture: a launch is a row of marks, one under each roof."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from markupsafe import Markup

from perfmodel.prediction.record import Ceiling
from perfmodel.reports import units
from perfmodel.reports.page.content import Report
from perfmodel.reports.page.svg import (
    FONT,
    NARROW,
    Drawing,
    LogAxis,
    Picture,
    cut,
    element,
    group,
    label,
    line,
    mark,
    picture,
    width_of,
)
from perfmodel.reports.roofline import (
    LEVELS,
    Placement,
    highest_peak,
    limits,
    placement,
    precision_name,
)

_SMALL: Final = 11.0
_GAP: Final = 14.0
"""Least distance of lines of text [CSS px]."""


@dataclass(frozen=True, slots=True)
class _Row:
    """A launch in the plot: its number, what it is called, and where it lies."""

    number: int
    name: str
    place: Placement


@dataclass(frozen=True, slots=True)
class _Plot:
    """The plot's ceilings, rows, axes and whether it is the narrow one."""

    ceilings: tuple[Ceiling, ...]
    rows: tuple[_Row, ...]
    x: LogAxis
    y: LogAxis
    narrow: bool

    @property
    def memory(self) -> dict[str, float]:
        """Bandwidths by level [B/s]."""
        return {c.name: c.value for c in self.ceilings if c.kind == "memory"}

    @property
    def peaks(self) -> dict[str, float]:
        """Arithmetic ceilings [FLOP/s]."""
        return {c.name: c.value for c in self.ceilings if c.kind == "compute"}

    @property
    def used(self) -> set[str]:
        """Arithmetic ceilings that launches count against."""
        return {row.place.precision for row in self.rows}


def roofline_picture(report: Report) -> Picture | None:
    """Return the launches under their roofs; None if none of them computes anything."""
    rows = tuple(
        _Row(launch.number, launch.label, place)
        for launch in report.launches
        if (place := placement(launch.prediction)).points
    )
    if not rows:
        return None
    told = "; ".join(
        f"{row.name} {units.flop_rate(row.place.flop_per_s)}, nearest roof {_roof(row.place)}"
        for row in rows
    )
    ceilings = report.predictions[0].roofline.ceilings
    return picture(
        "roofline",
        f"Hierarchical roofline of {report.device.title}",
        told + ".",
        lambda width: _draw(ceilings, rows, width),
    )


def _draw(ceilings: tuple[Ceiling, ...], rows: tuple[_Row, ...], width: float) -> Drawing:
    narrow = width == NARROW
    used = {row.place.precision for row in rows}
    known = used & {c.name for c in ceilings}
    if narrow and known:  # no room for those that nobody counts against
        ceilings = tuple(c for c in ceilings if c.kind == "memory" or c.name in known)
    foot = 380.0 if narrow else 500.0
    across, up = limits(ceilings, [row.place for row in rows])
    right = 12.0 if narrow else 180.0
    plot = _Plot(
        ceilings,
        rows,
        LogAxis(*across, 40.0 if narrow else 52.0, width - right),
        LogAxis(*up, foot - 44.0, 34.0),
        narrow,
    )
    columns = 1 if narrow else 2
    key = list(_key(plot, foot + 16, width / columns, columns))
    height = foot + 12 + 17 * math.ceil(len(key) / columns)
    parts = [_legend(plot), *_grid(plot), *_compute(plot), *_memory(plot), *_launches(plot), *key]
    return Drawing(width, height, Markup("").join(parts))


def _legend(plot: _Plot) -> Markup:
    parts = []
    x = plot.x.start
    for level, shown in LEVELS.items():
        parts.append(group(_shape(level, x + 5, 12), class_=level))
        parts.append(label(x + 15, 16, shown))
        x += 30 + width_of(shown)
    if not plot.narrow:
        parts.append(
            label(x + 6, 16, "a launch is a row of marks, each under its roof", class_="dim")
        )
    return group(*parts)


def _grid(plot: _Plot) -> Iterator[Markup]:
    x, y = plot.x, plot.y
    for value in x.decades():
        at = x(value)
        yield line(at, y.start, at, y.end, class_="grid")
        yield label(at, y.start + 15, _tick(value), _SMALL, anchor="middle", class_="dim")
    for value in y.decades():
        at = y(value)
        yield line(x.start, at, x.end, at, class_="grid")
        yield label(x.start - 5, at + 4, units.count(value), _SMALL, anchor="end", class_="dim")
    middle = (x.start + x.end) / 2
    yield label(middle, y.start + 34, "FLOP a byte that moves at the level", anchor="middle")
    if plot.narrow:
        yield label(2, y.end - 4, "FLOP/s", _SMALL, class_="dim")
        return
    yield element(
        "text",
        "FLOP/s",
        transform=f"translate(12 {(y.start + y.end) / 2:.0f}) rotate(-90)",
        font_size=FONT,
        text_anchor="middle",
    )


def _compute(plot: _Plot) -> Iterator[Markup]:
    """Yield arithmetic ceilings; equal ones share a line and a label."""
    fastest = max(plot.memory.values())
    groups: list[list[tuple[str, float]]] = []
    for name, value in sorted(plot.peaks.items(), key=lambda item: item[1]):
        if groups and value <= groups[-1][0][1] * 1.02:
            groups[-1].append((name, value))
        else:
            groups.append([(name, value)])
    heights = _spread([plot.y(names[0][1]) for names in groups], 25.0)
    for names, height in zip(groups, heights, strict=True):
        value = names[0][1]
        mine = not plot.used.isdisjoint(name for name, _ in names)
        unit = "OP/s" if all(name.startswith("int") for name, _ in names) else "FLOP/s"
        rate = units.flop_rate(value).replace("FLOP/s", unit)
        listed = ", ".join(precision_name(name) for name, _ in names)
        y = plot.y(value)
        drawn = [line(max(plot.x.start, plot.x(value / fastest)), y, plot.x.end, y)]
        style = "ceiling mine" if mine else "ceiling"
        if plot.narrow:
            written = f"{listed} {rate}"
            drawn.append(label(plot.x.end, y - 5, written, _SMALL, anchor="end", class_="over"))
        else:
            room = 172.0
            drawn.append(label(plot.x.end + 6, height, cut(listed, room, _SMALL), _SMALL))
            drawn.append(label(plot.x.end + 6, height + 12, rate, _SMALL))
        yield mark(f"{listed}: {rate} at most", *drawn, class_=style)


def _memory(plot: _Plot) -> Iterator[Markup]:
    """Yield each memory roof up to the highest ceiling that a launch counts against."""
    x, y = plot.x, plot.y
    peak = highest_peak([row.place for row in plot.rows], plot.ceilings)
    for name, bandwidth in plot.memory.items():
        left = max(x.low, y.low / bandwidth)
        ridge = peak / bandwidth
        shown = f"{LEVELS[name]} {units.bandwidth(bandwidth)}"
        start, end = (x(left), y(left * bandwidth)), (x(ridge), y(peak))
        told = (
            f"{LEVELS[name]} roof: {units.bandwidth(bandwidth)}; intersects "
            f"{units.flop_rate(peak)} at {units.number(ridge)} FLOP/B"
        )
        # A wide line that nobody sees is easier to point at.
        drawn = [line(*start, *end, class_="reach"), line(*start, *end)]
        at = (start[0] + 10, start[1] + 10 * (end[1] - start[1]) / (end[0] - start[0]))
        slope = _degrees(end[0] - start[0], end[1] - start[1])
        drawn.append(
            element(
                "text",
                shown,
                transform=f"translate({at[0]:.1f} {at[1] - 5:.1f}) rotate({slope:.1f})",
                font_size=_SMALL,
                class_="over",
            )
        )
        yield mark(told, *drawn, class_=f"roof {name}")


def _launches(plot: _Plot) -> Iterator[Markup]:
    """Yield each launch's row, its number at the right end where nothing else lies."""
    taken = [
        (plot.x(point.intensity), plot.y(row.place.flop_per_s))
        for row in plot.rows
        for point in row.place.points
    ]
    for row in plot.rows:
        x = max(plot.x(point.intensity) for point in row.place.points)
        y = plot.y(row.place.flop_per_s)
        at = _free((x + 16, y), taken)
        taken.append(at)
        yield _launch(plot, row, at)


def _free(wanted: tuple[float, float], taken: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the place nearest to the wanted one, up or down, where a number hides nothing."""
    x, y = wanted
    for step in range(2 * len(taken) + 1):
        there = y + _GAP * ((step + 1) // 2) * (-1 if step % 2 else 1)
        if all(abs(x - a) > 15 or abs(there - b) >= _GAP - 1 for a, b in taken):
            return x, there
    return wanted


def _launch(plot: _Plot, row: _Row, number: tuple[float, float]) -> Markup:
    place = row.place
    y = plot.y(place.flop_per_s)
    xs = [plot.x(point.intensity) for point in place.points]
    parts = [
        line(min(xs), y, max(xs), y, class_="row"),
        line(max(xs), y, number[0] - 7, number[1], class_="row"),
    ]
    for point, x in zip(place.points, xs, strict=True):
        told = (
            f"{row.number} {row.name} at {LEVELS[point.level]}: "
            f"{units.flop_rate(place.flop_per_s)}, {units.number(point.intensity)} FLOP/B; "
            f"{units.percent(place.flop_per_s / point.attainable)} of the "
            f"{units.flop_rate(point.attainable)} attainable there"
        )
        near = "; nearest roof" if point.level == place.nearest else ""
        parts.append(mark(told + near, _shape(point.level, x, y), class_=point.level))
    at = (number[0], number[1] + 4)
    parts.append(label(*at, str(row.number), anchor="middle", class_="over strong"))
    return group(*parts, class_="launch", data_launch=str(row.number))


def _key(plot: _Plot, top: float, wide: float, columns: int) -> Iterator[Markup]:
    """Yield what the numbers mean, in columns below the plot."""
    rows = math.ceil(len(plot.rows) / columns)
    for i, row in enumerate(plot.rows):
        x, y = 2 + (i // rows) * wide, top + 17 * (i % rows)
        rate = units.flop_rate(row.place.flop_per_s)
        near = "" if plot.narrow else f", nearest roof {_roof(row.place)}"
        shown = f"{row.name}: {rate}{near}"
        texts = [
            label(x + 18, y, str(row.number), anchor="end", class_="strong"),
            label(x + 26, y, cut(shown, wide - 34)),
        ]
        yield group(*texts, class_="launch", data_launch=str(row.number))


def _shape(level: str, x: float, y: float) -> Markup:
    """Return a level's mark: a circle, a square or a diamond, about as large."""
    if level == "l1":
        return element("circle", cx=x, cy=y, r=5.5)
    if level == "l2":
        return element("rect", x=x - 5, y=y - 5, width=10.0, height=10.0)
    return element("path", d=f"M{x:.2f} {y - 6.8:.2f}l6.8 6.8-6.8 6.8-6.8-6.8z")


def _spread(falling: Sequence[float], gap: float) -> list[float]:
    """Return heights of texts, `gap` apart at least, near the wanted ones; order is kept."""
    order = sorted(range(len(falling)), key=lambda i: falling[i])
    found = list(falling)
    for before, after in pairwise(order):
        found[after] = max(found[after], found[before] + gap)
    return found


def _degrees(across: float, down: float) -> float:
    return math.degrees(math.atan2(down, across))


def _tick(value: float) -> str:
    return f"{value:g}" if 1e-4 <= value < 1e6 else f"{value:.0e}"


def _roof(place: Placement) -> str:
    return LEVELS.get(place.nearest, precision_name(place.nearest))
