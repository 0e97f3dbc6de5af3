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
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

FOLDER = "generated/figures"

_drawn: set[tuple[BuildEnvironment, str]] = set()  # that two pages show, for one


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
        page = Path(self.env.doc2path(self.env.docname)).parent
        told = _draw(self.env, command, page / self.options.get("cwd", "."), name)
        if told is not None:
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


def _draw(env: BuildEnvironment, command: str, folder: Path, name: str) -> str | None:
    """Have a command write a picture, once in a build; return what it said if it failed."""
    if (env, name) in _drawn:
        return None
    target = Path(env.srcdir) / FOLDER / name
    target.parent.mkdir(parents=True, exist_ok=True)
    code, _, told = commands_here.run([*shlex.split(command)[1:], "-o", str(target)], folder)
    if code != 0:
        return told
    _drawn.add((env, name))
    return None


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx of the directive."""
    app.add_directive("command-figure", CommandFigure)
    return {"parallel_read_safe": True}
