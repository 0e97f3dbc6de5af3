"""Pages of the site that are files of the repository: a page that is one link is that file.

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


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx whom to ask."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True}
