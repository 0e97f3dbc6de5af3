"""A report as one HTML page: no request to any network, safe to show whatever names it holds."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from itertools import groupby

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from perfmodel.reports import units
from perfmodel.reports.advice_text import gain, rejected
from perfmodel.reports.binding_text import binding
from perfmodel.reports.explain import left_out
from perfmodel.reports.page import tables
from perfmodel.reports.page.content import Report, ReportedLaunch
from perfmodel.reports.page.mathml import ShownStep, shown_step
from perfmodel.reports.page.svg import TEMPLATES, Picture, inline, stylesheet
from perfmodel.reports.prediction_text import facts, launch, parameters, protocol, rate
from perfmodel.reports.tables import Table


@dataclass(frozen=True, slots=True)
class _Section:
    """Steps of an explanation that belong together."""

    title: str
    steps: tuple[ShownStep, ...]


@dataclass(frozen=True, slots=True)
class _LaunchView:
    """All that the page shows of a launch, as text and pictures."""

    launch: ReportedLaunch
    time: str
    interval: str
    rate: str
    binding: str
    setting: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    accesses: Table
    sections: tuple[_Section, ...]
    not_derived: str


def report_html(report: Report, pictures: Mapping[str, Picture]) -> str:
    """Return the page of a report with its pictures."""
    style = stylesheet("palette.css") + stylesheet("page.css")
    script = stylesheet("page.js")
    return (
        _environment()
        .get_template("page.html")
        .render(
            report=report,
            style=Markup(style),
            script=Markup(script),
            style_hash=_hash(style),
            script_hash=_hash(script),
            drawn={name: inline(shown) for name, shown in pictures.items()},
            summary=tables.summary(report),
            roofs=report.roofline.table(),
            device_levels=tables.device_levels(report.device),
            used=tables.figures(report),
            formulas=tables.formulas(report),
            intervals=tables.intervals(report),
            views=[_view(each) for each in report.launches],
            rejected=rejected,
            gain=gain,
            unseen=set(),
            version=version("perfmodel"),
        )
    )


def _view(each: ReportedLaunch) -> _LaunchView:
    prediction = each.prediction
    sections = tuple(
        _Section(title, tuple(shown_step(step) for step in steps))
        for title, steps in groupby(each.steps, key=lambda step: step.section)
    )
    small = left_out(prediction)
    listed = ", ".join(f"{name} {units.seconds(value)}" for name, value in small.items())
    return _LaunchView(
        launch=each,
        time=units.seconds(prediction.time_s),
        interval=units.span(*prediction.interval_s),
        rate=rate(prediction),
        binding=binding(prediction),
        setting=(parameters(prediction), launch(prediction), protocol(prediction)),
        facts=tuple(facts(prediction)),
        accesses=tables.accesses(each),
        sections=sections,
        not_derived=listed,
    )


def _hash(text: str) -> str:
    """Return the source expression by which a content security policy lets a text run."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
