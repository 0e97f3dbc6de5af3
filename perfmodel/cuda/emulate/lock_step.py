"""Lanes of sampled blocks run as hardware runs them: in lock step, lanes that part wait.

Of all places where lanes stand, the one that comes first in the text goes next; so lanes that leave
a branch or a loop early wait where the others come to. A barrier holds a block's lanes until all
are there.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, NoReturn

import numpy as np
import numpy.typing as npt

from perfmodel.cuda.emulate.any_step import any_step
from perfmodel.cuda.emulate.bulk import Arrivals
from perfmodel.cuda.emulate.contracted import contracted
from perfmodel.cuda.emulate.counts import Counter
from perfmodel.cuda.emulate.deciding import mark_deciding
from perfmodel.cuda.emulate.layout import (
    EmulatedLaunch,
    lay_out,
    local_bytes,
    sampled_blocks,
    shared_bytes,
    special_registers,
)
from perfmodel.cuda.emulate.machine import LANES, Active, Machine, Step
from perfmodel.cuda.emulate.memory import Memory
from perfmodel.cuda.emulate.odd_values import OddValues, with_ways
from perfmodel.cuda.emulate.rest import Rest, assumed_end, drift, rest, stand_for, told
from perfmodel.cuda.emulate.result import (
    Emulation,
    gave_up,
    never_ended,
    run_doubt,
    run_notes,
    unequal,
)
from perfmodel.cuda.emulate.reuse import Touches, cached_loads
from perfmodel.cuda.emulate.segments import differ, join, segments
from perfmodel.cuda.emulate.tickets import ticket_draws
from perfmodel.cuda.emulate.values import dtype_of
from perfmodel.cuda.emulate.waits import PATIENCE, wait_exits, waited_for
from perfmodel.cuda.parse.control_flow import ControlFlow, Loop, control_flow
from perfmodel.cuda.parse.lock_loops import exits_of_tries
from perfmodel.cuda.parse.syntax import Function, Instruction, Module, Register
from perfmodel.cuda.sass.branch_tables import ways_of
from perfmodel.cuda.sass.machine_instructions import unrolled_loops
from perfmodel.cuda.sass.sure_waits import waits_within
from perfmodel.cuda.sass.unrolling import COPIES, LAST_COPIES, first_copy
from perfmodel.kernels.doubt import SURE, Doubt

Array = npt.NDArray[Any]
Progress = Callable[[int, int], None]
"""Told how many of how many threads are done."""

MOST_LOCAL: Final = 1 << 22
"""Bytes of local memory of all emulated lanes, unless one block has more."""
WORK: Final = 1.2e8
"""Work of a second: instructions times lanes, and `EACH` for an instruction however few run it."""
EACH: Final = 2000
"""Measured on a busy machine of two cores: 5 to 15 ns a lane, 25 to 170 us an instruction of 2,048
to 16,384 lanes (pair_angles, twister_streams of measurements/programs/corpus-blind5); predictions
depend on either only where an emulation is cut short."""
SLOWER: Final = 2.0
"""Processor time over that at which it stops all the same, on machines that are slower."""
MORE: Final = 0.25
"""Part of its time that an emulation gets besides, where lanes left a loop before its end."""
ENDLESS: Final = Doubt(1.5, 20.0)
"""How far the time may be off of a loop that was left without knowing when it ends: assumed."""
MOST_LEFT: Final = 4
"""Loops that are left before their end."""
EARLY: Final = 0.125
FAR: Final = 8.0
"""Part of its time after which an emulation looks how far the end is, and times of all of it that
are too far."""


class LockStep:
    """Lanes of sampled blocks, and where each of them stands."""

    def __init__(
        self, module: Module, function: Function, launch: EmulatedLaunch, lanes: int
    ) -> None:
        self.function = function
        self.flow: ControlFlow = control_flow(function)
        x, y, z = launch.block
        threads = x * y * z
        self.padded = -(-threads // LANES) * LANES
        # What all lanes have in local memory is to stay in this machine's caches.
        lanes = min(lanes, MOST_LOCAL // max(local_bytes(function, {}), 1))
        self.blocks = launch.grid[0] * launch.grid[1] * launch.grid[2]
        self.sampled = sampled_blocks(self.blocks, max(1, lanes // self.padded))
        count = len(self.sampled)
        self.lanes = count * self.padded
        self.block_of = np.repeat(np.arange(count), self.padded)
        thread = np.tile(np.arange(self.padded), count)
        self.inside = thread < threads
        self.regions, symbols, parameters = lay_out(module, function, launch)
        shared = shared_bytes(module, function, symbols, launch.shared_bytes)
        local = local_bytes(function, symbols)
        memory = Memory(self.regions, shared, local, self.block_of)
        specials = special_registers(launch, thread, self.sampled[self.block_of])
        self.machine = Machine(function, memory, specials, symbols, parameters, self.lanes)
        self.machine.others = self.blocks / count
        self.machine.tickets = ticket_draws(function, self.flow)
        changing = frozenset(
            at for at, i in enumerate(function.instructions) if i.opcode in ("atom", "red", "st")
        )
        constants = frozenset(
            at for at, i in enumerate(function.instructions) if "const" in i.modifiers
        )
        waits = waits_within(function, self.flow)
        cached = {at: waits.get(at, 0.0) for at in cached_loads(function)}
        self.counter = Counter(changing, Touches(cached, self.padded), constants)
        self.arrivals = Arrivals()
        self.odd = OddValues()
        self.contracted = contracted(function, self.flow) if with_ways(function) else {}
        self.together = unrolled_loops(function, self.flow)
        self.segments, self.first = segments(
            function, self.flow, self.together, self.machine, self._step
        )
        self.end = len(self.segments)
        self.lasts = [*self.first[1:], self.end]
        self._at = np.full(self.lanes, self.end)
        self._waiting = np.zeros(self.lanes, dtype=bool)
        self._resume = np.zeros(self.lanes, dtype=np.int64)
        self.warps = np.zeros(len(self.flow.blocks), dtype=np.int64)
        self.threads = np.zeros(len(self.flow.blocks), dtype=np.int64)
        self.work = np.zeros(self.lanes // LANES)
        self.edges: dict[tuple[int, int], int] = {}
        self.around: dict[int, int] = {}
        self.history: list[tuple[float, Array]] = []
        self.left: list[str] = []
        self.endless: list[Loop] = []
        self.doubt = SURE
        self.stuck = False
        self.waits = wait_exits(function, self.flow)
        self.tried = exits_of_tries(function, self.flow)
        self.rounds: dict[int, int] = {}
        self.waited = False
        self.told: list[str] = []
        self.most_steps = 0

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
        most_work = most_seconds * WORK
        self.most_steps = most_steps
        self._at = np.where(self.inside & some, 0, self.end)
        self._waiting[:] = False
        began = time.thread_time()
        steps, work, early = 0, 0, False
        while True:
            # Lanes that wait stand past the end until they are let go.
            place = int(self._at.min())
            if place == self.end:
                if not self._waiting.any():
                    return
                self._release()
                continue
            steps += 1
            if steps & 63 == 0:
                self.history.append((float(work), self.warps.copy()))
            if not early and steps & 63 == 0 and work > EARLY * most_work:
                # Where the end is far beyond what is left of the time, more would tell little.
                early = True
                left = self._rest()
                far = left and max(left.factor, 4 * int(left.turns.max()) / steps) * EARLY > FAR
                if left is not None and far:
                    if not last:
                        self._give_up(place, steps, time.thread_time() - began)
                    self._leave(left)
                    continue
            late = steps & 63 == 0 and time.thread_time() - began > SLOWER * (most_work / WORK)
            if late or work > most_work or steps > most_steps:
                left = self._rest(assume) if last else None
                if left is None:
                    self._give_up(place, steps, time.thread_time() - began)
                # Better between two iterations than within one.
                if left.whole or work > (1 + MORE) * most_work:
                    self._leave(left)
                    most_work = work + MORE * most_seconds * WORK
                    most_steps = steps + int(MORE * self.most_steps)
                    continue
            if progress is not None and steps & 63 == 0:
                done = (self._at == self.end) & ~self._waiting
                progress(int(np.count_nonzero(done)), self.lanes)
            lanes = np.flatnonzero(self._at == place)
            work += (len(self.segments[place].steps) + 1) * (EACH + len(lanes))
            self._run_segment(place, self.machine.some(lanes))

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
        stand_for(found, (self.warps, self.threads), (self.around, self.edges))
        for block in found.loop.blocks:
            part = self.flow.blocks[block]
            self.counter.multiply(range(part.start, part.stop), found.factor)
        length = sum(len(s.steps) + 1 for s in self.segments if s.block in found.loop.blocks)
        self.work += found.turns * length
        some = self.machine.some(found.lanes)
        if found.register:
            self.machine.write(found.register, found.value, some)
            off = 1 + abs(drift(self.history, found.loop.header))
            self.doubt = self.doubt.beside(Doubt(off, off))
        else:
            self.endless.append(found.loop)
        self._waiting[found.lanes] = False
        self._go(found.loop.header, found.target, some)
        said = told(found, self.function, self.flow, self.history)
        if not found.register:
            self.doubt = self.doubt.beside(replace(ENDLESS, reasons=(said,)))
        self.left.append(said)

    def _run_segment(self, place: int, active: Active) -> None:
        segment = self.segments[place]
        self.counter.touches.turn += 1
        self.work[active.numbers] += len(segment.steps) + 1
        if segment.starts:
            self.warps[segment.block] += active.warps
            self.threads[segment.block] += len(active.lanes)
        for run, guard in zip(segment.steps, segment.guards, strict=True):
            if guard is None:
                run(active)
                continue
            held = np.broadcast_to(guard(active), (len(active.lanes),))
            some = active.lanes[held]
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
            self._indirect(block, active)
            return
        assert last.guard is not None
        name = last.guard.register.name
        taken = self.machine.read(name, np.dtype(bool), active)
        if last.guard.negated:
            taken = ~taken
        if block in self.tried:
            taken = np.full(len(taken), targets[0] == self.tried[block])
        if block in self.waits:
            taken = self._let_go(block, taken, targets, active.lanes)
        if block in self.together and copy in LAST_COPIES:
            self.around[block] = self.around.get(block, 0) + active.warps
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
            waiting = len(np.unique(lanes >> 5)) * self.blocks / len(self.sampled)
            self.doubt = self.doubt.beside(Doubt(in_turn=waiting))
        self.waited = True
        return np.full(len(taken), leaving)

    def _indirect(self, block: int, active: Active) -> None:
        last = self.function.instructions[self.flow.blocks[block].stop - 1]
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
        join(self.segments, self.machine, self._waiting, self._resume, self.block_of)
        if len(places) and places.min() != places.max():
            # Barriers in different places, some of them never reached by all.
            self.stuck = self.stuck or differ(self._waiting, self._resume, self.block_of)
        self._at[self._waiting] = places
        self._waiting[:] = False

    def _give_up(self, place: int, steps: int, seconds: float) -> NoReturn:
        block = self.flow.blocks[self.segments[place].block]
        line = self.function.instructions[block.start].line
        raise gave_up(self.function, line, self.regions, steps, seconds, steps <= self.most_steps)

    def _step(self, at: int, instruction: Instruction) -> Step | None:
        return any_step(
            self.machine,
            at,
            instruction,
            self.counter,
            self.arrivals,
            self.contracted,
            self.odd,
        )

    def result(self) -> Emulation:
        """Return what was counted."""
        mark_deciding(self.function, self.counter.counts, self.regions)
        notes = [
            *self.told,
            *self.arrivals.counted(self.counter),
            *(said for said in self.left if said not in self.doubt.reasons),
            *run_notes(self.machine, self.regions, len(self.sampled), self.blocks),
        ]
        if self.waited:
            notes.append(waited_for(self.function))
        if self.stuck:
            notes.append("some threads of a block never reach the barrier at which others wait")
        return Emulation(
            sampled=len(self.sampled),
            blocks=self.blocks,
            warps=self.warps,
            threads=self.threads,
            edges=self.edges,
            counts=self.counter.counts,
            misses=self.counter.touches.misses(),
            once=self.counter.touches.once(),
            drawn=self.counter.touches.drawn(),
            apart=self.counter.touches.apart(),
            jumping=self.counter.touches.jumping(),
            alike=self.counter.touches.alike(),
            met=self.counter.touches.met(),
            unequal=unequal(self.work.reshape(len(self.sampled), -1)),
            regions=self.regions,
            notes=tuple(notes),
            rounds=self.around,
            odd=self.odd.shares(),
            doubt=self.doubt.beside(run_doubt(self.machine, self.regions)),
            warps_per_block=self.padded // LANES,
            endless=never_ended(self.function, self.endless, self.counter.counts, self.regions),
            strayed=self.machine.memory.lost,
        )
