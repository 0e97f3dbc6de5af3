"""Loops that numba compiles: from how many rows on one is worth compiling, or loading."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Final

_MANY: Final = 1 << 9
_FEW: Final = 1 << 4
"""Rows from which on a loop is compiled, or loaded: a batch of so many is one of several; and from
which on it is used once it is there."""


def worth_loop(module: str, rows: int) -> bool:
    """Say whether the loop in a module is to be used for so many rows; never without numba."""
    return rows >= (_FEW if module in sys.modules else _MANY) and find_spec("numba") is not None
