"""Sweeps as a figure: time with its terms above, DRAM bytes below, one column a sweep.

Terms are areas over one another, and a strip says what binds where.
"""

from collections.abc import Sequence
from itertools import groupby, pairwise
from math import log2
from typing import TYPE_CHECKING, Any, Final

from perfmodel.prediction import Prediction
from perfmodel.prediction.sweep import SIZES, Sweep
from perfmodel.reports import units
from perfmodel.reports.figure_style import (
    AMBER,
    BLUE,
    FAINT,
    GREY,
    INK,
    LEVEL_COLOURS,
    OTHER,
    ROSE,
    VERMILION,
    Drawing,
    new_figure,
)
from perfmodel.reports.page.svg import Picture
from perfmodel.reports.prediction_text import control_parts, title

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_COLUMN: Final = 4.6
_HEIGHT: Final = 7.0
_MIB: Final = 2.0**20
_LABELLED: Final = 12
"""Labels that find room beside each other."""
_WIDE: Final = 8.0
"""Ratio of the last to the first value from which sizes are drawn on a logarithmic axis."""
_ROOM: Final = 1.2
"""Height of an axis over what is drawn: the legend has a row of its own above."""
_LEGEND: Final = 4
"""Names in a row of a legend."""
_LEGEND_ROW: Final = 0.1
"""Height of a further row."""
_SECONDS: Final = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))
_BYTES: Final = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3))
_MOVED: Final = ("dram_read_bytes", "dram_write_bytes")
_AXES: Final = {
    "hit-ratio": "hitRatio",
    "fetch-granularity": "fetch granularity [B]",
    "compression": "compression ratio",
}
MOST: Final = 4
"""Terms that are drawn, beyond those that bind somewhere."""
_LEAST: Final = 0.1
"""Share of the time that a term has somewhere, if it is drawn."""
_STRIP: Final = (-0.055, 0.03)
"""Where the strip begins, and its height, as shares of the axes' height."""
_LETTER: Final = 0.022
"""Width of a letter of its labels, as a share of the axes'."""
_FURTHER: Final = (AMBER, ROSE, OTHER, GREY)


def sweep_picture(sweeps: Sequence[Sweep]) -> Picture:
    """Return the figure of sweeps as a picture, with what it shows in words."""
    told = "; ".join(
        f"{sweep.name} {value if isinstance(value, str) else f'{value:g}'}: "
        f"{units.seconds(p.time_s)}, {p.bottleneck} binds"
        for sweep in sweeps
        for value, p in zip(sweep.values, sweep.predictions, strict=True)
    )
    name = title(sweeps[0].predictions[0])
    return Picture("sweep", f"Sweep of {name}", f"{told}.", Drawing(sweep_figure(sweeps)))


def sweep_figure(sweeps: Sequence[Sweep]) -> "Figure":
    """Draw sweeps side by side: time with its 90% band and its terms above, DRAM bytes below.

    Terms overlap, so they are areas over one another; a strip says which binds. All columns share
    both vertical axes; what is the same in every launch stands under the title.
    """
    found = [prediction for sweep in sweeps for prediction in sweep.predictions]
    longest = max(max(p.interval_s[1], *p.terms_s.values()) for p in found)
    terms = drawn_terms(found)
    most = max(prediction.traffic[key] for prediction in found for key in _MOVED)
    time_unit, second = next((u, f) for u, f in _SECONDS if longest >= f or u == "µs")
    data_unit, byte = next((u, f) for u, f in _BYTES if most >= f or u == "kB")
    width = _COLUMN * len(sweeps) + 0.6
    with new_figure(width, _HEIGHT, layout="constrained") as figure:
        axes = figure.subplots(
            *(2, len(sweeps)), squeeze=False, sharey="row", sharex="col", height_ratios=(3, 2)
        )
        # Ten points of text take about 0.085 inch a letter.
        same = _lines(_same(found), int(width / 0.085))
        figure.suptitle("\n".join([title(found[0]), *same]), fontsize=10)
        for column, sweep in enumerate(sweeps):
            _draw(axes[0][column], axes[1][column], sweep, (second, byte), terms)
        rows = -(-(len(terms) + 2) // _LEGEND)
        room = _ROOM + _LEGEND_ROW * (rows - 1)
        axes[0][0].set(ylabel=f"time [{time_unit}]", ylim=(0, room * longest / second))
        axes[1][0].set(ylabel=f"DRAM [{data_unit}]", ylim=(0, _ROOM * max(most, 1) / byte))
        for row in axes:
            row[0].legend(
                loc="upper left",
                ncols=_LEGEND,
                fontsize=9.5,
                columnspacing=1.0,
                borderaxespad=0.2,
                facecolor="white",
                edgecolor="none",
                framealpha=1,
            )
    return figure


def _same(found: Sequence[Prediction]) -> list[str]:
    """Return the parameters, and what L2 control does, that all launches share."""
    first = found[0]
    parts = [
        f"{name} {units.capacity(value) if name.endswith('bytes') else value}"  # type: ignore[arg-type]
        for name, value in first.params.items()
        if all(p.params[name] == value for p in found)
    ]
    control = [_control(prediction) for prediction in found]
    parts += [part for part in control[0] if all(part in other for other in control)]
    return [*parts, f"L2 {first.cache} at the start"]


def _control(prediction: Prediction) -> list[str]:
    """Return what L2 control is in effect, a window apart from what it does with its lines."""
    setting = prediction.details.setting
    return [
        piece
        for part in control_parts(setting.control, setting.claimed)
        for piece in part.split(": ")
    ]


def _lines(parts: Sequence[str], most: int) -> list[str]:
    """Return parts with commas between, in lines of so many letters at most."""
    lines = [""]
    for part in parts:
        longer = f"{lines[-1]}, {part}" if lines[-1] else part
        if len(longer) > most and lines[-1]:
            lines[-1] += ","
            lines.append(part)
        else:
            lines[-1] = longer
    return lines


def _draw(
    above: Any, below: Any, sweep: Sweep, scales: tuple[float, float], terms: dict[str, str]
) -> None:
    second, byte = scales
    sized = sweep.name in SIZES or sweep.name.endswith("bytes")
    labels = [value if isinstance(value, str) else None for value in sweep.values]
    at = [
        float(i) if isinstance(value, str) else value / _MIB if sized else value
        for i, value in enumerate(sweep.values)
    ]
    found = sweep.predictions
    low, high = ([p.interval_s[i] / second for p in found] for i in (0, 1))
    above.plot(
        at, [p.time_s / second for p in found], color=INK, marker="o", markersize=4, label="time"
    )
    above.fill_between(at, low, high, color=INK, alpha=0.15, linewidth=0, label="90% band")
    draw_terms(above, at, found, terms, second)
    for name, colour, marker, key in (
        ("read", BLUE, "o", "dram_read_bytes"),
        ("written", VERMILION, "s", "dram_write_bytes"),
    ):
        moved = [p.traffic[key] / byte for p in found]
        below.plot(at, moved, color=colour, marker=marker, markersize=4, label=name)
    below.set_xlabel(f"{sweep.name} [MiB]" if sized else _AXES.get(sweep.name, sweep.name))
    logarithmic = (sized or _geometric(at)) and min(at) > 0 and max(at) >= _WIDE * min(at)
    for axes in (above, below):
        axes.grid(color=FAINT)
        if logarithmic:
            axes.set_xscale("log", base=2)
            axes.xaxis.set_major_formatter("{x:g}")  # 32, not 2 to the fifth
        if any(labels) or not _crowded([log2(value) for value in at] if logarithmic else at):
            shown = [label or f"{value:g}" for label, value in zip(labels, at, strict=True)]
            axes.set_xticks(at, labels=shown)
            axes.minorticks_off()
    draw_binding(above, at, found, terms)


def _crowded(places: Sequence[float]) -> bool:
    """Say whether values lie too close for each to have a label of its own."""
    ordered = sorted(set(places))
    gaps = [after - before for before, after in pairwise(ordered)]
    return bool(gaps) and (ordered[-1] - ordered[0]) / min(gaps) > _LABELLED


def _geometric(values: Sequence[float]) -> bool:
    """Say whether values grow by a factor rather than by a step."""
    if len(values) < 3 or min(values) <= 0:
        return False
    return values[-1] - values[-2] > 1.5 * (values[1] - values[0])


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
