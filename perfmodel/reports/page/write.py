"""Where a report goes: a folder with the HTML page, the Markdown file and its pictures."""

import base64
import hashlib
import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup

from perfmodel.errors import PerfmodelError, shown
from perfmodel.reports import prediction_text, units
from perfmodel.reports.advice_text import gain, rejected, untried_text
from perfmodel.reports.binding_text import binding
from perfmodel.reports.explain import left_out_text
from perfmodel.reports.explain_text import explanation_text
from perfmodel.reports.markdown import escaped, rendered
from perfmodel.reports.page import tables
from perfmodel.reports.page.content import Report
from perfmodel.reports.page.mathml import ShownStep, shown_step
from perfmodel.reports.page.pictures import DOES, pictures
from perfmodel.reports.page.svg import Picture, inline, standalone, stylesheet
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
    return _rendered(
        "page.html",
        report,
        style=Markup(style),
        script=Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
        drawn={name: inline(shown) for name, shown in pictures.items()},
        unseen=set(),
        sections=_sections,
        left_out=left_out_text,
    )


def _sections(steps: Sequence[Step]) -> list[tuple[str, list[ShownStep]]]:
    """Return the steps that belong together, under their titles."""
    groups = groupby(steps, key=lambda step: step.section)
    return [(title, [shown_step(step) for step in group]) for title, group in groups]


def _hash(text: str) -> str:
    """Return the source expression by which a content security policy lets a text run."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def report_markdown(report: Report, pictures: Mapping[str, Picture]) -> str:
    """Return the text of a report, which shows its pictures as files of their names."""
    shown = {name: f"![{escaped(each.title)}]({each.name}.svg)" for name, each in pictures.items()}
    return f"{_rendered('report.md', report, shown=shown, explanation=explanation_text)}\n"


def _rendered(template: str, report: Report, **given: Any) -> str:
    return rendered(
        template,
        report=report,
        version=version("perfmodel"),
        units=units,
        tables=tables,
        text=prediction_text,
        binding=binding,
        gain=gain,
        rejected=rejected,
        untried=untried_text,
        does=DOES.items(),
        **given,
    )
