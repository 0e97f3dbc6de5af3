"""A report as Markdown, with its pictures as SVG files beside it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version

from perfmodel.prediction.advise import Advice
from perfmodel.reports import units
from perfmodel.reports.binding_text import binding
from perfmodel.reports.explain_text import explanation_text
from perfmodel.reports.markdown import escaped, fenced, table
from perfmodel.reports.page import tables
from perfmodel.reports.page.content import Report, ReportedLaunch, Table
from perfmodel.reports.page.flow_svg import flow_picture
from perfmodel.reports.page.roofline_svg import roofline_picture
from perfmodel.reports.page.svg import Picture
from perfmodel.reports.page.time_svg import terms_picture, times_picture
from perfmodel.reports.prediction_text import facts, launch, parameters, protocol, rate


def pictures(report: Report) -> tuple[Picture, ...]:
    """Return the pictures that the Markdown file shows, each a file of its name."""
    of_all = (times_picture(report), roofline_picture(report))
    of_each = (f(each) for each in report.launches for f in (terms_picture, flow_picture))
    return (*(found for found in of_all if found is not None), *of_each)


def report_markdown(report: Report) -> str:
    """Return the text of a report, which names the files of `pictures`."""
    return "\n".join(_lines(report)).rstrip("\n") + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"# {escaped(report.title)}"
    yield ""
    made = f"perfmodel {version('perfmodel')}"
    yield f"{escaped(report.device.title)}, predicted by {made} without running anything."
    yield ""
    if report.command:
        yield from fenced(report.command, "sh")
    yield from _table(tables.summary(report), 2)
    yield from _picture(times_picture(report))
    for each in report.tables:
        yield from _table(each, 2)
    yield "## Roofline"
    yield ""
    yield from _picture(roofline_picture(report))
    yield from _table(tables.roofs(report), 3)
    for shown in report.launches:
        yield from _launch(shown, len(report.launches) > 1)
    yield f"## {escaped(report.device.title)}"
    yield ""
    yield from _table(tables.device_levels(report.device), 3)
    yield "## Where every number is from"
    yield ""
    for found in (tables.figures(report), tables.formulas(report), tables.intervals(report)):
        yield from _table(found, 3)


def _launch(shown: ReportedLaunch, several: bool) -> Iterator[str]:
    p = shown.prediction
    yield f"## {f'{shown.number} ' if several else ''}{escaped(shown.label)}"
    yield ""
    yield f"**{units.seconds(p.time_s)}** (90%: {units.span(*p.interval_s)}), {rate(p)}"
    yield ""
    yield escaped(binding(p))
    yield ""
    yield f"{escaped('; '.join((parameters(p), launch(p), protocol(p))))}."
    yield ""
    for warning in p.warnings:
        yield f"**Warning** {escaped(warning)}"
        yield ""
    yield from _picture(terms_picture(shown))
    yield from _picture(flow_picture(shown))
    for name, text in facts(p):
        yield f"- **{escaped(name)}** {escaped(text)}"
    yield ""
    yield from _table(tables.accesses(shown), 3)
    if shown.advice is not None:
        yield from _advice(shown.advice)
        if p.method != "closed-form":
            yield "Advice counts traffic in closed form: its times may differ."
            yield ""
    yield "### Derivation"
    yield ""
    yield from fenced(explanation_text(p, steps=shown.steps), "text")


def _advice(advice: Advice) -> Iterator[str]:
    yield "### Advice"
    yield ""
    if not advice.options:
        yield f"{escaped(advice.reason[:1].upper() + advice.reason[1:])}."
        yield ""
    for i, option in enumerate(advice.options, 1):
        then = f"then {option.prediction.bottleneck} binds"
        yield f"{i}. **{tables.gain(option)}**: {escaped(option.what)}; {then}."
        yield ""
        if option.cuda:
            yield from fenced("\n".join(option.cuda), "cuda")
    lost = tables.rejected(advice)
    if lost is not None:
        yield from _table(lost, 4)


def _picture(shown: Picture | None) -> Iterator[str]:
    if shown is not None:
        yield f"![{escaped(shown.title)}]({shown.name}.svg)"
        yield ""


def _table(shown: Table, level: int) -> Iterator[str]:
    yield f"{'#' * level} {escaped(shown.title)}"
    yield ""
    if shown.rows:
        align = "".join(shown.side(i) for i in range(len(shown.columns)))
        rows = [[_cell(cell) for cell in row] for row in shown.rows]
        yield from table([escaped(name) for name in shown.columns], align, rows)
    for line in filter(None, shown.note.split("\n")):
        yield escaped(line)
        yield ""


def _cell(text: str) -> str:
    """Return a cell, which Markdown keeps on one line."""
    return "<br>".join(escaped(line) for line in text.split("\n"))
