"""A ladder as a figure: a bar a rung, with its interval, on a logarithmic axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfmodel.prediction.ladder import Rung
from perfmodel.reports import units
from perfmodel.reports.binding_text import TERMS
from perfmodel.reports.figure_style import BLUE, FAINT, INK, Drawing, new_figure
from perfmodel.reports.page.svg import Picture
from perfmodel.reports.prediction_text import title

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def ladder_picture(rungs: Sequence[Rung]) -> Picture:
    """Return the figure of a ladder as a picture, with what it shows in words."""
    figure = ladder_figure(rungs)
    told = "; ".join(
        f"{p.mapping} {units.flop_rate(p.roofline.flop_per_s)}, {p.bottleneck} binds"
        for p in (rung.prediction for rung in rungs)
    )
    return Picture("ladder", "Ladder of a matrix product", f"{told}.", Drawing(figure))


def ladder_figure(rungs: Sequence[Rung]) -> Figure:
    """Draw what each rung reaches, simplest at the top, with its 90% interval."""
    found = [rung.prediction for rung in rungs]
    rates = [p.roofline.flop_per_s / 1e12 for p in found]
    ends = [[p.roofline.flop / s / 1e12 for s in reversed(p.interval_s)] for p in found]
    below = [max(rate - low, 0.0) for rate, (low, _) in zip(rates, ends, strict=True)]
    above = [max(high - rate, 0.0) for rate, (_, high) in zip(rates, ends, strict=True)]
    with new_figure(7.5, 0.5 * len(found) + 1.4, layout="constrained") as figure:
        axes = figure.subplots()
        places = range(len(found))
        start = min(low for low, _ in ends) / 2
        axes.barh(places, [rate - start for rate in rates], left=start, color=BLUE, height=0.6)
        axes.errorbar(
            rates, places, xerr=(below, above), fmt="none", color=INK, ecolor=INK, capsize=3
        )
        axes.set_yticks(places, labels=[str(p.mapping) for p in found])
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.set_xlabel("TFLOP/s, with the 90% interval")
        axes.grid(axis="x", color=FAINT)
        for place, p, (_, high) in zip(places, found, ends, strict=True):
            bound = TERMS.get(p.bottleneck, p.bottleneck)
            text = f"  {units.flop_rate(p.roofline.flop_per_s)}, {bound}"
            axes.annotate(text, (high, place), va="center", fontsize=9)
        axes.set_xlim(start, axes.get_xlim()[1] * 12)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        axes.set_axisbelow(True)
        axes.set_title(title(found[0]).replace(f" {found[0].mapping}", "", 1), fontsize=11)
    return figure
