"""Commands of `perfmodel` that pages show, run in the process that builds the site.

A new process for each would import the package, compile its loops and translate the same kernels
again. What a command prints does not depend on it: tests start commands as processes.
"""

from __future__ import annotations

import io
import shlex
import subprocess
import sys
from collections.abc import Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from sphinx.application import Sphinx
from sphinxcontrib.programoutput import Command, ProgramOutputCache

from perfmodel.cli import main
from perfmodel.prediction.conditions import by_the_models

NAME: Final = "perfmodel"


def run(words: Sequence[str], folder: Path) -> tuple[int, str, str]:
    """Return exit code, standard output and standard error of `perfmodel` with these words."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with (
        chdir(folder),
        patch.object(sys, "argv", [NAME, *words]),
        # else `python -m sphinx` is what help says that the program is called
        patch.object(sys.modules["__main__"], "__package__", None),
        redirect_stdout(out),
        redirect_stderr(err),
        by_the_models(),  # of few launches that are alike: sooner than making programs
    ):
        try:
            main()
            code: Any = 0
        except SystemExit as ended:
            code = ended.code
    texts = [stream.buffer.getvalue().decode() for stream in (out, err)]  # type: ignore[attr-defined]
    return code or 0, texts[0], texts[1]


class Outputs(ProgramOutputCache):
    """Outputs by command: of `perfmodel` without a process, its filter in a shell behind it."""

    def __missing__(self, command: Command) -> tuple[int, str]:
        """Run a command; as of a process that writes to a pipe, errors come first."""
        text = command.command
        line, pipe, filters = text.partition(" | ") if command.shell else (text, "", "")
        words = shlex.split(line) if command.shell else list(line)
        if words[0] != NAME:
            return super().__missing__(command)
        code, out, err = run(words[1:], Path(command.working_directory))
        if pipe:
            done = subprocess.run(
                filters,
                shell=True,
                input=out,
                cwd=command.working_directory,
                capture_output=True,
                text=True,
                check=False,
            )
            code, out, err = done.returncode, done.stdout, err + done.stderr
        shown = out if command.hide_standard_error else err + out
        self[command] = code, shown.rstrip()
        return self[command]


def take_over(app: Sphinx) -> None:
    """Give a new environment these outputs."""
    if not isinstance(app.env.programoutput_cache, Outputs):
        app.env.programoutput_cache = Outputs()


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx when."""
    app.connect("builder-inited", take_over, priority=900)  # after the extension's own
    return {"parallel_read_safe": True}
