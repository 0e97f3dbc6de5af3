"""Where a report goes: a folder with the HTML page, the Markdown file and its pictures."""

import base64
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from perfmodel.errors import PerfmodelError, shown
from perfmodel.prediction.advise import Advice
from perfmodel.reports import prediction_text, units
from perfmodel.reports.advice_text import gain, rejected
from perfmodel.reports.binding_text import binding
from perfmodel.reports.explain import left_out_text
from perfmodel.reports.explain_text import explanation_text
from perfmodel.reports.markdown import document, escaped, fenced, section
from perfmodel.reports.page import tables
from perfmodel.reports.page.content import Report, ReportedLaunch
from perfmodel.reports.page.mathml import ShownStep, shown_step
from perfmodel.reports.page.pictures import DOES, pictures
from perfmodel.reports.page.svg import TEMPLATES, Picture, inline, standalone, stylesheet
from perfmodel.reports.prediction_text import (
    access_table,
    facts,
    launch,
    parameters,
    protocol,
    rate,
)
from perfmodel.reports.step import Step
from perfmodel.text_files import write_files

PAGE: Final = "index.html"
TEXT: Final = "report.md"


def check_folder(path: str | Path) -> Path:
    """Return where a report is to be written, after checking that it can be a folder.

    Raises `PerfmodelError` if it is a file, or the folder that it is in does not exist.
    """
    folder = Path(path)
    if not str(path):
        raise PerfmodelError("report folder '' must have a name, such as 'report'")
    try:
        if os.path.lexists(folder) and not folder.is_dir():
            raise PerfmodelError(f"report folder {str(folder)!r} is a file: give a folder's name")
        os.lstat(folder)
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        if isinstance(error, PerfmodelError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise PerfmodelError(f"report folder {shown(str(folder))}: {reason}") from None
    if not folder.parent.is_dir():
        raise PerfmodelError(
            f"report folder {str(folder)!r}: no directory {str(folder.parent)!r}; create it first"
        )
    return folder


def report_files(report: Report) -> dict[str, str]:
    """Return the files of a report by name: page, Markdown and pictures."""
    drawn = pictures(report)
    files = {f"{name}.svg": standalone(each) for name, each in drawn.items()}
    return {PAGE: report_html(report, drawn), TEXT: report_markdown(report, drawn), **files}


def write_report(report: Report, path: str | Path) -> list[Path]:
    """Write a report into a folder, which is made if need be, and return its files.

    Nothing is written until everything is made; other files of the folder stay.
    """
    folder = check_folder(path)
    files = report_files(report)
    made = not folder.exists()
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise PerfmodelError(
            f"report folder {str(folder)!r} cannot be made: {error.strerror or error}"
        ) from None
    try:
        write_files(folder, files)
    except PerfmodelError:
        if made:
            folder.rmdir()
        raise
    return [folder / name for name in files]


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
    yield "## Roofline"
    yield pictures.get("roofline", "")
    yield from section(report.roofline.table(), 3)
    for one in report.launches:
        yield from _launch(one, len(report.launches) > 1, pictures)
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
        yield escaped(units.sentence(advice.reason))
    for i, option in enumerate(advice.options, 1):
        then = f"then {option.prediction.bottleneck} binds"
        yield f"{i}. **{gain(option)}**: {escaped(option.what)}; {then}."
        if option.cuda:
            yield fenced("\n".join(option.cuda), "cuda")
    if advice.rejected:
        yield from section(rejected(advice), 4)
