"""Many launches at once, by programs of the forms that they take."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.models.launch.handout import load_loop
from perfmodel.prediction.compiled.array_code import ArrayFunction
from perfmodel.prediction.compiled.programs import Form, Programs, evenly
from perfmodel.prediction.compiled.recording import Evaluated
from perfmodel.prediction.launch_numbers import LaunchNumbers
from perfmodel.records import record

_BLOCK: Final = 1 << 13
"""Launches of which all numbers are worked out at a time: few enough for a core's caches."""
_TRIED: Final = 1 << 11
"""Launches that tell which forms there are."""
_TOGETHER: Final = 250
"""Launches that a program is made of at most."""
_MOST_MADE: Final = 8
_WORTH: Final = 1 << 14
"""Programs that are made at most in a call, and launches that one has to save the models: they take
about as long for these as making one takes."""
COMPILED: Final = 1 << 17
"""Launches from which on a program is compiled: for fewer, NumPy's functions take less time."""
_FEW: Final = 0.002
"""Share of launches under which a program is not asked for them."""
_POOR: Final = 0.5
"""Share of launches under which a program is not worth while, nor all of them together."""
_MANY: Final = 0.05
"""Share of launches from which on a program is compiled, if any is."""

Columns = Mapping[str, Array]
PARTED: Final = 0.75
"""Share of launches up to which those that a program may hold for are put together first."""
Working = tuple[Form[LaunchNumbers], ArrayFunction | None, ArrayFunction | None]
"""A program, the function of it that works launches out, and one that says which it may hold for:
none where that is not asked first."""


def prepare(
    programs: Programs[LaunchNumbers], columns: Columns, evaluated: Evaluated, size: int
) -> tuple[Working, ...]:
    """Return programs that hold for most of some launches, made if need be; none if they do not.

    `columns` are the launches' parameters, or those of some that stand for all `size` of them. If
    these are enough, the programs are compiled.
    """
    load_loop()
    given = len(next(iter(columns.values())))
    some = evenly(given, _TRIED)
    tried = {name: column[some] for name, column in columns.items()}
    before, left = -1.0, some
    for made in range(_MOST_MADE + 1):
        shares = _shares(programs, tried)
        known = sum(shares.values(), np.zeros(len(some), dtype=bool))
        if known.mean() - before < _FEW:  # what was made holds for few
            programs.drop_latest()
            break
        before, left = known.mean(), np.flatnonzero(~known)
        missing = len(left) * size / len(some)
        if programs.left + missing < _WORTH or made == _MOST_MADE:
            programs.left += missing
            break
        programs.left = 0
        # Of some that have a program too: one that holds for both kinds takes less than two.
        others = np.flatnonzero(known)
        others = others[evenly(len(others), _TOGETHER // 3)]
        without = left[evenly(len(left), _TOGETHER - len(others))]
        places = (*without, *others)
        launches = [{name: int(c[place]) for name, c in tried.items()} for place in places]
        if not programs.learn_of(launches, evaluated, usual=len(without)):
            break
    if len(left) > _POOR * len(some):
        return ()
    useful = [(held.mean(), form) for form, held in shares.items() if held.mean() >= _FEW]
    useful.sort(key=lambda each: -each[0])
    compiled = _MANY if size >= COMPILED else math.inf
    functions = [(f, f.of_many if share >= compiled else f.of_arrays) for share, f in useful]
    if len(functions) < 2:
        return tuple((form, function, None) for form, function in functions)
    inputs = [tried[name] for name in programs.names]
    to_serve, working = np.ones(len(some), dtype=bool), []
    for form, function in functions:
        working.append((form, function, _screen(form, inputs, to_serve, shares[form])))
        to_serve &= ~shares[form]
    return tuple(working)


def _screen(
    form: Form[LaunchNumbers], inputs: Sequence[Array], left: Array, held: Array
) -> ArrayFunction | None:
    """Return what says which launches a program may hold for, of those that others have left.

    Of more guards where those that take little let many through that it does not hold for.
    """
    if form.screen is None:
        return None
    with np.errstate(all="ignore"):
        may = left & form.screen(*inputs)[0]
    if np.count_nonzero(held) > PARTED * np.count_nonzero(may):
        return form.screen
    return form.parted([column[may] for column in inputs])


@record
class Block:
    """What a program gives of launches that follow one another, or of some."""

    form: Form[LaunchNumbers]
    places: slice | Array
    held: Array  # for which of them the program holds
    outputs: tuple[Any, ...]  # arrays of these, or plain numbers; they last until the next block

    def put(self, value: Any, column: Array) -> None:
        """Put an output into a column of all launches, where the program holds."""
        if isinstance(self.places, slice):  # a quarter of the time that indices take
            np.copyto(column[self.places], value, where=self.held)
        else:
            column[self.places[self.held]] = value[self.held] if np.ndim(value) else value


def blocks(programs: Sequence[Working], inputs: Sequence[Array]) -> Iterator[Block]:
    """Yield what programs give of launches, each of those that the ones before do not hold for.

    `inputs` are the columns of the programs' inputs, in their order.
    """
    left: range | Array = range(len(inputs[0]))
    for form, function, screen in programs:
        missed = []
        if screen is not None and len(left) > 0:
            with np.errstate(all="ignore"):
                parts = [screen(*given)[0].copy() for _, given in _pieces(left, inputs)]
            may = np.concatenate(parts)
            if may.mean() <= PARTED:
                missed.append(np.asarray(left)[~may])
                left = np.asarray(left)[may]
        for some, given in _pieces(left, inputs):
            held, outputs = _outputs(function, given)
            if outputs:
                places = slice(some.start, some.stop) if isinstance(some, range) else some
                yield Block(form, places, held, outputs)
            missed.append(np.asarray(some)[~held])
        left = np.concatenate(missed) if missed else left


def _pieces(
    launches: range | Array, inputs: Sequence[Array]
) -> Iterator[tuple[range | Array, list[Array]]]:
    """Yield some of the launches at a time, and their columns of the inputs."""
    count = max(1, round(len(launches) / _BLOCK))
    for start in range(0, len(launches), most := -(-len(launches) // count) or 1):
        some = launches[start : start + most]
        places = slice(some.start, some.stop) if isinstance(some, range) else some
        yield some, [column[places] for column in inputs]


def _shares(
    programs: Programs[LaunchNumbers], columns: Columns
) -> dict[Form[LaunchNumbers], Array]:
    """Return which launches each program holds for, those before it left out."""
    inputs = [columns[name] for name in programs.names]
    found = {form: np.zeros(len(inputs[0]), dtype=bool) for form in programs.known}
    for block in blocks([(form, form.made, None) for form in found], inputs):
        block.put(True, found[block.form])
    return found


def _outputs(
    function: ArrayFunction | None, inputs: Sequence[Array]
) -> tuple[Array, tuple[Any, ...]]:
    nothing = np.zeros(len(inputs[0]), dtype=bool), ()
    if function is None:
        return nothing
    try:
        with np.errstate(all="ignore"):
            held, outputs = function(*inputs)
    except ValueError:  # a function gave arrays of another shape than of those recorded
        return nothing
    return held & np.isfinite(outputs[0]), outputs
