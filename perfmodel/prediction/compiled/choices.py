"""Choices from a menu by programs: of the few that may be fastest, the one that is.

A program of what each choice takes at least (`perfmodel.models.time.least_time`) leaves a few. The
programs of the kernel's launches give their times; where none holds, the models do, and the more of
such launches come, the more programs are made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.errors import PerfmodelError
from perfmodel.expressions import evaluate
from perfmodel.kernels import bind
from perfmodel.kernels.expansion import expanded
from perfmodel.kernels.parameter_values import parameter_values
from perfmodel.models.agreement import DisagreementError
from perfmodel.models.grid.distinct import distinct_columns, first_of_equals
from perfmodel.prediction.compiled.array_code import ArrayFunction
from perfmodel.prediction.compiled.array_functions import NoProgramError
from perfmodel.prediction.compiled.forms import Forms
from perfmodel.prediction.compiled.least_times import LeastTimes
from perfmodel.prediction.compiled.likely import Likely
from perfmodel.prediction.compiled.many import PARTED, blocks
from perfmodel.prediction.compiled.programs import Form, evenly, run, spread
from perfmodel.prediction.compiled.recording import Evaluated
from perfmodel.prediction.compiled.usual import of_launches, small_truths
from perfmodel.prediction.conditions import Conditions
from perfmodel.prediction.menu import SAME
from perfmodel.prediction.predict_many import batches_of, side_by_side, some_rows

Times = Callable[[Mapping[str, Any]], Array]
"""Gives the models' times of launches [s], by columns of their parameters."""

_AT_ONCE: Final = 1 << 11
"""Launches whose choices are bounded at a time: fewer pay for calls, and for others beside them."""
_DECIDED: Final = 1 << 18
"""Launches that are decided together."""
_NEAR: Final = 1.03
"""Factor of the least that any choice of a launch takes at least up to which choices are kept in
mind: few launches take longer."""
_FIRST_OF_MODELS: Final = 8
"""Choices of each of few launches that the models time first, which takes as long for some tens as
for one; of many launches, and by programs, the likeliest."""
_NEXT: Final = 16
"""Factor by which more are timed each next time, of those that may be faster: few rounds, each of
which takes the models as long for some launches as for hundreds."""
_SURELY: Final = 1 + 1e-11
"""Factor of the fastest's time within which all are timed: programs and models differ by less."""
_NO_CHOICE: Final = 1 << 60
"""More than any choice's place."""
_MOST: Final = 32
"""Programs of the launches at most."""
_MORE: Final = 32
"""Times that the models had to give before the first program is made; as many more for each next
one: making one takes as long as they take for some eighty."""
_AS_ONE: Final = 1 << 4
"""Launches that take the models about twice as long as some tens of them."""
_OTHERS: Final = 1 << 10
"""Launches of other sizes among which some are sought that a program holds for too."""
_TIMES: Final = (1, 1, 2, 3, 7)
"""Factors by which their sizes differ."""
_CHUNK: Final = 1 << 15
"""Launches with choices that a thread times at a time."""
_MANY: Final = 256
"""Launches from which on programs work on arrays of them."""
_WORTH: Final = 1 << 16
"""Times that a program has to give for making it to take less time than the models."""
_FEW: Final = 0.01
"""Share of many launches that is left to the models."""
COMPILED: Final = 1 << 15
"""Launches that a program was run on from which on it is compiled: NumPy took as long by then."""
_NARROWED: Final = 1 << 16
"""The same from which on a program is made anew for launches like those that came, which takes a
third less time."""
_TRIED: Final = 1 << 12
_HELD: Final = 0.02
"""Launches that it is made of at most, and the share of all that there has to be of them."""
_SMALL: Final = 200
"""Operations of what such launches may be asked, at most."""
_CACHED: Final = 1 << 13
"""Choices of which an expression is evaluated at a time: few enough for a core's caches."""
_SEVERAL: Final = 1 << 3
"""Choices that programs time as quickly as it takes to ask which of them take the same time."""
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

        Raises `NoProgramError` if no program tells what choices take at least.
        """
        size = len(next(iter(given.values())))
        starts = range(0, size, _DECIDED)
        worth = max(_MANY, _WORTH // len(starts))
        parts = ({n: c[at : at + _DECIDED] for n, c in given.items()} for at in starts)
        return np.concatenate([self._decided(part, worth) for part in parts])

    def _decided(self, given: Mapping[str, Array], worth: int) -> Array:
        """Return the same of launches whose programs have to give so many times each.

        Of each launch the choices are timed that take nearly the least at least; where that was not
        enough, those too that take no more than the fastest of these at least.
        """
        size = len(next(iter(given.values())))
        likely, looked_at = self._likely(given)
        together = _FIRST_OF_MODELS
        if size >= _MANY or self.forms.of_numbers.known:
            self._time(likely, likely.first(size), given, worth)
            likely = likely.only(likely.least <= likely.best(size)[likely.launch] * _SURELY)
            together = _NEXT
        likely = self._timed(likely, likely.best(size), given, worth, together)
        best = likely.best(size)
        more = np.flatnonzero(looked_at < best * _SURELY)
        if len(more):
            part = {name: column[more] for name, column in given.items()}
            others, _ = self._likely(part, looked_at[more], best[more] * _SURELY)
            others.launch = more[others.launch]
            likely = Likely.joined([likely, self._timed(others, best, given, worth, _NEXT)])
            best = likely.best(size)
        found = np.full(size, _NO_CHOICE)
        fastest = likely.time <= best[likely.launch] * SAME
        np.minimum.at(found, likely.launch[fastest], likely.place[fastest])
        return found

    def _timed(
        self, likely: Likely, best: Array, given: Mapping[str, Array], worth: int, together: int
    ) -> Likely:
        """Return choices in order, timed where they may be faster than the `best` of each launch.

        So many of each at first; the more of them, the rarer programs are called.
        """
        likely = likely.in_order()
        same = self._same(likely, given)
        np.minimum.at(likely.time, same, likely.time)
        while len(some := likely.next(best * _SURELY, same, together)):
            self._time(likely, some, given, worth)
            best = np.minimum(best, likely.best(len(best)))
            together *= _NEXT
        likely.time = likely.time[same]
        return likely

    def _likely(
        self, given: Mapping[str, Array], least: Array | None = None, most: Array | None = None
    ) -> tuple[Likely, Array]:
        """Return choices of launches, and up to which least time all are among them [s].

        Those that take nearly the least at least; or more than `least` and up to `most` [s].
        """
        size = len(next(iter(given.values())))
        looked_at = np.full(size, np.inf) if most is None else most

        def work(some: Array) -> Likely:
            part = slice(some[0], some[-1] + 1)
            columns = {name: column[part] for name, column in given.items()}
            near = _NEAR if most is None else np.inf
            times = self.least.take(columns, self.rows, self.words, looked_at[part], near)
            if most is None:
                looked_at[part] = times.min(axis=1) * _NEAR
            found = Likely.of(times, looked_at[part], None if least is None else least[part])
            found.launch += some[0]
            return found

        return Likely.joined(side_by_side(work, np.arange(size), _AT_ONCE)), looked_at

    def _same(self, likely: Likely, given: Mapping[str, Array]) -> Array:
        """Return for each choice the first of those that a launch takes the same time with.

        They take as long at least, too.
        """
        kernel, found = self.forms.kernel, np.arange(len(likely.launch))
        if kernel.alike is None or not len(found):
            return found
        pairs = np.stack([likely.launch, likely.least.view(np.int64)])
        new = np.asarray(first_of_equals(pairs).any(axis=0))
        several = np.flatnonzero(~(new & np.append(new[1:], True)))
        if len(several) < _SEVERAL:
            return found
        number = np.empty(len(several), dtype=np.int64)
        for at in range(0, len(several), _CACHED):
            some = several[at : at + _CACHED]
            known = parameter_values(kernel, {**self._columns(likely, some, given), **self.words})
            number[at : at + _CACHED] = evaluate(expanded(kernel, kernel.alike), known)
        first, which = distinct_columns(np.stack([np.cumsum(new)[several], number]))
        found[several] = several[first[which]]
        return found

    def _columns(self, likely: Likely, some: Array, given: Mapping[str, Array]) -> dict[str, Array]:
        """Return the parameters of launches with some choices."""
        launch, place = likely.launch[some], likely.place[some]
        columns = {name: column[launch] for name, column in given.items()}
        return columns | {name: values[place] for name, values in self.rows.items()}

    def _time(self, likely: Likely, some: Array, given: Mapping[str, Array], worth: int) -> None:
        """Put in the times of some choices.

        Where `worth` of them at least are left, a program is made for these.
        """
        columns = self._columns(likely, some, given)
        inputs = np.stack([columns[name] for name in self.forms.names])
        times = np.full(inputs.shape[1], np.nan)
        self._fill(times, inputs)
        left = np.isnan(times)
        while left.sum() >= max(worth, _FEW * len(left)) and self._learn(inputs[:, left]):
            self._fill(times, inputs)
            left = np.isnan(times)
        if left.any():
            rest = {name: column[left] for name, column in columns.items()}
            times[left] = self.times({**rest, **self.words})
            self.forms.undecided += 1 + int(left.sum()) // _AS_ONE
            if self.forms.undecided > _MORE * (1 + len(self.forms.of_numbers.known)):
                self._learn(inputs[:, left])
        likely.time[some] = times

    def _fill(self, times: Array, inputs: Array) -> None:
        """Put in the times that programs know of those that are NaN."""
        left = np.flatnonzero(np.isnan(times))
        if len(left) >= _MANY:
            times[left] = self._times_of_many(inputs[:, left])
            return
        open_ = [place for place, name in enumerate(self.forms.names) if name in self.rows]
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
        """Return the times of many launches [s], NaN where no program holds."""
        self._narrow(inputs)
        forms, known = self.forms, self.forms.of_numbers.known
        stands_for = {each: form for form in known for each in forms.working(form)}
        times = np.full(inputs.shape[1], np.nan)
        screens = len(stands_for) > 1
        programs = [
            (form, self._function(form, inputs.shape[1]), form.asked if screens else None)
            for form in stands_for
        ]

        def work(some: Array) -> list[tuple[Form[Any], Array, Array]]:
            part, done = slice(some[0], some[-1] + 1), []
            for block in blocks(programs, [*inputs[:, part]]):
                block.put(block.outputs[0], times[part])
                done.append((block.form, some[block.places], block.held))
            return done

        asked = defaultdict[Form[Any], list[Array]](list)
        for form, places, held in chain(*side_by_side(work, np.arange(len(times)), _CHUNK)):
            forms.came[form] += _CALL + len(held)
            forms.held[stands_for[form]] += int(held.sum())
            asked[form].append(np.stack([places, held]))
        for form, parts in asked.items() if screens else ():
            places, held = np.concatenate(parts, axis=1)
            if len(places) >= _TRIED and held.mean() < PARTED:
                some = places[:: 1 + len(places) // _TRIED]
                form.parted([*inputs[:, some]])
        known.sort(key=lambda form: -forms.held[form])
        return times

    def _function(self, form: Form[Any], size: int) -> ArrayFunction | None:
        """Return a program's function of arrays: compiled, once very many launches have come.

        With the `size` that come now; not before it was to be made anew. It gives the time.
        """
        known, narrow = self.forms.of_numbers.known, self.forms.narrow
        many = self.forms.came[form] + size >= COMPILED
        compiled = many and (form in narrow or form not in known)
        function = form.of_many if compiled else form.made
        return getattr(function, "first", function)

    def _narrow(self, inputs: Array) -> None:
        """Make programs that many launches come to anew, of launches like those."""
        came, narrow = self.forms.came, self.forms.narrow
        size = inputs.shape[1]
        if size < _OTHERS:  # some few that were left
            return
        inputs = inputs[:, :: 1 + size // _TRIED]
        for form in self.forms.of_numbers.known:
            if came[form] + size < _NARROWED or form in narrow:
                continue
            held = np.zeros(inputs.shape[1], dtype=bool)
            for block in blocks([(form, form.made, None)], [*inputs]):
                block.put(True, held)
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
        some = columns[:, evenly(columns.shape[1], _TRIED)]
        columns = np.concatenate([self._others(columns), some], axis=1)
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
                    self.evaluated(bind(self.forms.kernel, some_rows(every, rows)))
                    break
                except DisagreementError as parted:
                    rows = rows[parted.labels == parted.labels[-1]]
        except PerfmodelError:  # of other sizes, which may be too large for the GPU
            rows = rows[-1:]
        return spread(self.forms.names, [column[rows] for column in columns], self.words)
