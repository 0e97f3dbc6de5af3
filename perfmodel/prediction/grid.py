"""Grids: a launch predicted at every combination of values of parameters and knobs, in chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from math import prod
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware import Device
from perfmodel.kernels import Kernel, bind
from perfmodel.kernels.l2_control import L2Control
from perfmodel.prediction.memory_size import (
    TooLargeForMemoryError,
    capacity_text,
    needed_bytes,
)
from perfmodel.prediction.menu import combinations
from perfmodel.prediction.predict import Predictions, predict, predict_many
from perfmodel.prediction.record import Prediction
from perfmodel.prediction.sweep import KNOBS
from perfmodel.records import record

CHUNK: Final = 1 << 14
"""Predictions that are worked on together, those of open menus among them."""
SOURCES: Final = 8
"""Launches of a program that are."""

NUMBERS: Final = ("time_s", "dram_read_bytes", "dram_write_bytes", "l2_hit_rate")
TEXTS: Final = ("bottleneck", "refused")

_Columns = Mapping[str, Any]  # arrays, or what all rows share


@record
class Axis:
    """The values of a parameter of the kernel, or of a key of `perfmodel.prediction.sweep.KNOBS`.

    Whole numbers, floats or words, one-dimensional.
    """

    name: str
    values: Array


@record
class Launches:
    """What is launched, but for what axes vary."""

    # The kernel, or what gives the one at values of all axes but knobs: of a program's launch.
    kernel: Kernel | Callable[[Mapping[str, int]], Kernel]
    params: Mapping[str, Any]  # the kernel's other parameters
    control: L2Control  # where the other knobs stand
    platform: Mapping[str, Any]  # other arguments of `perfmodel.predict`, the device as `Device`


@record
class Grid:
    """Launches at every combination of some values, the last axis fastest, in chunks."""

    launches: Launches
    axes: tuple[Axis, ...]

    @property
    def size(self) -> int:
        """Configurations."""
        return prod(len(axis.values) for axis in self.axes)

    @property
    def step(self) -> int:
        """Configurations of a chunk, however many predict them."""
        kernel = self.launches.kernel
        if not isinstance(kernel, Kernel):
            return SOURCES
        given = {**self.launches.params, **{axis.name: axis.values for axis in self.axes}}
        return max(1, CHUNK // len(combinations(kernel, given)))

    def values(self, start: int, stop: int) -> dict[str, Array]:
        """Return the values of some configurations, by axis; no more than there are."""
        rows = np.arange(start, min(stop, self.size))
        places = np.unravel_index(rows, [len(axis.values) for axis in self.axes])
        return {a.name: a.values[i] for a, i in zip(self.axes, places, strict=True)}


def predicted_rows(launches: Launches, values: Mapping[str, Array]) -> dict[str, Array]:
    """Return the rows of some configurations, by column.

    Values of the axes; the time [s], DRAM bytes read and written, L2's hit rate, what binds; and
    "refused": why the device's memory cannot hold the buffers, else empty. Numbers of a refused
    configuration are NaN.

    Raises
    ------
    PerfmodelError
        As `perfmodel.predict_many`, but for buffers over the device's memory.
    """
    count = len(next(iter(values.values())))
    found: dict[str, Array] = {name: np.full(count, np.nan) for name in NUMBERS}
    found |= {name: np.full(count, "", dtype=object) for name in TEXTS}
    every = not isinstance(launches.kernel, Kernel)
    separate = [column for name, column in values.items() if every or name in KNOBS]

    @cache  # for it takes long
    def made(launch: tuple[tuple[str, int], ...]) -> Kernel:
        assert not isinstance(launches.kernel, Kernel)
        return launches.kernel(dict(launch))

    for group in _alike(separate, count):
        some = {name: column[group] for name, column in values.items()}
        for rows, columns in _group(launches, made, some, len(group)):
            for name, column in columns.items():
                found[name][group[rows]] = column
    return {**values, **found}


def _alike(columns: list[Array], count: int) -> Iterator[Array]:
    """Yield the rows of each combination of values."""
    if not columns:
        yield np.arange(count)
        return
    places = [np.unique(column, return_inverse=True)[1] for column in columns]
    _, group = np.unique(np.stack(places), axis=1, return_inverse=True)
    for number in range(int(group.max()) + 1):
        yield np.flatnonzero(np.ravel(group) == number)


def _group(
    launches: Launches,
    made: Callable[[tuple[tuple[str, int], ...]], Kernel],
    values: dict[str, Array],
    count: int,
) -> Iterator[tuple[Array, _Columns]]:
    """Yield rows with their columns, of configurations that share all knobs, or a launch."""
    control, platform = launches.control, launches.platform
    for name in [name for name in values if name in KNOBS]:
        control = KNOBS[name](control, values.pop(name)[0])
    if isinstance(launches.kernel, Kernel):
        params = {**launches.params, **values}
        yield from _of_kernel(launches.kernel, control, platform, params, count)
        return
    kernel = made(tuple((name, int(column[0])) for name, column in values.items()))
    try:
        yield np.arange(count), _columns(predict(kernel, l2=control, **platform))
    except TooLargeForMemoryError as error:
        yield np.arange(count), {"refused": str(error)}


def _of_kernel(
    kernel: Kernel,
    control: L2Control,
    platform: Mapping[str, Any],
    params: Mapping[str, Any],
    count: int,
) -> Iterator[tuple[Array, _Columns]]:
    held = np.arange(count)
    try:
        yield held, _columns(predict_many(kernel, l2=control, **platform, **params))
        return
    except TooLargeForMemoryError:
        gpu: Device = platform["device"]
        needed = np.broadcast_to(needed_bytes(bind(kernel, dict(params))), count)
    for row in np.flatnonzero(needed > gpu.dram_size):
        reason = f"needs {capacity_text(needed[row])} of {capacity_text(gpu.dram_size)} of memory"
        yield np.array([row]), {"refused": reason}
    held = np.flatnonzero(needed <= gpu.dram_size)
    if held.size:
        some = {name: value[held] if np.ndim(value) else value for name, value in params.items()}
        yield held, _columns(predict_many(kernel, l2=control, **platform, **some))


def _columns(found: Prediction | Predictions) -> _Columns:
    columns = {"time_s": found.time_s, "bottleneck": found.bottleneck}
    return columns | {name: found.traffic[name] for name in NUMBERS[1:]}
