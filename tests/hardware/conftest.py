"""What the tests of device files share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from perfmodel.errors import PerfmodelError
from perfmodel.hardware import load_device


@pytest.fixture
def device_file(tmp_path: Path) -> Callable[..., Path]:
    """Write a device file and return its path."""

    def write(text: str | bytes, name: str = "mine.toml") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.fixture
def refusal() -> Callable[[str | Path], str]:
    """Return the message with which a device is refused, having checked that it is one line."""

    def message(name_or_path: str | Path) -> str:
        with pytest.raises(PerfmodelError) as caught:
            load_device(name_or_path)
        text = str(caught.value)
        assert text
        assert text.isprintable(), text  # isprintable is false of newlines
        assert len(text) < 600
        assert text.count("device file '") <= 1, "an error wrapped in another"
        return text

    return message
