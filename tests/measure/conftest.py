"""What the tests of recorded measurements share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from perfmodel.measure.seal import seal

SESSION = """format = 1

[machine]
device = "h200-sxm"
gpu = "NVIDIA H200"

[columns]
pitch = "floats from run to run"
"""
ROWS = """n,pitch,timing,cache,repeats,time_us,flag
1024,8,profiler,cold,1,2.5,
1024,8,events,warm,21,6.25,
2048,8,events,warm,21,,out of memory
4096,8,events,warm,21,7.5,clock dropped
8192,8,events,warm,21,9.5,clock unknown
"""

Folder = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Write a measurement folder and seal it."""

    def write(
        rows: str | bytes = ROWS, session: str | None = SESSION, name: str = "runs.csv"
    ) -> Path:
        path = tmp_path / "mine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(rows if isinstance(rows, bytes) else rows.encode())
        if session is not None:
            (tmp_path / "mine" / "session.toml").write_text(session)
            seal(tmp_path / "mine")
        return tmp_path / "mine"

    return write
