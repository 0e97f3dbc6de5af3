"""Imports point one way: the contract of pyproject.toml, and that it catches what it is for."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]

pytest.importorskip("importlinter")


def kept(folder: Path) -> tuple[bool, str]:
    """Say whether the package in a folder keeps the contract, and what it printed."""
    run = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())"
    done = subprocess.run(
        [sys.executable, "-c", run],
        capture_output=True,
        text=True,
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": ""},
        check=False,
    )
    return done.returncode == 0, done.stdout + done.stderr


def test_contract_is_kept() -> None:
    holds, text = kept(ROOT)
    assert holds, text


@pytest.mark.parametrize(
    ("module", "wrong"),
    [
        ("models/roofline.py", "perfmodel.prediction.predict"),  # upwards
        ("models/roofline.py", "perfmodel.trace.cache"),  # beside
        ("trace/cache.py", "perfmodel.models.formula"),
        ("kernels/kernel.py", "perfmodel.models.formula"),
        ("prediction/predict.py", "perfmodel.reports.units"),
        ("reports/units.py", "perfmodel.cli.app"),
    ],
)
def test_an_import_against_the_layers_breaks_it(tmp_path: Path, module: str, wrong: str) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(
        ROOT / "perfmodel", tmp_path / "perfmodel", ignore=lambda _, names: _no_python(names)
    )
    with (tmp_path / "perfmodel" / module).open("a", encoding="utf-8") as file:
        file.write(f"\nimport {wrong}\n")
    holds, text = kept(tmp_path)
    assert not holds
    assert wrong in text


def _no_python(names: list[str]) -> list[str]:
    return [name for name in names if "." in name and not name.endswith(".py")]
