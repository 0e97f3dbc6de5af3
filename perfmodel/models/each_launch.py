"""Functions of one launch's whole numbers, applied to a batch of launches one by one.

For what counts addresses: it has no arithmetic on arrays of launches. Results are kept.
"""

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache, wraps
from typing import Any, Final, TypeVar

import numpy as np

from perfmodel.arrays import Array
from perfmodel.models.derivation import definition

Given = TypeVar("Given", bound=Hashable)

_KEPT: Final = 1 << 12
"""Results that are kept: a launch's programs and details ask for them again."""


def each_launch(
    work: Callable[[Given, tuple[int, ...]], Sequence[Any]],
) -> Callable[..., tuple[Array, ...]]:
    """Let work on the whole numbers of one launch be one node, on arrays of launches.

    It takes what launches have in common, then their numbers; the last axis of what it gives is of
    launches.
    """

    @definition
    @wraps(work)
    def of_launches(given: Given, *numbers: Any) -> tuple[Array, ...]:
        columns = np.broadcast_arrays(*(np.ravel(n).astype(np.int64) for n in numbers))
        rows = np.stack(columns, axis=-1).tolist()
        found = [of_one_launch(work, given, tuple(row)) for row in rows]
        return tuple(np.concatenate(parts, axis=-1) for parts in zip(*found, strict=True))

    return of_launches


@lru_cache(_KEPT)
def of_one_launch(
    work: Callable[..., Sequence[Any]], given: Any, numbers: Any
) -> tuple[Array, ...]:
    """Return the same of one launch, arrays of one."""
    return tuple(map(np.atleast_1d, work(given, numbers)))
