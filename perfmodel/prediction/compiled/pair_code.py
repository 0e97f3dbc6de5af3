"""A program as machine code for all pairs of launches and choices, one number of each pair.

What only the launch or only the choice decides is worked out once for it, before the pairs are. A
bound of the number, where a program gives one, tells of most choices that others are less.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.prediction.compiled.array_functions import NoProgramError
from perfmodel.prediction.compiled.lowering import Program
from perfmodel.prediction.compiled.scalars import Scalar, Scalars
from perfmodel.prediction.compiled.sides import CHOICE, LAUNCH, PAIR, part_of, sides
from perfmodel.prediction.compiled.vector_code import (
    LONGEST,
    held_by,
    machine_code,
    pointer,
    vector_function,
)
from perfmodel.prediction.compiled.vector_operators import LANES, TYPES, VectorOperators
from perfmodel.prediction.compiled.writer import in_order, sources

_TOGETHER: Final = 1 << 10
"""Launches whose pairs are worked on together: others may be beside them."""
_UNROLLED: Final = 2
"""Vectors of choices in an iteration, interleaved: a processor waits less for results of one."""
_LOOPS: Final = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
"""Loops over so many launches and choices, of columns at these places."""
_FAR: Final = 10.0
"""Factor of the least from which on choices are all as far from it."""


class PairFunction:
    """Gives a program's last output, a float, for pairs of launches and some choices."""

    def __init__(self, program: Program, choices: Mapping[str, Array]) -> None:
        """Compile a program, in which the inputs of these names are the choices', and run those.

        The first output, where there are two, is never more than the last.

        Raises `NoProgramError` if LLVM is not there, or something in the program has no
        instruction.
        """
        decided = sides(program, choices)
        parts = {side: part_of(program, decided, side) for side in (LAUNCH, CHOICE, PAIR)}
        scalars = Scalars()
        met = held_by(parts[PAIR])
        bound, end = (
            scalars.where(met, scalars.cast(program.outputs[place], "f"), np.nan)
            for place in (0, -1)
        )
        order = [s for s in in_order([bound, end]) if decided.setdefault(s, PAIR) == PAIR]
        if end not in order or bound not in order:
            raise NoProgramError("a number that no pair decides")
        taken = dict.fromkeys(s for scalar in order for s in sources(scalar))
        self.passed = {side: [s for s in taken if decided[s] == side] for side in (LAUNCH, CHOICE)}
        self.inputs = {CHOICE: [n for n in program.inputs if n in choices]}
        self.inputs[LAUNCH] = [n for n in program.inputs if n not in choices]
        self.once = {
            side: vector_function(
                Program(
                    tuple(self.inputs[side]), parts[side].guards, parts[side].products, (*some,)
                )
            )
            for side, some in self.passed.items()
        }
        text = _nested(order, self.passed[LAUNCH], self.passed[CHOICE], (bound, end))
        self.engine, (self.loops,) = machine_code(text, ["pairs"], _LOOPS)
        held, numbers = self._once(CHOICE, choices)
        self._have(np.flatnonzero(held), [number[held] for number in numbers])

    def _have(self, columns: Array, of_choices: Sequence[Array]) -> None:
        """Have choices at these columns in this order, and numbers of each, padded to vectors."""
        self.columns = columns
        together = _UNROLLED * LANES
        self.width = -(-len(columns) // together) * together
        self.of_choices = [np.resize(number, self.width) for number in of_choices]

    def put_in_order(self, launches: Mapping[str, Array]) -> None:
        """Have the choices first whose numbers are low for launches like some."""
        size = len(next(iter(launches.values())))
        found = np.full((size, 1 + max(self.columns, default=0)), np.nan)
        self.put(found, launches)
        known = found[:, self.columns]
        known = known[np.isfinite(known).any(axis=1)]
        if not len(known):
            return
        over = np.minimum(known / np.nanmin(known, axis=1, keepdims=True), _FAR)
        order = np.argsort(np.nansum(over, axis=0), kind="stable")
        self._have(self.columns[order], [number[order] for number in self.of_choices])

    def put(
        self,
        found: Array,
        launches: Mapping[str, Array],
        most: Array | None = None,
        near: float = math.inf,
        rows: Array | None = None,
    ) -> Array:
        """Put the numbers of pairs that are NaN into an array of (launches, choices).

        Of all launches, or those of some `rows`, of which those are returned that have NaN still:
        pairs of which no program held yet. Of choices whose number is more than `most` of a launch,
        or than `near` times the least of its choices, it may be the bound.
        """
        from perfmodel.prediction.compiled import pair_loop

        given = np.arange(len(found)) if rows is None else rows
        self._put(found, launches, most, near, pair_loop.rows_left(found, given, self.columns))
        return np.asarray(pair_loop.rows_left(found, given, np.arange(found.shape[1])))

    def _put(
        self,
        found: Array,
        launches: Mapping[str, Array],
        most: Array | None,
        near: float,
        rows: Array,
    ) -> None:
        """Put numbers into rows that have NaN in columns of these choices."""
        from perfmodel.prediction.compiled import pair_loop

        if not len(rows):
            return
        columns = self.columns
        held, of_launches = self._once(LAUNCH, {n: c[rows] for n, c in launches.items()})
        rows = rows[held]
        if not len(rows):
            return
        numbers = [np.ascontiguousarray(number[held]) for number in of_launches]
        limits = np.full(len(rows), np.inf) if most is None else most[rows]
        if near < np.inf:
            limits = np.minimum(limits, near * pair_loop.least_known(found, rows))
        numbers = [limits, np.full(len(rows), near), *numbers]
        for at in range(0, len(rows), _TOGETHER):
            some = rows[at : at + _TOGETHER]
            own = [number[at:] for number in numbers]
            own += [*self.of_choices, np.empty((len(some), self.width))]
            places = (ctypes.c_void_p * len(own))(*(each.ctypes.data for each in own))
            self.loops(len(some), self.width, places)
            pair_loop.put(found, some, columns, own[-1])

    def _once(self, side: int, columns: Mapping[str, Array]) -> tuple[Array, list[Array]]:
        """Return for which launches, or choices, the program may hold, and what they decide."""
        held, numbers = self.once[side](*(columns[name] for name in self.inputs[side]))
        return held.copy(), [np.array(number) for number in numbers]


def _nested(
    order: Sequence[Scalar],
    launches: Sequence[Scalar],
    choices: Sequence[Scalar],
    ends: tuple[Scalar, Scalar],
) -> str:
    """Return the text of loops over launches and, in vectors, over choices of each.

    The columns are those of the limit and of how near its choices are looked at, those of
    `launches` and of `choices`, and that of all pairs. `ends` are a bound and the number, which is
    worked out where a bound is within the limit; each lane lowers its own.
    """
    limit, near = (Scalars().made("input", (name,), "f") for name in ("limit", "near"))
    code, of_launch = VectorOperators(), (limit, near, *launches)
    for column, scalar in enumerate(of_launch):
        code.spread(scalar, column)
    given, spread = code.named(limit), "\n ".join(code.lines)
    code.lines.clear()
    last = len(of_launch) + len(choices)
    codes = [code, *(code.unrolled(f"%at{i}", f"w{i}_") for i in range(1, _UNROLLED))]
    for each in codes:
        each.rename(limit, "%limit")
        for column, scalar in enumerate(choices, len(of_launch)):
            each.load(scalar, column)
    skipped, lowered = _work_out(codes, order, ends, (limit, near), last + 1)
    pointers, body = "\n ".join(map(pointer, range(last + 1))), "\n ".join(code.lines)
    places = "\n ".join(f"%at{i} = add i64 %at, {i * LANES}" for i in range(1, _UNROLLED))
    return f"""define void @pairs(i64 %launches, i64 %size, ptr %columns) {{
entry:
 {pointers}
 br label %launch
launch:
 %row = phi i64 [0, %entry], [%following, %end]
 %first = mul i64 %row, %size
 %column{last + 1} = getelementptr double, ptr %column{last}, i64 %first
 {spread}
 br label %head
head:
 %at = phi i64 [0, %launch], [%next, %tail]
 %limit = phi {TYPES["f"]} [{given}, %launch], [%left, %tail]
 {places}
 br label %block0
block0:
 {body}
tail:
 %left = phi {TYPES["f"]} [%limit, %{skipped}], [{lowered}, %{code.block}]
 %next = add i64 %at, {_UNROLLED * LANES}
 %more = icmp slt i64 %next, %size
 br i1 %more, label %head, label %end
end:
 %following = add i64 %row, 1
 %again = icmp slt i64 %following, %launches
 br i1 %again, label %launch, label %done
done:
 ret void
}}"""


def _work_out(
    codes: Sequence[VectorOperators],
    order: Sequence[Scalar],
    ends: tuple[Scalar, Scalar],
    limits: tuple[Scalar, Scalar],
    column: int,
) -> tuple[str, str]:
    """Write the lines of a bound, of the number where it is within the limit, and of a lower limit.

    Returns the block that ends with the bound, and the name of the lower limit.
    """
    bound, end = ends
    limit, near = limits
    do = Scalars()
    within, over = do.apply("less_equal", bound, limit), do.apply("multiply", near, end)
    lower = do.apply("minimum", over, limit)  # in this order NaN leaves the limit
    of_bound = dict.fromkeys(in_order([bound]))
    _interleave(codes, [scalar for scalar in order if scalar in of_bound])
    for code in codes:
        code.store(bound, column)
        code.work_out(within)
    first = codes[0]
    some = first.any_of([code.named(within) for code in codes])
    first.lines += [f"br i1 {some}, label %within, label %tail", "within:"]
    skipped, first.block = first.block, "within"
    _interleave(codes, [scalar for scalar in order if scalar not in of_bound])
    lowered = first.named(limit)
    for code in codes:
        code.store(end, column)
        code.rename(limit, lowered)
        code.work_out(over)
        code.work_out(lower)
        lowered = code.named(lower)
    first.lines.append("br label %tail")
    return skipped, lowered


def _interleave(codes: Sequence[VectorOperators], order: Sequence[Scalar]) -> None:
    """Write lines that work scalars out, those of several vectors interleaved."""
    for count, scalar in enumerate(order, 1):
        for code in codes:
            code.work_out(scalar)
        if count % (LONGEST // len(codes)) == 0:
            codes[0].next_block()
