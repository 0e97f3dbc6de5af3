"""Numbers that pages repeat from the output of a command next to them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
from typer.testing import CliRunner

from perfmodel.cli.app import app

DOCS: Final = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("page", "mapping", "numbers", "count"),
    [
        ("start.md", "coalesced", r"\d+\.\d+ ms", 4),
        ("ladder.md", "naive", r"(?<=DRAM reads )[\d.]+ GB|(?<=At )[\d.]+ GB/s", 2),
    ],
)
def test_prose_has_the_numbers_of_the_output(
    page: str, mapping: str, numbers: str, count: int
) -> None:
    text = re.sub(r"```.*?```", "", (DOCS / page).read_text("utf-8"), flags=re.DOTALL)
    found = re.findall(numbers, text)
    assert len(found) >= count
    done = CliRunner().invoke(app, ["predict", "gemm", "--mapping", mapping])
    assert done.exit_code == 0
    assert [number for number in found if number not in done.stdout] == []
