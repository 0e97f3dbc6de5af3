"""Loops that numba compiles: from how many rows on one is worth compiling, or loading."""

import sys
from importlib.util import find_spec
from typing import Final

_MANY: Final = 1 << 9
_FEW: Final = 1 << 4
"""Rows from which on a loop is compiled, or loaded: a batch of so many is one of several; and from
which on it is used once it is there."""


def worth_loop(module: str, rows: int, few: int = _FEW, many: int = _MANY) -> bool:
    """Say whether the loop in a module is to be used for so many rows; never without numba.

    From `few` on once it is there, else from `many`: fewer where other ways take very long.
    """
    return rows >= (few if loaded(module) else many) and find_spec("numba") is not None


def loaded(module: str) -> bool:
    """Say whether a loop's module is there already."""
    return module in sys.modules
