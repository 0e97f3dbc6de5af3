"""What an emulation found, or that it found no end."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.cuda.emulate.counts import Count
from perfmodel.cuda.emulate.machine import SMS, Machine
from perfmodel.cuda.emulate.memory import Region
from perfmodel.cuda.emulate.provenance import provenance
from perfmodel.cuda.emulate.reuse import Reuse
from perfmodel.cuda.parse.control_flow import Loop, control_flow
from perfmodel.cuda.parse.once import once
from perfmodel.cuda.parse.opcodes import is_block_barrier
from perfmodel.cuda.parse.syntax import Function, SpecialRegister, leaves
from perfmodel.errors import PerfmodelError
from perfmodel.kernels.counted import Unequal
from perfmodel.kernels.doubt import SURE, Doubt

UNKNOWN: Final = "content of "
"""How sentences on unknown content begin."""
LEFT_OUT: Final = 4.0
"""How many times longer a launch may take for accesses that are left out, however few: assumed."""


class NoEndError(PerfmodelError):
    """An emulation that was given up."""

    slow: bool = False  # whether the time was up, not the steps
    guessed: bool = False  # whether content was generated, which may decide how often loops run


@dataclass(slots=True)
class Emulation:
    """What the sampled blocks did."""

    # Blocks that were run, and those of the launch.
    sampled: int
    blocks: int
    # By basic block: warps and threads that ran it, each time they did.
    warps: Array
    threads: Array
    edges: dict[tuple[int, int], int]  # warps with a lane that went from one basic block to another
    counts: dict[int, Count]  # by memory instruction
    regions: list[Region]  # buffers, in the order in which counts number them
    notes: tuple[str, ...] = ()  # what was assumed or left out
    reuse: Mapping[int, Reuse] = field(default_factory=dict)  # by load, of those that L1 caches
    unequal: Unequal = field(default_factory=Unequal)  # how much of it each warp and block did
    # The same of the warps that come to a loop, if any do, and of their blocks.
    looping: Unequal = field(default_factory=Unequal)
    # By instruction, the share of its warps that take each way of odd values.
    odd: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    doubt: Doubt = SURE  # how far what was assumed may be off
    warps_per_block: int = 1
    # Buffers whose unknown content decides loops that had not ended when they were left.
    endless: tuple[str, ...] = ()
    # Share of the accesses that go to addresses which no buffer has, and are left out.
    strayed: float = 0.0

    @property
    def sampled_warps(self) -> int:
        """Warps that were run."""
        return self.sampled * self.warps_per_block

    def entries(self, loop: Loop) -> int:
        """Return the warps that come to a loop from outside."""
        return sum(
            warps
            for (source, target), warps in self.edges.items()
            if target == loop.header and source not in loop.blocks
        )

    @property
    def scale(self) -> float:
        """What a count of the sample stands for in the launch."""
        return self.blocks / self.sampled


def gave_up(
    function: Function, line: int, regions: Sequence[Region], steps: int, seconds: float, slow: bool
) -> NoEndError:
    """Return what to say of an emulation whose time or (not `slow`) steps are up at a line."""
    guessed = [r.name for r in regions if r.guessed]
    hint = (
        f"; the content of {', '.join(guessed[:4])} is generated: state it (--arg NAME=FILE.npy"
        " or a launch file) if it decides how often loops run"
        if guessed
        else ""
    )
    what = "takes too long to follow" if slow else "does not end"
    remedy = "; if its loops are that long, predict a smaller size, or describe it in TOML"
    error = NoEndError(
        f"kernel {function.name!r} {what}: after {steps} steps and {seconds:.1f} s "
        f"threads are still at PTX line {line}{hint or (remedy if slow else '')}"
    )
    error.guessed = bool(guessed)
    error.slow = slow
    return error


def unequal(work: Array) -> Unequal:
    """Return how the warps of some blocks differ in their instructions, a row a block."""
    average = max(float(work.mean()), 1e-9)
    slowest = work.max(axis=1) / average
    return Unequal(
        round(float(slowest.mean()), 4),
        round(float(slowest.max()), 4),
        round(float(work.mean(axis=1).std() / average), 4),
    )


def looping(work: Array, looped: Array, other_loops: float = 0.0) -> Unequal:
    """Return how the warps of some blocks differ that come to a loop, if any do: see `unequal`.

    From the average one of them: others have none of the iterations that are counted. It is counted
    with its work in `other_loops`, which not all of them come to.
    """
    if not looped.any():
        return unequal(work)
    average = work[looped].mean() + other_loops
    slowest = np.where(looped, work, 0.0).max(axis=1)[looped.any(axis=1)] / average
    if other_loops:
        slowest = np.maximum(slowest, 1.0)
    return replace(
        unequal(work),
        slowest=round(float(slowest.mean()), 4),
        longest=round(float(slowest.max()), 4),
    )


def in_longest_loop(
    function: Function, work: Array, came: Mapping[int, Array]
) -> tuple[Array, float]:
    """Return which warps come to the loop that most of a launch's work is in, and other work.

    That is of a warp that comes to other loops, as far as not all of these do. `work` is that of
    basic blocks; `came`, by the loops' headers, which warps come to each. All warps take the same
    iterations of a loop with a barrier, and may idle in loops within it.
    """
    flow = control_flow(function)
    barriers = frozenset(compress(flow.block_of, map(is_block_barrier, function.instructions)))
    inside = {loop: float(work[[*loop.blocks]].sum()) for loop in flow.loops}
    own = dict(inside)
    for loop in flow.loops:
        within = frozenset[int]().union(*(o.blocks for o in flow.loops if o.blocks < loop.blocks))
        if barriers & (loop.blocks - within):
            own[loop] -= float(work[[*within]].sum())
    longest = max(own, key=own.__getitem__)
    found, other_loops = came[longest.header], 0.0
    for loop in flow.loops:
        some = came[loop.header]
        if loop.parent is None and some.any() and not loop.blocks & longest.blocks:
            there = np.count_nonzero(some & found) / np.count_nonzero(found)
            other_loops += inside[loop] / np.count_nonzero(some) * (1 - there)
    return found, other_loops


def content_notes(regions: Sequence[Region], every: bool = False) -> list[str]:
    """Return in words what stood for unknown content that decides anything, or for `every`."""
    notes = []
    unknown = [r for r in regions if r.guessed and (r.decides or every)]
    guessed = [r.name for r in unknown]
    if guessed:
        below = unknown[0].below
        what = "random numbers" if below is None else f"integers below {below}, with which it ends,"
        notes.append(
            f"{UNKNOWN}{', '.join(guessed[:8])} is unknown: {what} stood for it; where it "
            "decides what threads do, this time is rough and may be several times off: state "
            "it (--arg NAME=FILE.npy or a launch file)"
        )
    return notes


def never_ended(
    function: Function, left: Sequence[Loop], counts: Mapping[int, Count], regions: Sequence[Region]
) -> tuple[str, ...]:
    """Return the buffers of unknown content that decide the ends of loops which were left."""
    if not left:
        return ()
    flow = control_flow(function)
    exits = provenance(function, flow).exits
    loads = {at for n, loop in enumerate(flow.loops) if loop in left for at in exits[n]}
    numbers = sorted({counts[at].region for at in loads if at in counts})
    return tuple(regions[n].name for n in numbers if n >= 0 and regions[n].guessed)


def waited_for(function: Function) -> str:
    """Return in words what threads wait for, and that it is left out."""
    operands = (o for i in function.instructions for o in i.operands)
    if SpecialRegister("%envreg1") in operands:
        return "grid.sync(): how long blocks wait for all others is not modelled"
    return "threads wait in a loop for what others write: how long is not modelled"


def run_doubt(machine: Machine, regions: Sequence[Region]) -> Doubt:
    """Return how far the time may be off by what an emulation assumed, or left out."""
    found = Doubt(reasons=tuple(content_notes(regions)))
    lost = machine.memory.lost
    if not lost:
        return found
    share = f"{lost:.0%}" if lost >= 0.01 else "under 1%"
    reason = (
        f"{share} of the accesses go to addresses that no buffer has: they are left out, and the "
        "time is too short by them"
    )
    return found.combined(Doubt(longer=LEFT_OUT / max(1 - lost, 1 / LEFT_OUT), reasons=(reason,)))


@once
def _asked_of_sms(function: Function) -> tuple[str, ...]:
    """Return the special registers that tell a block's SM, or how many there are, if read."""
    read = {
        part.name
        for i in function.instructions
        for operand in i.operands
        for part in leaves(operand)
        if isinstance(part, SpecialRegister)
    }
    return tuple(sorted(read & {"%smid", "%nsmid"}))


def run_notes(
    machine: Machine, regions: Sequence[Region], sampled: int, blocks: int
) -> Iterator[str]:
    """Yield in words what an emulation left out, or took for granted."""
    if sampled < blocks:
        yield f"{sampled} of {blocks} blocks were emulated"
    wrapped = [r.name for r in regions if r.wrapped]
    if wrapped:
        yield f"accesses outside of {', '.join(wrapped[:8])} were put inside"
    if where := _asked_of_sms(machine.function):
        yield f"{' and '.join(where)}: blocks are assumed to be spread over {SMS} SMs, on any GPU"
    if machine.unfollowed:
        names = ", ".join(sorted(machine.unfollowed)[:4])
        yield f"not emulated, results taken as 0: {names}"
