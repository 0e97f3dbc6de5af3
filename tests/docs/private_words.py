"""The words that output and documentation do not use: the list, and how it is looked for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
LIST: Final = Path(__file__).with_name("private_words.txt")


def private_words() -> dict[str, re.Pattern[str]]:
    """Return the patterns of the list, by their text."""
    lines = LIST.read_text("utf-8").splitlines()
    texts = [line.partition("\t")[0] for line in lines if line and not line.startswith("#")]
    return {text: re.compile(text, re.IGNORECASE) for text in texts}


def found_in(text: str) -> dict[str, str]:
    """Return the private words of a text, each with the line around its first occurrence.

    Text that is wrapped, as in terminals and pages, is searched as one line.
    """
    joined = " ".join(text.split())
    found = {}
    for name, pattern in private_words().items():
        if (match := pattern.search(joined)) is not None:
            found[name] = joined[max(match.start() - 40, 0) : match.end() + 40]
    return found


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the texts of a module with their lines; docstrings are for readers of the code.

    What a formatted text puts in counts as one letter.
    """
    tree = ast.parse(path.read_text("utf-8"))
    parts: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            parts.add(node.value)
        elif isinstance(node, ast.JoinedStr):
            parts.update(ast.walk(node))
            values = (v.value if isinstance(v, ast.Constant) else "x" for v in node.values)
            yield node.lineno, "".join(map(str, values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in parts:
            yield node.lineno, node.value
