"""Choices from a menu by programs: of the few that may be fastest, the one that is.

A program of what each choice takes at least (`perfmodel.models.time.least_time`) leaves a few. The
programs of the kernel's launches give their times; where none holds, the models do, and the more of
such launches come, the more programs are made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.errors import PerfmodelError
from perfmodel.expressions import evaluate
from perfmodel.kernels import Instance, bind
from perfmodel.kernels.expansion import expanded
from perfmodel.kernels.parameter_values import parameter_values
from perfmodel.models.agreement import DisagreementError
from perfmodel.models.grid.distinct import distinct_columns
from perfmodel.prediction.compiled.array_code import ArrayFunction
from perfmodel.prediction.compiled.array_functions import NoProgramError
from perfmodel.prediction.compiled.forms import Forms
from perfmodel.prediction.compiled.least_times import LeastTimes
from perfmodel.prediction.compiled.likely import Likely
from perfmodel.prediction.compiled.many import blocks
from perfmodel.prediction.compiled.programs import Form, run, spread
from perfmodel.prediction.compiled.recording import Evaluated
from perfmodel.prediction.compiled.usual import of_launches, small_truths
from perfmodel.prediction.conditions import Conditions
from perfmodel.prediction.launch_numbers import LaunchNumbers
from perfmodel.prediction.menu import first_of_fastest
from perfmodel.prediction.predict_many import batches_of

Times = Callable[[Mapping[str, Any]], Array]
"""Gives the models' times of launches [s], by columns of their parameters."""

_AT_ONCE: Final = 512
"""Launches whose choices are bounded at a time: more leave a core's caches, fewer pay for calls."""
_DECIDED: Final = 1 << 16
"""Launches that are decided together."""
_KEPT: Final = 64
"""Choices of a launch that are kept in mind, those that take the least: few need more."""
_ALL: Final = 1 << 13
"""Launches that are decided together of which all choices are."""
_FIRST_OF_MODELS: Final = 8
"""Choices of each of few launches that the models time first, which takes as long for some tens as
for one; of many launches, and by programs, the likeliest."""
_NEXT: Final = 16
"""Factor by which more are timed each next time, of those that may be faster: few rounds, each of
which takes the models as long for some launches as for hundreds."""
_ALIKE: Final = 1 + 1e-11
"""Factor of the fastest's time within which all are timed: programs and models differ by less."""
_MOST: Final = 32
"""Programs of the launches at most."""
_MORE: Final = 32
"""Times that the models had to give before the first program is made; as many more for each next
one: making one takes as long as they take for some eighty."""
_AS_ONE: Final = 1 << 9
"""Launches that take the models about twice as long as some tens of them."""
_OTHERS: Final = 1 << 10
"""Launches of other sizes among which some are sought that a program holds for too."""
_TIMES: Final = (1, 1, 2, 3, 7)
"""Factors by which their sizes differ."""
_MANY: Final = 256
"""Launches from which on programs work on arrays of them."""
_WORTH: Final = 1 << 16
"""Times that a program has to give for making it to take less time than the models."""
_FEW: Final = 0.01
"""Share of many launches that is left to the models."""
COMPILED: Final = 1 << 18
"""Launches that a program was run on from which on it is compiled: NumPy took as long by then."""
_NARROWED: Final = 1 << 16
"""The same from which on a program is made anew for launches like those that came, which takes a
third less time."""
_TRIED: Final = 1 << 12
_HELD: Final = 0.1
"""Launches that it is made of at most, and the share of all that there has to be of them."""
_SMALL: Final = 200
"""Operations of what such launches may be asked, at most."""
_CACHED: Final = 1 << 13
"""Choices of which an expression is evaluated at a time: few enough for a core's caches."""
_CALL: Final = 1 << 9
"""Launches for which NumPy takes as long as its calls do themselves."""


@dataclass(slots=True, repr=False)
class Choices:
    """Choices for the parameters that launches of a kernel leave open."""

    forms: Forms  # of launches with all parameters given
    rows: Mapping[str, Array]  # of each open parameter the values, by choice
    words: Mapping[str, str]  # parameters that are the same in all launches
    evaluated: Evaluated
    times: Times
    least: LeastTimes

    @classmethod
    def of(
        cls,
        forms: Forms,
        rows: Mapping[str, Array],
        words: Mapping[str, str],
        under: Conditions,
        times: Times,
    ) -> Choices:
        """Return the choices of launches that forms are of."""
        if forms.of_bounds is None:
            cold = under.cache == "cold"
            forms.of_bounds = LeastTimes.of(forms.kernel, forms.names, forms.device, cold)
        return cls(forms, rows, words, under.evaluated, times, forms.of_bounds)

    def fastest(self, given: Mapping[str, Array]) -> Array:
        """Return the place of the fastest choice of each launch.

        `given` are columns of whole numbers: the parameters that launches do not leave open.

        Raises
        ------
        NoProgramError
            If no program tells what choices take at least.
        """
        size = len(next(iter(given.values())))
        starts = range(0, size, _DECIDED)
        worth = max(_MANY, _WORTH // len(starts))
        parts = ({n: c[at : at + _DECIDED] for n, c in given.items()} for at in starts)
        return np.concatenate([self._decided(part, worth, _KEPT) for part in parts])

    def _decided(self, given: Mapping[str, Array], worth: int, most: int) -> Array:
        """Return the same of launches whose programs have to give so many times each.

        Of each launch, `most` choices that take the least are timed at most; where that was not
        enough, all may be.
        """
        likely = self._likely(given, most)
        times = np.full(likely.least.shape, np.inf)
        best = np.full(len(times), np.inf)
        few = len(times) < _MANY and not self.forms.of_numbers.known
        together = _KEPT if most > _KEPT else _FIRST_OF_MODELS if few else 1
        while True:
            launch, at = likely.likeliest(best * _ALIKE, together)
            if not len(launch):
                break
            columns = {name: column[launch] for name, column in given.items()}
            place = likely.place[launch, at]
            columns |= {name: values[place] for name, values in self.rows.items()}
            first, which = self._distinct(launch, likely.least[launch, at], columns)
            columns = {name: column[first] for name, column in columns.items()}
            times[launch, at] = self._timed(columns, worth)[which]
            likely.least[launch, at] = np.inf
            best, together = times.min(axis=1), together * _NEXT
        found = likely.place[np.arange(len(times)), first_of_fastest(times)]
        more = np.flatnonzero(likely.beyond <= best * _ALIKE)
        for start in range(0, len(more), _ALL):
            some = more[start : start + _ALL]
            part = {name: column[some] for name, column in given.items()}
            found[some] = self._decided(part, worth, len(next(iter(self.rows.values()))))
        return found

    def _likely(self, given: Mapping[str, Array], most: int) -> Likely:
        """Return the choices of launches that take the least, so many of each at most."""
        size, choices = len(next(iter(given.values()))), len(next(iter(self.rows.values())))
        found = Likely.space(size, min(most, choices))
        for at in range(0, size, _AT_ONCE):
            part = slice(at, at + _AT_ONCE)
            some = {name: column[part] for name, column in given.items()}
            found.put(part, self.least.take(some, self.rows, self.words))
        return found

    def _distinct(
        self, launch: Array, least: Array, columns: Mapping[str, Array]
    ) -> tuple[Array, Array]:
        """Return where choices are that may differ in time, and the place of each among these.

        Those that a launch takes the same time with take as long at least, too.
        """
        kernel, every = self.forms.kernel, np.stack([launch, least.view(np.int64)])
        first, which = distinct_columns(every)
        if kernel.alike is None or len(first) == len(which):
            return np.arange(len(which)), np.arange(len(which))
        several = np.flatnonzero(np.bincount(which)[which] > 1)
        number = -1 - np.arange(len(which))
        for at in range(0, len(several), _CACHED):
            some = several[at : at + _CACHED]
            given = {name: column[some] for name, column in columns.items()}
            known = parameter_values(kernel, {**given, **self.words})
            number[some] = evaluate(expanded(kernel, kernel.alike), known)
        return distinct_columns(np.stack([launch, number]))

    def _timed(self, columns: Mapping[str, Array], worth: int) -> Array:
        """Return the times of launches with all parameters given [s].

        Where `worth` of them at least are left, a program is made for these.
        """
        inputs = np.stack([columns[name] for name in self.forms.names])
        self._narrow(inputs[:, :: 1 + inputs.shape[1] // _TRIED])
        times = np.full(inputs.shape[1], np.nan)
        self._fill(times, inputs)
        left = np.isnan(times)
        while left.sum() >= max(worth, _FEW * len(left)) and self._learn(inputs[:, left]):
            self._fill(times, inputs)
            left = np.isnan(times)
        if left.any():
            some = {name: column[left] for name, column in columns.items()}
            times[left] = self.times({**some, **self.words})
            self.forms.undecided += 1 + int(left.sum()) // _AS_ONE
            if self.forms.undecided > _MORE * (1 + len(self.forms.of_numbers.known)):
                self._learn(inputs[:, left])
        return times

    def _fill(self, times: Array, inputs: Array) -> None:
        """Put in the times that programs know of those that are NaN."""
        left = np.flatnonzero(np.isnan(times))
        if len(left) >= _MANY:
            times[left] = self._times_of_many(inputs[:, left])
            return
        open_ = self._open()
        held_for, known = self.forms.held_for, self.forms.of_numbers.known
        for place, launch in zip(left.tolist(), inputs[:, left].T.tolist(), strict=True):
            choice = tuple(launch[i] for i in open_)
            likely = [form for form in known if form is held_for.get(choice)]
            for form in (*likely, *known):
                found = run(form.of_one, launch)
                if found is not None:
                    times[place] = found[0]
                    held_for[choice] = form
                    break

    def _times_of_many(self, inputs: Array) -> Array:
        """Return the times of many launches [s], NaN where no program holds.

        By the program first that held for most launches of the same choice; then by all others.
        """
        known, held_for = self.forms.of_numbers.known, self.forms.held_for
        times = np.full(inputs.shape[1], np.nan)
        if not known:
            return times
        choices, which = np.unique(inputs[self._open()], axis=1, return_inverse=True)
        which, keys = which.ravel(), list(map(tuple, choices.T.tolist()))
        places = {form: place for place, form in enumerate(known)}
        guess = np.array([places.get(held_for[k], 0) if k in held_for else 0 for k in keys])[which]
        few = np.bincount(guess, minlength=len(known)) < _MANY
        guess = np.where(few[guess], 0, guess)  # a call of few takes as long as one of many
        held = np.zeros((len(known), len(keys)))
        for likely in (True, False):
            for form, place in places.items():
                left = np.flatnonzero(np.isnan(times) & ((guess == place) == likely))
                if len(left):
                    times[left] = self._times_by(form, inputs[:, left])
                    here = which[left[~np.isnan(times[left])]]
                    held[place] += np.bincount(here, minlength=len(keys))
        best = held.argmax(axis=0)
        some = np.flatnonzero(held.any(axis=0))
        held_for.update({keys[i]: known[best[i]] for i in some})
        held_by = self.forms.held
        held_by.update(dict(zip(known, held.sum(axis=1).astype(int).tolist(), strict=True)))
        known.sort(key=lambda form: -held_by[form])
        return times

    def _times_by(self, form: Form[LaunchNumbers], inputs: Array) -> Array:
        """Return the times of launches by one program [s], NaN where it does not hold."""
        times = np.full(inputs.shape[1], np.nan)
        first, *others = self.forms.working(form)
        functions = (self._function(first, len(times)), *(other.made for other in others))
        working = [(f, of, None) for f, of in zip((first, *others), functions, strict=True)]
        for block in blocks(working, [*inputs]):
            block.put(block.outputs[0], times)
        return times

    def _open(self) -> list[int]:
        """Return the places of the open parameters among a program's inputs."""
        return [place for place, name in enumerate(self.forms.names) if name in self.rows]

    def _function(self, form: Form[Any], launches: int) -> ArrayFunction | None:
        """Return a program's function of arrays: compiled, once very many launches have come."""
        self.forms.came[form] += _CALL + launches
        return form.of_many if self.forms.came[form] >= COMPILED else form.of_arrays

    def _narrow(self, inputs: Array) -> None:
        """Make programs that many launches came to anew, of launches like those that come."""
        came, narrow = self.forms.came, self.forms.narrow
        if inputs.shape[1] < _OTHERS:  # some few that were left
            return
        for form in self.forms.of_numbers.known:
            if came[form] < _NARROWED or form in narrow or "of_many" in vars(form):
                continue
            held = ~np.isnan(self._times_by(form, inputs))
            narrow[form] = None
            if held.mean() < _HELD:
                continue
            launches = dict(zip(self.forms.names, inputs[:, held], strict=True))
            try:
                made = of_launches(form.program, launches, {}, small_truths(form.program, _SMALL))
            except NoProgramError:
                continue
            narrow[form] = found = Form(made, form.layout)
            came[found] = came[form]

    def _learn(self, columns: Array) -> bool:
        """Make a program of launches that none holds for, and say whether that was possible."""
        self.forms.undecided = 0
        programs = self.forms.of_numbers
        if len(programs.known) >= _MOST:
            return False
        columns = np.concatenate([self._others(columns), columns], axis=1)
        return programs.learn_of(self._alike(columns), self.evaluated, general=True)

    def _others(self, columns: Array) -> Array:
        """Return launches of other sizes with any of the choices, for a program to hold for both.

        Sizes are multiples of those that came, which are divided by as much.
        """
        random = np.random.default_rng(0)
        found = columns[:, random.integers(0, columns.shape[1], _OTHERS)]
        chosen = random.integers(0, len(next(iter(self.rows.values()))), _OTHERS)
        for place, name in enumerate(self.forms.names):
            if name in self.rows:
                found[place] = self.rows[name][chosen]
            else:
                times = random.choice(_TIMES, _OTHERS)
                found[place] *= np.where(found[place] > 1, times, 1)
        return found

    def _alike(self, columns: Array) -> list[dict[str, Any]]:
        """Return some of the launches that the models have the same forms for as for the last."""
        every: dict[str, Any] = {**dict(zip(self.forms.names, columns, strict=True)), **self.words}
        rows = np.arange(columns.shape[1])
        try:
            batches = (places for places, _ in batches_of(self.forms.kernel, every, rows))
            rows = next(places for places in batches if places[-1] == rows[-1])
            while True:
                try:
                    self.evaluated(self._bound(columns[:, rows]))
                    break
                except DisagreementError as parted:
                    rows = rows[parted.labels == parted.labels[-1]]
        except PerfmodelError:  # of other sizes, which may be too large for the GPU
            rows = rows[-1:]
        return spread(self.forms.names, [column[rows] for column in columns], self.words)

    def _bound(self, columns: Array) -> Instance:
        given = dict(zip(self.forms.names, columns, strict=True))
        return bind(self.forms.kernel, {**given, **self.words})
