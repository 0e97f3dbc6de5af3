"""The tables of a report, as text cells: what the HTML page and the Markdown file share."""

from __future__ import annotations

from collections.abc import Iterator

from perfmodel.hardware import Device
from perfmodel.prediction.advise import Advice, Option, dram_bytes
from perfmodel.prediction.figures_used import UsedFigure
from perfmodel.prediction.interval import residual_origin
from perfmodel.reports import units
from perfmodel.reports.device_text import (
    LEVEL_HEADERS,
    LEVEL_NOTE,
    Sources,
    figure_value,
    level_rows,
)
from perfmodel.reports.explain import explain
from perfmodel.reports.formula_text import plain_name, tight
from perfmodel.reports.page.content import Report, ReportedLaunch, Table
from perfmodel.reports.prediction_text import ACCESS_HEADERS, access_rows, parameters, rate
from perfmodel.reports.roofline import LEVELS, placement, precision_name


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
    hidden = set() if comparable else {"speed"}
    if len(report.launches) == 1:
        hidden.add("#")
    return _without(hidden, Table("Summary", columns, tuple(rows), note.strip(), "rlrrrrlrrr"))


def _comparable(report: Report) -> bool:
    """Return whether launches do the same work: as many operations, or one kernel on one size."""
    work = {p.roofline.flop or (p.kernel, *p.params.items()) for p in report.predictions}
    return len(report.launches) > 1 and len(work) == 1


def _without(columns: set[str], table: Table) -> Table:
    """Return a table without some columns."""
    keep = [i for i, name in enumerate(table.columns) if name not in columns]
    return Table(
        table.title,
        tuple(table.columns[i] for i in keep),
        tuple(tuple(row[i] for i in keep) for row in table.rows),
        table.note,
        "".join(table.align[i] for i in keep),
    )


def roofs(report: Report) -> Table:
    """Return a row for each launch and roof: intensity, what is attainable, what is reached."""
    rows = []
    for each in report.launches:
        place = placement(each.prediction)
        roofs = [(LEVELS[p.level], p.level, p.intensity, p.attainable) for p in place.points]
        peak = [(precision_name(place.precision), place.precision, None, place.peak)]
        for name, roof, intensity, attainable in roofs + (peak if roofs else []):
            rows.append(
                (
                    str(each.number),
                    each.label,
                    name,
                    units.number(intensity) if intensity is not None else "",
                    units.flop_rate(attainable),
                    units.percent(place.flop_per_s / attainable),
                    "nearest" if roof == place.nearest else "",
                )
            )
    columns = ("#", "launch", "roof", "FLOP/B", "attainable", "reached", "")
    nothing = [e.label for e in report.launches if not placement(e.prediction).points]
    note = f"{', '.join(nothing)}: no floating-point operations." if nothing else ""
    return Table("Points under their roofs", columns, tuple(rows), note, "rllrrrl")


def accesses(launch: ReportedLaunch) -> Table:
    """Return what each access asks for and gets from where."""
    rows = tuple(access_rows(launch.prediction))
    note = (
        "Sectors of 32 B. L2 and DRAM: bytes from there; L2 writes lines back whoever wrote them, "
        "so stores have no DRAM bytes of their own."
    )
    return Table("Accesses", ACCESS_HEADERS, rows, note, "l" + "r" * (len(ACCESS_HEADERS) - 1))


def gain(option: Option) -> str:
    """Return what an option gains, with its interval."""
    low, high = option.gain_interval
    return f"{option.gain:.2f} times as fast (90%: {low:.2f} to {high:.2f})"


def rejected(advice: Advice) -> Table | None:
    """Return the changes that were tried and do not pay; None if all do."""
    if not advice.rejected:
        return None
    rows = tuple(
        (o.kind, f"{o.gain:.3f}", units.seconds(o.prediction.time_s), o.what)
        for o in advice.rejected
    )
    columns = ("kind", "gain", "time", "change")
    return Table("Tried, and not worth it", columns, rows, align="lrrl")


def device_levels(device: Device) -> Table:
    """Return the memory hierarchy of a device, each value with the mark of its source."""
    sources = Sources()
    rows = tuple(level_rows(device, sources))
    listed = "\n".join(f"{mark} {text}" for mark, text in sources.lines())
    return Table("Memory hierarchy", LEVEL_HEADERS, rows, f"{LEVEL_NOTE}\n{listed}", "lrrrr")


def figures(report: Report) -> Table:
    """Return every figure of the device that the predictions come from, with its origin."""
    found: dict[str, list[UsedFigure | None]] = {}
    for i, each in enumerate(report.launches):
        for used in each.figures:
            found.setdefault(used.name, [None] * len(report.launches))[i] = used
    order = {name: i for i, name in enumerate(report.device.figures)}
    rows = []
    for name in sorted(found, key=order.__getitem__):
        some = next(used for used in found[name] if used is not None)
        figure = some.figure
        error = "" if figure.standard_error is None else f" ± {figure.standard_error:g}"
        rows.append(
            (
                name,
                figure_value(figure) + error,
                figure.kind,
                *(_influence(used) for used in found[name]),
                figure.source,
                figure.note,
            )
        )
    effects = tuple(
        f"+1% for {each.number}" if len(report.launches) > 1 else "+1%" for each in report.launches
    )
    note = (
        "Every figure that was read for these predictions, as its source gives it. +1%: by how "
        "much the time changes where this figure is 1% larger, all others and the traffic as they "
        "are; whole: a whole number, which changes the traffic as well; roofline: read for the "
        "roofs only."
    )
    columns = ("figure", "value", "kind", *effects, "source", "note")
    return Table("Figures of the device", columns, tuple(rows), note, "lrl" + "r" * len(effects))


def _influence(used: UsedFigure | None) -> str:
    if used is None:
        return "-"
    if used.purpose == "roofline":
        return "roofline"
    if used.influence is None:
        return "whole"
    return f"{used.influence:+.2%}" if abs(used.influence) >= 5e-5 else "0"


def formulas(report: Report) -> Table:
    """Return the formulas behind the predictions, with where they hold and what they are from."""
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for each in report.launches:
        for step in explain(each.prediction):
            formula = step.formula
            if formula.source == "definition":
                continue
            key = (formula.text, formula.source)
            kind, source = _kind(formula.source)
            shown = plain_name(tight(formula.text))
            found.setdefault(key, (step.title, shown, kind, formula.holds, source))
    note = (
        "Coefficients that stand in a formula as numbers are of the formula's origin; its symbols "
        "are explained in the derivations. Sums and products that only put parts together are left "
        "out."
    )
    columns = ("what", "formula", "kind", "holds", "source")
    return Table("Formulas", columns, tuple(found.values()), note)


def _kind(source: str) -> tuple[str, str]:
    """Return the word before the colon of a source such as "fitted: ...", and the rest."""
    word, colon, rest = source.partition(": ")
    return (word, rest) if colon and " " not in word else ("", source)


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
    found = residual_origin(p.details, p.bottleneck)
    return (
        str(each.number),
        each.label,
        units.span(*p.interval_s),
        found.class_name,
        f"{found.residuals.low:.3f} to {found.residuals.high:.3f}",
        "-" if found.cases is None else str(found.cases),
        "-" if found.sweeps is None else str(found.sweeps),
        "-" if found.held_out is None else units.percent(found.held_out),
        units.percent(p.details.figure_spread),
        f"fitted, {found.source}, {found.date}",
    )


def table_cells(table: Table) -> Iterator[list[tuple[str, str]]]:
    """Yield the rows of a table, each cell with its side."""
    for row in table.rows:
        yield [(cell, table.side(i)) for i, cell in enumerate(row)]
