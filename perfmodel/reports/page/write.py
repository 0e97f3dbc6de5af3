"""Where a report goes: a folder with the page, the Markdown file and its pictures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from perfmodel.errors import PerfmodelError, shown
from perfmodel.reports.page.content import Report
from perfmodel.reports.page.html import report_html
from perfmodel.reports.page.markdown import report_markdown
from perfmodel.reports.page.pictures import pictures
from perfmodel.reports.page.svg import standalone
from perfmodel.text_files import write_files

PAGE: Final = "index.html"
TEXT: Final = "report.md"


def check_folder(path: str | Path) -> Path:
    """Return where a report is to be written, after checking that it can be a folder.

    Raises
    ------
    PerfmodelError
        If it is a file, or the folder that it is in does not exist.
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
