"""How long a lone warp takes for each loop's instructions, and how many loads it waits for at once.

Kernels from PTX show which instruction needs which result. With the latency of each, and the order
in which ptxas issues them (`perfmodel.frontends.schedule`), follow the clocks of an iteration,
waits for global memory apart, and the times that an iteration waits for loads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from perfmodel.frontends.address_registers import address_registers
from perfmodel.frontends.divergence import uniform_registers
from perfmodel.frontends.latencies import Latencies, latencies
from perfmodel.frontends.ptx.control_flow import ControlFlow
from perfmodel.frontends.ptx.liveness import operands_of_their_own, register_words
from perfmodel.frontends.ptx.opcodes import calls_for_odd_values
from perfmodel.frontends.ptx.syntax import Function, Guard, Instruction, SpecialRegister
from perfmodel.frontends.schedule import GUARD, Clock, Step, scheduled
from perfmodel.frontends.sure_waits import keeps_apart, sure_waits
from perfmodel.frontends.symbolic_registers import (
    alive_registers,
    is_memory,
    read_registers,
    written_registers,
)
from perfmodel.frontends.unrolling import UNROLLED, unrolls

_FAR: Final = 600.0
"""Clocks of a load from global memory while its waits are counted; any long time."""
_PLENTY: Final = 1 << 20
"""Registers that never run out."""
_ROUNDS: Final = 4
"""Iterations after which a loop goes on as before."""
_FIXED: Final = 1
"""Registers that ptxas keeps: the stack pointer."""


@dataclass(frozen=True, slots=True)
class LoopPace:
    """What an iteration of a loop, or the code outside of loops, takes of a lone warp.

    Attributes
    ----------
    clocks : float
        Besides the waits for global memory.
    waits : float
        Waits for loads from global memory, one after the other.
    alone : float or None
        The same, were no iterations put together, and registers plenty; None where the loop has
        what surely keeps loads apart, so that all waits are real.
    sure : float
        Those of `alone` that no order of the instructions spares.
    """

    clocks: float
    waits: float
    alone: float | None = None
    sure: float = 0.0

    def abreast(self, rounds: float) -> float:
        """Return the iterations whose loads are waited for at once; below 1: parts of one.

        `rounds` are the loads of an iteration that wait for one another by their addresses. Stores
        between loads, barriers and odd values keep them apart for certain, and make more waits.
        """
        every = rounds
        if self.alone is not None:
            every = self.alone * rounds / max(self.sure, rounds)
        return every / self.waits if self.waits > 0 else 1.0


@dataclass(frozen=True, slots=True)
class Body:
    """Instructions of a block, of all iterations that are put together.

    Attributes
    ----------
    steps : tuple of Step
    last : mapping of str to str
        The value that each register ends with.
    copies : int
        Iterations.
    """

    steps: tuple[Step, ...]
    last: Mapping[str, str]
    copies: int


def paces(
    function: Function,
    flow: ControlFlow,
    counts: Sequence[Mapping[str, float]],
    blocks: Iterable[tuple[int, float, str | None]],
    trips: Mapping[str, float],
    registers: int,
    predicated: Mapping[int, int] = MappingProxyType({}),
) -> dict[str | None, LoopPace]:
    """Return the pace of each loop, and of what is outside of loops.

    Parameters
    ----------
    function : Function
    flow : ControlFlow
    counts : sequence of mapping
        Machine instructions of each instruction of the function, by pipe.
    blocks : iterable of (int, float, str or None)
        Each with the share of warps that issue it, and its loop.
    trips : mapping of str to float
        Iterations of each loop.
    registers : int
        Of a thread.
    predicated : mapping of int to int
        Blocks that nobody branches over, and the block before each.
    """
    members: dict[str | None, list[tuple[int, float]]] = {}
    for block, share, loop in sorted(blocks, key=lambda b: b[0]):
        members.setdefault(loop, []).append((block, share))
    return {
        loop: pace(
            function,
            flow,
            counts,
            _joined(flow, inside, predicated),
            registers,
            trips.get(loop or "", 1.0),
            loop is not None,
        )
        for loop, inside in members.items()
    }


def pace(
    function: Function,
    flow: ControlFlow,
    counts: Sequence[Mapping[str, float]],
    blocks: Sequence[tuple[Sequence[int], float]],
    registers: int,
    trips: float,
    loop: bool,
) -> LoopPace:
    """Return the pace of the blocks of one loop, or of those outside of loops.

    Parameters
    ----------
    function : Function
    flow : ControlFlow
    counts : sequence of mapping
        Machine instructions of each instruction of the function, by pipe.
    blocks : sequence of (sequence of int, float)
        In the order of the text, each with the share of warps that run it. Of several every other
        one is predicated: they are one block of machine code.
    registers : int
        Of a thread.
    trips : float
        Iterations.
    loop : bool
        Whether the last of the blocks leads to the first.
    """
    reader = _Reader(function, flow, counts, registers)
    bodies = [(reader.body(b, trips), share) for b, share in blocks]
    rounds = _ROUNDS if loop else 1
    clocks = _clocks(bodies, rounds, 0.0)
    waits = (_clocks(bodies, rounds, _FAR) - clocks) / _FAR
    begin = 0.0 if loop else latencies().begin
    if loop and keeps_apart(function, flow, blocks):
        return LoopPace(clocks + begin, max(waits, 0.0))
    reader.budget = _PLENTY
    singles = [(reader.body(b, 1.0), share) for b, share in blocks]
    alone = (_clocks(singles, rounds, _FAR) - _clocks(singles, rounds, 0.0)) / _FAR
    sure = sure_waits(function, flow, blocks)
    return LoopPace(clocks + begin, max(waits, 0.0), max(alone, 0.0), sure)


def _joined(
    flow: ControlFlow, blocks: Iterable[tuple[int, float]], predicated: Mapping[int, int]
) -> list[tuple[tuple[int, ...], float]]:
    """Return blocks put together with the predicated ones behind them, and what comes then."""
    found: list[tuple[tuple[int, ...], float]] = []
    for number, share in blocks:
        parts = found[-1][0] if found else ()
        follows = bool(parts) and predicated.get(number) == parts[-1]
        closes = len(parts) > 1 and {*flow.blocks[number].predecessors} == {*parts[-2:]}
        if follows or (closes and parts[-1] in predicated):
            found[-1] = ((*parts, number), found[-1][1])
        else:
            found.append(((number,), share))
    return found


def _clocks(bodies: Iterable[tuple[Body, float]], rounds: int, load: float) -> float:
    """Return the clocks of an iteration once the loop runs steadily."""
    clock = Clock(guard=latencies().guard)
    parts = list(bodies)
    passed = 0.0
    for _ in range(rounds):
        passed = 0.0
        for body, share in parts:
            taken = clock.run(body.steps, load)
            passed += min(share, 1.0) * taken / body.copies
            moved = {r: clock.ready[v] for r, v in body.last.items() if v in clock.ready}
            clock.ready.update(moved)
    return passed


class _Reader:
    """Makes the steps of a function's blocks."""

    def __init__(
        self,
        function: Function,
        flow: ControlFlow,
        counts: Sequence[Mapping[str, float]],
        registers: int,
    ) -> None:
        self.function = function
        self.flow = flow
        self.counts = counts
        self.budget = registers - _FIXED
        self.alive = alive_registers(function, flow)
        self.addresses = address_registers(function)
        free = operands_of_their_own(function) | uniform_registers(function, flow)
        self.words = {
            r: 0 if r in free else register_words(function, r)
            for i in function.instructions
            for r in (*read_registers(i), *written_registers(i))
        }

    def body(self, numbers: Sequence[int], trips: float) -> Body:
        """Return the instructions of blocks that are one, in the order in which they are issued."""
        together = trips >= UNROLLED and unrolls(self.function, self.flow, numbers[0], self.counts)
        # Barriers keep the loads of iterations apart.
        inside = (self.function.instructions[at] for at, _, _ in self._inside(numbers))
        waits = any(i.opcode in ("bar", "barrier") for i in inside)
        copies = UNROLLED if together and not waits else 1
        version: dict[str, str] = {}
        words: dict[str, int] = {}
        steps: list[Step] = []
        same: dict[str, tuple[str, ...]] = {}
        ends: list[int] = []
        for copy in range(copies):
            for at, around, wanted_next in self._inside(numbers):
                instruction = self.function.instructions[at]
                own = instruction.guard or around
                guard = None if own is None else own.register.name
                read = {*read_registers(instruction), *(() if around is None else (guard,))}
                reads = tuple(
                    source + (GUARD if r == guard and source == version.get(r, r) else "")
                    for r in sorted(read)
                    for source in same.get(version.get(r, r), (version.get(r, r),))
                )
                writes = written_registers(instruction)
                if guard is not None:
                    # Where the predicate does not hold, what was there stays, if anybody wants it.
                    kept = writes if around is None else [r for r in writes if r in wanted_next]
                    reads += tuple(version.get(r, r) for r in kept)
                for r in writes:
                    version[r] = f"{r}#{at}.{copy}"
                made = tuple(version[r] for r in writes)
                words |= {version[r]: self.words[r] for r in writes}
                words |= {r: self.words[r] for r in read_registers(instruction) if r not in version}
                step = self._step(instruction, at, reads, made, copy, copies)
                if step.slots or step.fence or guard is not None or len(made) != 1:
                    steps.append(step)
                else:
                    # What its users take in has no place of its own.
                    same[made[0]] = reads
                if calls_for_odd_values(instruction):
                    ends.append(len(steps))
        after: set[str] = set()
        for target in self.flow.blocks[numbers[-1]].successors:
            if target < len(self.alive):
                after |= self.alive[target]
        through = sum(
            self.words[r]
            for r in after
            if r not in version and not any(r in s.reads or r + GUARD in s.reads for s in steps)
        )
        for r in after & version.keys():
            sources = same.get(version[r])
            if sources is not None and len(sources) == 1:
                version[r] = sources[0]
            elif sources is not None:
                steps.append(Step(sources, (version[r],), 0.0, 0.0))
        wanted = frozenset(version.get(r, r) for r in after)
        for value in words:
            if value.partition("#")[0] in self.addresses and "#" in value and value not in wanted:
                words[value] = 0
        # A branch stays behind all else.
        end = [s for s in steps if s.branch]
        steps = [s for s in steps if not s.branch]
        ordered: list[Step] = []
        for part, alive, besides in _parts(steps, ends, wanted, words):
            ordered += scheduled(
                part, words, alive, through + besides, self.budget, _FAR, latencies().guard
            )
        return Body((*ordered, *end), version, copies)

    def _inside(self, numbers: Sequence[int]) -> Iterator[tuple[int, Guard | None, frozenset[str]]]:
        """Yield the instructions of blocks that are one, what predicates them, and who is alive."""
        around: Guard | None = None
        for number, following in zip(numbers, (*numbers[1:], None), strict=True):
            block = self.flow.blocks[number]
            skips = following is not None and len(block.successors) > 1
            alive = frozenset() if around is None or following is None else self.alive[following]
            for at in range(block.start, block.stop - skips):
                yield at, around, alive
            around = self.function.instructions[block.stop - 1].guard if skips else None

    def _step(
        self,
        instruction: Instruction,
        at: int,
        reads: tuple[str, ...],
        writes: tuple[str, ...],
        copy: int,
        copies: int,
    ) -> Step:
        found = latencies()
        opcode = instruction.opcode
        if opcode in ("bar", "barrier"):
            return Step(reads, writes, 1.0, 0.0, fence=True)
        if is_memory(instruction):
            return _memory(instruction, reads, writes, found)
        counts = self.counts[at]
        total = sum(counts.values())
        # What iterations do once for all of them, the last does: the others have offsets.
        once = copies > 1 and 0 < total < 1
        if total <= 0 or (once and copy < copies - 1):
            return Step(reads, writes, 0.0, 0.0)
        if opcode == "mov" and any(isinstance(o, SpecialRegister) for o in instruction.operands):
            return Step(reads, writes, 1.0, found.special, pipe="special", busy=2.0)
        pipe = max(counts, key=lambda name: counts[name])
        slots = max(total, 1.0)
        latency = found.of(instruction, pipe)
        if opcode in ("bra", "brx"):
            forward = instruction.guard is not None and not self._goes_back(at)
            clocks = found.forward if forward else found.branch
            return Step(reads, writes, clocks, 0.0, branch=True)
        return Step(reads, writes, slots, latency, pipe=pipe, busy=found.busy.get(pipe, 1.0))

    def _goes_back(self, at: int) -> bool:
        number = self.flow.block_of[at]
        return any(target <= number for target in self.flow.blocks[number].successors)


def _parts(
    steps: Sequence[Step], ends: Sequence[int], wanted: frozenset[str], words: Mapping[str, int]
) -> Iterator[tuple[Sequence[Step], frozenset[str], int]]:
    """Yield the parts of a block between branches for odd values, which nothing moves across.

    Each with what is wanted after it, and the registers of what is alive all through it.
    """
    begin = 0
    for end in (*ends, len(steps)):
        part = steps[begin:end]
        later = {r.removesuffix(GUARD) for s in steps[end:] for r in s.reads} | wanted
        here = {r.removesuffix(GUARD) for s in part for r in (*s.reads, *s.writes)}
        before = {r for s in steps[:begin] for r in (*s.reads, *s.writes)}
        alive = (before & later) - here
        yield part, frozenset(later), sum(words.get(r, 1) for r in alive)
        begin = end


def _memory(
    instruction: Instruction,
    reads: tuple[str, ...],
    writes: tuple[str, ...],
    found: Latencies,
) -> Step:
    """Return the step of a memory access."""
    modifiers = instruction.modifiers
    space = next((m for m in modifiers if m in ("global", "shared", "local")), "generic")
    constant = "nc" in modifiers
    kind = "load" if instruction.opcode in ("ld", "ldu") else "store"
    order = "" if constant else f"{space}:{kind}"
    busy = found.busy.get("memory", 2.0)
    if space == "shared":
        wide = len(writes) > 2 or "v4" in modifiers
        latency = found.shared_wide if wide else found.shared
        if instruction.opcode == "atom":
            latency = found.shared_atomic
        return Step(reads, writes, 1.0, latency, "memory", busy, memory=order)
    far = bool(writes)
    return Step(reads, writes, 1.0, 0.0, "memory", busy, load=far, memory=order)
