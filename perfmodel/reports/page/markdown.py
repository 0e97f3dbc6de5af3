"""A report as Markdown, with its pictures as SVG files beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import version

from perfmodel.prediction.advise import Advice
from perfmodel.reports import units
from perfmodel.reports.advice_text import gain, rejected
from perfmodel.reports.binding_text import binding
from perfmodel.reports.explain_text import explanation_text
from perfmodel.reports.markdown import document, escaped, fenced, section
from perfmodel.reports.page import tables
from perfmodel.reports.page.content import Report, ReportedLaunch
from perfmodel.reports.page.pictures import DOES
from perfmodel.reports.page.svg import Picture
from perfmodel.reports.prediction_text import (
    access_table,
    facts,
    launch,
    parameters,
    protocol,
    rate,
)


def report_markdown(report: Report, pictures: Mapping[str, Picture]) -> str:
    """Return the text of a report, which shows its pictures as files of their names."""
    shown = {name: f"![{escaped(each.title)}]({each.name}.svg)" for name, each in pictures.items()}
    return document(_blocks(report, shown))


def _blocks(report: Report, pictures: Mapping[str, str]) -> Iterator[str]:
    yield f"# {escaped(report.title)}"
    made = f"perfmodel {version('perfmodel')}"
    yield f"{escaped(report.device.title)}, predicted by {made} without running anything."
    if report.command:
        yield fenced(report.command, "sh")
    yield from section(tables.summary(report), 2)
    yield pictures.get("times", "")
    for each in report.tables:
        yield from section(each, 2)
    yield "## Roofline"
    yield pictures.get("roofline", "")
    yield from section(report.roofline.table(), 3)
    for shown in report.launches:
        yield from _launch(shown, len(report.launches) > 1, pictures)
    yield f"## {escaped(report.device.title)}"
    yield from section(tables.device_levels(report.device), 3)
    yield "## Where every number is from"
    for found in (tables.figures(report), tables.formulas(report), tables.intervals(report)):
        yield from section(found, 3)


def _launch(shown: ReportedLaunch, several: bool, pictures: Mapping[str, str]) -> Iterator[str]:
    p = shown.prediction
    yield f"## {f'{shown.number} ' if several else ''}{escaped(shown.label)}"
    yield f"**{units.seconds(p.time_s)}** (90%: {units.span(*p.interval_s)}), {rate(p)}"
    yield escaped(binding(p))
    yield f"{escaped('; '.join((parameters(p), launch(p), protocol(p))))}."
    for warning in p.warnings:
        yield f"**Warning** {escaped(warning)}"
    yield pictures[f"terms-{shown.number}"]
    yield pictures[f"traffic-{shown.number}"]
    yield from (pictures[n] for kind in DOES if (n := f"{kind}-{shown.number}") in pictures)
    yield "\n".join(f"- **{escaped(name)}** {escaped(text)}" for name, text in facts(p))
    yield from section(access_table(p), 3)
    if shown.advice is not None:
        yield from _advice(shown.advice)
        if p.method != "closed-form":
            yield "Advice counts traffic in closed form: its times may differ."
    yield "### Derivation"
    yield fenced(explanation_text(p, steps=shown.steps), "text")


def _advice(advice: Advice) -> Iterator[str]:
    yield "### Advice"
    if not advice.options:
        yield f"{escaped(advice.reason[:1].upper() + advice.reason[1:])}."
    for i, option in enumerate(advice.options, 1):
        then = f"then {option.prediction.bottleneck} binds"
        yield f"{i}. **{gain(option)}**: {escaped(option.what)}; {then}."
        if option.cuda:
            yield fenced("\n".join(option.cuda), "cuda")
    if advice.rejected:
        yield from section(rejected(advice), 4)
