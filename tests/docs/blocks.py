"""Code blocks of Markdown pages: which file each is, or which commands to run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_BLOCK: Final = re.compile(
    r"(?:^`(?P<path>[^`\n]+)`(?P<added> \(added at the end\))?\n\n)?"
    r"(?:^<!-- not run: (?P<reason>[^\n]+) -->\n)?"
    r"^```(?P<language>\w*|\{[^\n]*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """A code block: of a file, or in a language, to be run unless there is a reason not to."""

    path: str | None
    added: bool
    language: str
    text: str
    reason: str


def blocks(page: str) -> Iterator[Block]:
    """Yield the code blocks of a page's text, in order; directives are not among them."""
    for found in _BLOCK.finditer(page):
        if found["language"].startswith("{"):
            continue
        yield Block(
            found["path"],
            found["added"] is not None,
            found["language"],
            found["text"],
            found["reason"] or "",
        )
