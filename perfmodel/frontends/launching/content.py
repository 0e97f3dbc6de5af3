"""What a buffer holds where the launch says so: from a recipe, or a .npy file.

The same recipe gives the same content to a model and to a measurement, without a file.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.errors import PerfmodelError

TYPES: Final = {
    **{
        f"{kind}{bits}": np.dtype(f"{name}{bits}")
        for kind, name in (("i", "int"), ("u", "uint"))
        for bits in (8, 16, 32, 64)
    },
    **{f"f{bits}": np.dtype(f"float{bits}") for bits in (16, 32, 64)},
}
"""Element types by the name that launch files use."""

FILLS: Final = {
    "zeros": "0",
    "uniform": "random: floats from 0 to 1, integers from 0 to below",
    "index": "0, step, 2 step, ...",
    "permutation": "0 ... count - 1, shuffled",
    "cumulative": "sums so far of random integers from 0 to below, the first of them 0",
}
"""Recipes and what they give."""


def generate(
    fill: str, dtype: str, count: int, name: str, below: int | None = None, step: int = 1
) -> npt.NDArray[Any]:
    """Return what a recipe gives.

    Parameters
    ----------
    fill : str
        One of `FILLS`.
    dtype : str
        One of `TYPES`.
    count : int
        Elements.
    name : str
        Of the buffer: buffers of other names get other random numbers.
    below : int, optional
        Bound of random integers; that of the type without it.
    step : int
        Between elements of ``index``.
    """
    kind = TYPES[dtype]
    random = np.random.default_rng(zlib.crc32(name.encode()))
    most = min(int(np.iinfo(kind).max), 2**63 - 1) if kind.kind in "iu" else 2**31
    if fill == "zeros":
        return np.zeros(count, kind)
    if fill == "index":
        return (np.arange(count, dtype=np.int64) * step).astype(kind)
    if fill == "permutation":
        return random.permutation(count).astype(kind)
    if fill == "cumulative":
        lengths = random.integers(0, below or 2, max(count - 1, 0))
        return np.concatenate([[0], np.cumsum(lengths)])[:count].astype(kind)
    if kind.kind == "f":
        single = np.float64 if kind.itemsize == 8 else np.float32
        return random.random(count, dtype=single).astype(kind, copy=False)
    return random.integers(0, below or most, count, dtype=np.int64).astype(kind)


def load(path: Path, where: str) -> npt.NDArray[Any]:
    """Return the array of a .npy file, mapped into memory, not read.

    Raises
    ------
    PerfmodelError
        If it is not there, or no .npy file of numbers.
    """
    try:
        found: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        reason = getattr(error, "strerror", None) or (
            "it is no array of numbers as numpy.save writes it"
        )
        raise PerfmodelError(f"{where}: cannot read {str(path)!r} as .npy: {reason}") from None
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "iufb":
        raise PerfmodelError(f"{where}: {str(path)!r} does not hold an array of numbers")
    return found
