"""Forms: programs of the launches of one kernel on one device, made as launches come.

A launch takes the way through the models that its sizes decide. The program of a way holds for all
launches that decide alike, and takes a hundredth of the time. Making one takes some tens of
predictions, so they are made the rarer the more there are.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from perfmodel.hardware import Device
from perfmodel.kernels import Instance, Kernel
from perfmodel.models.mechanism import switched_off
from perfmodel.prediction.compiled.array_code import ArrayFunction, array_function
from perfmodel.prediction.compiled.array_functions import NoProgramError
from perfmodel.prediction.compiled.lowering import Program
from perfmodel.prediction.compiled.python_code import Function, python_function
from perfmodel.prediction.compiled.recording import (
    Layout,
    RecordedLaunches,
    record_bounds,
    record_launches,
)
from perfmodel.prediction.details import Details
from perfmodel.prediction.launch_numbers import LaunchNumbers

_MOST_FORMS: Final = 32
_MOST_BOUNDS: Final = 12
"""Programs of a kernel, and those that show its accesses to fit, at most."""
_FIRST: Final = 3
"""Launches without a program at which the first is made; the next each at so many times as many."""
_TOGETHER: Final = 48
"""Launches that a program is made of at most."""
_ALIKE: Final = 1e-11
_NOTHING: Final = 1e-4
"""What a program's numbers may differ by from the models': a share, by Python's and NumPy's powers,
and sectors or bytes that are left of the difference of large numbers."""
_MOST_FAILED: Final = 3
"""Programs that could not be made, after which none is tried any more."""


_MOST_KEPT: Final = 64
"""Kernels and devices whose programs are kept, those that were used last."""

Evaluated = Callable[[Instance], Details]

_kept: Final[dict[tuple[Any, ...], Forms]] = {}


def forms_of(
    kernel: Kernel, device: Device, given: Mapping[str, Any], protocol: tuple[str, ...]
) -> Forms | None:
    """Return the programs of a kernel on a device; None if parameters are not plain numbers.

    `protocol`: all else that a prediction depends on.
    """
    if kernel.assumption is not None or not all(type(v) in (int, str) for v in given.values()):
        return None
    names = tuple(name for name, value in given.items() if type(value) is int)
    words = tuple((name, value) for name, value in given.items() if type(value) is str)
    key = (id(kernel), id(device), names, words, protocol, switched_off())
    found = _kept.pop(key, None)
    if found is None or found.kernel is not kernel or found.device is not device:
        found = Forms(kernel, device, names)
        if len(_kept) >= _MOST_KEPT:
            del _kept[next(iter(_kept))]
    _kept[key] = found
    return found


@dataclass(frozen=True, eq=False, repr=False)
class Form:
    """A program of launches, as functions on numbers and on arrays."""

    program: Program
    layout: Layout

    @cached_property
    def of_one(self) -> Function:
        """The function of one launch's numbers."""
        return python_function(self.program)

    @cached_property
    def of_many(self) -> ArrayFunction | None:
        """The function of arrays of launches; None if some step takes one at a time."""
        try:
            return array_function(self.program)
        except NoProgramError:
            return None

    def agrees(self, recorded: RecordedLaunches) -> bool:
        """Say whether it gives the models' numbers for the launches that it was made of."""
        pairs = zip(recorded.launches, recorded.outputs, strict=True)
        found = [(_run(self.of_one, launch), expected) for launch, expected in pairs]
        held = [(ours, models) for ours, models in found if ours is not None]
        moved = len(recorded.outputs[0]) - len(self.layout.traffic)
        return bool(held) and all(
            math.isclose(a, b, rel_tol=_ALIKE, abs_tol=_NOTHING if place >= moved else 0.0)
            for ours, models in held
            for place, (a, b) in enumerate(zip(ours, models, strict=True))
        )


@dataclass(slots=True, repr=False)
class Forms:
    """The programs of launches that differ in whole numbers alone."""

    kernel: Kernel
    device: Device
    names: tuple[str, ...]  # of the numbers, in the order of the programs' inputs
    bounds: list[Function] = field(default_factory=list)  # those that show accesses to fit
    known: list[Form] = field(default_factory=list)
    latest: deque[Mapping[str, Any]] = field(default_factory=lambda: deque(maxlen=_TOGETHER))
    missed: int = 0
    failed: int = 0

    def numbers(self, given: Mapping[str, Any]) -> LaunchNumbers | None:
        """Return the numbers of a launch; None where no program holds."""
        inputs = [given[name] for name in self.names]
        if not self._fits(inputs):
            return None
        for place, form in enumerate(self.known):
            found = _run(form.of_one, inputs)
            if found is not None:
                self.latest.append(given)
                if place:  # the likeliest first
                    self.known.insert(0, self.known.pop(place))
                return form.layout.numbers(found)
        return None

    def _fits(self, inputs: Sequence[int]) -> bool:
        return any(_run(function, inputs) is not None for function in self.bounds)

    def learn(self, given: Mapping[str, Any], evaluated: Evaluated) -> None:
        """Make a program of a launch that none held for, if enough of them have come."""
        self.missed += 1
        self.latest.append(given)
        if self.failed >= _MOST_FAILED or self.missed < _FIRST:
            return
        if not self._fits([given[name] for name in self.names]):
            if len(self.bounds) == _MOST_BOUNDS:
                return
            try:
                self.bounds.append(python_function(record_bounds(self.kernel, given)))
            except Exception:  # whatever a recording cannot follow, arrays still can
                self.failed += 1
                return
        made = len(self.known)
        if made < _MOST_FORMS and self.missed >= _FIRST ** (made + 1):
            self.learn_of([*self.latest], evaluated)

    def learn_of(self, launches: Sequence[Mapping[str, Any]], evaluated: Evaluated) -> bool:
        """Make a program of some launches, and say whether that was possible."""
        if self.failed >= _MOST_FAILED:
            return False
        try:
            found = record_launches(self.kernel, launches, evaluated)
            form = Form(found.program, found.layout)
            sure = form.agrees(found)
        except Exception:  # as above
            sure = False
        if not sure:
            self.failed += 1
            return False
        self.known.insert(0, form)
        return True


def _run(function: Function, inputs: Sequence[int]) -> tuple[Any, ...] | None:
    try:
        return function(*inputs)
    except (ArithmeticError, ValueError, IndexError):
        return None
