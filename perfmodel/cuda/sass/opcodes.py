"""Which pipe takes each opcode of machine code."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

TABLE: Final = Path(__file__).with_suffix(".toml")


@lru_cache(maxsize=1)
def pipes() -> Mapping[int, str]:
    """Return the pipe of each opcode: a key of `PIPES`, "memory" or "tensor"."""
    with TABLE.open("rb") as stream:
        entries = tomllib.load(stream)["pipe"]
    return MappingProxyType(
        {code: pipe for pipe, codes in entries.items() for code in codes.values()}
    )


def kinds():
    from perfmodel.cuda.sass.machine_loops import _table

    return _table()[0]


def opcode_latencies():
    from perfmodel.cuda.sass.machine_loops import _table

    return _table()[1]
