"""A program as machine code for all pairs of launches and choices, one number of each pair.

What only the launch or only the choice decides is worked out once for it, before the pairs are.
"""

from __future__ import annotations

import ctypes
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
from perfmodel.prediction.compiled.vector_operators import LANES, VectorOperators
from perfmodel.prediction.compiled.writer import in_order, sources

_TOGETHER: Final = 1 << 10
"""Launches whose pairs are worked on together: others may be beside them."""
_LOOPS: Final = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
"""Loops over so many launches and choices, of columns at these places."""


class PairFunction:
    """Gives the one output of a program, a float, for pairs of launches and some choices."""

    def __init__(self, program: Program, choices: Mapping[str, Array]) -> None:
        """Compile a program, in which the inputs of these names are the choices', and run those.

        Raises `NoProgramError` if LLVM is not there, or something in the program has no
        instruction.
        """
        decided = sides(program, choices)
        parts = {side: part_of(program, decided, side) for side in (LAUNCH, CHOICE, PAIR)}
        scalars = Scalars()
        value = scalars.cast(program.outputs[0], "f")
        end = scalars.where(held_by(parts[PAIR]), value, np.nan)
        order = [s for s in in_order([end]) if decided.setdefault(s, PAIR) == PAIR]
        if end not in order:
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
        text = _nested(order, self.passed[LAUNCH], self.passed[CHOICE], end)
        self.engine, (self.loops,) = machine_code(text, ["pairs"], _LOOPS)
        held, numbers = self._once(CHOICE, choices)
        self.columns = np.flatnonzero(held)
        self.width = -(-len(self.columns) // LANES) * LANES
        self.of_choices = [np.resize(number[held], self.width) for number in numbers]

    def put(self, found: Array, launches: Mapping[str, Array]) -> None:
        """Put the numbers of pairs that are NaN into an array of (launches, choices).

        Those of which the program does not hold stay NaN.
        """
        from perfmodel.prediction.compiled import pair_loop

        columns, width = self.columns, self.width
        rows = pair_loop.rows_left(found, columns)
        if not len(rows):
            return
        held, of_launches = self._once(LAUNCH, {n: c[rows] for n, c in launches.items()})
        rows = rows[held]
        if not len(rows):
            return
        numbers = [np.ascontiguousarray(number[held]) for number in of_launches]

        for at in range(0, len(rows), _TOGETHER):
            some = rows[at : at + _TOGETHER]
            own = [number[at:] for number in numbers]
            own += [*self.of_choices, np.empty((len(some), width))]
            places = (ctypes.c_void_p * len(own))(*(each.ctypes.data for each in own))
            self.loops(len(some), width, places)
            pair_loop.put(found, some, columns, own[-1])

    def _once(self, side: int, columns: Mapping[str, Array]) -> tuple[Array, list[Array]]:
        """Return for which launches, or choices, the program may hold, and what they decide."""
        held, numbers = self.once[side](*(columns[name] for name in self.inputs[side]))
        return held.copy(), [np.array(number) for number in numbers]


def _nested(
    order: Sequence[Scalar], launches: Sequence[Scalar], choices: Sequence[Scalar], end: Scalar
) -> str:
    """Return the text of loops over launches and, in vectors, over choices of each.

    The columns are those of `launches`, of `choices`, and that of `end`, of all pairs.
    """
    code = VectorOperators()
    for column, scalar in enumerate(launches):
        code.spread(scalar, column)
    spread, code.lines = "\n ".join(code.lines), []
    for column, scalar in enumerate(choices, len(launches)):
        code.load(scalar, column)
    for count, scalar in enumerate(order, 1):
        code.work_out(scalar)
        if count % LONGEST == 0:
            code.next_block()
    last = len(launches) + len(choices)
    code.store(end, last + 1)
    pointers, body = "\n ".join(map(pointer, range(last + 1))), "\n ".join(code.lines)
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
 %at = phi i64 [0, %launch], [%next, %{code.block}]
 br label %block0
block0:
 {body}
 %next = add i64 %at, {LANES}
 %more = icmp slt i64 %next, %size
 br i1 %more, label %head, label %end
end:
 %following = add i64 %row, 1
 %again = icmp slt i64 %following, %launches
 br i1 %again, label %launch, label %done
done:
 ret void
}}"""
