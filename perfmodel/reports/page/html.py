"""A report as one HTML page: no request to any network, safe to show whatever names it holds."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from itertools import groupby

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from perfmodel.reports import prediction_text, units
from perfmodel.reports.advice_text import gain, rejected
from perfmodel.reports.binding_text import binding
from perfmodel.reports.explain import left_out_text
from perfmodel.reports.page import tables
from perfmodel.reports.page.content import Report
from perfmodel.reports.page.mathml import ShownStep, shown_step
from perfmodel.reports.page.pictures import DOES
from perfmodel.reports.page.svg import TEMPLATES, Picture, inline, stylesheet
from perfmodel.reports.step import Step


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
            unseen=set(),
            version=version("perfmodel"),
        )
    )


def _sections(steps: Sequence[Step]) -> list[tuple[str, list[ShownStep]]]:
    """Return the steps that belong together, under their titles."""
    groups = groupby(steps, key=lambda step: step.section)
    return [(title, [shown_step(step) for step in group]) for title, group in groups]


def _hash(text: str) -> str:
    """Return the source expression by which a content security policy lets a text run."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"units": units, "tables": tables, "text": prediction_text, "gain": gain}
    made.globals |= {"binding": binding, "rejected": rejected, "sections": _sections}
    made.globals |= {"left_out": left_out_text, "does": DOES.items()}
    return made
