"""The list of slow files names files that there are, and marks them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

TESTS: Final = Path(__file__).parents[1]
LINES: Final = (TESTS / "slow_files.txt").read_text("utf-8").splitlines()
LISTED: Final = [line for line in LINES if line and not line.startswith("#")]


def test_what_is_listed_exists_once_and_in_order() -> None:
    assert [place for place in LISTED if not (TESTS / place).exists()] == []
    assert sorted(set(LISTED)) == LISTED


def test_this_file_is_fast(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("slow") is None
