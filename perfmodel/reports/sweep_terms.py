"""Terms of a sweep's times as areas over one another, and a strip that says what binds where."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Any, Final

from perfmodel.prediction import Prediction
from perfmodel.reports.figure_style import AMBER, GREY, LEVEL_COLOURS, OTHER, ROSE

MOST: Final = 4
"""Terms that are drawn, beyond those that bind somewhere."""
_LEAST: Final = 0.1
"""Share of the time that a term has somewhere, if it is drawn."""
_STRIP: Final = (-0.055, 0.03)
"""Where the strip begins, and its height, as shares of the axes' height."""
_LETTER: Final = 0.022
"""Width of a letter of its labels, as a share of the axes'."""
_FURTHER: Final = (AMBER, ROSE, OTHER, GREY)


def drawn_terms(predictions: Sequence[Prediction]) -> dict[str, str]:
    """Return the terms that are drawn of all of a figure's launches, with their colours.

    Those that bind somewhere, and the largest of the others, by share of the time.
    """
    most: dict[str, float] = {}
    for p in predictions:
        for name, value in p.terms_s.items():
            most[name] = max(most.get(name, 0.0), value / p.time_s)
    binding = {p.bottleneck for p in predictions}
    ranked = sorted(most, key=lambda name: -most[name])
    chosen = [n for i, n in enumerate(ranked) if n in binding or (i < MOST and most[n] >= _LEAST)]
    further = [name for name in chosen if name not in LEVEL_COLOURS]
    own = {name: _FURTHER[i % len(_FURTHER)] for i, name in enumerate(further)}
    return {name: LEVEL_COLOURS.get(name, own.get(name, OTHER)) for name in chosen}


def draw_terms(
    axes: Any, at: Sequence[float], predictions: Sequence[Prediction], colours: dict[str, str],
    second: float,
) -> None:  # fmt: skip
    """Draw terms over the values of a sweep; `second` is a second in the units of the axis."""
    for i, (name, colour) in enumerate(colours.items()):
        values = [p.terms_s.get(name, 0.0) / second for p in predictions]
        axes.fill_between(at, 0, values, color=colour, alpha=0.14, linewidth=0, zorder=1)
        style = ("-", "--", "-.", ":")[i // len(LEVEL_COLOURS) % 4]
        axes.plot(at, values, color=colour, linewidth=1.4, linestyle=style, label=name, zorder=2)


def draw_binding(
    axes: Any, at: Sequence[float], predictions: Sequence[Prediction], colours: dict[str, str]
) -> None:
    """Draw a strip below the axes in the colours of what binds, with names where they fit."""
    from matplotlib.patches import Rectangle

    low, high = axes.get_xlim()
    logarithmic = axes.get_xscale() == "log"
    middle = [(a * b) ** 0.5 if logarithmic else (a + b) / 2 for a, b in pairwise(at)]
    edges = [low, *middle, high]
    for name, run in groupby(range(len(at)), key=lambda i: predictions[i].bottleneck):
        places = list(run)
        left, right = edges[places[0]], edges[places[-1] + 1]
        start, height = _STRIP
        strip = Rectangle((left, start), right - left, height, facecolor=colours[name])
        strip.set(transform=axes.get_xaxis_transform(), clip_on=False)
        axes.add_artist(strip)
        ends = axes.transAxes.inverted().transform(
            axes.transData.transform([(left, 0.0), (right, 0.0)])
        )[:, 0]
        text = f"{name} binds"
        if ends[1] - ends[0] > _LETTER * len(text):
            axes.text(
                *(float(ends.mean()), start - 0.015, text),
                transform=axes.transAxes,
                ha="center",
                va="top",
                fontsize=9,
                zorder=4,
            )
    axes.set_xlim(low, high)
