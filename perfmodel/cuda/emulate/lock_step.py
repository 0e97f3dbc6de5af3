"""Lanes of sampled blocks run as hardware runs them: in lock step, lanes that part wait.

Of all places where lanes stand, the one that comes first in the text goes next; so lanes that leave
a branch or a loop early wait where the others come to. A barrier holds a block's lanes until all
are there.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, NoReturn

import numpy as np

from perfmodel.arrays import Array
from perfmodel.cuda.emulate.accesses import access, ticket_draws
from perfmodel.cuda.emulate.budget import EACH, EARLY, FAR, Budget
from perfmodel.cuda.emulate.bulk import Arrivals, barrier_step, bulk_copy
from perfmodel.cuda.emulate.counts import Counter
from perfmodel.cuda.emulate.instructions import step
from perfmodel.cuda.emulate.launch import EmulatedLaunch, laid_out, sample_lanes
from perfmodel.cuda.emulate.machine import LANES, Active, Step
from perfmodel.cuda.emulate.odd_values import OddValues
from perfmodel.cuda.emulate.provenance import mark_deciding
from perfmodel.cuda.emulate.rest import Rest, assumed_end, drift, rest, told
from perfmodel.cuda.emulate.result import (
    Emulation,
    gave_up,
    in_longest_loop,
    looping,
    never_ended,
    run_doubt,
    run_notes,
    unequal,
    waited_for,
)
from perfmodel.cuda.emulate.reuse import Touches, cached_loads
from perfmodel.cuda.emulate.segments import differ, join, segments
from perfmodel.cuda.emulate.values import dtype_of
from perfmodel.cuda.parse.control_flow import ControlFlow, Loop, control_flow
from perfmodel.cuda.parse.syntax import Function, Instruction, Module, Register
from perfmodel.cuda.parse.waiting_loops import exits_of_tries, wait_exits
from perfmodel.cuda.sass.branch_tables import ways_of
from perfmodel.cuda.sass.sure_waits import waits_within
from perfmodel.cuda.sass.unrolling import COPIES, LAST_COPIES, CountedLoop, first_copy
from perfmodel.kernels.doubt import SURE, Doubt

Progress = Callable[[int, int], None]
"""Told how many of how many threads are done."""

Turns = Mapping[int, tuple[float, float]]
"""By basic block: how often some lane runs it, and how often a lane does on average."""
ENDLESS: Final = Doubt(1.5, 20.0)
"""How far the time may be off of a loop that was left without knowing when it ends: assumed."""
PATIENCE: Final = 4
"""Rounds after which a wait is taken to be over."""
MOST_LEFT: Final = 4
"""Loops that are left before their end."""


class LockStep:
    """Lanes of sampled blocks, and where each of them stands."""

    def __init__(
        self,
        module: Module,
        function: Function,
        launch: EmulatedLaunch,
        lanes: int,
        together: Mapping[int, CountedLoop],
        *,
        closely: bool = True,
    ) -> None:
        self.function = function
        self.flow: ControlFlow = control_flow(function)
        self.sample = sample_lanes(function, launch, lanes)
        self.regions, self.machine = laid_out(module, function, launch, self.sample)
        self.machine.tickets = ticket_draws(function, self.flow)
        self.counter = _counter(function, self.flow, self.sample.padded, closely)
        self.arrivals = Arrivals()
        self.odd = OddValues()
        self.together = together
        self.segments, self.first = segments(
            function, self.flow, self.together, self.machine, self._step
        )
        self.end = len(self.segments)
        self.lasts = [*self.first[1:], self.end]
        self._at = np.full(self.sample.lanes, self.end)
        self._waiting = np.zeros(self.sample.lanes, dtype=bool)
        self._resume = np.zeros(self.sample.lanes, dtype=np.int64)
        self.warps = np.zeros(len(self.flow.blocks), dtype=np.int64)
        self.threads = np.zeros(len(self.flow.blocks), dtype=np.int64)
        self.work = np.zeros(self.sample.lanes // LANES)
        self.edges: dict[tuple[int, int], int] = {}
        self.history: list[tuple[float, Array]] = []
        self.left: list[str] = []
        self.endless: list[Loop] = []
        self.doubt = SURE
        self.stuck = False
        self.waits = wait_exits(function, self.flow)
        self.tried = exits_of_tries(function, self.flow)
        self.came = {loop.header: np.zeros(len(self.work), bool) for loop in self.flow.loops}
        self.rounds: dict[int, int] = {}
        self.waited = False
        self.told: list[str] = []
        self.most_steps = 0

    def least_work(self, turns: Turns) -> float:
        """Return the work of all lanes in some basic blocks, by how often they run them."""
        lanes = int(np.count_nonzero(self.sample.inside))
        none = 0.0, 0.0
        each = ((len(s.steps) + 1, *turns.get(s.block, none)) for s in self.segments)
        return sum(length * (EACH * some + lanes * mean) for length, some, mean in each)

    def run(
        self,
        most_seconds: float,
        most_steps: int,
        progress: Progress | None,
        *,
        some: Array | bool = True,
        last: bool = True,
        assume: bool = False,
    ) -> None:
        """Run all lanes, or some, to their end; the `last` try leaves loops that are too long.

        Those that do not count too, if an end may be assumed.
        """
        budget = Budget(most_seconds, most_steps)
        self.most_steps = most_steps
        self._at = np.where(self.sample.inside & some, 0, self.end)
        self._waiting[:] = False
        while True:
            # Lanes that wait stand past the end until they are let go.
            place = int(self._at.min())
            if place == self.end:
                if not self._waiting.any():
                    return
                self._release()
                continue
            budget.steps += 1
            if budget.pauses:
                self.history.append((float(budget.work), self.warps.copy()))
            if self._shortened(place, budget, last=last, assume=assume):
                continue
            if progress is not None and budget.pauses:
                done = (self._at == self.end) & ~self._waiting
                progress(int(np.count_nonzero(done)), self.sample.lanes)
            lanes = np.flatnonzero(self._at == place)
            budget.do(len(self.segments[place].steps), len(lanes))
            self._run_segment(place, self.machine.some(lanes))

    def _shortened(self, place: int, budget: Budget, *, last: bool, assume: bool) -> bool:
        """Say whether lanes were let out of a loop that is too long; give up if none can be."""
        if budget.first_look():
            # Where the end is far beyond what is left of the time, more would tell little.
            left = self._rest()
            far = left and max(left.factor, 4 * int(left.turns.max()) / budget.steps) * EARLY > FAR
            if left is not None and far:
                if not last:
                    self._give_up(place, budget)
                self._leave(left)
                return True
        if not budget.is_spent():
            return False
        left = self._rest(assume) if last else None
        if left is None:
            self._give_up(place, budget)
        # Better between two iterations than within one.
        if not left.whole and not budget.is_overdrawn():
            return False
        self._leave(left)
        budget.extend(self.most_steps)
        return True

    def _rest(self, assume: bool = False) -> Rest | None:
        """Return a loop whose iterations so far may stand for the others."""
        if len(self.left) >= MOST_LEFT:
            return None
        blocks = np.array([*(s.block for s in self.segments), -1])
        place = np.where(self._waiting, self._resume, self._at)
        where = blocks[place]
        found = rest(self.function, self.flow, self.machine, where, self.warps)
        if found is None and assume:
            found = assumed_end(self.flow, where, self.edges, 0 * self.work)
        return found

    def _leave(self, found: Rest) -> None:
        """Let lanes leave a loop before its end."""
        inside, factor = found.loop.blocks, found.factor
        for block in inside:
            part = self.flow.blocks[block]
            self.counter.multiply(range(part.start, part.stop), factor)
            self.warps[block] = round(self.warps[block] * factor)
            self.threads[block] = round(self.threads[block] * factor)
        self.edges |= {e: round(n * factor) for e, n in self.edges.items() if {*e} <= inside}
        length = sum(len(s.steps) + 1 for s in self.segments if s.block in inside)
        self.work += found.turns * length
        some = self.machine.some(found.lanes)
        if found.register:
            self.machine.write(found.register, found.value, some)
            off = 1 + abs(drift(self.history, found.loop.header))
            self.doubt = self.doubt.combined(Doubt(off, off))
        else:
            self.endless.append(found.loop)
        self._waiting[found.lanes] = False
        self._go(found.loop.header, found.target, some)
        said = told(found, self.function, self.flow, self.history)
        if not found.register:
            self.doubt = self.doubt.combined(replace(ENDLESS, reasons=(said,)))
        self.left.append(said)

    def _run_segment(self, place: int, active: Active) -> None:
        segment = self.segments[place]
        self.counter.touches.turn += 1
        self.work[active.numbers] += len(segment.steps) + 1
        if segment.starts:
            self.warps[segment.block] += active.warps
            self.threads[segment.block] += len(active.lanes)
            if segment.block in self.came:
                self.came[segment.block][active.numbers] = True
        for run, guard in segment.steps:
            if guard is None:
                run(active)
                continue
            held = guard(active)
            some = active.lanes[held if held.ndim else np.full(len(active.lanes), held)]
            if len(some):
                run(self.machine.some(some))
        if segment.barrier:
            self._resume[active.lanes] = place + 1
            self._at[active.select] = self.end
            self._waiting[active.select] = True
            return
        if not segment.ends:
            self._at[active.select] = place + 1
            return
        self._branch(segment.block, segment.copy, active)

    def _branch(self, block: int, copy: int, active: Active) -> None:
        part = self.flow.blocks[block]
        last = self.function.instructions[part.stop - 1]
        targets = part.successors
        if len(targets) == 1:
            self._go(block, targets[0], active)
            return
        if last.opcode == "brx":
            self._indirect(block, last, active)
            return
        assert last.guard is not None
        taken = self.machine.getter(last.guard.operand, np.dtype(bool))(active)
        if block in self.tried:
            taken = np.full(len(taken), targets[0] == self.tried[block])
        if block in self.waits:
            taken = self._let_go(block, taken, targets, active.lanes)
        for target, lanes in (
            (targets[0], active.lanes[taken]),
            (targets[1], active.lanes[~taken]),
        ):
            some = self.machine.some(lanes)
            if target == block and block in self.together and copy not in LAST_COPIES:
                self._count_edge(block, target, some)
                self._at[some.select] = self._place(block, copy + 1)
            else:
                self._go(block, target, some)

    def _let_go(self, block: int, taken: Array, targets: tuple[int, ...], lanes: Array) -> Array:
        """Return who takes a branch of a loop that waits: everybody leaves after some rounds.

        As long as lanes leave by and by, they take turns, and nobody waits for what is not run.
        """
        leaving = targets[0] == self.waits[block]
        left = np.count_nonzero(taken == leaving) * LANES >= len(taken)
        self.rounds[block] = 0 if left else self.rounds.get(block, 0) + 1
        if self.rounds[block] < PATIENCE:
            return taken
        self.rounds[block] = 0
        if not self.waited:
            waiting = len(np.unique(lanes >> 5)) * self.sample.blocks / len(self.sample.numbers)
            self.doubt = self.doubt.combined(Doubt(in_turn=waiting))
        self.waited = True
        return np.full(len(taken), leaving)

    def _indirect(self, block: int, last: Instruction, active: Active) -> None:
        index = next((o for o in last.operands if isinstance(o, Register)), None)
        assert index is not None
        ways = ways_of(self.function, self.flow, last)
        chosen = self.machine.read(index.name, np.dtype(np.uint32), active)
        chosen = np.minimum(chosen, max(len(ways) - 1, 0))
        for number in np.unique(chosen):
            lanes = active.lanes[chosen == number]
            self._go(block, ways[int(number)], self.machine.some(lanes))

    def _go(self, block: int, target: int, active: Active) -> None:
        if not len(active.lanes):
            return
        self._count_edge(block, target, active)
        if target in self.together:
            self._at[active.select] = self._place(target, self._copy(target, active))
        else:
            inside = target < len(self.flow.blocks)
            self._at[active.select] = self.first[target] if inside else self.end

    def _count_edge(self, block: int, target: int, active: Active) -> None:
        key = (block, target)
        self.edges[key] = self.edges.get(key, 0) + active.warps

    def _copy(self, block: int, active: Active) -> Array:
        """Return which copy of a loop's body lanes go to, by the iterations that are left."""
        counted = self.together[block]
        kind = dtype_of(counted.kind) or np.dtype(np.int64)
        value = self.machine.read(counted.register, kind, active)
        bound = self.machine.getter(counted.bound, kind)(active)
        return first_copy(counted.turns(value, np.broadcast_to(bound, value.shape)))

    def _place(self, block: int, copy: Array | int) -> Array | int:
        return self.first[block] + copy * (self.lasts[block] - self.first[block]) // COPIES

    def _release(self) -> None:
        """Let the lanes of all blocks go on whose barrier everybody has reached."""
        # Nobody runs: of each block, all lanes that are not done wait.
        places = self._resume[self._waiting]
        join(self.segments, self.machine, self._waiting, self._resume, self.sample.block_of)
        if len(places) and places.min() != places.max():
            # Barriers in different places, some of them never reached by all.
            self.stuck = self.stuck or differ(self._waiting, self._resume, self.sample.block_of)
        self._at[self._waiting] = places
        self._waiting[:] = False

    def _give_up(self, place: int, budget: Budget) -> NoReturn:
        block = self.flow.blocks[self.segments[place].block]
        line = self.function.instructions[block.start].line
        slow = budget.steps <= self.most_steps
        raise gave_up(self.function, line, self.regions, budget.steps, budget.elapsed, slow)

    def _step(self, at: int, instruction: Instruction) -> Step | None:
        """Return what runs the instruction of a place, or None if nothing is to be done."""
        machine = self.machine
        if instruction.opcode == "mbarrier":
            return barrier_step(machine, instruction, self.arrivals)
        if instruction.opcode == "cp" and "bulk" in instruction.modifiers:
            return bulk_copy(machine, at, instruction, self.counter, self.arrivals)
        run = access(machine, at, instruction, self.counter.report)
        if run is not None:
            return run
        made = step(machine, instruction)
        return made and self.odd.watched(machine, at, instruction, made)

    def result(self) -> Emulation:
        """Return what was counted."""
        mark_deciding(self.function, self.counter.counts, self.regions)
        work = self.work.reshape(len(self.sample.numbers), -1)
        steps = np.zeros(len(self.flow.blocks))
        for segment in self.segments:
            steps[segment.block] += len(segment.steps) + 1
        looped, other_loops = np.zeros(len(self.work), dtype=bool), 0.0
        if self.came:
            looped, other_loops = in_longest_loop(self.function, self.warps * steps, self.came)
        notes = [
            *self.told,
            *self.arrivals.counted(self.counter),
            *(said for said in self.left if said not in self.doubt.reasons),
            *run_notes(self.machine, self.regions, len(self.sample.numbers), self.sample.blocks),
        ]
        if self.waited:
            notes.append(waited_for(self.function))
        if self.stuck:
            notes.append("some threads of a block never reach the barrier at which others wait")
        return Emulation(
            sampled=len(self.sample.numbers),
            blocks=self.sample.blocks,
            warps=self.warps,
            threads=self.threads,
            edges=self.edges,
            counts=self.counter.counts,
            reuse=self.counter.touches.reuse(),
            unequal=unequal(work),
            looping=looping(work, looped.reshape(work.shape), other_loops),
            regions=self.regions,
            notes=tuple(notes),
            odd=self.odd.shares(),
            doubt=self.doubt.combined(run_doubt(self.machine, self.regions)),
            warps_per_block=self.sample.padded // LANES,
            endless=never_ended(self.function, self.endless, self.counter.counts, self.regions),
            strayed=self.machine.memory.lost,
        )


def _counter(function: Function, flow: ControlFlow, padded: int, closely: bool) -> Counter:
    """Return what counts a kernel's accesses."""
    changing = frozenset(
        at for at, i in enumerate(function.instructions) if i.opcode in ("atom", "red", "st")
    )
    constants = frozenset(
        at for at, i in enumerate(function.instructions) if "const" in i.modifiers
    )
    waits = waits_within(function, flow)
    cached = {at: waits.get(at, 0.0) for at in cached_loads(function)} if closely else {}
    return Counter(changing, Touches(cached, padded), constants, closely=closely)
