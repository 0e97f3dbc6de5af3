"""Which of many launches reach outside their buffers, or load misaligned vectors, and why.

Intervals show of most launches that none of their accesses does. What they take to show it holds
for others too, so that it is worked out on arrays; the rest are looked at one by one.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.errors import PerfmodelError
from perfmodel.kernels import Kernel, bind, check_bounds

_MOST: Final = 12
"""Ways to show it that are kept of a kernel."""

_Shown = Callable[..., tuple[Array, Any]]


@lru_cache(maxsize=64)
def _known(_kernel: int, _names: tuple[str, ...], _words: tuple[tuple[str, Any], ...]) -> "_Ways":
    return _Ways()


class _Ways:
    """Functions of a kernel's whole numbers that show launches to fit, those made so far."""

    def __init__(self) -> None:
        self.shown: list[_Shown] = []
        self.kernel: Kernel | None = None  # kept, as its identity names these

    def left(self, kernel: Kernel, columns: Mapping[str, Array], words: Mapping[str, Any]) -> Array:
        """Return the rows of which nothing is shown."""
        if self.kernel is not kernel:
            self.kernel, self.shown = kernel, []
        rows = np.arange(len(next(iter(columns.values()))))
        for way in self.shown:
            rows = rows[~_held(way, columns, rows)]
        while len(rows) and len(self.shown) < _MOST:
            first = {name: int(column[rows[0]]) for name, column in columns.items()}
            made = _made(kernel, {**words, **first})
            if made is None or not (held := _held(made, columns, rows)).any():
                break
            self.shown.append(made)
            rows = rows[~held]
        return rows


def outside_bounds(
    kernel: Kernel, params: Mapping[str, Any], count: int
) -> Iterator[tuple[int, str]]:
    """Yield the launches, by number, that `check_bounds` refuses, each with its message.

    `params`: the kernel's parameters, arrays of `count` values or what all share.

    Raises `PerfmodelError` if a launch cannot be bound.
    """
    columns = {name: np.broadcast_to(value, count) for name, value in params.items()}
    whole = {name: c.astype(np.int64) for name, c in columns.items() if c.dtype.kind in "iu"}
    words = {name: c for name, c in columns.items() if name not in whole}
    rows = np.arange(count)
    if whole and all(not np.ndim(params[name]) for name in words):
        shared = {name: c[:1].tolist()[0] for name, c in words.items()}
        ways = _known(id(kernel), tuple(whole), tuple(shared.items()))
        rows = ways.left(kernel, whole, shared)
    for row in rows.tolist():
        launch = {name: column[[row]].tolist()[0] for name, column in columns.items()}
        instance = bind(kernel, launch)
        try:
            check_bounds(instance)
        except PerfmodelError as error:
            yield row, str(error)


def _made(kernel: Kernel, launch: Mapping[str, Any]) -> _Shown | None:
    """Return what shows a launch to fit, as a function of arrays; None if intervals do not."""
    from perfmodel.prediction.compiled.array_code import array_function
    from perfmodel.prediction.compiled.recording import record_bounds

    try:
        return array_function(record_bounds(kernel, launch))
    except Exception:  # whatever a recording cannot follow, one by one they still can
        return None


def _held(way: _Shown, columns: Mapping[str, Array], rows: Array) -> Array:
    with np.errstate(all="ignore"):
        held, _ = way(*(column[rows] for column in columns.values()))
    return np.broadcast_to(held, len(rows))
