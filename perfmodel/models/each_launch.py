"""Work that goes by points, such as addresses, done of one launch after the other.

What does so is a function of whole numbers, those of each launch, and of what all launches have in
common: as a `definition`, it is one node of a derivation.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import Any, Final, TypeVar

import numpy as np

from perfmodel.arrays import Array

Given = TypeVar("Given", bound=Hashable)

_KEPT: Final = 1 << 10
"""Results that are kept: a launch's programs and details ask for them again."""


def of_each_launch(
    work: Callable[[Given, tuple[int, ...]], Sequence[Any]], given: Given, numbers: Sequence[Any]
) -> tuple[Array, ...]:
    """Return what some work gives of each launch's whole numbers; the last axis is of launches."""
    columns = np.broadcast_arrays(*(np.ravel(n).astype(np.int64) for n in numbers))
    rows = np.stack(columns, axis=-1).tolist()
    found = [of_one_launch(work, given, tuple(row)) for row in rows]
    return tuple(np.concatenate(parts, axis=-1) for parts in zip(*found, strict=True))


@lru_cache(_KEPT)
def of_one_launch(
    work: Callable[..., Sequence[Any]], given: Any, numbers: Any
) -> tuple[Array, ...]:
    """Return the same of one launch, arrays of one."""
    return tuple(map(np.atleast_1d, work(given, numbers)))
