"""Menus: of the values that a kernel leaves open, the combination that is predicted to be fastest.

That is what a library's heuristic aims at: it has some tens of kernels and picks one by the shape.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import product
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.expressions import evaluate
from perfmodel.hardware import Device
from perfmodel.kernels import Instance, Kernel, bind
from perfmodel.kernels.expansion import expanded
from perfmodel.kernels.kernel import Menu
from perfmodel.prediction.conditions import Conditions

_MOST_AT_ONCE: Final = 1 << 17
SAME: Final = 1 + 1e-12
"""Factor within which times are the same: programs and models differ by less."""


def open_parameters(kernel: Kernel, given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the parameters of a kernel's menus that the caller left open."""
    return tuple(name for menu in kernel.menus for name in menu.parameters if name not in given)


def combinations(kernel: Kernel, given: Mapping[str, Any]) -> Array:
    """Return every choice for the open parameters, (choices, parameters) in their order."""
    return _combinations(kernel.menus, open_parameters(kernel, given))


@lru_cache
def _combinations(menus: tuple[Menu, ...], names: tuple[str, ...]) -> Array:
    rows = []
    for menu in menus:
        places = [i for i, name in enumerate(menu.parameters) if name in names]
        rows.append(list(dict.fromkeys(tuple(row[i] for i in places) for row in menu.rows)))
    found = np.array([sum(parts, ()) for parts in product(*rows)], dtype=np.int64)
    found.flags.writeable = False
    return found


def offered(instance: Instance, device: Device) -> Array:
    """Return which bound launches a library has, of those whose shared memory a device has."""
    kernel, shared = instance.kernel, np.asanyarray(instance.shared_bytes)
    stated = np.asanyarray(evaluate(expanded(kernel, kernel.offered), instance.known)) != 0
    return np.asanyarray(stated & (shared <= device.shared_per_block_max))


def fastest(
    kernel: Kernel,
    given: Mapping[str, Array],
    time: Callable[[Mapping[str, Array]], Array],
    under: Conditions,
    compiled: bool,
) -> dict[str, Array]:
    """Return the values of a kernel's open parameters that make each configuration fastest.

    `given`: what the caller chose, one-dimensional arrays of one length. `time` gives the predicted
    times of configurations, all parameters of menus given [s]. `under`: what these are of, and
    `compiled`, whether by programs, if there are some.
    """
    names = open_parameters(kernel, given)
    if not names:
        return {}
    choices = combinations(kernel, given)
    places = _by_programs(kernel, given, choices, time, under) if compiled else None
    if places is None:
        places = _by_time(kernel, given, choices, time, under.device)
    return {name: choices[places, i] for i, name in enumerate(names)}


def first_of_fastest(times: Array) -> Array:
    """Return the place of the fastest choice of each launch, the first of those that are the same.

    `times` are (launches, choices), infinity where there is no such choice.
    """
    return np.asarray(np.argmax(times <= times.min(axis=1, keepdims=True) * SAME, axis=1))


def _by_time(
    kernel: Kernel,
    given: Mapping[str, Array],
    choices: Array,
    time: Callable[[Mapping[str, Array]], Array],
    device: Device,
) -> Array:
    """Return the place of the fastest choice for each configuration: all of them are timed.

    Those that there are; of a configuration that has none of them, all are.
    """
    names = open_parameters(kernel, given)
    size = max((len(values) for values in given.values()), default=1)
    best = np.empty(size, dtype=np.int64)
    step = max(1, _MOST_AT_ONCE // len(choices))
    for start in range(0, size, step):
        some = {name: np.asarray(values)[start : start + step] for name, values in given.items()}
        count = max((len(values) for values in some.values()), default=1)
        every = {name: np.repeat(values, len(choices)) for name, values in some.items()}
        every |= {name: np.tile(choices[:, i], count) for i, name in enumerate(names)}
        there = np.broadcast_to(offered(bind(kernel, every), device), count * len(choices))
        there = there.reshape(count, -1)
        there = (there | ~there.any(axis=1, keepdims=True)).reshape(-1)
        times = np.full(there.size, np.inf)
        times[there] = time({name: values[there] for name, values in every.items()})
        best[start : start + count] = first_of_fastest(times.reshape(count, -1))
    return best


def _by_programs(
    kernel: Kernel,
    given: Mapping[str, Array],
    choices: Array,
    time: Callable[[Mapping[str, Array]], Array],
    under: Conditions,
) -> Array | None:
    """Return the same by programs, where there may be some; words are the same in all."""
    columns = {name: np.asarray(values) for name, values in given.items()}
    texts = {name: c for name, c in columns.items() if c.dtype.kind == "U"}
    numbers = {name: c for name, c in columns.items() if c.dtype.kind in "iu"}
    alike = all((c == c[0]).all() for c in texts.values())
    if kernel.pipeline is None or not numbers or not alike or len(texts | numbers) < len(columns):
        return None
    words = {name: str(c[0]) for name, c in texts.items()}
    rows = {n: choices[:, i] for i, n in enumerate(open_parameters(kernel, given))}
    forms = under.forms(kernel, {**dict.fromkeys(columns, 0), **words, **dict.fromkeys(rows, 0)})
    if forms is None:
        return None
    from perfmodel.prediction.compiled.array_functions import NoProgramError
    from perfmodel.prediction.compiled.choices import Choices

    found = Choices.of(forms, rows, words, under, time)
    try:
        return found.fastest({name: column.astype(np.int64) for name, column in numbers.items()})
    except NoProgramError:
        return None
