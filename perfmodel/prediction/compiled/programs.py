"""Programs of what is read of one kernel's launches, made as launches come.

A launch takes the way through the models that its sizes decide. The program of a way holds for all
launches that decide alike, and takes a hundredth of the time. Making one takes some tens of
predictions, so they are made the rarer the more there are.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

import numpy as np

from perfmodel.arrays import Array
from perfmodel.kernels import Kernel
from perfmodel.prediction.compiled.array_code import ArrayFunction, array_function
from perfmodel.prediction.compiled.array_functions import NoProgramError
from perfmodel.prediction.compiled.layouts import Layout, Read
from perfmodel.prediction.compiled.lowering import Program
from perfmodel.prediction.compiled.python_code import Function, python_function
from perfmodel.prediction.compiled.recording import Evaluated, RecordedLaunches, record_launches
from perfmodel.prediction.compiled.usual import parting, screen

Found = TypeVar("Found")

_MOST: Final = 32
"""Programs at most."""
_AGAIN: Final = 2
"""How many times as many launches without a program each next one is made at."""
_TOGETHER: Final = 48
"""Launches that a program is made of at most."""
_SAMPLE: Final = 60
"""Launches that a program of very many is made of at most."""
ALIKE: Final = 1e-11
_NOTHING: Final = 1e-4
"""What a program's numbers may differ by from the models': a share, by Python's and NumPy's powers,
and sectors or bytes that are left of the difference of large numbers."""
_MOST_FAILED: Final = 3
"""Programs that could not be made, after which none is tried any more."""


@dataclass(frozen=True, eq=False, repr=False)
class Form(Generic[Found]):
    """A program of launches, as functions on numbers and on arrays."""

    program: Program
    layout: Layout[Found]

    @cached_property
    def of_one(self) -> Function:
        """The function of one launch's numbers."""
        return python_function(self.program)

    @cached_property
    def of_many(self) -> ArrayFunction | None:
        """The function of arrays of very many launches; None if some step takes one at a time.

        Compiling it takes as long as NumPy takes for some hundred thousand launches.
        """
        from perfmodel.prediction.compiled.vector_code import vector_function

        try:
            return vector_function(self.program)
        except NoProgramError:
            return self.of_arrays

    @property
    def made(self) -> ArrayFunction | None:
        """The function of many launches, where it was made, or that of arrays."""
        return vars(self).get("of_many", self.of_arrays)

    @cached_property
    def of_arrays(self) -> ArrayFunction | None:
        """The same by NumPy: of arrays that broadcast."""
        try:
            return array_function(self.program)
        except NoProgramError:
            return None

    @cached_property
    def screen(self) -> ArrayFunction | None:
        """A function of arrays that says which launches it may hold for, in a tenth of the time."""
        return self._asked(screen(self.program))

    @property
    def asked(self) -> ArrayFunction | None:
        """The function of more guards, where it was made, or that of few."""
        return vars(self).get("_parted", self.screen)

    def parted(self, columns: Sequence[Array]) -> ArrayFunction | None:
        """Return the same of more guards, which part launches with these inputs; made once."""
        if "_parted" not in vars(self):
            vars(self)["_parted"] = self._asked(parting(self.program, columns))
        found: ArrayFunction | None = vars(self)["_parted"]
        return found

    def _asked(self, guards: Program) -> ArrayFunction | None:
        few = Form(guards, self.layout)
        return few.of_many if "of_many" in vars(self) else few.of_arrays

    def agrees(self, recorded: RecordedLaunches[Found], many: bool = False) -> bool:
        """Say whether it gives the models' numbers for the launches that it was made of.

        By the function of one, or of `many`, whichever will be needed.
        """
        rest = len(recorded.outputs[0]) - self.layout.rest
        found = self._outputs(recorded.launches, many)
        pairs = zip(found, recorded.outputs, strict=True)
        held = [(ours, models) for ours, models in pairs if ours is not None]
        return bool(held) and all(
            math.isclose(a, b, rel_tol=ALIKE, abs_tol=_NOTHING if place >= rest else 0.0)
            for ours, models in held
            for place, (a, b) in enumerate(zip(ours, models, strict=True))
        )

    def _outputs(
        self, launches: Sequence[Sequence[int]], many: bool
    ) -> list[tuple[Any, ...] | None]:
        """Return what it gives of each launch; None where it does not hold."""
        function = self.of_arrays if many else None
        if function is None:
            return [run(self.of_one, launch) for launch in launches]
        with np.errstate(all="ignore"):
            held, outputs = function(*np.array(launches, dtype=np.int64).T)
        columns = (np.broadcast_to(output, len(launches)).tolist() for output in outputs)
        rows = zip(*columns, strict=True)
        return [row if holds else None for row, holds in zip(rows, held.tolist(), strict=True)]


@dataclass(slots=True, repr=False)
class Programs(Generic[Found]):
    """The programs of launches that differ in whole numbers alone."""

    kernel: Kernel
    names: tuple[str, ...]  # of the numbers, in the order of the programs' inputs
    read: Read[Found]  # what the programs give
    first: int  # launches without a program at which the first is made
    known: list[Form[Found]] = field(default_factory=list)
    latest: deque[Mapping[str, Any]] = field(default_factory=lambda: deque(maxlen=_TOGETHER))
    missed: int = 0
    failed: int = 0
    left: float = 0  # launches that calls of many left to the models, since a program was made

    def found(self, given: Mapping[str, Any]) -> Found | None:
        """Return what is read of a launch; None where no program holds."""
        inputs = [given[name] for name in self.names]
        for place, form in enumerate(self.known):
            outputs = run(form.of_one, inputs)
            if outputs is not None:
                self.latest.append(given)
                if place:  # the likeliest first
                    self.known.insert(0, self.known.pop(place))
                return form.layout.record(outputs)
        return None

    def give_up(self) -> None:
        """Have no programs, and make none any more."""
        self.known.clear()
        self.failed = _MOST_FAILED

    def drop_latest(self) -> None:
        """Take back the program made last, which was of no use."""
        del self.known[0]
        self.failed += 1

    def miss(self, given: Mapping[str, Any]) -> bool:
        """Note a launch that no program held for, and say whether any is worth making yet."""
        self.missed += 1
        self.latest.append(given)
        return self.failed < _MOST_FAILED and self.missed >= self.first

    def learn(self, evaluated: Evaluated) -> None:
        """Make a program of the latest launches, if enough have come since the last one."""
        if self.missed >= self.first * _AGAIN ** len(self.known):
            self.learn_of([*self.latest], evaluated)

    def learn_of(
        self,
        launches: Sequence[Mapping[str, Any]],
        evaluated: Evaluated,
        general: bool = False,
        usual: int = 0,
    ) -> bool:
        """Make a program of some launches, as `record_launches`, and say whether one was made.

        `usual` is for calls of very many, which need no function of one launch.
        """
        if self.failed >= _MOST_FAILED or len(self.known) >= _MOST:
            return False
        for also in (True, False) if general else (False,):
            try:
                found = record_launches(self.kernel, launches, evaluated, self.read, also, usual)
                form = Form(found.program, found.layout)
                if form.agrees(found, usual > 0):
                    self.known.insert(0, form)
                    return True
            except Exception:  # whatever a recording cannot follow, arrays still can
                continue
        self.failed += 1
        return False


def evenly(size: int, count: int) -> Array:
    """Return the places of so many of some launches at most, evenly from the first to the last."""
    return np.linspace(0, size - 1, min(count, size)).astype(np.int64)


def spread(
    names: Sequence[str], inputs: Sequence[Array], words: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return some of many launches that a program may be made of, by their parameters.

    `inputs` are columns of the numbers of these `names`; `words` are the same in all.
    """
    some = evenly(len(inputs[0]), _SAMPLE)
    launches = zip(*(column[some].tolist() for column in inputs), strict=True)
    return [{**dict(zip(names, launch, strict=True)), **words} for launch in launches]


def run(function: Function, inputs: Sequence[int]) -> tuple[Any, ...] | None:
    """Return what a program gives; None where it does not hold."""
    try:
        return function(*inputs)
    except (ArithmeticError, ValueError, IndexError):
        return None
