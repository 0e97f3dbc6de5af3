"""NumPy's functions with their last bits moved, and the digests that do not change with them.

Processors round exponentials, logarithms and powers otherwise. Where a model takes the difference
of two such numbers, that reaches the digits that a digest keeps.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

MOVED: Final = "-"
"""Stands for a digest that last bits change."""
_FUNCTIONS: Final = ("exp", "exp2", "expm1", "log", "log1p", "log2", "power")
_TWO: Final = 2 * float(np.finfo(np.float64).eps)
_RUN: Final = """
import sys, json, last_bits
last_bits.move(float(sys.argv[2]))
print(json.dumps(__import__(sys.argv[1]).every()))
"""


def move(share: float) -> None:
    """Have functions of NumPy give so much more, but where they give whole numbers.

    For a whole process, before the models are imported.
    """
    for name in _FUNCTIONS:
        setattr(np, name, _moved(getattr(np, name), share))


def steady(module: str, found: Mapping[str, str]) -> dict[str, str]:
    """Return digests that a module's `every` gives, with `MOVED` for those that last bits change.

    `found` are those of this process; each is a text of several.
    """
    kept = {name: text.split() for name, text in found.items()}
    path = os.pathsep.join(map(str, (Path(__file__).parent, Path(__file__).parents[2])))
    for share in (_TWO, -_TWO):
        done = subprocess.run(
            [sys.executable, "-c", _RUN, module, str(share)],
            env=os.environ | {"PYTHONPATH": path},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        for name, text in json.loads(done.stdout).items():
            pairs = zip(kept[name], text.split(), strict=True)
            kept[name] = [mine if mine == other else MOVED for mine, other in pairs]
    return {name: " ".join(parts) for name, parts in kept.items()}


def compared(found: str, expected: str) -> tuple[list[str], list[str]]:
    """Return digests and the recorded ones, as lists that are to be the same."""
    recorded = expected.split()
    pairs = zip(found.split(), recorded, strict=True)
    return [MOVED if one == MOVED else mine for mine, one in pairs], recorded


def _moved(function: Callable[..., Any], share: float) -> Callable[..., Any]:
    def moving(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if type(result) not in (np.ndarray, np.float64) or result.dtype != np.float64:
            return result  # of a derivation, for one
        values = np.asarray(result)
        whole = ~np.isfinite(values) | (values == np.rint(values))
        found = np.where(whole, values, values * (1 + share))
        if kwargs.get("out") is not None:
            result[...] = found
            return result
        return found if isinstance(result, np.ndarray) else np.float64(found)

    moving.__dict__ |= {name: getattr(function, name) for name in ("reduce", "nin", "nout")}
    return moving
