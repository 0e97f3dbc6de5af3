"""The order in which ptxas issues a block's instructions, and how long a lone warp takes for them.

A warp issues in order and waits where a result is not there yet. ptxas sorts the instructions of a
block so that it waits little, as far as registers allow: a list schedule, the longest way to the
end first, within the registers that the kernel has. Iterations put together are one block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

MOST_SCHEDULED: Final = 4096
"""Instructions of a block past which they are taken in the order of the text."""

GUARD: Final = "!"
"""Behind a value's name: it is read as a guard, for which it is there later."""

Registers = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Step:
    """An instruction, or the few that ptxas makes of one.

    Attributes
    ----------
    reads, writes : tuple of str
        Values, each written once in a block; those read as guards end in `GUARD`.
    slots : float
        Clocks until the warp can issue the next.
    latency : float
        Clocks from the issue to the results.
    pipe : str
        Takes the next instruction of this pipe no sooner than `busy` clocks later.
    busy : float
    load : bool
        Whether it reads global memory, which is waited for apart.
    memory : str
        What else of the same kind keeps its order: "" for nothing.
    fence : bool
        Whether nothing of memory moves past it.
    branch : bool
        Whether it ends the block.
    queued : bool
        Whether the pipe takes it once it is free, and the warp goes on meanwhile: wgmma.
    """

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    slots: float
    latency: float
    pipe: str = ""
    busy: float = 0.0
    load: bool = False
    memory: str = ""
    fence: bool = False
    branch: bool = False
    queued: bool = False


@dataclass(slots=True)
class Clock:
    """A lone warp: when it can issue next, and when each value and pipe is there.

    `guard` says how much later values are there as guards [clocks].
    """

    guard: float = 0.0
    now: float = 0.0
    ready: dict[str, float] = field(default_factory=dict)
    free: dict[str, float] = field(default_factory=dict)

    def run(self, steps: Sequence[Step], load_latency: float = 0.0) -> float:
        """Issue instructions in order; return the clocks that went by."""
        begin = self.now
        for step in steps:
            there = max((self._there(r) for r in step.reads), default=0.0)
            at = there
            if step.slots:
                free = self.free.get(step.pipe, 0.0)
                at = max(self.now, there, 0.0 if step.queued else free)
                self.now = at + step.slots
                self.free[step.pipe] = max(at, free) + step.busy
            latency = step.latency + (load_latency if step.load else 0.0)
            for value in step.writes:
                self.ready[value] = at + latency
        return self.now - begin

    def _there(self, value: str) -> float:
        name = value.removesuffix(GUARD)
        later = self.guard if name != value else 0.0
        return self.ready.get(name, -later) + later


def scheduled(
    steps: Sequence[Step],
    words: Registers,
    alive_after: frozenset[str],
    alive_through: int,
    budget: int,
    load_latency: float,
    guard: float = 0.0,
) -> list[Step]:
    """Return a block's instructions in the order in which ptxas is taken to issue them.

    Parameters
    ----------
    steps : sequence of Step
        In the order of the text.
    words : mapping of str to int
        Registers of each value.
    alive_after : frozenset of str
        Values that are wanted after the block.
    alive_through : int
        Registers of what is alive all through the block.
    budget : int
        Registers of a thread. Where no order does with so many, ptxas did: it makes values of what
        is there anew, keeps them in uniform registers, or spills them. Those are not counted.
    load_latency : float
        Clocks that a load from global memory is taken to last.
    guard : float
        How much later values are there as guards [clocks].
    """
    if len(steps) > MOST_SCHEDULED:
        return list(steps)
    links = _links(steps, guard)
    height = _heights(steps, links[1], load_latency)

    def within(room: int) -> tuple[list[Step], int]:
        """Return the order with so many registers for loads, and those that are then too many."""
        return _ordered(
            steps, links, height, words, alive_after, alive_through, budget, room, load_latency
        )

    found, over = within(budget)
    if over == 0:
        return found
    least = within(0)[1]
    if least > 0:
        # ptxas had room for all the same: it makes values anew, or keeps them elsewhere.
        budget += least
        found, over = within(budget)
        if over == 0:
            return found
        least = within(0)[1]
    # What is loaded early leaves room for what is made of other loads first.
    low, high = 0, budget
    while over > least and high - low > 1:
        room = (low + high) // 2
        order, more = within(room)
        if more <= least:
            found, low = order, room
        else:
            high = room
    return found


def _ordered(
    steps: Sequence[Step],
    links: tuple[list[set[int]], list[list[tuple[int, float | None]]]],
    height: Sequence[float],
    words: Registers,
    alive_after: frozenset[str],
    alive_through: int,
    budget: int,
    room: int,
    load_latency: float,
) -> tuple[list[Step], int]:
    before, after = links
    count = len(steps)
    over = 0
    values = [_values(step) for step in steps]
    uses: dict[str, int] = {}
    users: dict[str, list[int]] = {}
    for i, step in enumerate(steps):
        for value in values[i]:
            uses[value] = uses.get(value, 0) + 1
        for value in values[i].union(step.writes):
            users.setdefault(value, []).append(i)
    made = {value for step in steps for value in step.writes}
    live = alive_through + sum(words.get(v, 1) for v in uses if v not in made)
    waiting = [len(b) for b in before]
    there = [0.0] * count
    ready = [i for i in range(count) if not waiting[i]]
    order: list[Step] = []
    now = 0.0

    def free(i: int) -> int:
        return (room if steps[i].load else budget) - live

    known: dict[int, int] = {}

    def growth(i: int) -> int:
        if i not in known:
            writes, reads = steps[i].writes, values[i]
            grown = sum(words.get(v, 1) for v in writes if uses.get(v, 0) or v in alive_after)
            freed = sum(words.get(v, 1) for v in reads if uses[v] == 1 and v not in alive_after)
            known[i] = grown - freed
        return known[i]

    def spare(i: int) -> int:
        # Vectors lie in aligned registers: as many as they have but one may stay free before them.
        return len(steps[i].writes) - 1 if steps[i].load else 0

    while ready:
        best = _best(ready, there, height, now, free, growth, spare)
        ready.remove(best)
        step = steps[best]
        live += growth(best)
        over = max(over, live - budget)
        for value in values[best]:
            uses[value] -= 1
            if uses[value] < 2:  # who reads it last frees it
                for user in users[value]:
                    known.pop(user, None)
        at = max(now, there[best]) if step.slots else there[best]
        if step.slots:
            now = at + step.slots
        latency = step.latency + (load_latency if step.load else 0.0)
        for j, extra in after[best]:
            there[j] = max(there[j], at + (0.0 if extra is None else latency + extra))
            waiting[j] -= 1
            if not waiting[j]:
                ready.append(j)
        order.append(step)
    return order, over


def _values(step: Step) -> set[str]:
    return {value.removesuffix(GUARD) for value in step.reads}


def _best(
    ready: Sequence[int],
    there: Sequence[float],
    height: Sequence[float],
    now: float,
    free: Callable[[int], int],
    growth: Callable[[int], int],
    spare: Callable[[int], int],
) -> int:
    """Return what to issue next, with so many registers free for each."""
    room = [i for i in ready if growth(i) <= 0 or growth(i) + spare(i) <= free(i)]
    if not room:
        # Something has to spill or wait: what grows least, first in the text.
        return min(ready, key=lambda i: (growth(i), i))
    return min(room, key=lambda i: (max(there[i], now), -height[i], i))


def _links(
    steps: Sequence[Step], guard: float
) -> tuple[list[set[int]], list[list[tuple[int, float | None]]]]:
    """Return what each instruction comes after, and what comes after it.

    With the latter, how much later than its results are there; None for what does not need them.
    """
    before: list[set[int]] = [set() for _ in steps]
    after: list[list[tuple[int, float | None]]] = [[] for _ in steps]
    maker: dict[str, int] = {}
    stores: dict[str, int] = {}
    loads: dict[str, list[int]] = {}
    fence: int | None = None
    touched: list[int] = []

    def link(i: int | None, j: int, extra: float | None) -> None:
        if i is not None and i not in before[j]:
            before[j].add(i)
            after[i].append((j, extra))

    for j, step in enumerate(steps):
        for value in sorted(step.reads, key=lambda v: not v.endswith(GUARD)):
            name = value.removesuffix(GUARD)
            link(maker.get(name), j, guard if name != value else 0.0)
        if step.fence:
            for i in (*touched, fence):
                link(i, j, None)
            fence, touched = j, []
            stores.clear()
            loads.clear()
        elif step.memory:
            space, _, kind = step.memory.partition(":")
            link(fence, j, None)
            link(stores.get(space), j, None)
            if kind == "store":
                for i in loads.pop(space, ()):
                    link(i, j, None)
                stores[space] = j
            else:
                loads.setdefault(space, []).append(j)
            touched.append(j)
        for value in step.writes:
            maker[value] = j
    return before, after


def _heights(
    steps: Sequence[Step],
    after: Sequence[Sequence[tuple[int, float | None]]],
    load_latency: float,
) -> list[float]:
    """Return the clocks from each instruction's issue to the end, along the longest way."""
    height = [0.0] * len(steps)
    for i in range(len(steps) - 1, -1, -1):
        step = steps[i]
        latency = step.latency + (load_latency if step.load else 0.0)
        height[i] = max(
            (height[j] + (0.0 if extra is None else latency + extra) for j, extra in after[i]),
            default=latency,
        )
    return height
