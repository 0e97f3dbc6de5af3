"""Grids: a launch predicted at every combination of values of parameters and knobs, in chunks."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from math import prod
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.errors import PerfmodelError
from perfmodel.kernels import Kernel, bind, check_bounds
from perfmodel.kernels.l2_control import L2Control
from perfmodel.prediction.conditions import Conditions, by_the_models
from perfmodel.prediction.memory_size import TooLargeForMemoryError, capacity_text, needed_bytes
from perfmodel.prediction.menu import combinations
from perfmodel.prediction.predict import predict
from perfmodel.prediction.predict_many import (
    Predictions,
    Prepared,
    predict_columns,
    prepared,
    some_rows,
)
from perfmodel.prediction.record import Prediction
from perfmodel.prediction.sweep import KNOBS
from perfmodel.records import record

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


CHUNK: Final = 1 << 14
"""Predictions that are worked on together, those of open menus among them."""
_LARGE: Final = 1 << 18
"""Launches of a grid from which on each process that predicts chunks of it makes programs."""
_TRIED: Final = 1 << 11
"""Launches of a large grid that tell which programs serve all of it."""
SOURCES: Final = 8
"""Launches of a program that are."""

NUMBERS: Final = ("time_s", "dram_read_bytes", "dram_write_bytes", "l2_hit_rate")
TEXTS: Final = ("bottleneck", "refused")

NOTHING: Final[Mapping[str, Array]] = MappingProxyType({})

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

    @property
    def among(self) -> dict[str, Array]:
        """Values of parameters of some launches, which tell what forms all take; none of few.

        They are of the whole grid: what its chunks are predicted by does not depend on who predicts
        which of them, nor on those that were there when it is gone on with.
        """
        launches = self.launches
        if not isinstance(launches.kernel, Kernel) or self.size < _LARGE:
            return {}
        rows = np.sort(np.random.default_rng(0).integers(self.size, size=_TRIED))
        found = {name: column for name, column in self._at(rows).items() if name not in KNOBS}
        whole = all(column.dtype.kind in "iu" for column in found.values())
        if not whole or not all(isinstance(v, int) for v in launches.params.values()):
            return {}
        found |= {name: np.full(_TRIED, value) for name, value in launches.params.items()}
        needed = needed_bytes(bind(launches.kernel, dict(found)))
        held = np.broadcast_to(needed <= launches.platform["device"].dram_size, _TRIED)
        return {name: column[held] for name, column in found.items()} if held.any() else {}

    def values(self, start: int, stop: int) -> dict[str, Array]:
        """Return the values of some configurations, by axis; no more than there are."""
        return self._at(np.arange(start, min(stop, self.size)))

    def _at(self, rows: Array) -> dict[str, Array]:
        places = np.unravel_index(rows, [len(axis.values) for axis in self.axes])
        return {a.name: a.values[i] for a, i in zip(self.axes, places, strict=True)}


def predicted_rows(
    launches: Launches, values: Mapping[str, Array], among: Mapping[str, Array] = NOTHING
) -> dict[str, Array]:
    """Return the rows of some configurations, by column; `among` is that of their grid.

    Values of the axes; the time [s], DRAM bytes read and written, L2's hit rate, what binds; and
    "refused": why a launch is, as for buffers that memory cannot hold or accesses outside them,
    else empty. Numbers of a refused configuration are NaN.

    Raises `PerfmodelError` as `perfmodel.predict_many`, but for buffers over the device's memory.
    """
    work = _work_on(launches, among)
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
        for rows, columns in _group(work, made, some, len(group)):
            for name, column in columns.items():
                found[name][group[rows]] = column
    return {**values, **found}


@dataclass(slots=True)
class _Work:
    """Launches whose chunks this process works on, with the programs that serve all of them."""

    launches: Launches
    among: Mapping[str, Array]
    programs: dict[L2Control, Prepared | None] = field(default_factory=dict)

    def of(self, under: Conditions) -> Prepared | None:
        """Return the programs of all launches, made once."""
        control, kernel = under.l2 or L2Control(), self.launches.kernel
        if control not in self.programs and isinstance(kernel, Kernel):
            self.programs[control] = prepared(kernel, under, self.among, _LARGE)
        return self.programs.get(control)


_last: Final[list[_Work]] = []


def _work_on(launches: Launches, among: Mapping[str, Array]) -> _Work:
    """Return what is kept of launches that are those of the last chunk, else a new one.

    Programs are kept by the kernel and device that they are of, not by equal ones, as of a chunk
    that another process sent.
    """
    if not isinstance(launches.kernel, Kernel):
        return _Work(launches, among)
    if not _last or _last[0].launches != launches or not _same(_last[0].among, among):
        _last[:] = [_Work(launches, among)]
    return _last[0]


def _same(some: Mapping[str, Array], others: Mapping[str, Array]) -> bool:
    same = some.keys() == others.keys()
    return same and all(np.array_equal(some[name], others[name]) for name in some)


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
    work: _Work,
    made: Callable[[tuple[tuple[str, int], ...]], Kernel],
    values: dict[str, Array],
    count: int,
) -> Iterator[tuple[Array, _Columns]]:
    """Yield rows with their columns, of configurations that share all knobs, or a launch."""
    launches = work.launches
    control, platform = launches.control, launches.platform
    for name in [name for name in values if name in KNOBS]:
        control = KNOBS[name](control, values.pop(name)[0])
    if isinstance(launches.kernel, Kernel):
        params = {**launches.params, **values}
        under = Conditions(l2=control, **{"timing": "profiler", "cache": "cold", **platform})
        programs = work.of(under)
        yield from _of_kernel(launches.kernel, under, params, count, programs)
        return
    kernel = made(tuple((name, int(column[0])) for name, column in values.items()))
    try:
        # What programs give may hang on what came before, in the last bit: rows must not.
        with by_the_models():
            found = predict(kernel, l2=control, **platform)
        yield np.arange(count), _columns(found)
    except TooLargeForMemoryError as error:
        yield np.arange(count), {"refused": str(error)}


def _of_kernel(
    kernel: Kernel,
    under: Conditions,
    params: Mapping[str, Any],
    count: int,
    programs: Prepared | None,
) -> Iterator[tuple[Array, _Columns]]:
    held = np.arange(count)
    if len(combinations(kernel, dict(params))) == 1:  # menus choose among what fits
        refused = dict(outside_bounds(kernel, params, count))
        for row, reason in refused.items():
            yield np.array([row]), {"refused": reason}
        held = np.delete(held, [*refused])
    some = some_rows(params, held)
    try:
        if held.size:
            yield held, _columns(predict_columns(kernel, under, some, programs))
        return
    except TooLargeForMemoryError:
        room = under.device.dram_size
        needed = np.broadcast_to(needed_bytes(bind(kernel, some)), held.size)
    for row, size in zip(held[needed > room], needed[needed > room], strict=True):
        reason = f"needs {capacity_text(size)} of {capacity_text(room)} of memory"
        yield np.array([row]), {"refused": reason}
    held = held[needed <= room]
    if held.size:
        yield held, _columns(predict_columns(kernel, under, some_rows(params, held), programs))


def _columns(found: Prediction | Predictions) -> _Columns:
    columns = {"time_s": found.time_s, "bottleneck": found.bottleneck}
    return columns | {name: found.traffic[name] for name in NUMBERS[1:]}
