"""Pages of the site that are files of the repository: a page that is one link is that file.

A line that is a link to a section of a file outside the site is that section, without its heading.
Links and pictures of the file are followed from where it lies: to the page of the site that has
their target, or, of a file that no page has, its path as code.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import Final

from sphinx.application import Sphinx

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
_ONE_LINK: Final = re.compile(r"\[[^\]]+\]\((?P<target>\.\./[^)#]+)\)\s*")
_SECTION: Final = re.compile(r"^\[[^\]]+\]\((\.\./[^)#]+\.md)#([^)]+)\)$", re.MULTILINE)
_HEADING: Final = re.compile(r"^(#+) (.+)$", re.MULTILINE)
_LINK: Final = re.compile(
    r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<path>[^)#:]+)(?P<rest>#[^)]*)?\)"
)
_FENCE: Final = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


@cache
def pages() -> dict[Path, Path]:
    """Return the files that are pages of the site, and their pages."""
    found = {DOCS / "index.md": DOCS / "index.md", ROOT / "README.md": DOCS / "index.md"}
    for page in sorted(DOCS.rglob("*.md")):
        one = _ONE_LINK.fullmatch(page.read_text("utf-8"))
        found[(page.parent / one["target"]).resolve() if one else page] = page
    return found


def followed(text: str, source: Path, page: Path) -> str:
    """Return a file's text with its links as the page needs them; code blocks stay."""

    def link(found: re.Match[str]) -> str:
        target = (source.parent / found["path"]).resolve()
        target = target / "README.md" if target.is_dir() else target
        if not target.exists():
            return found[0]
        rest = found["rest"] or ""
        if found["picture"]:
            return f"![{found['text']}]({os.path.relpath(target, page.parent)})"
        if target in pages():
            return f"[{found['text']}]({os.path.relpath(pages()[target], page.parent)}{rest})"
        path = target.relative_to(ROOT).as_posix()
        text = found["text"].strip("`")
        return f"`{path}`" if text in path else f"{text} (`{path}`)"

    parts = _FENCE.split(text)
    return "".join(part if at % 2 else _LINK.sub(link, part) for at, part in enumerate(parts))


def section(text: str, anchor: str) -> str:
    """Return what stands below the heading of an anchor, up to the next as high."""
    headings = list(_HEADING.finditer(text))
    for at, heading in enumerate(headings):
        words = re.sub(r"[^a-z0-9 -]", "", heading[2].lower())
        if words.replace(" ", "-") == anchor:
            ends = [h.start() for h in headings[at + 1 :] if len(h[1]) <= len(heading[1])]
            return text[heading.end() : ends[0] if ends else len(text)].strip()
    raise ValueError(f"no heading has the anchor {anchor!r}")


def read(app: Sphinx, name: str, source: list[str]) -> None:
    """Replace a page's text before it is parsed."""
    page = Path(app.env.doc2path(name))
    if page.suffix != ".md":
        return
    one = _ONE_LINK.fullmatch(source[0])
    if one:
        file = (page.parent / one["target"]).resolve()
        app.env.note_dependency(str(file))
        source[0] = followed(file.read_text("utf-8"), file, page)
        return

    def included(found: re.Match[str]) -> str:
        file = (page.parent / found[1]).resolve()
        if file.is_relative_to(DOCS):
            return found[0]
        app.env.note_dependency(str(file))
        return followed(section(file.read_text("utf-8"), found[2]), file, page)

    source[0] = _SECTION.sub(included, source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx whom to ask."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True}
