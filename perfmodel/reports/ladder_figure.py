"""A ladder as a figure: a bar a rung, with its interval, on a logarithmic axis."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfmodel.prediction import Prediction
from perfmodel.prediction.ladder import NAME, Rung, place_of_cublas
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
    of_rungs = [rung.prediction for rung in rungs]
    bars = [
        _bar(str(p.mapping), p.roofline.flop_per_s, p, TERMS.get(p.bottleneck, p.bottleneck), BLUE)
        for p in of_rungs
    ]
    if (known := rungs[0].cublas) is not None:
        bar = _bar(NAME, known.flop_per_s, known.prediction, known.kind, GREY)
        bars.insert(place_of_cublas(rungs), bar)
    rates = [bar.rate for bar in bars]
    below = [max(bar.rate - bar.low, 0.0) for bar in bars]
    above = [max(bar.high - bar.rate, 0.0) for bar in bars]
    first = of_rungs[0]
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


def _bar(label: str, flop_per_s: float, of: Prediction | None, said: str, colour: str) -> _Bar:
    rate = low = high = flop_per_s / 1e12
    if of is not None:
        low, high = (of.roofline.flop / s / 1e12 for s in reversed(of.interval_s))
    return _Bar(label, rate, low, high, f"{units.flop_rate(flop_per_s)}, {said}", colour)
