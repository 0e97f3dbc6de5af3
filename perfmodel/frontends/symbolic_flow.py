"""A kernel's control flow, followed symbolically: which blocks run when, and what they access.

Blocks are walked in order, registers merged where paths meet. A loop is walked twice: once with
names for what it changes, which shows recurrences and the condition to go on, then with formulas
in the loop's variable. What data decides is marked as such and left to the emulator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Name, Node, Number, Operation, names
from perfmodel.frontends.ptx.control_flow import ControlFlow, Loop
from perfmodel.frontends.ptx.syntax import Address, Function, Instruction, Register
from perfmodel.frontends.symbolic_algebra import Algebra
from perfmodel.frontends.symbolic_conditions import FALSE, TRUE, all_of, any_of, negated
from perfmodel.frontends.symbolic_instructions import Interpreter, Unknown, Value
from perfmodel.frontends.symbolic_loops import (
    MOST_TRIPS,
    Recurrence,
    at_iteration,
    continued,
    solved,
    trips,
)
from perfmodel.frontends.symbolic_records import (
    BlockRun,
    Followed,
    LoopRun,
    MemoryAccess,
    NotFollowedError,
    is_data,
)
from perfmodel.frontends.symbolic_registers import (
    alive_registers,
    is_memory,
    order,
    written_registers,
)
from perfmodel.frontends.symbolic_sums import Sum, constant, minus, single, written

MOST_STEPS: Final = 400_000
"""Instructions that are followed, trial runs of loops included."""

_OPEN: Final = 1 << 31
"""Iterations that a loop is taken to have until its condition is known."""
_VARIABLES: Final = "kjlmpqrstuvw"

State = dict[str, Value]


@dataclass(frozen=True, slots=True)
class _Edge:
    source: int
    target: int
    state: State
    condition: Node


class Flow:
    """Follows one kernel."""

    def __init__(
        self, function: Function, flow: ControlFlow, interpreter: Interpreter, taken: Iterable[str]
    ) -> None:
        self.function = function
        self.flow = flow
        self.interpreter = interpreter
        self.algebra: Algebra = interpreter.algebra
        self.found = Followed()
        self._steps = 0
        self._variables = loop_variables(flow, taken)
        self._written = {
            i: {r for at in self._range(i) for r in written_registers(function.instructions[at])}
            for i in range(len(flow.blocks))
        }
        self._alive = alive_registers(function, flow)
        self._order = order(flow)
        self._loop_of = {b: flow.innermost(b) for b in range(len(flow.blocks))}
        self._path: list[str] = []
        self._extras: dict[str, int] = {}

    def run(self) -> Followed:
        """Follow the kernel from its start.

        Raises
        ------
        PerfmodelError
            If it has jumps into loops, takes too long to follow, or never ends.
        """
        if self.flow.irreducible:
            raise NotFollowedError(
                f"kernel {self.function.name!r} jumps into the middle of a loop, which has no "
                "formula"
            )
        if self.flow.blocks:
            self._region(None, 0, {}, TRUE)
        return self.found

    def _range(self, block: int) -> range:
        part = self.flow.blocks[block]
        return range(part.start, part.stop)

    def _region(self, loop: int | None, entry: int, state: State, reach: Node) -> list[_Edge]:
        """Follow the blocks of a loop's body, or of the kernel; return the edges that leave it."""
        inside = None if loop is None else self.flow.loops[loop].blocks
        waiting: dict[int, list[_Edge]] = {entry: [_Edge(-1, entry, state, reach)]}
        reached: dict[int, Node] = {}
        leaving: list[_Edge] = []
        for block in self._order:
            if block not in waiting:
                continue
            edges = [e for e in waiting.pop(block) if e.condition != FALSE]
            if not edges:
                continue
            condition = self._reach(block, edges, reached, entry)
            reached[block] = condition
            merged = self._merge(edges, block)
            own = self._loop_of[block]
            if own is not None and own != loop:
                # The header of a loop inside; deeper ones are met when that one is followed.
                while self.flow.loops[own].parent != loop:
                    own = self.flow.loops[own].parent
                    assert own is not None
                onward = self._loop(own, merged, condition)
            else:
                onward = self._block(block, merged, condition)
            for edge in onward:
                stays = edge.target < len(self.flow.blocks) and (
                    inside is None or edge.target in inside
                )
                if stays and edge.target != entry:
                    waiting.setdefault(edge.target, []).append(edge)
                else:
                    leaving.append(edge)
        return leaving

    def _reach(
        self, block: int, edges: Sequence[_Edge], reached: Mapping[int, Node], entry: int
    ) -> Node:
        """Return when a block runs: as its dominator does, if all paths from there lead here."""
        above = self.flow.dominators[block]
        while above is not None and above not in reached and block != entry:
            above = self.flow.dominators[above]
        if above is not None and block != entry:
            after = self.flow.post_dominators[above]
            while after is not None and after < len(self.flow.blocks) and after != block:
                after = self.flow.post_dominators[after]
            if after == block:
                return reached[above]
        return any_of(edge.condition for edge in edges)

    def _merge(self, edges: Sequence[_Edge], block: int) -> State:
        if len(edges) == 1:
            return dict(edges[0].state)
        merged: State = {}
        conditions = _relative([edge.condition for edge in edges])
        for register in self._alive[block]:
            values = [edge.state.get(register, Unknown()) for edge in edges]
            value = values[-1]
            for condition, other in zip(conditions[-2::-1], values[-2::-1], strict=True):
                value = self.interpreter.merged(condition, other, value)
            merged[register] = value
        return merged

    def _block(self, block: int, state: State, reach: Node) -> list[_Edge]:
        """Follow the instructions of a block."""
        interpreter = self.interpreter
        loop = self._path[-1] if self._path else None
        if not interpreter.trial:
            self.found.blocks.append(BlockRun(block, reach, loop))
        last: Instruction | None = None
        for at in self._range(block):
            self._steps += 1
            if self._steps > MOST_STEPS:
                raise NotFollowedError(
                    f"kernel {self.function.name!r} takes too long to follow: over {MOST_STEPS} "
                    "instructions"
                )
            last = self.function.instructions[at]
            if is_memory(last):
                self._memory(at, last, state, reach, loop)
            elif last.opcode == "ld" and "param" in last.modifiers:
                for target in written_registers(last):
                    interpreter.assign(at, last, target, interpreter.parameter(last), state)
            else:
                interpreter.run(at, last, state)
        return self._onward(block, last, state, reach)

    def _onward(
        self, block: int, last: Instruction | None, state: State, reach: Node
    ) -> list[_Edge]:
        targets = self.flow.blocks[block].successors
        if len(targets) == 1 or last is None or last.guard is None:
            if len(targets) > 1:  # an indirect branch
                at = self.flow.blocks[block].stop - 1
                unknown = self.interpreter.condition_datum(at, ())
                conditions = [unknown] * len(targets)
            else:
                conditions = [TRUE]
        else:
            at = self.flow.blocks[block].stop - 1
            taken = self.interpreter.condition(Register(last.guard.register.name), state, at)
            if last.guard.negated:
                taken = negated(taken)
            conditions = [taken, negated(taken)]
        return [
            _Edge(block, target, state, all_of((reach, condition)))
            for target, condition in zip(targets, conditions, strict=True)
        ]

    def _memory(
        self, at: int, instruction: Instruction, state: State, reach: Node, loop: str | None
    ) -> None:
        interpreter = self.interpreter
        operand = next((o for o in instruction.operands if isinstance(o, Address)), None)
        if operand is None:
            interpreter.run(at, instruction, state)
            return
        address = interpreter.address(operand, state, at)
        sources = interpreter.sources(address)
        guard = reach
        if instruction.guard is not None:
            own = interpreter.condition(Register(instruction.guard.register.name), state, at)
            guard = all_of((reach, negated(own) if instruction.guard.negated else own))
        if not interpreter.trial and guard != FALSE:
            self.found.accesses.append(MemoryAccess(at, address, guard, loop, sources))
        kind = instruction.modifiers[-1]
        for part, target in enumerate(written_registers(instruction)):
            made: Value = Unknown(frozenset({at}))
            if kind[:1] in "bsu" and kind[1:].isdecimal():
                made = interpreter.datum(at, {at}, kind, part)
            interpreter.assign(at, instruction, target, made, state)

    def _loop(self, index: int, state: State, reach: Node) -> list[_Edge]:
        """Follow a loop; return the edges that leave it, with what registers hold then."""
        loop = self.flow.loops[index]
        interpreter, algebra = self.interpreter, self.algebra
        variable = Name(self._variables[index])
        changed = self._alive[loop.header] & set().union(*(self._written[b] for b in loop.blocks))
        carried = {r: Name(f"carried_{index}_{_identifier(r)}") for r in changed}
        trial: State = dict(state)
        for register, name in carried.items():
            value = state.get(register, Unknown())
            if isinstance(value, Sum):
                trial[register] = single(name)
            elif not isinstance(value, Unknown):
                trial[register] = Operation("!=", (name, Number(0)))
        algebra.add_variable(variable.name, 0, _OPEN)
        interpreter.trial += 1
        self._path.append(variable.name)
        try:
            edges = self._region(index, loop.header, trial, TRUE)
        finally:
            interpreter.trial -= 1
            self._path.pop()
        start, goes_on = self._solve(index, loop, state, trial, carried, edges, variable)
        entered = _conjuncts(reach)
        count = trips(goes_on, variable, entered, algebra) if not is_data(goes_on) else None
        run, guard, last = self._plan(index, loop, variable, count, goes_on, entered, reach)
        if run is None:  # not even once
            return self._skipped(loop, state, reach)
        if not interpreter.trial:
            self.found.loops.append(run)
        self._path.append(variable.name)
        try:
            edges = self._region(index, loop.header, start, guard)
        finally:
            self._path.pop()
        return self._left(loop, edges, variable, last, reach)

    def _solve(
        self,
        index: int,
        loop: Loop,
        state: State,
        trial: State,
        carried: Mapping[str, Name],
        edges: Sequence[_Edge],
        variable: Name,
    ) -> tuple[State, Node]:
        """Return registers at the start of any iteration, and the condition for another."""
        interpreter, algebra = self.interpreter, self.algebra
        back = [e for e in edges if e.target == loop.header]
        ends = self._merge(back, loop.header) if back else trial
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
                made = interpreter.datum(self._extra(name.name), sources[register], "b32")
                start[register] = made
                values[name.name] = written(made)
            elif isinstance(before, Unknown):
                start[register] = Unknown(sources[register])
            else:
                extra = self._extra(name.name)
                made_condition = interpreter.condition_datum(extra, sources[register])
                start[register] = made_condition
                values[name.name] = made_condition
        goes_on = any_of(e.condition for e in back)
        return start, algebra.condition(_put_in(goes_on, values))

    def _plan(
        self,
        index: int,
        loop: Loop,
        variable: Name,
        count: Sum | None,
        goes_on: Node,
        entered: Sequence[Node],
        reach: Node,
    ) -> tuple[LoopRun | None, Node, Sum | None]:
        """Return the loop as it runs, its threads' guard, and a thread's last iteration."""
        algebra = self.algebra
        parent = self._path[-1] if self._path else None
        if count is None:
            algebra.add_variable(variable.name, 0, _OPEN)
            runs = self.interpreter.condition_datum(self._extra(f"loop {index}"), ())
            guard = all_of((reach, runs))
            return LoopRun(index, variable.name, None, parent), guard, None
        last = minus(count, constant(1))
        tested_first = self._only_tests(loop)
        if tested_first:
            # The header runs once more than the body, but does nothing that counts.
            count = last
        most = algebra.range(count).high
        if most > MOST_TRIPS:
            if not self.interpreter.trial:
                raise PerfmodelError(
                    f"kernel {self.function.name!r} has a loop of up to {most} iterations, over "
                    "2**40: check the arguments"
                )
            most = MOST_TRIPS
        if most <= 0:
            return None, FALSE, None
        algebra.add_variable(variable.name, 0, most - 1)
        same = algebra.number(count)
        if same is not None:
            return LoopRun(index, variable.name, written(count), parent), reach, last
        if tested_first:
            guard = all_of((reach, algebra.compared("<", single(variable), count)))
        else:
            condition = continued(goes_on, variable, entered, count, algebra)
            kept = [p for p in _conjuncts(reach) if not _implied(p, condition, variable, algebra)]
            guard = all_of((*kept, condition))
        return LoopRun(index, variable.name, Number(most), parent), guard, last

    def _only_tests(self, loop: Loop) -> bool:
        """Say whether a loop is left from its header only, which makes no memory access."""
        if {source for source, _ in loop.exits} != {loop.header}:
            return False
        if loop.blocks == {loop.header}:
            return False
        return not any(is_memory(self.function.instructions[at]) for at in self._range(loop.header))

    def _skipped(self, loop: Loop, state: State, reach: Node) -> list[_Edge]:
        """Return the edges out of a loop whose body never runs."""
        header = loop.header
        interpreter = self.interpreter
        interpreter.trial += 1
        try:
            onward = self._block(header, dict(state), reach)
        finally:
            interpreter.trial -= 1
        return [
            _Edge(e.source, e.target, e.state, reach) for e in onward if e.target not in loop.blocks
        ]

    def _left(
        self, loop: Loop, edges: Sequence[_Edge], variable: Name, last: Sum | None, reach: Node
    ) -> list[_Edge]:
        """Return the edges out of a loop with registers as the last iteration leaves them."""
        outward = [e for e in edges if e.target != loop.header]
        single_way = len(outward) == 1
        found = []
        for edge in outward:
            alive = self._alive[edge.target] if edge.target < len(self.flow.blocks) else frozenset()
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
            if not single_way:
                own = edge.condition
                if last is not None:
                    own = self.algebra.condition(_put_in(own, {variable.name: written(last)}))
                    condition = all_of((reach, own))
                else:
                    extra = self._extra(f"way from {edge.source} to {edge.target}")
                    unknown = self.interpreter.condition_datum(extra, ())
                    condition = all_of((reach, unknown))
            found.append(_Edge(edge.source, edge.target, state, condition))
        return found

    def _inside(self, instruction: int, loop: Loop) -> bool:
        if instruction >= len(self.flow.block_of):
            return True
        return instruction < 0 or self.flow.block_of[instruction] in loop.blocks

    def _extra(self, what: str) -> int:
        """Return a number, past those of the instructions, for a value that none of them makes."""
        made = len(self.function.instructions) + len(self._extras)
        return self._extras.setdefault(what, made)


def loop_variables(flow: ControlFlow, taken: Iterable[str]) -> list[str]:
    """Return a variable for each loop: k for the first, and so on."""
    used = set(taken)
    tries = [*_VARIABLES] + [f"k{i}" for i in range(2, 2 + len(flow.loops) + len(used))]
    return [name for name in tries if name not in used][: len(flow.loops)]


def _identifier(register: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in register)


def _conjuncts(condition: Node) -> tuple[Node, ...]:
    if isinstance(condition, Operation) and condition.operator == "and":
        return condition.operands
    return () if condition == TRUE else (condition,)


def _relative(conditions: Sequence[Node]) -> list[Node]:
    """Return conditions without what they all share: enough to tell them apart."""
    parts = [_conjuncts(c) for c in conditions]
    shared = [p for p in parts[0] if all(p in other for other in parts[1:])]
    return [all_of(p for p in own if p not in shared) for own in parts]


def _implied(part: Node, condition: Node, variable: Name, algebra: Algebra) -> bool:
    """Say whether a loop's own condition, which only gets harder to meet, implies its entry's."""
    from perfmodel.expressions import substitute

    if variable.name in names(part):
        return False
    at_start = algebra.condition(substitute(condition, {variable.name: Number(0)}))
    return part in _conjuncts(at_start)


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


_CONDITIONS: Final = frozenset({"<", "<=", ">", ">=", "==", "!=", "and", "or", "not"})
