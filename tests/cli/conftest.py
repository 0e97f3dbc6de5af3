"""What the tests of the command line share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from perfmodel.cli.app import app


@pytest.fixture
def run() -> Callable[..., str]:
    """Run a command line that works, and return what it prints."""

    def output(*words: str, columns: int | None = None) -> str:
        environment = {"COLUMNS": str(columns) if columns else None}
        result = CliRunner().invoke(app, list(words), env=environment)
        assert result.exit_code == 0, result.output
        named = [line for line in result.stderr.splitlines() if not line.startswith("wrote ")]
        assert named == []
        return result.stdout

    return output


@pytest.fixture
def refused() -> Callable[..., str]:
    """Run a command line that fails, check how it fails, and return its message."""

    def message(*words: str) -> str:
        result: Any = CliRunner().invoke(app, list(words))
        assert result.exit_code == 2, (result.output, result.exception)
        assert result.stdout == ""
        assert isinstance(result.exception, SystemExit)
        text: str = result.stderr
        assert text.startswith("error: ")
        assert text.endswith("\n")
        assert text.count("\n") == 1, text
        assert text.removesuffix("\n").isprintable(), text
        assert len(text) < 700, text
        return text.removeprefix("error: ").removesuffix("\n")

    return message


@pytest.fixture
def kernel_file(tmp_path: Path) -> Callable[..., str]:
    """Write a kernel file that adds one to a vector, with changes, and return its path."""

    def write(index: str = "i", text: str | None = None) -> str:
        path = tmp_path / "mine.toml"
        path.write_text(
            text
            if text is not None
            else f"""
name = "mine"
summary = "y[i] = x[i] + 1"
guard = "i < n"

[parameters]
n = {{ summary = "elements" }}
block = 256

[launch]
grid = "ceil_div(n, block)"
block = "block"

[definitions]
i = "blockIdx.x*blockDim.x + threadIdx.x"

[buffers]
x = {{ length = "n" }}
y = {{ length = "n" }}

[[accesses]]
load = "x"
index = '{index}'

[[accesses]]
store = "y"
index = "i"
"""
        )
        return str(path)

    return write
