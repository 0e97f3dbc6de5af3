"""Recordings as one compressed file, which the wheel carries in place of their folders.

JSON, compressed by LZMA: by session its session file (TOML) and its topics, each topic's cells by
column, where what is alike lies together. A cell that says nothing is null.
"""

from __future__ import annotations

import json
import lzma
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import tomli_w

from perfmodel.measure.recorded import Recording, Row, Topic, Value


def write_table(path: Path, recordings: Mapping[str, Recording]) -> None:
    """Write recordings, by the names of their sessions, without the checksums of their CSVs."""
    said = {name: _said(recording) for name, recording in sorted(recordings.items())}
    text = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
    path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def read_table(path: Path, root: Path) -> dict[str, Recording]:
    """Return the recordings of a file, by name; each says that its folder is of its name in `root`.

    Raises
    ------
    OSError, lzma.LZMAError, ValueError
        If there is no such file, or it is none that `write_table` wrote.
    """
    said: dict[str, Any] = json.loads(lzma.decompress(path.read_bytes()))
    return {
        name: Recording(
            root / name,
            MappingProxyType(tomllib.loads(each["session"])),
            MappingProxyType({t: _topic(t, cells) for t, cells in each["topics"].items()}),
        )
        for name, each in said.items()
    }


def _said(recording: Recording) -> dict[str, Any]:
    session = {key: value for key, value in recording.session.items() if key != "files"}
    topics = {
        name: {
            "lines": [row.line for row in topic.rows],
            "columns": {c: [row.values.get(c) for row in topic.rows] for c in topic.columns},
        }
        for name, topic in recording.topics.items()
    }
    return {"session": tomli_w.dumps(session), "topics": topics}


def _topic(name: str, said: Mapping[str, Any]) -> Topic:
    columns: Mapping[str, list[Value | None]] = said["columns"]
    cells = zip(*columns.values(), strict=True)
    rows = (
        Row(name, line, MappingProxyType(_present(columns, row)))
        for line, row in zip(said["lines"], cells, strict=True)
    )
    return Topic(name, tuple(columns), tuple(rows))


def _present(columns: Mapping[str, Any], row: tuple[Value | None, ...]) -> dict[str, Value]:
    return {c: cell for c, cell in zip(columns, row, strict=True) if cell is not None}
