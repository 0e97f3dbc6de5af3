"""A ladder as a figure: a bar a rung, with its interval, on a logarithmic axis."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfmodel.prediction.ladder import NAME, CublasFp32, Rung
from perfmodel.records import record
from perfmodel.reports import units
from perfmodel.reports.binding_text import TERMS
from perfmodel.reports.figure_style import BLUE, FAINT, GREY, INK, Drawing, new_figure
from perfmodel.reports.page.svg import Picture
from perfmodel.reports.prediction_text import title

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@record
class _Bar:
    """A bar: its label, rate and interval [TFLOP/s], and what is written behind it."""

    label: str
    rate: float
    low: float
    high: float
    text: str
    colour: str


def ladder_picture(rungs: Sequence[Rung]) -> Picture:
    """Return the figure of a ladder as a picture, with what it shows in words."""
    figure = ladder_figure(rungs)
    told = "; ".join(
        f"{p.mapping} {units.flop_rate(p.roofline.flop_per_s)}, {p.bottleneck} binds"
        for p in (rung.prediction for rung in rungs)
    )
    return Picture("ladder", "Ladder of a matrix product", f"{told}.", Drawing(figure))


def ladder_figure(rungs: Sequence[Rung]) -> "Figure":
    """Draw what each rung reaches, simplest at the top, with its 90% interval, and cuBLAS."""
    bars = [_bar(rung) for rung in rungs]
    if (reference := rungs[0].cublas) is not None:
        after = max((i for i, r in enumerate(rungs, 1) if r.share_of_cublas is not None), default=0)
        bars.insert(after, _reference(reference))
    rates = [bar.rate for bar in bars]
    below = [max(bar.rate - bar.low, 0.0) for bar in bars]
    above = [max(bar.high - bar.rate, 0.0) for bar in bars]
    first = rungs[0].prediction
    with new_figure(7.5, 0.5 * len(bars) + 1.4, layout="constrained") as figure:
        axes = figure.subplots()
        places = range(len(bars))
        start = min(bar.low for bar in bars) / 2
        lengths, colours = [rate - start for rate in rates], [bar.colour for bar in bars]
        axes.barh(places, lengths, left=start, color=colours, height=0.6)
        axes.errorbar(
            rates, places, xerr=(below, above), fmt="none", color=INK, ecolor=INK, capsize=3
        )
        axes.set_yticks(places, labels=[bar.label for bar in bars])
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.set_xlabel("TFLOP/s, with the 90% interval")
        axes.grid(axis="x", color=FAINT)
        for place, bar in zip(places, bars, strict=True):
            axes.annotate(f"  {bar.text}", (bar.high, place), va="center", fontsize=9)
        axes.set_xlim(start, axes.get_xlim()[1] * 12)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        axes.set_axisbelow(True)
        axes.set_title(title(first).replace(f" {first.mapping}", "", 1), fontsize=11)
    return figure


def _bar(rung: Rung) -> _Bar:
    p = rung.prediction
    rate = p.roofline.flop_per_s
    low, high = (p.roofline.flop / s / 1e12 for s in reversed(p.interval_s))
    bound = TERMS.get(p.bottleneck, p.bottleneck)
    text = f"{units.flop_rate(rate)}, {bound}"
    return _Bar(str(p.mapping), rate / 1e12, low, high, text, BLUE)


def _reference(found: CublasFp32) -> _Bar:
    rate = low = high = found.flop_per_s / 1e12
    if found.prediction is not None:
        ends = reversed(found.prediction.interval_s)
        low, high = (found.prediction.roofline.flop / s / 1e12 for s in ends)
    text = f"{units.flop_rate(found.flop_per_s)}, {found.kind}"
    return _Bar(NAME, rate, low, high, text, GREY)
