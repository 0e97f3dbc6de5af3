"""How long a lone warp takes for each loop's instructions, and how many loads it waits for at once.

Kernels from PTX show which instruction needs which result
(`perfmodel.cuda.sass.dependence`). With the latency of each, and the order in which ptxas
issues them, follow the clocks of an iteration, waits for global memory apart, and the times that an
iteration waits for loads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.registers import is_memory
from perfmodel.cuda.parse.syntax import Function
from perfmodel.cuda.sass.dependence import FAR, BlockReader, Body
from perfmodel.cuda.sass.latencies import latencies
from perfmodel.cuda.sass.machine_loops import MachineLoop, Wanted, kinds_of, matched
from perfmodel.cuda.sass.schedule import Clock
from perfmodel.cuda.sass.sure_waits import keeps_apart, sure_waits
from perfmodel.cuda.sass.tensor_work import waits_for_products

_PLENTY: Final = 1 << 20
"""Registers that never run out."""
_LONG: Final = frozenset({"s64", "u64"})
_ALL: Final = 0.95
"""Share of the warps that run a block from which on it counts as run by all."""
_MOST: Final = 0.4
"""Share of the warps that run a block with loads from which on machine code shows what they wait:
of tiles at edges half of the warps may load nothing, and the others take the time."""
_SOME: Final = 1 / 32
"""Share of the warps that run a block from which on some warp of each block of threads does."""
_BARRIERS: Final = ("bar", "barrier")
_ROUNDS: Final = 4
"""Iterations after which a loop goes on as before."""


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


def paces(
    reader: BlockReader,
    blocks: Iterable[tuple[int, float, str | None]],
    trips: Mapping[str, float],
    registers: int,
    predicated: Mapping[int, int] = MappingProxyType({}),
    machine: Mapping[str | None, Sequence[MachineLoop]] = MappingProxyType({}),
) -> dict[str | None, LoopPace]:
    """Return the pace of each loop, and of what is outside of loops.

    Parameters
    ----------
    reader : BlockReader
        Of the function.
    blocks : iterable of (int, float, str or None)
        Each with the share of warps that issue it, and its loop.
    trips : mapping of str to float
        Iterations of each loop.
    registers : int
        Of a thread.
    predicated : mapping of int to int
        Blocks that nobody branches over, and the block before each.
    machine : mapping of str to sequence of MachineLoop
        For each loop, the kernel's loops in machine code, where it is at hand.
    """
    function, flow = reader.function, reader.flow
    members: dict[str | None, list[tuple[int, float]]] = {}
    for block, share, loop in sorted(blocks, key=lambda b: b[0]):
        members.setdefault(loop, []).append((block, share))
    shares = {block: share for inside in members.values() for block, share in inside}
    # Others wait for the warps that go into a loop, or their block ends with them.
    members = {
        loop: [
            (block, share / entered_share(function, flow, shares, inside))
            for block, share in inside
        ]
        for loop, inside in members.items()
    }
    joined = {loop: _joined(flow, inside, predicated) for loop, inside in members.items()}
    exact = _by_machine_code(reader, joined, trips, machine)
    return {
        loop: pace(
            reader,
            inside,
            registers,
            trips.get(loop or "", 1.0),
            loop is not None,
            None if loop is None else exact.get(loop),
        )
        for loop, inside in joined.items()
    }


def pace(
    reader: BlockReader,
    blocks: Sequence[tuple[Sequence[int], float]],
    registers: int,
    trips: float,
    loop: bool,
    exact: tuple[float, float | None] | None = None,
) -> LoopPace:
    """Return the pace of the blocks of one loop, or of those outside of loops.

    Parameters
    ----------
    reader : BlockReader
        Of the function.
    blocks : sequence of (sequence of int, float)
        In the order of the text, each with the share of warps that run it. Of several every other
        one is predicated: they are one block of machine code.
    registers : int
        Of a thread.
    trips : float
        Iterations.
    loop : bool
        Whether the last of the blocks leads to the first.
    exact : (float, float or None), optional
        Clocks and waits of an iteration by machine code, if that is known.
    """
    if exact is not None and exact[1] is not None:
        return LoopPace(exact[0], exact[1])
    function, flow = reader.function, reader.flow
    if _meets(function, flow, blocks):
        # All wait for the warps that run a block, however few.
        blocks = [(b, 1.0 if share >= _SOME else share) for b, share in blocks]
    bodies = [(reader.body(b, trips, registers), share) for b, share in blocks]
    rounds = _ROUNDS if loop else 1
    clocks = _clocks(bodies, rounds, 0.0)
    waits = (_clocks(bodies, rounds, FAR) - clocks) / FAR
    clocks = clocks if exact is None else exact[0]
    begin = 0.0 if loop else latencies().begin
    if loop and keeps_apart(function, flow, blocks):
        return LoopPace(clocks + begin, max(waits, 0.0))
    singles = [(reader.body(b, 1.0, _PLENTY), share) for b, share in blocks]
    alone = (_clocks(singles, rounds, FAR) - _clocks(singles, rounds, 0.0)) / FAR
    sure = sure_waits(function, flow, blocks)
    return LoopPace(clocks + begin, max(waits, 0.0), max(alone, 0.0), sure)


def _meets(
    function: Function, flow: ControlFlow, blocks: Iterable[tuple[Sequence[int], float]]
) -> bool:
    """Say whether a block's warps wait for one another."""
    places = (at for numbers, _ in blocks for at in flow.places(numbers))
    return any(function.instructions[at].opcode in _BARRIERS for at in places)


def entered_share(
    function: Function,
    flow: ControlFlow,
    shares: Mapping[int, float],
    inside: Sequence[tuple[int, float]],
) -> float:
    """Return the share of a block's warps that go into a loop, where the others wait for them.

    Few turns of many warps are no few warps: what counts is who comes to the loop. Where no more
    warps than those run a barrier, the others are of other blocks, or of other turns.
    """
    numbers = {number for number, _ in inside}
    found = next((loop for loop in flow.loops if loop.header in numbers), None)
    if found is None:
        return 1.0
    before = [b for b in flow.blocks[found.header].predecessors if b not in found.blocks]
    entered = max((shares[b] for b in before if b in shares), default=1.0)
    if entered <= 0.0:
        return 1.0
    meeting = [
        share
        for block, share in shares.items()
        if share > _ALL * entered and _meets(function, flow, [((block,), share)])
    ]
    part = entered / min(meeting, default=entered)
    return part if _SOME <= part < _ALL else 1.0


def _by_machine_code(
    reader: BlockReader,
    blocks: Mapping[str | None, Sequence[tuple[Sequence[int], float]]],
    trips: Mapping[str, float],
    machine: Mapping[str | None, Sequence[MachineLoop]],
) -> dict[str, tuple[float, float | None]]:
    """Return the clocks and the waits of an iteration of each loop that machine code shows.

    Of several blocks where machine code has one, by predicates. The waits are None where they do
    not show: of data that is copied ahead, and where warps skip loads by turns.
    """
    function, flow, counts = reader.function, reader.flow, reader.counts
    wanted = {}
    for loop, inside in blocks.items():
        if loop is None or loop not in machine:
            continue
        places = [at for numbers, _ in inside for at in flow.places(numbers)]
        instructions = [function.instructions[at] for at in places]
        # An access to memory is one, and counts as nothing.
        length = sum(
            sum(counts[at].values()) or is_memory(function.instructions[at]) for at in places
        )
        whole = Wanted(kinds_of(instructions), length, trips.get(loop, 1.0))
        # A long division is a call, of which the loop shows nothing; nor of products it waits for.
        hidden = any(i.opcode in ("div", "rem") and _LONG & {*i.modifiers} for i in instructions)
        hidden = hidden or any(waits_for_products(i) for i in instructions)
        loading = [share for numbers, share in inside if _loads(function, flow, numbers)]
        every = min((share for _, share in inside), default=0.0) >= _ALL
        waited = "copy" not in whole.kinds and min(loading, default=1.0) >= _MOST
        wanted[loop] = (whole, hidden, len(inside) == 1 and every, waited)
    every_loop = next(iter(machine.values()), ())
    found = {}
    for (loop, (_, hidden, alone, waited)), at in zip(
        wanted.items(), matched([w for w, *_ in wanted.values()], every_loop), strict=True
    ):
        if at is None or hidden:
            continue
        n, place = at
        one = machine[loop][place]
        if alone or (one.straight and len(blocks[loop]) > 1):
            found[loop] = (one.clocks / n, one.waits / n if waited else None)
    return found


def _loads(function: Function, flow: ControlFlow, numbers: Sequence[int]) -> bool:
    return "load" in kinds_of(function.instructions[at] for at in flow.places(numbers))


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
