"""What the tests of the reports share."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pytest
from typer.testing import CliRunner

from perfmodel import Prediction, predict
from perfmodel.cli.app import app
from perfmodel.validation.sweeps import KERNELS


@lru_cache(maxsize=64)
def _predicted(kernel: str, options: tuple[tuple[str, Any], ...]) -> Prediction:
    name, _, mapping = kernel.partition(":")
    path = KERNELS / f"{name}.toml"
    return predict(path if path.exists() else name, mapping=mapping or None, **dict(options))


@pytest.fixture
def predicted() -> Callable[..., Prediction]:
    """Predict a kernel: ``"gemm:naive"``, or the name of a validation kernel."""

    def prediction(kernel: str, **options: Any) -> Prediction:
        return _predicted(kernel, tuple(options.items()))

    return prediction


@pytest.fixture
def command() -> Callable[..., str]:
    """Run a command line that works, and return what it prints."""

    def output(*words: str, columns: int = 100) -> str:
        result = CliRunner().invoke(app, list(words), env={"COLUMNS": str(columns)})
        assert result.exit_code == 0, result.output
        assert result.stderr == ""
        return result.stdout

    return output


@pytest.fixture
def refusal() -> Callable[..., str]:
    """Run a command line that is refused with one line, and return that line."""

    def message(*words: str) -> str:
        result = CliRunner().invoke(app, list(words))
        assert result.exit_code == 2, (result.output, result.exception)
        assert result.stdout == ""
        assert result.stderr.startswith("error: ")
        assert result.stderr.count("\n") == 1
        return result.stderr.strip()

    return message
