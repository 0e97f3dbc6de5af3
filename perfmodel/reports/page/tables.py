"""The tables of a report, as text cells: what the HTML page and the Markdown file share."""

from collections.abc import Mapping
from typing import Final

from perfmodel.hardware import Device
from perfmodel.prediction.advise import dram_bytes
from perfmodel.prediction.figures_used import UsedFigure
from perfmodel.prediction.interval import residual_origin, wider_intervals
from perfmodel.reports import units
from perfmodel.reports.device_text import (
    LEVEL_HEADERS,
    LEVEL_NOTE,
    Sources,
    figure_value,
    level_rows,
)
from perfmodel.reports.formula_text import plain_name, quantity, tight, unit_of
from perfmodel.reports.page.content import Report, ReportedLaunch
from perfmodel.reports.prediction_text import parameters, rate
from perfmodel.reports.tables import Table

_KINDS: Final = frozenset({"derived", "fitted", "measured", "assumed", "definition"})
"""Kinds of origin by the first word of a formula's source; the others are published."""

_MOST_EFFECTS: Final = 4
"""Launches up to which a table has a column for each."""


def summary(report: Report) -> Table:
    """Return a row for each launch: how long, how sure, what binds."""
    first = report.predictions[0].time_s
    rows = []
    for each in report.launches:
        p = each.prediction
        rows.append(
            (
                str(each.number),
                each.label,
                units.seconds(p.time_s),
                units.span(*p.interval_s),
                f"{units.number(first / p.time_s)} x",
                rate(p),
                p.bottleneck,
                units.percent(p.terms_s[p.bottleneck] / p.time_s),
                units.data(dram_bytes(p)),
                units.percent(p.occupancy.fraction),
            )
        )
    columns = (
        *("#", "launch", "time", "90% interval", "speed", "rate", "binds", "of the time"),
        *("DRAM", "occupancy"),
    )
    comparable = _comparable(report)
    note = "Speed: against the first." if comparable else ""
    found = {parameters(p) for p in report.predictions}
    if len(found) == 1:
        note += f" {found.pop()}."
    table = Table("Summary", columns, tuple(rows), note.strip(), "rlrrrrlrrr")
    table = table if comparable else table.without("speed")
    return table if len(report.launches) > 1 else table.without("#")


def _comparable(report: Report) -> bool:
    """Return whether launches do the same work: as many operations, or one kernel on one size."""
    work = {p.roofline.flop or (p.kernel, *p.params.items()) for p in report.predictions}
    return len(report.launches) > 1 and len(work) == 1


def device_levels(device: Device) -> Table:
    """Return the memory hierarchy of a device, each value with the mark of its source."""
    sources = Sources()
    rows = tuple(level_rows(device, sources))
    listed = "\n".join(f"{mark} {text}" for mark, text in sources.lines())
    return Table("Memory hierarchy", LEVEL_HEADERS, rows, f"{LEVEL_NOTE}\n{listed}", "lrrrr")


def figures(report: Report) -> Table:
    """Return every figure of the device that the predictions come from, with its origin."""
    found: dict[str, dict[int, UsedFigure]] = {}
    for each in report.launches:
        for used in each.figures:
            found.setdefault(used.name, {})[each.number] = used
    rows = []
    for name in filter(found.__contains__, report.device.figures):
        of_each = found[name]
        figure = next(iter(of_each.values())).figure
        error = "" if figure.standard_error is None else f" ± {figure.standard_error:g}"
        value = figure_value(figure) + error
        effects = _effects(of_each, len(report.launches))
        rows.append((name, value, figure.kind, *effects, figure.source, figure.note))
    numbers = [each.number for each in report.launches]
    columns = ["+1%"]
    if 1 < len(numbers) <= _MOST_EFFECTS:
        columns = [f"+1% for {number}" for number in numbers]
    note = (
        "Every figure that these predictions come from, as its source gives it. +1%: by how much "
        "the time changes where this figure is 1% larger, all others as they are; whole: a whole "
        "number; roofline: for the roofs only."
    )
    if len(numbers) > _MOST_EFFECTS:
        note += " Of several launches the largest change, with the launch's number."
    return Table(
        "Figures of the device",
        ("figure", "value", "kind", *columns, "source", "note"),
        tuple(rows),
        note,
        "lrl" + "r" * len(columns),
    )


def _effects(used: Mapping[int, UsedFigure], launches: int) -> list[str]:
    """Return what 1% more of a figure does: for each launch, or the most if these are many."""
    if launches <= _MOST_EFFECTS:
        return [_effect(used[i]) if i in used else "-" for i in range(1, launches + 1)]
    moved = {i: one.influence for i, one in used.items() if one.influence is not None}
    if not moved or next(iter(used.values())).purpose == "roofline":
        return [_effect(next(iter(used.values())))]
    most = max(moved, key=lambda i: abs(moved[i]))
    shown = _effect(used[most])
    return [f"{shown} ({most})" if shown != "0" else shown]


def _effect(used: UsedFigure) -> str:
    if used.purpose == "roofline":
        return "roofline"
    if used.influence is None:
        return "whole"
    return f"{used.influence:+.2%}" if abs(used.influence) >= 5e-5 else "0"


def formulas(report: Report) -> Table:
    """Return the formulas behind the predictions, with where they hold and what they are from."""
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for each in report.launches:
        for step in each.steps:
            formula = step.formula
            if formula.source == "definition":
                continue
            key = (formula.text, formula.source)
            kind, source = _kind(formula.source)
            shown = plain_name(tight(formula.text))
            numbers = ", ".join(
                f"{plain_name(name)} = {quantity(value, unit_of(formula, name))}"
                for name, value in step.values.items()
            )
            found.setdefault(key, (step.title, shown, numbers, kind, formula.holds, source))
    note = (
        "Coefficients that stand in a formula, as numbers or as symbols, are of the formula's "
        "origin. Numbers: those of its first use; the derivations say what the symbols mean. Sums "
        "and products that only put parts together are left out."
    )
    columns = ("what", "formula", "numbers", "kind", "holds", "source")
    return Table("Formulas", columns, tuple(found.values()), note)


def _kind(source: str) -> tuple[str, str]:
    """Return what kind of origin the first word of a formula's source says, and the source."""
    first = source.split(maxsplit=1)[0].rstrip(":")
    kind = first if first in _KINDS else "published"
    _, colon, rest = source.partition(f"{kind}: ")
    return kind, rest if colon else source


def intervals(report: Report) -> Table:
    """Return where the 90% intervals come from."""
    rows = tuple(_interval_row(each) for each in report.launches)
    columns = (
        *("#", "launch", "interval", "residuals of", "factors", "launches", "sweeps"),
        *("held-out share inside", "figures", "from"),
    )
    note = (
        "Residuals: where 90% of measured times lie, over predicted ones, of launches of the same "
        "regime. Figures: standard deviation of the time from the device's standard errors. Both "
        "go together in quadrature, on the logarithm of the time."
    )
    return Table("90% intervals", columns, rows, note, "rllllrrrrl")


def _interval_row(each: ReportedLaunch) -> tuple[str, ...]:
    p = each.prediction
    found = residual_origin(p.behind.circumstances, p.bottleneck)
    wider = wider_intervals(p.behind.circumstances)
    factors = f"{found.residuals.low:.3f} to {found.residuals.high:.3f}"
    if found.widened != 1:
        factors += f", each to the power {found.widened:.2f}: translated from PTX"
    return (
        str(each.number),
        each.label,
        units.span(*p.interval_s),
        "; ".join([found.class_name, *(w.name for w in wider)]),
        "; ".join([factors, *(f"at least {w.low:.2f} to {w.high:.2f}" for w in wider)]),
        "-" if found.cases is None else str(found.cases),
        "-" if found.sweeps is None else str(found.sweeps),
        "-" if found.held_out is None else units.percent(found.held_out),
        units.percent(p.figure_spread),
        f"fitted, {found.source}, {found.date}",
    )
