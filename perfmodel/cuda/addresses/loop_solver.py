"""Loops as they are followed: registers at the start of an iteration, trips, what is left after.

A first walk through a loop's body shows what changes; here that is solved.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from perfmodel.cuda.addresses.algebra import Algebra
from perfmodel.cuda.addresses.conditions import FALSE, all_of, any_of, conjuncts, negated
from perfmodel.cuda.addresses.instructions import Interpreter
from perfmodel.cuda.addresses.loops import (
    MOST_TRIPS,
    Recurrence,
    at_iteration,
    continued,
    extent,
    solved,
)
from perfmodel.cuda.addresses.records import CARRIED, LoopRun, Unknown, Value
from perfmodel.cuda.addresses.sums import Sum, constant, single, written
from perfmodel.cuda.parse.control_flow import ControlFlow, Loop
from perfmodel.cuda.parse.memory_parts import is_memory
from perfmodel.cuda.parse.syntax import Function
from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Name, Node, Number, Operation, names, substitute
from perfmodel.expressions.nodes import COMPARISONS
from perfmodel.records import record

OPEN: Final = 1 << 31
"""Iterations that a loop is taken to have until its condition is known."""

State = dict[str, Value]


@record
class Edge:
    """A way from one block to another: registers there, and the condition to take it."""

    source: int
    target: int
    state: State
    condition: Node


class LoopSolver:
    """Solves the loops of one kernel."""

    def __init__(
        self,
        function: Function,
        flow: ControlFlow,
        interpreter: Interpreter,
        alive: Sequence[frozenset[str]],
    ) -> None:
        self.function = function
        self.flow = flow
        self.interpreter = interpreter
        self.algebra: Algebra = interpreter.algebra
        self.alive = alive
        self._extras: dict[str, int] = {}

    def trial(
        self, index: int, state: State, changed: frozenset[str]
    ) -> tuple[State, dict[str, Name]]:
        """Return registers for a first walk: names for what the loop changes, and these names."""
        carried = {
            r: Name(f"{CARRIED}{index}_{re.sub(r'[^0-9a-zA-Z]', '_', r)}") for r in sorted(changed)
        }
        found: State = dict(state)
        for register, name in carried.items():
            value = state.get(register, Unknown())
            if isinstance(value, Sum):
                found[register] = single(name)
            elif not isinstance(value, Unknown):
                found[register] = Operation("!=", (name, Number(0)))
        return found, carried

    def solve(
        self,
        loop: Loop,
        state: State,
        ends: State,
        carried: Mapping[str, Name],
        back: Sequence[Edge],
        variable: Name,
    ) -> tuple[State, Node]:
        """Return registers at the start of any iteration, and the condition for another."""
        interpreter, algebra = self.interpreter, self.algebra
        recurrences: dict[str, Recurrence] = {}
        sources: dict[str, frozenset[int]] = {}
        for register, name in carried.items():
            before, after = state.get(register, Unknown()), ends.get(register, Unknown())
            sources[register] = interpreter.sources(before, after)
            if isinstance(before, Sum) and isinstance(after, Sum):
                recurrences[register] = Recurrence(before, name, after)
        inside = {
            name for name, made in interpreter.data.items() if self._inside(made.instruction, loop)
        }
        # Variables of loops inside are gone at the end of an iteration; of loops around, fixed.
        found = solved(recurrences, variable, inside, algebra)
        values: dict[str, Node] = {
            carried[register].name: written(value) for register, value in found.items()
        }
        start: State = dict(state)
        for register, name in carried.items():
            before = state.get(register, Unknown())
            if register in found:
                start[register] = found[register]
            elif isinstance(before, Sum):
                computed = not self._read(ends.get(register, Unknown()))
                made = interpreter.datum(
                    self._extra(name.name), sources[register], "b32", computed=computed
                )
                start[register] = made
                values[name.name] = written(made)
            elif isinstance(before, Unknown):
                start[register] = Unknown(sources[register])
            else:
                extra = self._extra(name.name)
                values[name.name] = interpreter.condition_datum(extra, sources[register])
                start[register] = values[name.name]
        goes_on = any_of(e.condition for e in back)
        return start, algebra.condition(_put_in(goes_on, values))

    def _read(self, value: Value) -> bool:
        """Say whether a value is what a load has read, or a multiple of it."""
        used = [*value.names] if isinstance(value, Sum) else []
        data = self.interpreter.data
        made = [data[name].instruction for name in used if name in data]
        code = self.function.instructions
        return len(used) == len(made) == 1 and 0 <= made[0] < len(code) and is_memory(code[made[0]])

    def plan(
        self,
        index: int,
        loop: Loop,
        variable: Name,
        count: Sum | None,
        goes_on: Node,
        reach: Node,
        parent: str | None,
    ) -> tuple[LoopRun | None, Node, Sum | None]:
        """Return the loop as it runs, its threads' guard, and a thread's last iteration."""
        algebra = self.algebra
        if count is not None and not self.interpreter.trial:
            # A bound that is none: only running it tells.
            count = None if algebra.asks(_is_unbounded, count) else count
        if count is None:
            algebra.add_variable(variable.name, 0, OPEN)
            runs = self.interpreter.condition_datum(self._extra(f"loop {index}"), ())
            guard = all_of((reach, runs))
            return LoopRun(index, variable.name, None, parent), guard, None
        last = count - 1
        tested_first = self._only_tests(loop)
        if tested_first:
            # The header runs once more than the body, but does nothing that counts.
            count = last
        trips, differing = algebra.asks(self._turns, count, variable.name)
        if trips is None:
            return None, FALSE, None
        guard = reach
        if differing and tested_first:
            guard = all_of((reach, algebra.compared("<", single(variable), count)))
        elif differing:
            condition = continued(goes_on, variable, conjuncts(reach), count, algebra)
            kept = [p for p in conjuncts(reach) if not _implied(p, condition, variable, algebra)]
            guard = all_of((*kept, condition))
        return LoopRun(index, variable.name, trips, parent), guard, last

    def _turns(self, count: Sum, name: str, algebra: Algebra) -> tuple[Node | None, bool]:
        """Return the iterations of a loop and whether threads differ in them; None if none runs.

        Makes the range of the loop's variable `name` known.
        """
        least, most = extent(count, algebra)
        if most > MOST_TRIPS:
            if not self.interpreter.trial:
                raise PerfmodelError(
                    f"kernel {self.function.name!r} has a loop of up to {most} iterations, over "
                    "2**40: check the arguments"
                )
            most = MOST_TRIPS
        if most <= 0:
            return None, False
        algebra.add_variable(name, 0, most - 1)
        if algebra.number(count) is not None:
            return written(count), False
        return Number(most), least != most

    def _only_tests(self, loop: Loop) -> bool:
        """Say whether a loop is left from its header only, which makes no memory access."""
        if {source for source, _ in loop.exits} != {loop.header} or loop.blocks == {loop.header}:
            return False
        header = self.flow.places((loop.header,))
        return not any(is_memory(self.function.instructions[at]) for at in header)

    def left(
        self, loop: Loop, edges: Sequence[Edge], variable: Name, last: Sum | None, reach: Node
    ) -> list[Edge]:
        """Return the edges out of a loop with registers as the last iteration leaves them."""
        outward = [e for e in edges if e.target != loop.header]
        found = []
        for edge in outward:
            alive = self.alive[edge.target] if edge.target < len(self.flow.blocks) else frozenset()
            state: State = {}
            for register in alive:
                value = edge.state.get(register, Unknown())
                if isinstance(value, Sum) and variable.name in value.names:
                    if last is None:
                        sources = self.interpreter.sources(value)
                        extra = self._extra(f"{register} after {variable.name}")
                        state[register] = self.interpreter.datum(extra, sources, "b32")
                        continue
                    value = at_iteration(value, variable, last, self.algebra)
                elif not isinstance(value, Sum | Unknown) and variable.name in names(value):
                    value = self.algebra.condition(
                        _put_in(value, {variable.name: written(last or constant(0))})
                    )
                state[register] = value
            condition = reach
            if len(outward) > 1 and last is not None:
                own = _put_in(edge.condition, {variable.name: written(last)})
                condition = all_of((reach, self.algebra.condition(own)))
            elif len(outward) > 1:
                extra = self._extra(f"way from {edge.source} to {edge.target}")
                condition = all_of((reach, self.interpreter.condition_datum(extra, ())))
            found.append(Edge(edge.source, edge.target, state, condition))
        return found

    def _inside(self, instruction: int, loop: Loop) -> bool:
        if instruction >= len(self.flow.block_of):
            return True
        return instruction < 0 or self.flow.block_of[instruction] in loop.blocks

    def _extra(self, what: str) -> int:
        """Return a number, past those of the instructions, for a value that none of them makes."""
        made = len(self.function.instructions) + len(self._extras)
        return self._extras.setdefault(what, made)


def _implied(part: Node, condition: Node, variable: Name, algebra: Algebra) -> bool:
    """Say whether a loop's own condition, which only gets harder to meet, implies its entry's."""
    if variable.name in names(part):
        return False
    at_start = algebra.condition(substitute(condition, {variable.name: Number(0)}))
    return part in conjuncts(at_start)


def _put_in(node: Node, values: Mapping[str, Node]) -> Node:
    """Put values in for names; a condition of the form ``name != 0`` takes a condition."""
    if isinstance(node, Operation):
        if (
            node.operator in ("!=", "==")
            and isinstance(node.operands[0], Name)
            and node.operands[1] == Number(0)
        ):
            value = values.get(node.operands[0].name)
            if isinstance(value, Operation) and value.operator in _CONDITIONS:
                return value if node.operator == "!=" else negated(value)
        return Operation(node.operator, tuple(_put_in(part, values) for part in node.operands))
    if isinstance(node, Name):
        return values.get(node.name, node)
    return node


_CONDITIONS: Final = COMPARISONS | {"and", "or", "not"}


def _is_unbounded(count: Sum, algebra: Algebra) -> bool:
    """Say whether more iterations than are believed may be, and fewer."""
    least, most = extent(count, algebra)
    return most > MOST_TRIPS >= least
