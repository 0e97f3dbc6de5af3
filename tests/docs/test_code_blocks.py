"""Every code block of README and site is run: commands, Python, and the files that pages write.

A page's blocks are run in order, in a folder that starts as a copy of docs/examples. CONTRIBUTING
has a test of its own (test_contributing.py), which runs in a copy of the package.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from blocks import Block, blocks

ROOT: Final = Path(__file__).parents[2]
REASONS: Final = ("installs", "needs a GPU", "needs a network", "takes minutes")
PAGES: Final = (
    "README.md",
    *(
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if "generated" not in path.parts  # while the site is built
    ),
)
_LANGUAGES: Final = ("sh", "python")


def run_blocks(page: str) -> list[Block]:
    """Return the blocks of a page that are to be run or written."""
    text = (ROOT / page).read_text("utf-8")
    # README's two commands are what .ci/run runs, each in a fresh clone
    found = [block for block in blocks(text) if f"ci: run -->\n```sh\n{block.text}" not in text]
    found = [block for block in found if f"ci: test -->\n```sh\n{block.text}" not in text]
    return [b for b in found if not b.reason and (b.path or b.language in _LANGUAGES)]


@pytest.mark.parametrize("page", [page for page in PAGES if run_blocks(page)])
def test_blocks_run(page: str, tmp_path: Path) -> None:
    if (ROOT / "docs" / "examples").exists():
        shutil.copytree(ROOT / "docs" / "examples", tmp_path, dirs_exist_ok=True)
    python = ""  # what the page's Python blocks have said so far
    for block in run_blocks(page):
        if block.path is not None:
            path = tmp_path / block.path
            assert path.resolve().is_relative_to(tmp_path), block.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, "utf-8")
            continue
        if block.language == "python":
            python += block.text
        command = (
            ["bash", "-euo", "pipefail", "-c", block.text]
            if block.language == "sh"
            else [sys.executable, "-c", python]
        )
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, (page, block.text, done.stdout[-2000:], done.stderr[-2000:])


@pytest.mark.parametrize("page", PAGES)
def test_what_is_not_run_says_why(page: str) -> None:
    reasons = {block.reason for block in blocks((ROOT / page).read_text("utf-8")) if block.reason}
    assert reasons <= set(REASONS)


def test_pages_have_blocks_that_run() -> None:
    # by hand: README has commands and Python
    assert len(run_blocks("README.md")) >= 1
