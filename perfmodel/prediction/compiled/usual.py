"""What launches have in common that programs may be made of: ranges, and what they decide alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.prediction.compiled.array_code import array_function
from perfmodel.prediction.compiled.lowering import Program
from perfmodel.prediction.compiled.narrowed import narrowed
from perfmodel.prediction.compiled.ranges import Range
from perfmodel.prediction.compiled.scalars import Scalar
from perfmodel.prediction.compiled.writer import in_order, sources

_USUAL: Final = 0.9
"""Share of launches that have to decide alike for a program to be made of these alone."""
_QUICK: Final = 32
"""Operations of a guard at most that is asked before its program is run."""
_PART: Final = 4
"""Share of a program's operations, as one over so many, up to which others are asked too."""


def of_launches(
    program: Program,
    launches: Mapping[str, Array],
    ranges: Mapping[str, Range],
    truths: Iterable[Scalar],
) -> Program:
    """Return a program for launches like some, which holds for nearly all of them.

    `ranges` are those of inputs that are not given by `launches`; `truths` what may be taken for
    known.

    Raises `NoProgramError` if the program holds for none of them.
    """
    first = {name: np.array([low]) for name, (low, _) in ranges.items()}
    assumed = _usual(program, {**first, **launches}, [*truths])
    return narrowed(program, {**ranges, **{n: _range(c) for n, c in launches.items()}}, assumed)


def small_truths(program: Program, most: int) -> list[Scalar]:
    """Return truth values that take so many operations at most: asking for them is worth while."""
    return [scalar for scalar in _small(program, most) if scalar.kind == "b"]


def screen(program: Program) -> Program:
    """Return the guards of a program that take few operations: most that it fails, these say."""
    small = _small(program, _QUICK, of_call=_QUICK)
    guards = tuple(guard for guard in program.guards if guard.value in small)
    return Program(program.inputs, guards, (), ())


def parting(program: Program, columns: Sequence[Array]) -> Program:
    """Return the guards of `screen`, and those that part launches which it lets through.

    `columns` are the inputs of some of these. Such a guard takes a quarter of a program's
    operations at most: a program on launches that it does not hold for takes all of them.
    """
    sizes = _counts(program)
    most = len(sizes) // _PART
    guards = [guard for guard in program.guards if sizes[guard.value] <= most]
    with np.errstate(all="ignore"):
        of = array_function(Program(program.inputs, (), (), tuple(g.value for g in guards)))
        _, values = of(*columns)
    left = np.ones(len(columns[0]), dtype=bool)
    failed = [left & (value != g.answer) for value, g in zip(values, guards, strict=True)]
    chosen = [*screen(program).guards]
    while failed:
        counts = [np.count_nonzero(left & each) for each in failed]
        place = int(np.argmax(counts))  # the first, as it takes the fewest operations
        if counts[place] < (1 - _USUAL) * len(left):
            break
        left &= ~failed[place]
        chosen.append(guards[place])
    return Program(program.inputs, tuple(chosen), (), ())


def _counts(program: Program) -> dict[Scalar, int]:
    """Return how many scalars each one takes, itself among them."""
    made_of: dict[Scalar, int] = {}  # sets of their places, as the bits of a number
    for place, scalar in enumerate(in_order(program.ends)):
        found = 1 << place
        for source in sources(scalar):
            found |= made_of[source]
        made_of[scalar] = found
    return {scalar: found.bit_count() for scalar, found in made_of.items()}


def _small(program: Program, most: int, of_call: int = 1) -> dict[Scalar, int]:
    """Return scalars that take so many operations at most, a call of a function so many."""
    sizes: dict[Scalar, int] = {}
    for scalar in in_order(program.ends):
        own = of_call if scalar.operator == "call" else 1
        sizes[scalar] = min(own + sum(sizes[source] for source in sources(scalar)), most + 1)
    return {scalar: size for scalar, size in sizes.items() if size <= most}


def _usual(
    program: Program, columns: Mapping[str, Array], truths: list[Scalar]
) -> dict[Scalar, bool]:
    """Return which truth values nearly all of some launches have, all of them together."""
    of = array_function(Program(program.inputs, (), (), (*truths,)))
    with np.errstate(all="ignore"):
        _, values = of(*(columns[name] for name in program.inputs))
    shares = [float(np.mean(value)) for value in values]
    alike, found = np.ones(1, dtype=bool), {}
    for place in sorted(range(len(truths)), key=lambda place: -abs(shares[place] - 0.5)):
        usual = shares[place] > 0.5
        both = alike & (values[place] == usual)
        if both.mean() >= _USUAL:
            alike, found[truths[place]] = both, usual
    return found


def _range(column: Array) -> Range:
    """Return a range for numbers like some: up to the next power of two."""
    return min(1, int(column.min())), 1 << int(column.max()).bit_length()
