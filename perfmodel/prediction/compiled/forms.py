"""Forms: the programs of a kernel's launches on one device, under one protocol."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from perfmodel.hardware import Device
from perfmodel.kernels import Kernel
from perfmodel.models.global_accesses import CacheState
from perfmodel.models.mechanism import switched_off
from perfmodel.models.time.stage import Timing
from perfmodel.prediction.compiled.layouts import read_numbers, read_reliability
from perfmodel.prediction.compiled.programs import ALIKE, Form, Programs, run
from perfmodel.prediction.compiled.python_code import Function, python_function
from perfmodel.prediction.compiled.recording import Evaluated, record_bounds
from perfmodel.prediction.launch_numbers import LaunchNumbers
from perfmodel.prediction.reliability import Reliability

if TYPE_CHECKING:
    from perfmodel.prediction.compiled.least_times import LeastTimes

_FIRST: Final = 3
_FIRST_RELIABILITY: Final = 9
"""Launches at which a program of their numbers, and of their reliability, is made: by then the
models have taken about as long as that takes."""
_MOST_BOUNDS: Final = 12
"""Programs that show a kernel's accesses to fit, at most."""
_MOST_KEPT: Final = 64
"""Kernels and devices whose programs are kept, those that were used last."""

_kept: Final[dict[tuple[Any, ...], Forms]] = {}


def forms_of(
    kernel: Kernel, device: Device, given: Mapping[str, Any], timing: Timing, cache: CacheState
) -> Forms | None:
    """Return the programs of a kernel on a device; None if parameters are not plain numbers."""
    if kernel.assumption is not None or not all(type(v) in (int, str) for v in given.values()):
        return None
    names = tuple(name for name, value in given.items() if type(value) is int)
    words = tuple((name, value) for name, value in given.items() if type(value) is str)
    key = (id(kernel), id(device), names, words, timing, cache, switched_off())
    found = _kept.pop(key, None)
    if found is None or found.kernel is not kernel or found.device is not device:
        found = Forms.of(kernel, device, names, timing, cache)
        if len(_kept) >= _MOST_KEPT:
            del _kept[next(iter(_kept))]
    _kept[key] = found
    return found


@dataclass(slots=True, repr=False)
class Forms:
    """The programs of launches that differ in whole numbers alone."""

    kernel: Kernel
    device: Device
    names: tuple[str, ...]  # of the numbers, in the order of the programs' inputs
    of_numbers: Programs[LaunchNumbers]
    of_reliability: Programs[Reliability]
    bounds: list[Function] = field(default_factory=list)  # those that show accesses to fit
    off: object = field(default_factory=switched_off)  # mechanisms, while they are used
    of_bounds: LeastTimes | None = None  # of what they take at least, where a menu needs that
    came: Counter[Form[Any]] = field(default_factory=Counter)  # launches that programs were run on
    held: Counter[Form[Any]] = field(default_factory=Counter)  # of these, those that they held for
    held_for: dict[tuple[int, ...], Form[LaunchNumbers]] = field(default_factory=dict)  # a choice
    narrow: dict[Form[LaunchNumbers], Form[LaunchNumbers] | None] = field(default_factory=dict)
    undecided: int = 0  # times that choices from a menu had no program, since one was made

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        device: Device,
        names: tuple[str, ...],
        timing: Timing,
        cache: CacheState,
    ) -> Forms:
        """Return forms without a program yet."""
        reliability = partial(read_reliability, timing=timing, cache=cache)
        return cls(
            kernel,
            device,
            names,
            Programs(kernel, names, read_numbers, _FIRST),
            Programs(kernel, names, reliability, _FIRST_RELIABILITY),
        )

    def numbers(self, given: Mapping[str, Any]) -> LaunchNumbers | None:
        """Return the numbers of a launch; None where no program holds."""
        return self.of_numbers.found(given) if self._fits(given) else None

    def reliability(self, given: Mapping[str, Any], evaluated: Evaluated) -> Reliability | None:
        """Return the reliability of a launch that fits; None where no program holds."""
        if switched_off() != self.off:
            return None
        programs = self.of_reliability
        found = programs.found(given)
        if found is None and programs.miss(given):
            programs.learn(evaluated)
        return found

    def working(self, form: Form[LaunchNumbers]) -> list[Form[LaunchNumbers]]:
        """Return the programs of many launches that stand for one: the narrow one, then itself."""
        narrow = self.narrow.get(form)
        return [form] if narrow is None else [narrow, form]

    def _fits(self, given: Mapping[str, Any]) -> bool:
        inputs = [given[name] for name in self.names]
        return any(run(function, inputs) is not None for function in self.bounds)

    def learn(self, given: Mapping[str, Any], evaluated: Evaluated) -> None:
        """Make a program of a launch that none held for, if enough of them have come."""
        programs = self.of_numbers
        if programs.miss(given) and (self._fits(given) or self._learn_bounds(given)):
            programs.learn(evaluated)

    def hold_to(self, given: Mapping[str, Any], time_s: float) -> None:
        """Have no programs any more if theirs is not the time [s] that a launch has."""
        found = self.numbers(given)
        if found is not None and not math.isclose(found.time_s, time_s, rel_tol=ALIKE):
            self.of_numbers.give_up()

    def _learn_bounds(self, given: Mapping[str, Any]) -> bool:
        """Make a program that shows a launch to fit, and say whether that was possible."""
        if len(self.bounds) == _MOST_BOUNDS:
            return False
        try:
            self.bounds.append(python_function(record_bounds(self.kernel, given)))
        except Exception:  # whatever a recording cannot follow, arrays still can
            self.of_numbers.failed += 1
            return False
        return True
