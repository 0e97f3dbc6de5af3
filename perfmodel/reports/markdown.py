"""Pages and Markdown from templates: tables, code, and text that stays text whatever it has."""

import re
from collections.abc import Iterable
from functools import cache
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from perfmodel.reports.page.svg import TEMPLATES
from perfmodel.reports.tables import Table

_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>|~#!$&])")


def rendered(template: str, **given: Any) -> str:
    """Return what a template makes of what it is given."""
    return _environment().get_template(template).render(given)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=lambda name: name is not None and name.endswith(".html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"escaped": escaped, "fenced": fenced, "section": section, "table": table}
    return made


def table(shown: Table) -> str:
    """Return the rows of a table; a line break in a cell becomes one of HTML."""

    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cells)} |"

    sides = "|".join("---:" if shown.side(i) == "r" else "---" for i in range(len(shown.columns)))
    rows = (["<br>".join(map(escaped, cell.split("\n"))) for cell in row] for row in shown.rows)
    return "\n".join([line(map(escaped, shown.columns)), f"|{sides}|", *map(line, rows)])


def section(shown: Table, level: int) -> str:
    """Return a table under its title, with its notes."""
    parts = [f"{'#' * level} {escaped(shown.title)}", table(shown) if shown.rows else ""]
    return "\n\n".join(filter(None, [*parts, *map(escaped, shown.note.split("\n"))]))


def escaped(text: str) -> str:
    """Return text on one line with what Markdown and HTML would read as theirs escaped."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def fenced(text: str, language: str = "") -> str:
    """Return a code block, fenced longer than any fence in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
