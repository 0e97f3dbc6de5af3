"""A kernel's control flow, followed symbolically: which blocks run when, and what they access.

Blocks are walked in order, registers merged where paths meet. A loop is walked twice: once with
names for what it changes, which shows recurrences and the condition to go on, then with formulas
in the loop's variable. What data decides is marked as such and left to the emulator.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from perfmodel.cuda.addresses.algebra import Algebra
from perfmodel.cuda.addresses.conditions import (
    FALSE,
    TRUE,
    all_of,
    any_of,
    conjuncts,
    negated,
    work_done,
)
from perfmodel.cuda.addresses.instructions import Interpreter
from perfmodel.cuda.addresses.loop_solver import OPEN, Edge, LoopSolver, State
from perfmodel.cuda.addresses.loops import trips
from perfmodel.cuda.addresses.records import (
    BlockRun,
    Followed,
    MemoryAccess,
    NotFollowedError,
    Unknown,
    Value,
    is_data,
)
from perfmodel.cuda.addresses.sums import Sum, constant, single
from perfmodel.cuda.parse import syntax as ptx
from perfmodel.cuda.parse.control_flow import ControlFlow, Loop
from perfmodel.cuda.parse.liveness import alive_registers
from perfmodel.cuda.parse.memory_parts import Part, is_memory, memory_parts, source_size
from perfmodel.cuda.parse.opcodes import read_registers, written_registers
from perfmodel.cuda.parse.syntax import Address, Function, Instruction
from perfmodel.expressions import Name, Node
from perfmodel.hardware.device import WARP_SIZE

MOST_WORK: Final = 2_500_000
"""Parts of formulas that are made or compared until a kernel is emulated: some 10 s. It is counted,
for what is predicted must not depend on how fast or busy the machine is."""
STEP_WORK: Final = 25
"""The same for an instruction that is followed, trial runs of loops included (measured: 3 to 4 us
for a part, 30 to 200 us for an instruction)."""
MOST_DEPTH: Final = 10
"""Loops inside each other that are followed: each is walked twice, so time doubles with each."""

_VARIABLES: Final = "kjlmpqrstuvw"


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
        self._began = work_done()
        self._variables = loop_variables(flow, taken)
        self._written = {
            i: {r for at in flow.places([i]) for r in written_registers(function.instructions[at])}
            for i in range(len(flow.blocks))
        }
        self._alive = alive_registers(function, flow)
        self._path: list[str] = []
        self._loops = LoopSolver(function, flow, interpreter, self._alive)

    def run(self) -> Followed:
        """Follow the kernel from its start.

        Raises `PerfmodelError` if it has jumps into loops, takes too long to follow, or never ends.
        """
        if self.flow.irreducible:
            raise NotFollowedError(
                f"kernel {self.function.name!r} jumps into the middle of a loop, which has no "
                "formula"
            )
        if any(loop.depth > MOST_DEPTH for loop in self.flow.loops):
            raise NotFollowedError(
                f"kernel {self.function.name!r} has over {MOST_DEPTH} loops inside each other"
            )
        if self.flow.blocks:
            self._region(None, 0, {}, TRUE)
        return self.found

    def _region(self, loop: int | None, entry: int, state: State, reach: Node) -> list[Edge]:
        """Follow the blocks of a loop's body, or of the kernel; return the edges that leave it."""
        inside = None if loop is None else self.flow.loops[loop].blocks
        waiting: dict[int, list[Edge]] = {entry: [Edge(-1, entry, state, reach)]}
        reached: dict[int, Node] = {}
        leaving: list[Edge] = []
        for block in self.flow.order:
            if block not in waiting:
                continue
            edges = [e for e in waiting.pop(block) if e.condition != FALSE]
            if not edges:
                continue
            condition = self._reach(block, edges, reached, entry)
            reached[block] = condition
            merged = self._merge(edges, block)
            own = self.flow.innermost[block]
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
        self, block: int, edges: Sequence[Edge], reached: Mapping[int, Node], entry: int
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

    def _merge(self, edges: Sequence[Edge], block: int) -> State:
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

    def _block(self, block: int, state: State, reach: Node) -> list[Edge]:
        """Follow the instructions of a block."""
        interpreter = self.interpreter
        loop = self._path[-1] if self._path else None
        if not interpreter.trial:
            self.found.blocks.append(BlockRun(block, reach, loop))
        last: Instruction | None = None
        for at in self.flow.places([block]):
            self._steps += 1
            if self._steps * STEP_WORK + work_done() - self._began > MOST_WORK:
                raise NotFollowedError(
                    f"kernel {self.function.name!r} takes too long to follow: {self._steps} "
                    "instructions"
                )
            last = self.function.instructions[at]
            if self._reads_parameters(last, state):
                targets = written_registers(last)
                held = parameters(interpreter, at, last, state, len(targets))
                for target, value in zip(targets, held, strict=True):
                    interpreter.assign(at, last, target, value, state)
            elif is_memory(last):
                self._memory(at, last, state, reach, loop)
            else:
                interpreter.run(at, last, state)
        return self._onward(block, last, state, reach)

    def _reads_parameters(self, instruction: Instruction, state: State) -> bool:
        if instruction.opcode != "ld" or len(instruction.operands) < 2:
            return False
        if instruction.space == "param":
            return True
        return structure_place(self.interpreter, instruction.operands[1], state) is not None

    def _onward(
        self, block: int, last: Instruction | None, state: State, reach: Node
    ) -> list[Edge]:
        targets = self.flow.blocks[block].successors
        at = self.flow.blocks[block].stop - 1
        conditions: list[Node] = [TRUE]
        if len(targets) > 1 and last is not None and last.guard is not None:
            taken = self.interpreter.condition(last.guard.operand, state, at)
            conditions = [taken, negated(taken)]
        elif len(targets) > 1:  # an indirect branch
            conditions = [self.interpreter.condition_datum(at, ())] * len(targets)
        return [
            Edge(block, target, state, all_of((reach, condition)))
            for target, condition in zip(targets, conditions, strict=True)
        ]

    def _memory(
        self, at: int, instruction: Instruction, state: State, reach: Node, loop: str | None
    ) -> None:
        interpreter = self.interpreter
        if not any(isinstance(o, Address) for o in instruction.operands):
            interpreter.run(at, instruction, state)
            return
        guard = reach
        if instruction.guard is not None:
            guard = all_of((reach, interpreter.condition(instruction.guard.operand, state, at)))
        for number, part in enumerate(memory_parts(instruction)):
            operand = instruction.operands[part.operand]
            taken = all_of((guard, takes_part(interpreter, part, instruction, state)))
            address = interpreter.address(operand, state, at)
            coordinates: tuple[Sum, ...] = ()
            if isinstance(operand, Address) and operand.coordinates:
                coordinates = tuple(interpreter.integer(c, state, at) for c in operand.coordinates)
            if not interpreter.trial and taken != FALSE:
                sources = interpreter.sources(address, *coordinates)
                gives = instruction.opcode in ("st", "atom")
                read = read_registers(instruction) if gives else ()
                stored = interpreter.sources(*(state[r] for r in read if r in state))
                self.found.accesses.append(
                    MemoryAccess(at, address, taken, loop, sources, number, coordinates, stored)
                )
        kind = instruction.modifiers[-1]
        for part_of, target in enumerate(written_registers(instruction)):
            made: Value = Unknown(frozenset({at}))
            if kind[:1] in "bsu" and kind[1:].isdecimal():
                made = interpreter.datum(at, {at}, kind, part_of)
            interpreter.assign(at, instruction, target, made, state)

    def _loop(self, index: int, state: State, reach: Node) -> list[Edge]:
        """Follow a loop; return the edges that leave it, with what registers hold then."""
        loop = self.flow.loops[index]
        interpreter, algebra = self.interpreter, self.algebra
        variable = Name(self._variables[index])
        written_inside = frozenset().union(*(self._written[b] for b in loop.blocks))
        trial, carried = self._loops.trial(index, state, self._alive[loop.header] & written_inside)
        algebra.add_variable(variable.name, 0, OPEN)
        interpreter.trial += 1
        self._path.append(variable.name)
        try:
            edges = self._region(index, loop.header, trial, TRUE)
        finally:
            interpreter.trial -= 1
            self._path.pop()
        back = [e for e in edges if e.target == loop.header]
        ends = self._merge(back, loop.header) if back else trial
        start, goes_on = self._loops.solve(loop, state, ends, carried, back, variable)
        sure = reach == TRUE and not interpreter.trial
        count = None
        if not is_data(goes_on):
            count = trips(goes_on, variable, conjuncts(reach), algebra, sure)
        parent = self._path[-1] if self._path else None
        run, guard, last = self._loops.plan(index, loop, variable, count, goes_on, reach, parent)
        if run is None:  # not even once
            return self._skipped(loop, state, reach)
        if not interpreter.trial:
            self.found.loops.append(run)
        self._path.append(variable.name)
        try:
            edges = self._region(index, loop.header, start, guard)
        finally:
            self._path.pop()
        return self._loops.left(loop, edges, variable, last, reach)

    def _skipped(self, loop: Loop, state: State, reach: Node) -> list[Edge]:
        """Return the edges out of a loop whose body never runs."""
        self.interpreter.trial += 1
        try:
            onward = self._block(loop.header, dict(state), reach)
        finally:
            self.interpreter.trial -= 1
        return [
            Edge(e.source, e.target, e.state, reach) for e in onward if e.target not in loop.blocks
        ]


def loop_variables(flow: ControlFlow, taken: Iterable[str]) -> list[str]:
    """Return a variable for each loop: k for the first, and so on."""
    used = set(taken)
    tries = [*_VARIABLES] + [f"k{i}" for i in range(2, 2 + len(flow.loops) + len(used))]
    return [name for name in tries if name not in used][: len(flow.loops)]


def _relative(conditions: Sequence[Node]) -> list[Node]:
    """Return conditions without what they all share: enough to tell them apart."""
    parts = [conjuncts(c) for c in conditions]
    shared = [p for p in parts[0] if all(p in other for other in parts[1:])]
    return [all_of(p for p in own if p not in shared) for own in parts]


def parameters(
    interpreter: Interpreter,
    at: int,
    instruction: ptx.Instruction,
    state: Mapping[str, Value],
    count: int,
) -> list[Value]:
    """Return what a load reads of parameters, for each of its registers."""
    where = instruction.operands[1]
    place = structure_place(interpreter, where, state)
    if isinstance(where, ptx.Address) and where.place is not None:
        place = where.place
    kind = instruction.modifiers[-1]
    size = ptx.SIZES.get(kind, 4)
    if place is None or place[1] is None:
        if kind[:1] in "bsu" and kind[1:].isdecimal():
            return [interpreter.datum(at, {at}, kind, i) for i in range(count)]
        return [Unknown(frozenset({at}))] * count
    name, start = place[0], place[1]
    return [_held(interpreter, name, start + i * size, kind, size) for i in range(count)]


def structure_place(
    interpreter: Interpreter, operand: ptx.Operand, state: Mapping[str, Value]
) -> tuple[str, int | None] | None:
    """Return the structure that an address is in, and where if that is a constant [B]."""
    if not interpreter.structure_names or not isinstance(operand, ptx.Address):
        return None
    value = interpreter.value(operand.base, state)
    if not isinstance(value, Sum):
        return None
    inside = [n for n in value.names if n in interpreter.structure_names]
    if len(inside) != 1 or value.terms.get((Name(inside[0]),)) != 1:
        return None
    offset = (value - single(Name(inside[0]))).number
    name = interpreter.structure_names[inside[0]]
    return name, None if offset is None else offset + operand.offset


def _held(interpreter: Interpreter, name: str, at: int, kind: str, size: int) -> Value:
    """Return what a parameter holds somewhere."""
    known = interpreter.known_parameters.get((name, at))
    if known is not None:
        return known
    data = interpreter.structures.get(name)
    if data is None or kind[:1] not in "bsu" or not 0 <= at <= len(data) - size:
        return Unknown()
    # Registers have no sign; instructions that see none convert.
    small = size < 4 and kind[:1] != "s"
    return constant(int.from_bytes(data[at : at + size], "little", signed=not small))


def takes_part(
    interpreter: Interpreter, part: Part, instruction: ptx.Instruction, state: Mapping[str, Value]
) -> Node:
    """Return the condition for a lane to take part in an access, besides the guard."""
    conditions: list[Node] = []
    if part.lanes < WARP_SIZE and not part.bulk and "%laneid" in interpreter.specials:
        few = constant(part.lanes)
        conditions.append(interpreter.algebra.compared("<", interpreter.specials["%laneid"], few))
    if instruction.opcode == "cp" and part.kind == "load" and not part.bulk:
        size = source_size(instruction)
        # Bytes that are read, or whether none are; the rest of what is written is 0.
        read = Unknown() if size is None else interpreter.value(size, state)
        if isinstance(read, Sum):
            conditions.append(interpreter.algebra.compared("!=", read, constant(0)))
        elif not isinstance(read, Unknown):
            conditions.append(negated(read))
    return all_of(conditions)
