"""What a buffer holds where the launch says so: from a recipe, or a .npy file.

A measurement has what `generate` gives. So has an emulation, but for ``uniform``: it makes these
numbers where they are read, by a hash of the place, so they are others, as random.
"""

import warnings
import zlib
from pathlib import Path
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.errors import PerfmodelError
from perfmodel.text_files import check_regular

TYPES: Final = {
    f"{kind}{8 * size}": np.dtype(f"{kind}{size}")
    for kind, sizes in (("i", (1, 2, 4, 8)), ("u", (1, 2, 4, 8)), ("f", (2, 4, 8)))
    for size in sizes
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
) -> Array:
    """Return what a recipe gives.

    `fill` is one of `FILLS`, `dtype` one of `TYPES`. Buffers of other names get other random
    numbers. Random integers are below `below`, or of any value of the type; `step` is that between
    elements of ``index``.
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


def load(path: Path, where: str) -> Array:
    """Return the array of a .npy file, mapped into memory, not read.

    Raises `PerfmodelError` if it is not there, no regular file, or no .npy file of numbers.
    """
    file = f"{where}: {str(path)!r}"
    if check_regular(path, file, "a .npy file") == 0:
        raise PerfmodelError(f"{file} is empty: write it with numpy.save")
    try:
        # Unlike numpy.load it takes neither archives nor pickles.
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of sizes that overflow
            found = np.lib.format.open_memmap(path, mode="r")
    except OSError as error:
        raise PerfmodelError(f"{file} cannot be read: {error.strerror or error}") from None
    except Exception:  # a broken header raises what its parser and its arithmetic raise
        raise PerfmodelError(
            f"{file} is no array of numbers as numpy.save writes it: write it again"
        ) from None
    if found.dtype.kind not in "iufb":
        raise PerfmodelError(f"{file} does not hold an array of numbers, but {found.dtype}")
    return found
