"""Limits of functions and modules: those over one are listed, and the lists only shrink.

The limits are those of ruff in pyproject.toml; 400 lines a module is checked here. Files that were
over one when it came are named there (ruff) or below (length); a file that is mended must leave.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
LIMITS: Final = ("C901", "PLR0912", "PLR0913", "PLR0915")
MOST_LISTED: Final = 67
"""Files listed when the limits came; lower it with the list."""

MOST_LINES: Final = 400
LONG: Final = {
    "algebra.py": 412,
    "kernel_from_ptx.py": 407,
    "lock_step.py": 415,
    "test_l2_control.py": 568,
    "test_simulate.py": 442,
    "test_translate.py": 433,
}
"""Modules that were longer when the limit came, by file name, with the most they may have."""


def listed() -> dict[str, set[str]]:
    """Return the files that pyproject.toml excuses one by one from a limit."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    ignores = table["tool"]["ruff"]["lint"]["per-file-ignores"]
    found = {path: set(codes) & set(LIMITS) for path, codes in ignores.items() if "*" not in path}
    return {path: codes for path, codes in found.items() if codes}


def over() -> dict[str, set[str]]:
    """Return the files over a limit, those that pyproject.toml excuses by a pattern left out."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    lint = table["tool"]["ruff"]["lint"]
    wide = {path: codes for path, codes in lint["per-file-ignores"].items() if "*" in path}
    ignores = ", ".join(f"{json.dumps(path)} = {json.dumps(codes)}" for path, codes in wide.items())
    pylint = [f"lint.pylint.{key} = {value}" for key, value in lint["pylint"].items()]
    settings = (
        f"lint.mccabe.max-complexity = {lint['mccabe']['max-complexity']}",
        f"lint.per-file-ignores = {{ {ignores} }}",
        *pylint,
    )
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache"]
        + ["--select", ",".join(LIMITS), "--output-format", "json"]
        + [part for setting in settings for part in ("--config", setting)]
        + ["perfmodel", "tests", "benchmarks", "docs", "measurements"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    found: dict[str, set[str]] = {}
    for one in json.loads(done.stdout):
        path = Path(one["filename"]).relative_to(ROOT).as_posix()
        found.setdefault(path, set()).add(one["code"])
    return found


def test_exactly_the_listed_files_are_over_a_limit() -> None:
    pytest.importorskip("ruff")
    found = over()
    lines = [f'"{path}" = {json.dumps(sorted(codes))}' for path, codes in sorted(found.items())]
    assert found == listed(), "the list in pyproject.toml should be:\n" + "\n".join(lines)


def test_list_only_shrinks() -> None:
    assert len(listed()) <= MOST_LISTED


def test_modules_are_no_longer_than_400_lines() -> None:
    lengths = {
        path.name: len(path.read_text("utf-8").splitlines())
        for folder in ("perfmodel", "tests", "benchmarks", "docs")
        for path in (ROOT / folder).rglob("*.py")
    }
    too_long = {
        name: lines for name, lines in lengths.items() if lines > LONG.get(name, MOST_LINES)
    }
    assert not too_long
    assert {name for name in LONG if lengths.get(name, 0) > MOST_LINES} == set(LONG)
