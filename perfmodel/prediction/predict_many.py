"""Arrays of launches of a kernel, predicted in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.arrays import Array
from perfmodel.errors import PerfmodelError
from perfmodel.hardware import Device
from perfmodel.kernels import Instance, Kernel, bind
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.models.agreement import DisagreementError
from perfmodel.models.global_accesses import CacheState
from perfmodel.models.grid.geometry import alike
from perfmodel.models.mechanism import switch_off, switched_off
from perfmodel.models.requests.unrolled import runs_once
from perfmodel.models.time.stage import Timing
from perfmodel.prediction.conditions import Conditions, check_protocol, device_of, kernel_of
from perfmodel.prediction.interval import bottleneck
from perfmodel.prediction.menu import fastest
from perfmodel.records import record
from perfmodel.traffic import NUMBERS

if TYPE_CHECKING:
    from perfmodel.prediction.compiled.many import Working

# Most configurations worked on at a time: few enough for the CPU's caches, enough to share
# patterns. What is worked on together does not depend on the CPU, nor then does any result.
_CHUNK: Final = 1 << 16
LEAST: Final = 1 << 16
"""Launches from which on making programs of their forms takes less time than it saves."""
_TOGETHER: Final = 16
"""Columns whose memory is taken at a time: as large pages, which a system gives only to large
arrays, and which take a fifth of the time that as many small ones take."""
_CHOOSING: Final = 16
"""The same where a library's choice from a menu is predicted: each launch is hundreds of them."""
_CHOSEN: Final = 256
"""Launches from which on programs that choices were timed by take less time than the models."""


@record
class Predictions:
    """Predicted times of many launches, arrays of the shape that the parameters broadcast to.

    Attributes
    ----------
    time_s : array
        Time of each launch [s].
    terms_s : mapping of str to array
        Time that each resource would need alone [s]; 0 where a launch has no such term.
    bottleneck : array of str
        Name of the largest term.
    traffic : mapping of str to array
        What moves in each launch: requests, sectors, bytes [B].
    """

    time_s: Array
    terms_s: Mapping[str, Array]
    bottleneck: Array
    traffic: Mapping[str, Array]


def predict_many(
    kernel: str | Path | Kernel,
    *,
    mapping: str | None = None,
    device: str | Path | Device = "h100-sxm",
    timing: Timing = "profiler",
    cache: CacheState = "cold",
    l2: L2Control | None = None,
    mig: bool = False,
    mps: bool = False,
    concurrent: Sequence[AccessPolicyWindow] = (),
    **params: npt.ArrayLike,
) -> Predictions:
    """Predict arrays of launches in one call.

    Parameters that change the block or the width of an access are split into one pass each, and
    so are configurations that the models' forms would be chosen differently for.

    Parameters
    ----------
    kernel, mapping, device, timing, cache, l2, mig, mps, concurrent
        As for `predict`.
    **params : array_like
        The kernel's parameters: numbers, words, or arrays of them that broadcast.

    Returns
    -------
    Predictions
        Arrays of the shape that the parameters broadcast to; without intervals and warnings.

    Raises
    ------
    PerfmodelError
        As `predict`, or if parameters do not broadcast. Accesses outside their buffers go unseen:
        only `predict` looks for these, launch by launch.

    Examples
    --------
    >>> predict_many("copy", bytes=np.array([1 << 20, 1 << 30])).time_s.shape
    (2,)
    """
    under = Conditions(device_of(device), timing, cache, l2, mig, mps, concurrent)
    return predict_columns(kernel_of(kernel, mapping), under, params)


def predict_columns(
    kernel: Kernel,
    under: Conditions,
    params: Mapping[str, npt.ArrayLike],
    programs: Prepared | None = None,
) -> Predictions:
    """Predict arrays of launches, as `predict_many`.

    `programs`: where these are a part of many more, those that serve all, see `prepared`.
    """
    check_protocol(under.timing, under.cache)
    given = {name: np.asarray(value) for name, value in params.items()}
    try:
        shape = np.broadcast_shapes(*(value.shape for value in given.values()))
    except ValueError as error:
        raise PerfmodelError(
            f"parameters of shapes {[v.shape for v in given.values()]} do not broadcast"
        ) from error
    if 0 in shape:
        raise PerfmodelError("no configurations: an array of parameters is empty; give some values")
    flat = {name: np.broadcast_to(value, shape).reshape(-1) for name, value in given.items()}
    size = int(np.prod(shape))
    compiled = under.came_before(kernel) or size >= _CHOOSING
    choices = picked(kernel, flat, under, compiled)
    flat |= choices
    if choices and programs is None and size >= _CHOSEN:
        programs = _of_choices(kernel, under, flat)
    found = _Launches(kernel, under, flat, size, programs)
    found.work_out()
    terms = {name: column.reshape(shape) for name, column in found.terms.items()}
    return Predictions(
        time_s=found.times.reshape(shape),
        terms_s=terms,
        bottleneck=bottleneck(terms),
        traffic={name: column.reshape(shape) for name, column in found.traffic.items()},
    )


@record
class Prepared:
    """Programs that hold for most of some launches, none if they do not, and their inputs.

    `words` are parameters that are the same in all launches.
    """

    names: tuple[str, ...]
    programs: tuple[Working, ...]
    words: tuple[str, ...] = ()

    def serve(self, params: Mapping[str, Array]) -> bool:
        """Say whether they are of launches with these parameters."""
        return {*self.names, *self.words} == params.keys()


def prepared(
    kernel: Kernel, under: Conditions, columns: Mapping[str, Array], size: int
) -> Prepared | None:
    """Return the programs of launches, made if need be; None if parameters are no whole numbers.

    `columns` are the launches' parameters, one-dimensional arrays of one length, or those of some
    that stand for all `size` of them.
    """
    if not columns or not all(column.dtype.kind in "iu" for column in columns.values()):
        return None
    forms = under.forms(kernel, dict.fromkeys(columns, 0))
    if forms is None:
        return None
    from perfmodel.prediction.compiled.many import prepare

    whole = {name: column.astype(np.int64) for name, column in columns.items()}
    return Prepared(forms.names, prepare(forms.of_numbers, whole, under.evaluated, size))


def _of_choices(kernel: Kernel, under: Conditions, columns: Mapping[str, Array]) -> Prepared | None:
    """Return the programs of launches that choices were timed by; None if there are none."""
    words = {name: str(c[0]) for name, c in columns.items() if c.dtype.kind == "U"}
    if not all((columns[name] == word).all() for name, word in words.items()):
        return None
    forms = under.forms(kernel, {**dict.fromkeys(columns, 0), **words})
    if forms is None:
        return None
    known = (form for form in forms.of_numbers.known if form in forms.came)
    every = [each for form in known for each in forms.working(form)]
    made = tuple((each, each.made, each.screen if len(every) > 1 else None) for each in every)
    return Prepared(forms.names, made, tuple(words)) if made else None


def picked(
    kernel: Kernel, given: Mapping[str, Array], under: Conditions, compiled: bool
) -> dict[str, Array]:
    """Return what a library picks for the parameters that launches leave open.

    What the profiler sees decides: a library does not know how it will be timed. `compiled`: by
    programs, if there are some.
    """
    alone = Conditions(under.device, "profiler", under.cache)

    def times(every: Mapping[str, Array]) -> Array:
        by_the_models = Prepared(tuple(every), ())  # choices have more forms than programs
        return predict_columns(kernel, alone, every, by_the_models).time_s

    return fastest(kernel, given, times, alone, compiled)


@dataclass(slots=True)
class _Launches:
    """Launches of a kernel, one a row, and columns of what is predicted of them."""

    kernel: Kernel
    under: Conditions
    params: Mapping[str, Array]
    size: int
    programs: Prepared | None = None  # of more launches than these
    times: Array = field(init=False)
    terms: dict[str, Array] = field(default_factory=dict)
    traffic: dict[str, Array] = field(default_factory=dict)
    spare: list[Array] = field(default_factory=list)  # columns of zeros

    def work_out(self) -> None:
        """Predict all rows, chunks of them side by side."""
        self.times = np.zeros(self.size)
        self.traffic |= {name: self._zeros() for name in NUMBERS}
        rows = np.arange(self.size)
        found = self._programs()
        if found is not None and found.programs:
            inputs = [self.params[name].astype(np.int64) for name in found.names]
            left = side_by_side(lambda some: self._by_programs(found.programs, inputs, some), rows)
            rows = np.concatenate(left)
        side_by_side(self._by_arrays, rows)

    def _programs(self) -> Prepared | None:
        """Return the programs that hold for most rows; few rows have none of their own."""
        if self.programs is not None and self.programs.serve(self.params):
            return self.programs
        return (
            None if self.size < LEAST else prepared(self.kernel, self.under, self.params, self.size)
        )

    def _by_programs(
        self, programs: Sequence[Working], inputs: Sequence[Array], rows: Array
    ) -> Array:
        """Predict rows, which follow one another, by programs; return those without one."""
        from perfmodel.prediction.compiled.many import blocks

        chunk = slice(rows[0], rows[-1] + 1)
        left = np.ones(len(rows), dtype=bool)
        for block in blocks(programs, [column[chunk] for column in inputs]):
            found = block.form.layout.record(block.outputs)
            block.put(found.time_s, self.times[chunk])
            for kept, values in ((self.terms, found.terms_s), (self.traffic, found.traffic)):
                for name, value in values.items():
                    column = self._column(kept, name)
                    if np.ndim(value) or value != 0:  # they are zeros as they come
                        block.put(value, column[chunk])
            block.put(False, left)
        return rows[left]

    def _by_arrays(self, rows: Array) -> None:
        """Predict rows by the models themselves, on arrays."""
        waiting = list(batches_of(self.kernel, self.params, rows))
        while waiting:
            places, instance = waiting.pop()
            try:
                found = self.under.evaluated(instance)
            except DisagreementError as parted:
                for label in np.unique(parted.labels):
                    some = places[parted.labels == label]
                    waiting.append((some, bind(self.kernel, some_rows(self.params, some))))
                continue
            totals = {name: np.asarray(getattr(found.traffic, name)) for name in NUMBERS}
            self._keep(places, found.time.time_s, found.time.terms_s, totals)

    def _keep(
        self, rows: Array, time: Any, terms: Mapping[str, Any], traffic: Mapping[str, Any]
    ) -> None:
        """Note what was predicted; each row is in one batch, and terms that it has not are none."""
        self.times[rows] = time
        for kept, values in ((self.terms, terms), (self.traffic, traffic)):
            for name, value in values.items():
                self._column(kept, name)[rows] = value

    def _column(self, kept: dict[str, Array], name: str) -> Array:
        """Return the column of a number; threads ask for the same."""
        if name not in kept:
            kept.setdefault(name, self._zeros())
        return kept[name]

    def _zeros(self) -> Array:
        """Return a column of zeros that no other has, to any of several threads."""
        while True:
            try:
                return self.spare.pop()
            except IndexError:
                self.spare.extend(np.zeros((_TOGETHER, self.size)))


def side_by_side(work: Callable[[Array], Any], rows: Array, together: int = _CHUNK) -> list[Any]:
    """Return what work on chunks of so many rows gives."""
    chunks = [rows[start : start + together] for start in range(0, len(rows), together)]
    if len(chunks) < 2:
        return [work(chunk) for chunk in chunks]
    from concurrent.futures import ThreadPoolExecutor

    from perfmodel.chunks import cores

    # NumPy works without the interpreter lock, so chunks run side by side; more of them than
    # cores would only push each other out of the caches.
    off = switched_off()
    with ThreadPoolExecutor(cores(), initializer=switch_off, initargs=(off,)) as pool:
        return list(pool.map(work, chunks))


def batches_of(
    kernel: Kernel, params: Mapping[str, Any], rows: Array
) -> Iterator[tuple[Array, Instance]]:
    """Yield configurations that share a block shape and access widths: places, and bound."""
    instance = bind(kernel, some_rows(params, rows))
    returns = [kind.returns for kind in instance.atomics if kind is not None]
    keys = [*instance.block, *instance.element_bytes.values(), *instance.vectors, *returns]
    if instance.pipeline is None:
        keys += runs_once(instance)
    else:  # with parts, the slowest block index means another thing
        keys.append(np.minimum(instance.pipeline.parts, 2))
    differing = [key for key in map(alike, map(np.asarray, keys)) if key.size > 1]
    if not differing:
        yield rows, instance
        return
    _, inverse = np.unique(np.stack(differing), axis=1, return_inverse=True)
    for group in range(int(inverse.max()) + 1):
        places = rows[np.ravel(inverse) == group]
        yield places, bind(kernel, some_rows(params, places))


def some_rows(params: Mapping[str, Any], rows: Array) -> dict[str, Any]:
    """Return some rows of columns; what is one for all, as it is."""
    return {name: value[rows] if np.ndim(value) else value for name, value in params.items()}
