"""The hierarchical roofline as a figure: one dot a memory level and kernel, under its roofs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from perfmodel.errors import PerfmodelError
from perfmodel.prediction import Prediction
from perfmodel.prediction.record import Ceiling
from perfmodel.reports import units
from perfmodel.reports.figure_style import (
    BLUE,
    FAINT,
    GREEN,
    GREY,
    INK,
    MARKERS,
    STYLE,
    VERMILION,
)
from perfmodel.reports.roofline import (
    LEVELS,
    Placement,
    common_ceilings,
    highest_peak,
    labels,
    limits,
    placement,
    precision_name,
    ridge_points,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS: Final = {"l1": BLUE, "l2": GREEN, "dram": VERMILION}

# Inches: the figure, its margins left and right (labels of the arithmetic ceilings), and rows.
_WIDTH: Final = 9.6
_LEFT: Final = 0.85
_RIGHT: Final = 2.05
_PLOT_WIDTH: Final = _WIDTH - _LEFT - _RIGHT
_TITLE: Final = 0.75
_ROW: Final = 0.2
_PLOT_HEIGHT: Final = 4.6
_AXIS: Final = 0.65
_LEGEND_ROW: Final = 0.22
_LABEL_GAP: Final = 0.19
_TERA: Final = 1e12
_LONG: Final = 55
"""Characters of a legend text above which each gets a line of its own."""


def roofline_figure(predictions: Sequence[Prediction]) -> Figure:
    """Draw predictions on the hierarchical roofline of their GPU.

    Parameters
    ----------
    predictions : sequence of Prediction
        At most eight, of one GPU; those that compute nothing are named, but have no dot.

    Returns
    -------
    matplotlib.figure.Figure
        Not attached to any window; `perfmodel.reports.figure_style.save_figure` writes it.

    Raises
    ------
    PerfmodelError
        If there are none or too many, they are of several GPUs, or none computes anything.
    """
    import matplotlib
    from matplotlib.figure import Figure

    ceilings = common_ceilings(predictions)
    if len(predictions) > len(MARKERS):
        raise PerfmodelError(
            f"a roofline figure shows at most {len(MARKERS)} kernels, not {len(predictions)}: "
            "draw several"
        )
    places = dict(zip(labels(predictions), map(placement, predictions), strict=True))
    drawn = {label: place for label, place in places.items() if place.points}
    if not drawn:
        names = ", ".join(places)
        raise PerfmodelError(
            f"{names}: no floating-point operations, so there is no place on a roofline; choose a "
            "kernel that computes, such as gemm"
        )
    used = sorted({place.precision for place in drawn.values()})
    named = [_legend_text(label, place) for label, place in drawn.items()]
    columns = 1 if max(map(len, named)) > _LONG else 2
    above = _TITLE + _ROW * len(used)
    below = _AXIS + _LEGEND_ROW * (math.ceil(len(drawn) / columns) + 1)
    height = above + _PLOT_HEIGHT + below
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(_WIDTH, height))
        plot = (_LEFT / _WIDTH, below / height, _PLOT_WIDTH / _WIDTH, _PLOT_HEIGHT / height)
        axes = figure.add_axes(plot)
        _set_scales(axes, ceilings, list(drawn.values()))
        _draw_compute(axes, ceilings, used)
        _draw_memory(axes, ceilings, highest_peak(list(drawn.values()), ceilings))
        _draw_ridges(axes, ceilings, used)
        for marker, place in zip(MARKERS, drawn.values(), strict=False):
            _draw_place(axes, place, marker)
        _draw_legend(figure, named, columns, height)
        heading = f"Roofline of {predictions[0].details.device.title}"
        left = _LEFT / _WIDTH
        figure.text(left, 1 - 0.25 / height, heading, fontsize=13, va="center")
        nothing = [label for label, place in places.items() if not place.points]
        note = "predicted; each kernel has one dot a memory level, under that level's roof"
        if nothing:
            note += f" ({', '.join(nothing)}: no floating-point operations)"
        figure.text(left, 1 - 0.52 / height, note, fontsize=9, color=GREY, va="center")
    return figure


def _set_scales(axes: Axes, ceilings: Sequence[Ceiling], places: Sequence[Placement]) -> None:
    across, up = limits(ceilings, places)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(*across)
    axes.set_ylim(*(rate / _TERA for rate in up))
    axes.set_xlabel("arithmetic intensity [FLOP/B]")
    axes.set_ylabel("performance [TFLOP/s]")
    axes.xaxis.set_major_formatter(_plain_ticks)
    axes.yaxis.set_major_formatter(_plain_ticks)
    axes.grid(True, color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", length=3)


def _plain_ticks(value: float, _: Any = None) -> str:
    return f"{value:g}" if 1e-4 <= value < 1e6 else f"{value:.0e}"


def _draw_compute(axes: Axes, ceilings: Sequence[Ceiling], used: Sequence[str]) -> None:
    """Draw arithmetic ceilings: dark if a kernel counts against them; equal ones share a label."""
    fastest = max(c.value for c in ceilings if c.kind == "memory")
    right = axes.get_xlim()[1]
    texts: list[tuple[float, str, bool]] = []
    values = sorted({c.value for c in ceilings if c.kind == "compute"})
    groups: list[list[float]] = []
    for value in values:
        if groups and value <= groups[-1][0] * 1.02:
            groups[-1].append(value)
        else:
            groups.append([value])
    for group in groups:
        names = [c.name for c in ceilings if c.kind == "compute" and c.value in group]
        mine = not set(used).isdisjoint(names)
        axes.plot(
            [group[0] / fastest, right],
            [group[0] / _TERA] * 2,
            color=INK if mine else GREY,
            linewidth=1.6 if mine else 0.9,
            linestyle="-" if mine else (0, (5, 3)),
            zorder=2,
        )
        listed = ", ".join(precision_name(name) for name in names)
        unit = "TOP/s" if all(name.startswith("int") for name in names) else "TFLOP/s"
        texts.append((group[0] / _TERA, f"{listed}\n{group[0] / _TERA:.4g} {unit}", mine))
    for y, (_, text, mine) in zip(_spaced(axes, [text[0] for text in texts]), texts, strict=True):
        axes.text(
            1.012,
            y,
            text,
            transform=axes.transAxes,
            fontsize=8,
            va="center",
            color=INK if mine else GREY,
            linespacing=1.05,
        )


def _spaced(axes: Axes, values: Sequence[float]) -> list[float]:
    """Return heights in the axes (0 to 1) of rising values, labels of two lines apart."""
    low, high = (math.log10(limit) for limit in axes.get_ylim())
    gap = 1.65 * _LABEL_GAP / _PLOT_HEIGHT
    heights: list[float] = []
    for value in values:
        wanted = (math.log10(value) - low) / (high - low)
        heights.append(max(wanted, heights[-1] + gap) if heights else wanted)
    return heights


def _draw_memory(axes: Axes, ceilings: Sequence[Ceiling], peak: float) -> None:
    """Draw each memory roof up to the highest ceiling, dark below `peak`, with its bandwidth."""
    left, right = axes.get_xlim()
    bottom, top = axes.get_ylim()
    highest = max(c.value for c in ceilings if c.kind == "compute")
    thin: dict[str, Any] = {"linewidth": 0.9, "linestyle": (0, (5, 3))}
    slope = (_PLOT_HEIGHT / math.log10(top / bottom)) / (_PLOT_WIDTH / math.log10(right / left))
    angle = math.degrees(math.atan(slope))
    for memory in (c for c in ceilings if c.kind == "memory"):
        colour = COLOURS[memory.name]
        ridge, end = peak / memory.value, highest / memory.value
        for start, stop, style in ((left, ridge, {"linewidth": 1.8}), (ridge, end, thin)):
            axes.plot(
                [start, stop],
                [start * memory.value / _TERA, stop * memory.value / _TERA],
                color=colour,
                zorder=2,
                **style,
            )
        # A little in from the corner where the roof comes into view.
        at = max(left, bottom * _TERA / memory.value) * 1.35
        axes.annotate(
            f"{LEVELS[memory.name]} {units.bandwidth(memory.value)}",
            (at, at * memory.value / _TERA),
            xytext=(-3, 4),
            textcoords="offset points",
            rotation=angle,
            rotation_mode="anchor",
            fontsize=9,
            color=colour,
            ha="left",
            va="bottom",
        )


def _draw_ridges(axes: Axes, ceilings: Sequence[Ceiling], used: Sequence[str]) -> None:
    """Mark the ridge points of the ceilings that kernels count against; number them on top."""
    values = {c.name: c.value for c in ceilings}
    top = axes.get_ylim()[1]
    rows = {compute: 1 + (0.06 + _ROW * (i + 0.5)) / _PLOT_HEIGHT for i, compute in enumerate(used)}
    across = axes.get_xaxis_transform()
    for compute, row in rows.items():
        axes.text(
            0,
            row,
            f"ridge points {precision_name(compute)} [FLOP/B]",
            transform=axes.transAxes,
            fontsize=8,
            va="center",
        )
    for (compute, memory), ridge in ridge_points(ceilings).items():
        if compute in used:
            height = values[compute] / _TERA
            axes.plot([ridge, ridge], [height, top], color=GREY, linewidth=0.7, linestyle=":")
            axes.plot(
                [ridge], [height], marker="o", markersize=4.5, color="white",
                markeredgecolor=INK, markeredgewidth=1.1, zorder=4, linestyle="",
            )  # fmt: skip
            axes.text(
                ridge,
                rows[compute],
                units.number(ridge),
                transform=across,
                fontsize=8,
                color=COLOURS[memory],
                ha="center",
                va="center",
            )


def _draw_place(axes: Axes, place: Placement, marker: str) -> None:
    height = place.flop_per_s / _TERA
    xs = [p.intensity for p in place.points]
    axes.plot(xs, [height] * len(xs), color=GREY, linewidth=0.8, zorder=3)
    for point in place.points:
        axes.plot(
            [point.intensity], [height], marker=marker, markersize=9, linestyle="",
            color=COLOURS[point.level], markeredgecolor="white", markeredgewidth=0.8, zorder=6,
        )  # fmt: skip


def _draw_legend(figure: Figure, named: Sequence[str], columns: int, height: float) -> None:
    """Draw the legend below: memory levels by colour, and kernels by marker."""
    from matplotlib.lines import Line2D

    levels = [
        Line2D([], [], marker="o", linestyle="", markersize=8, color=COLOURS[level], label=label)
        for level, label in LEVELS.items()
    ]
    kernels = [
        Line2D([], [], marker=marker, linestyle="", markersize=8, color=INK, label=label)
        for marker, label in zip(MARKERS, named, strict=False)
    ]
    rows = math.ceil(len(named) / columns)
    style: dict[str, Any] = {"loc": "lower left", "frameon": False, "fontsize": 9}
    style |= {"borderpad": 0.1, "borderaxespad": 0.0, "handletextpad": 0.3}
    for handles, most, rise in ((levels, 3, 0.1 + _LEGEND_ROW * rows), (kernels, columns, 0.07)):
        at = (_LEFT / _WIDTH, rise / height)
        figure.legend(handles=handles, ncols=min(most, len(handles)), bbox_to_anchor=at, **style)


def _legend_text(label: str, place: Placement) -> str:
    near = LEVELS.get(place.nearest, precision_name(place.nearest))
    return f"{label}: {units.flop_rate(place.flop_per_s)}, nearest roof {near}"
