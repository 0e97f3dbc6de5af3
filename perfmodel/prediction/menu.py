"""Menus: of the values that a kernel leaves open, the combination that is predicted to be fastest.

That is what a library's heuristic aims at: it has some tens of kernels and picks one by the shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.kernels import Kernel

Array = npt.NDArray[Any]

_MOST_AT_ONCE: Final = 1 << 17


def open_parameters(kernel: Kernel, given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the parameters of a kernel's menus that the caller left open."""
    return tuple(name for menu in kernel.menus for name in menu.parameters if name not in given)


def combinations(kernel: Kernel, given: Mapping[str, Any]) -> Array:
    """Return every choice for the open parameters, (choices, parameters) in their order."""
    rows = []
    for menu in kernel.menus:
        places = [i for i, name in enumerate(menu.parameters) if name not in given]
        rows.append(list(dict.fromkeys(tuple(row[i] for i in places) for row in menu.rows)))
    return np.array([sum(parts, ()) for parts in product(*rows)], dtype=np.int64)


def fastest(
    kernel: Kernel, given: Mapping[str, Array], time: Callable[[Mapping[str, Array]], Array]
) -> dict[str, Array]:
    """Return the values of a kernel's open parameters that make each configuration fastest.

    Parameters
    ----------
    kernel : Kernel
    given : mapping of str to array
        What the caller chose, one-dimensional arrays of one length.
    time : callable
        Gives the predicted times of configurations, all parameters of menus given [s].
    """
    names = open_parameters(kernel, given)
    if not names:
        return {}
    choices = combinations(kernel, given)
    size = max((len(values) for values in given.values()), default=1)
    best = np.empty((size, len(names)), dtype=np.int64)
    step = max(1, _MOST_AT_ONCE // len(choices))
    for start in range(0, size, step):
        some = {name: np.asarray(values)[start : start + step] for name, values in given.items()}
        count = max((len(values) for values in some.values()), default=1)
        every = {name: np.repeat(values, len(choices)) for name, values in some.items()}
        every |= {name: np.tile(choices[:, i], count) for i, name in enumerate(names)}
        times = time(every).reshape(count, len(choices))
        best[start : start + count] = choices[np.argmin(times, axis=1)]
    return {name: best[:, i] for i, name in enumerate(names)}
