"""What the instructions of a block need of one another, in the order in which they are issued.

Blocks of PTX become steps: each reads and writes values, takes its clocks, and may wait for a load.
Iterations that ptxas puts together are one block, in its order
(`perfmodel.cuda.sass.schedule`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.liveness import operands_of_their_own, register_words
from perfmodel.cuda.parse.opcodes import calls_for_odd_values
from perfmodel.cuda.parse.registers import (
    alive_registers,
    is_memory,
    read_registers,
    written_registers,
)
from perfmodel.cuda.parse.syntax import Function, Guard, Instruction, SpecialRegister
from perfmodel.cuda.sass.address_registers import address_registers
from perfmodel.cuda.sass.divergence import uniform_registers
from perfmodel.cuda.sass.latencies import Latencies, latencies
from perfmodel.cuda.sass.schedule import GUARD, Step, scheduled
from perfmodel.cuda.sass.tensor_work import (
    tensor_clocks,
    tensor_slots,
    waits_for_products,
)
from perfmodel.cuda.sass.unrolling import UNROLLED, unrolls

FAR: Final = 600.0
"""Clocks of a load from global memory while its waits are counted; any long time."""
GROUP_PIPE: Final = "wgmma"
"""Pipe of a warp group's products: all tensor cores of an SM."""
_FIXED: Final = 1
"""Registers that ptxas keeps: the stack pointer."""


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


class BlockReader:
    """Makes the steps of a function's blocks."""

    def __init__(
        self,
        function: Function,
        flow: ControlFlow,
        counts: Sequence[Mapping[str, float]],
    ) -> None:
        self.function = function
        self.flow = flow
        self.counts = counts
        self.alive = alive_registers(function, flow)
        self.addresses = address_registers(function)
        free = operands_of_their_own(function) | uniform_registers(function, flow)
        self.words = {
            r: 0 if r in free else register_words(function, r)
            for i in function.instructions
            for r in (*read_registers(i), *written_registers(i))
        }

    def body(self, numbers: Sequence[int], trips: float, registers: int) -> Body:
        """Return the instructions of blocks that are one, in the order in which they are issued.

        Parameters
        ----------
        numbers : sequence of int
            Of the blocks.
        trips : float
            Iterations of the loop around.
        registers : int
            Of a thread.
        """
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
                part, words, alive, through + besides, registers - _FIXED, FAR, latencies().guard
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
        if tensor_slots(instruction) or waits_for_products(instruction):
            return _product(instruction, reads, writes, found)
        counts = self.counts[at]
        total = sum(counts.values())
        # What iterations do once for all of them, the last does: the others have offsets.
        once = copies > 1 and 0 < total < 1
        if total <= 0 or (once and copy < copies - 1):
            return Step(reads, writes, 0.0, 0.0)
        if opcode == "mov" and any(isinstance(o, SpecialRegister) for o in instruction.operands):
            return Step(reads, writes, 1.0, found.special, pipe="special", busy=2.0)
        if opcode == "ld" and reads and "const" in instruction.modifiers:
            # At an address that ptxas knows it is an operand of who reads it.
            return Step(reads, writes, total, found.constant)
        pipe = max(counts, key=lambda name: counts[name])
        slots = max(total, 1.0)
        latency = found.of(instruction, pipe)
        if opcode in ("bra", "brx"):
            forward = instruction.guard is not None and not self._goes_back(at)
            clocks = found.forward if forward else found.branch
            return Step(reads, writes, clocks, 0.0, branch=True)
        busy = found.busy.get(pipe, 1.0) * max(counts[pipe], 1.0)
        return Step(reads, writes, slots, latency, pipe=pipe, busy=busy)

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


def _product(
    instruction: Instruction,
    reads: tuple[str, ...],
    writes: tuple[str, ...],
    found: Latencies,
) -> Step:
    """Return the step of a product on tensor cores, or of the wait for those of a warp group.

    A warp group's products run while its warps go on; those into the same sums need not wait for
    one another.
    """
    slots, clocks = tensor_slots(instruction), tensor_clocks(instruction)
    if waits_for_products(instruction):
        return Step(reads, writes, 1.0, 0.0, pipe=GROUP_PIPE, fence=True)
    if instruction.opcode == "wgmma":
        order = f"{GROUP_PIPE}:store"
        return Step(
            reads, writes, slots, slots, pipe=GROUP_PIPE, busy=clocks, memory=order, queued=True
        )
    latency = found.of(instruction, "tensor16")
    return Step(reads, writes, slots, latency, pipe="tensor16", busy=clocks)


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
