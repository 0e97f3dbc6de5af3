"""Files over ruff's limits of functions: those found, and those that pyproject.toml excuses.

python tests/layers/over_limits.py  # bring the list in pyproject.toml up to date
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SETTINGS: Final = ROOT / "pyproject.toml"
LIMITS: Final = ("C901", "PLR0912", "PLR0913", "PLR0915")


def line(path: str, codes: set[str]) -> str:
    """Return a file's line of the list."""
    return f'"{path}" = {json.dumps(sorted(codes))}'


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


def rewrite() -> None:
    """Write the list anew, in the place where it begins."""
    lines = SETTINGS.read_text("utf-8").splitlines()
    old = {line(path, codes) for path, codes in listed().items()}
    first = next(i for i, text in enumerate(lines) if text in old)
    new = [line(path, codes) for path, codes in sorted(over().items())]
    kept = [text for text in lines[first:] if text not in old]
    SETTINGS.write_text("\n".join([*lines[:first], *new, *kept, ""]), "utf-8")


if __name__ == "__main__":
    rewrite()
