"""Times as pictures: a launch's terms as bars under its time, and launches beside each other."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from perfmodel.prediction.record import Prediction
from perfmodel.reports import units
from perfmodel.reports.binding_text import TERMS
from perfmodel.reports.page.content import Report, ReportedLaunch
from perfmodel.reports.page.svg import (
    NARROW,
    Drawing,
    LogAxis,
    Picture,
    cut,
    element,
    label,
    line,
    mark,
    picture,
    rectangle,
    width_of,
)
from perfmodel.reports.prediction_text import ranked_terms

HALF: Final = 560.0
"""Width of pictures that stand beside each other on wide screens [CSS px]."""

_TOP: Final = 40.0
_LEVELS: Final = {"l1": "l1", "l2": "l2", "dram": "dram", "writeback": "dram"}


def terms_picture(launch: ReportedLaunch) -> Picture:
    """Return what each resource would need alone, as bars, and the predicted time."""
    prediction = launch.prediction
    told = ", ".join(f"{n} {units.seconds(value)}" for n, value in ranked_terms(prediction))
    return picture(
        f"terms-{launch.number}",
        f"Time of {launch.label}, and of each resource alone",
        f"Predicted {_answer(prediction)}; alone: {told}.",
        lambda width: _draw_terms(prediction, width),
        HALF,
    )


def _draw_terms(prediction: Prediction, width: float) -> Drawing:
    narrow = width == NARROW
    terms = ranked_terms(prediction)
    total, (low, high) = prediction.time_s, prediction.interval_s
    most = max(high, terms[0][1]) * 1.02
    start, end = (2.0, width - 2) if narrow else (78.0, width - 108)
    step = 34.0 if narrow else 23.0
    bottom = _TOP + step * len(terms)

    def x(value: float) -> float:
        return start + value / most * (end - start)

    answer = _answer(prediction)
    # In the narrow layout only behind the bars, for texts stand between them.
    heights = [(_TOP + i * step + 15, 17.0) for i in range(len(terms))]
    spans = heights if narrow else [(_TOP - 10, bottom - _TOP + 10)]
    band = mark(
        f"Predicted time {answer}",
        *(rectangle(x(low), y, x(high) - x(low), tall, class_="interval") for y, tall in spans),
        *(line(x(total), y, x(total), y + tall, class_="total") for y, tall in spans),
    )
    room = width_of(answer, bold=True)
    written = max(min(x(total) - room / 2, width - room), 2.0)
    parts = [band, label(written, 18, answer, class_="strong")]
    for i, (name, value) in enumerate(terms):
        y = _TOP + i * step
        share = units.percent(value / total)
        binds = name == prediction.bottleneck
        told = f"{name}: {units.seconds(value)} alone, {share} of the time; {TERMS.get(name, name)}"
        numbers = f"{units.seconds(value)}  {share}"
        bold = "strong" if binds else None
        bar_y = y + 17 if narrow else y
        bar = rectangle(start, bar_y, max(x(value) - start, 1.0), 13.0, rx=1.5, class_="bar")
        if narrow:
            texts = [
                label(start, y + 13, name, class_=bold),
                label(end, y + 13, numbers, anchor="end", class_=bold),
            ]
        else:
            texts = [
                label(start - 8, y + 11, name, anchor="end", class_=bold),
                label(width - 2, y + 11, numbers, anchor="end", class_=bold),
            ]
        style = f"term {_LEVELS.get(name, 'other')}"
        parts.append(mark(told + ("; binds" if binds else ""), bar, *texts, class_=style))
    return Drawing(width, bottom + 4, Markup("").join(parts))


def times_picture(report: Report) -> Picture | None:
    """Return the launches' times with their 90% intervals; None for a single launch."""
    if len(report.launches) < 2:
        return None
    told = "; ".join(f"{each.label} {_answer(each.prediction)}" for each in report.launches)
    return picture(
        "times",
        "Predicted times, with 90% intervals",
        f"{told}.",
        lambda width: _draw_times(report, width),
    )


def _draw_times(report: Report, width: float) -> Drawing:
    narrow = width == NARROW
    widest = max(width_of(f"{each.number} {each.label}") for each in report.launches)
    start = 12.0 if narrow else min(widest + 18, width * 0.4)
    end = width - (12 if narrow else 100)
    lows, highs = zip(*(p.interval_s for p in report.predictions), strict=True)
    x = LogAxis(min(lows) / 1.15, max(highs) * 1.15, start, end)
    step = 36.0 if narrow else 25.0
    bottom = 10 + step * len(report.launches)
    parts = []
    for value in x.ticks():
        parts.append(line(x(value), 6, x(value), bottom, class_="grid"))
        told = units.seconds(value)
        parts.append(label(x(value), bottom + 15, told, 11.0, anchor="middle", class_="dim"))
    for i, each in enumerate(report.launches):
        y = 10 + i * step + (24 if narrow else 12)
        time, (low, high) = each.prediction.time_s, each.prediction.interval_s
        drawn = [
            line(x(low), y, x(high), y, class_="whisker"),
            element("circle", cx=x(time), cy=y, r=4.5, class_="dot"),
        ]
        answer = units.seconds(time)
        name = f"{each.number} {each.label}"
        if narrow:
            room = width - 20 - width_of(answer)
            drawn += [
                label(2, y - 9, cut(name, room)),
                label(width - 2, y - 9, answer, anchor="end"),
            ]
        else:
            drawn.append(label(start - 12, y + 4, cut(name, start - 14), anchor="end"))
            drawn.append(label(width - 2, y + 4, answer, anchor="end"))
        told = f"{name}: {_answer(each.prediction)}, {each.prediction.bottleneck} binds"
        parts.append(mark(told, *drawn, class_="launch", data_launch=str(each.number)))
    return Drawing(width, bottom + 22, Markup("").join(parts))


def _answer(prediction: Prediction) -> str:
    low, high = prediction.interval_s
    return f"{units.seconds(prediction.time_s)} (90%: {units.span(low, high)})"
