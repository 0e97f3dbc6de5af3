"""Directive `command-figure`: a picture that a command writes with `-o` while the site is built.

Its argument is the command of `perfmodel` without `-o`, its content the caption; `:alt:` says what
the picture shows for who cannot see it, `:cwd:` where the command runs, from the page's folder.
"""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path
from typing import Any, ClassVar

import commands_here
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

FOLDER = "generated/figures"


class CommandFigure(SphinxDirective):
    """Runs a command with `-o FILE.svg` behind it, and shows the file with the command."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "alt": directives.unchanged_required,
        "cwd": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        """Run the command, and return the figure."""
        command = " ".join(self.arguments[0].split())
        name = f"{hashlib.sha256(command.encode()).hexdigest()[:16]}.svg"
        target = Path(self.env.srcdir) / FOLDER / name
        target.parent.mkdir(parents=True, exist_ok=True)
        page = Path(self.env.doc2path(self.env.docname)).parent
        words = [*shlex.split(command)[1:], "-o", str(target)]
        code, _, told = commands_here.run(words, page / self.options.get("cwd", "."))
        if code != 0:
            raise self.error(f"{command}: {told.strip()}")
        image = nodes.image(uri=f"/{FOLDER}/{name}", alt=self.options["alt"])
        figure = nodes.figure("", image)
        text = nodes.caption("", "")
        if self.content:
            parsed, messages = self.parse_inline(" ".join(self.content), lineno=self.lineno)
            text += [*parsed, *messages, nodes.Text(" ")]
        text += nodes.literal("", command)
        figure += text
        return [figure]


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx of the directive."""
    app.add_directive("command-figure", CommandFigure)
    return {"parallel_read_safe": True}
