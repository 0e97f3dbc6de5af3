"""What the choices of many launches take at least, by programs of the least time.

The programs work on arrays of launches and choices. Once many launches have come, they are compiled
for launches like these, for which the program is shorter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware import Device
from perfmodel.kernels import Kernel, bind
from perfmodel.models.time.least_time import least_times
from perfmodel.prediction.compiled.array_code import ArrayFunction
from perfmodel.prediction.compiled.array_functions import NoProgramError
from perfmodel.prediction.compiled.lowering import Program
from perfmodel.prediction.compiled.programs import Form, Programs, spread
from perfmodel.prediction.compiled.reciprocals import by_reciprocals
from perfmodel.prediction.compiled.scalars import Scalars
from perfmodel.prediction.compiled.sides import LAUNCH, sides
from perfmodel.prediction.compiled.usual import of_launches
from perfmodel.prediction.menu import offered
from perfmodel.records import record

if TYPE_CHECKING:
    from perfmodel.prediction.compiled.pair_code import PairFunction

_AT_ONCE: Final = 16
"""Launches whose choices NumPy works on at a time: few enough for a core's caches."""
_MOST: Final = 32
"""Programs at most."""
_COMPILED: Final = 1 << 9
"""Launches for which NumPy takes twice as long as compiling takes."""
_MOST_COMPILED: Final = 32
"""Compiled programs at most."""
_SURELY: Final = 1 - 1e-9
"""Factor of what a choice takes at least, as programs are exact to their last bits."""


@record
class _Bounds:
    """Outputs of a program: whether a library has a choice, and what it takes at least [s].

    Between them a lower bound of that, in less time.
    """

    rest: int = 0

    def record(self, outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return outputs as they are."""
        return outputs


@dataclass(slots=True, repr=False)
class LeastTimes:
    """Programs of what launches take at least, and the compiled ones, by open parameters."""

    programs: Programs[tuple[Any, ...]]
    compiled: dict[tuple[str, ...], list[PairFunction]] = field(default_factory=dict)
    slow: list[Mapping[str, Array]] = field(default_factory=list)  # launches that none held for
    came: int = 0  # how many these are
    learning: Any = field(default_factory=Lock)  # as threads ask for least times

    @classmethod
    def of(cls, kernel: Kernel, names: tuple[str, ...], device: Device, cold: bool) -> LeastTimes:
        """Return those of a kernel's launches, none made yet."""
        return cls(Programs(kernel, names, partial(_read, device=device, cold=cold), 1))

    def take(
        self,
        given: Mapping[str, Array],
        rows: Mapping[str, Array],
        words: Mapping[str, str],
        most: Array | None = None,
        near: float = math.inf,
    ) -> Array:
        """Return what choices take at least [s], (launches, choices): infinity if there is none.

        `given` are columns of whole numbers, `rows` those of the choices, `words` of all launches.
        What is more than `most` of a launch [s], or than `near` times the least of its choices, may
        be a lower bound that is more than this too.

        Raises `NoProgramError` if no program tells.
        """
        size, choices = (len(next(iter(columns.values()))) for columns in (given, rows))
        least = np.full((size, choices), np.nan)
        functions = self.compiled.setdefault(tuple(rows), [])
        tried = tuple(functions)
        left = _put(least, tried, given, most, near)
        if not len(left):
            return least
        with self.learning:
            # Of what others learned meanwhile:
            left = _put(least, functions[len(tried) :], given, most, near)
            for at in range(0, len(left), _AT_ONCE):
                some = {name: column[left[at : at + _AT_ONCE]] for name, column in given.items()}
                least[left[at : at + _AT_ONCE]] = self._by_numpy(some, rows, words)
            if len(left) and len(functions) < _MOST_COMPILED:
                self.slow.append({name: column[left] for name, column in given.items()})
                self.came += len(left)
                if self.came >= _COMPILED:
                    functions += self._compile(rows)
        return least

    def _by_numpy(
        self, given: Mapping[str, Array], rows: Mapping[str, Array], words: Mapping[str, str]
    ) -> Array:
        """Return the same of few launches."""
        columns = {name: column[:, None] for name, column in given.items()}
        columns |= {name: values[None, :] for name, values in rows.items()}
        known = self.programs.known
        inputs = [columns[name] for name in self.programs.names]
        shape = np.broadcast_shapes(*(column.shape for column in inputs))
        there, least = np.zeros(shape, dtype=bool), np.zeros(shape)
        unknown = np.ones(shape, dtype=bool)
        held_of: dict[Form[Any], int] = {}
        while unknown.any():
            if len(held_of) == len(known):
                self._learn([*np.broadcast_arrays(*inputs)], unknown, words)
            form = known[len(held_of)]
            held, *outputs = _of_unknown(form.of_arrays, inputs, unknown)
            places = np.flatnonzero(unknown)[held]
            there.flat[places], least.flat[places] = outputs
            unknown.flat[places] = False
            held_of[form] = len(places)
        known.sort(key=lambda form: -held_of.get(form, 0))
        there |= ~there.any(axis=1, keepdims=True)  # a launch that has none of them has all
        return np.where(there, least * _SURELY, np.inf)

    def _learn(self, inputs: list[Array], unknown: Array, words: Mapping[str, str]) -> None:
        """Make a program of what some launches take at least, the last of those that are known."""
        known, names = self.programs.known, self.programs.names
        some = spread(names, [column[unknown] for column in inputs], words)
        bind(self.programs.kernel, some[-1])  # an error of the launch's is one, and no program's
        made = len(known) < _MOST and self.programs.learn_of(some, lambda instance: instance)
        if not made or known[0].of_arrays is None:
            raise NoProgramError("what choices take at least")
        known.append(known.pop(0))

    def _compile(self, rows: Mapping[str, Array]) -> list[PairFunction]:
        """Return the programs compiled for launches like those that came and had none."""
        from perfmodel.prediction.compiled.pair_code import PairFunction

        slow = {name: np.concatenate([part[name] for part in self.slow]) for name in self.slow[0]}
        self.slow.clear()
        self.came = 0
        some = {name: column[:_COMPILED] for name, column in slow.items()}
        found = []
        for form in self.programs.known:
            try:
                found.append(PairFunction(_bounds_of(form.program, slow, rows), rows))
            except NoProgramError:
                continue
            found[-1].put_in_order(some)
        return sorted(found, key=lambda function: len(function.columns))  # few tell of the others


def _put(
    least: Array,
    functions: Sequence[PairFunction],
    given: Mapping[str, Array],
    most: Array | None,
    near: float,
) -> Array:
    """Put in what functions give of launches; return those that none tells all of."""
    rows = np.arange(len(least))
    for function in functions:
        if len(rows):
            rows = function.put(least, given, most, near, rows)
    return np.flatnonzero(~np.isfinite(least.min(axis=1)))  # or there is none of all choices


def _bounds_of(
    program: Program, launches: Mapping[str, Array], rows: Mapping[str, Array]
) -> Program:
    """Return a program's least time of launches like some: infinity where there is no choice."""
    truths = [s for s, side in sides(program, rows).items() if side == LAUNCH and s.kind == "b"]
    ranges = {name: (int(values.min()), int(values.max())) for name, values in rows.items()}
    found = of_launches(program, launches, ranges, truths)
    there, *least = found.outputs
    do = Scalars()
    sure = tuple(do.where(there, do.apply("multiply", each, _SURELY), np.inf) for each in least)
    return by_reciprocals(Program(found.inputs, found.guards, found.products, sure))


def _of_unknown(
    function: ArrayFunction | None, inputs: Sequence[Array], unknown: Array
) -> tuple[Array, Array, Array]:
    """Return for which unknown choices a program holds, and of those its two outputs.

    Of all choices at once as rows and columns, or of some.
    """
    shape = unknown.shape
    if not unknown.all():
        inputs = [column[unknown] for column in np.broadcast_arrays(*inputs)]
        shape = inputs[0].shape
    assert function is not None
    with np.errstate(all="ignore"):
        held, outputs = function(*inputs)
    held = np.broadcast_to(held, shape).ravel()
    there, _, least = (np.broadcast_to(output, shape).ravel()[held] for output in outputs)
    return held, there != 0, least


def _read(instance: Any, device: Device, cold: bool) -> tuple[_Bounds, tuple[Any, ...]]:
    """Return whether a library has some launches, and what they take at least."""
    # What the profiler sees: a library does not know how it will be timed.
    least = least_times(instance, device, "profiler", cold)
    return _Bounds(), (offered(instance, device), *least)
