"""The record's files: names of launches and columns of doubles, exact and compressed."""

from __future__ import annotations

import json
import lzma
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

Table = dict[str, dict[str, float]]
"""By launch, then by column."""


def write(path: Path, table: Mapping[str, Mapping[str, float]]) -> None:
    """Write a table: a line of JSON, then columns of doubles, their bytes sorted by weight."""
    columns = sorted({name for row in table.values() for name in row})
    cells = np.full((len(columns), len(table)), np.nan)
    for j, row in enumerate(table.values()):
        for i, name in enumerate(columns):
            cells[i, j] = row.get(name, np.nan)
    head = json.dumps({"columns": columns, "launches": list(table)}).encode() + b"\n"
    # Signs and exponents beside each other compress; mantissas do not.
    planes = cells.astype("<f8").view(np.uint8).reshape(len(columns), len(table), 8)
    body = np.ascontiguousarray(planes.transpose(0, 2, 1)).tobytes()
    path.write_bytes(lzma.compress(head + body, preset=9))


def read(path: Path) -> Table:
    """Return the table of a file, without the cells that are absent."""
    head, body = lzma.decompress(path.read_bytes()).split(b"\n", 1)
    said = json.loads(head)
    columns, launches = said["columns"], said["launches"]
    planes = np.frombuffer(body, np.uint8).reshape(len(columns), 8, len(launches))
    cells = np.ascontiguousarray(planes.transpose(0, 2, 1)).view("<f8")[..., 0]
    rows = zip(*cells.tolist(), strict=True)  # Python's numbers: to look at NumPy's takes seconds
    return {
        launch: {
            name: cell for name, cell in zip(columns, row, strict=True) if not math.isnan(cell)
        }
        for launch, row in zip(launches, rows, strict=True)
    }
