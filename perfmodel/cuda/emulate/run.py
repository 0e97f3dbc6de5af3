"""Emulation: sampled blocks of a PTX kernel, all their lanes at once, in bounded time and memory.

How many lanes, and for how long; what runs them is `perfmodel.cuda.emulate.lock_step`.

Updates that come late: ``if (value > best[i]) atomicMax(&best[i], value)`` is done by everybody who
finds `best` as it was at first, and seldom by those who come after many others. Sampled blocks all
come first. So they are run again: those of the first wave as before, then the others, for whom most
words hold what the launch has made of them by then: all but the share of lanes that raise a word.
"""

from collections.abc import Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.cuda.emulate.budget import WORK
from perfmodel.cuda.emulate.counts import Count
from perfmodel.cuda.emulate.launch import EmulatedLaunch
from perfmodel.cuda.emulate.lock_step import LockStep, Progress, Turns
from perfmodel.cuda.emulate.machine import LANES
from perfmodel.cuda.emulate.memory import MOST_BACKED, Region
from perfmodel.cuda.emulate.result import Emulation, NoEndError
from perfmodel.cuda.parse.control_flow import control_flow
from perfmodel.cuda.parse.syntax import Function, Immediate, Module
from perfmodel.cuda.parse.waiting_loops import retry_loops
from perfmodel.cuda.sass.unrolling import CountedLoop
from perfmodel.expressions.mixing import mixed_arrays
from perfmodel.models.formula import Formula
from perfmodel.models.grid.distinct import distinct
from perfmodel.models.requests.sampled_places import distinct_places
from perfmodel.records import record

CLAIMING_LANES: Final = 1 << 17
"""Threads of a launch up to which all are emulated where they claim places of a table."""
FEWER: Final = 16
"""Lanes over those that have to do where loops are long."""


@record(slots=False)
class Effort:
    """How much is emulated, and when it is given up."""

    # Threads that are run, about: whole blocks, spread over the grid; at least one.
    lanes: int = 1 << 14
    # Time, told by the work [s]: how many blocks are run must not depend on how busy the machine
    # is. A third is for all lanes, the rest for fewer.
    seconds: float = 12.0
    # Pieces of straight code that are run, each for all lanes that stand there.
    steps: int = 400_000
    # Whether to try with fewer lanes where all take too long, and to let the iterations so far
    # stand for those to come where these are known.
    patient: bool = True
    assume: bool = False  # whether to do so, as often again, where nothing tells when a loop ends
    # Whether it is worked out what requests ask for, or only to which buffers they go.
    closely: bool = True


USUAL: Final = Effort()


def emulate(
    module: Module,
    function: Function,
    launch: EmulatedLaunch,
    effort: Effort = USUAL,
    progress: Progress | None = None,
    together: Mapping[int, CountedLoop] = MappingProxyType({}),
    turns: Turns = MappingProxyType({}),
) -> Emulation:
    """Run sampled blocks of a kernel.

    Iterations of the loops `together`, by their block, are put together. `turns` say how often
    threads run each block, as far as that is known before and if none are put together. Raises
    `NoEndError` if it does not end with this effort.
    """
    lanes, every = effort.lanes, prod(launch.grid) * prod(launch.block)
    # Only all of them fill a table as it gets; of more, `raised_before` has what others find there.
    if lanes == Effort.lanes < every <= CLAIMING_LANES and _claims_places(function):
        lanes = every
    with np.errstate(all="ignore"):
        # Where loops are long, a few blocks have to do.
        for some, part in ((lanes, 1 / 3), (max(LANES, lanes // FEWER), 2 / 3)):
            runner = LockStep(module, function, launch, some, together, closely=effort.closely)
            last = some < lanes
            too_long = runner.least_work(turns) > part * effort.seconds * WORK
            if too_long and effort.patient and not last:
                continue  # it would be given up after a third of the time
            try:
                budget = (part * effort.seconds, effort.steps, progress)
                runner.run(*budget, last=last, assume=effort.assume and last)
            except NoEndError as error:
                if last or not effort.patient or not (error.slow or effort.assume):
                    raise
                continue
            break
        scale = runner.sample.blocks / len(runner.sample.numbers)
        threads = runner.sample.blocks * runner.sample.padded
        buffers = list(launch.buffers.values())
        late = raised_before(function, runner.counter.counts, buffers, scale, threads)
        if late is not None:
            again = LockStep(module, function, launch, some, together, closely=effort.closely)
            if _ran_in_turn(again, late, effort, progress):
                runner = again
    return runner.result()


def _ran_in_turn(
    runner: LockStep, late: "Raised", effort: Effort, progress: Progress | None
) -> bool:
    """Run the blocks that start together, then the others; say whether both came to an end."""
    first = runner.sample.block_of < round(late.first * len(runner.sample.numbers))
    budget = (effort.seconds, effort.steps, progress)
    try:
        runner.run(*budget, some=first, last=False)
        late.put()
        runner.run(*budget, some=~first, last=False)
    except NoEndError:
        return False
    runner.told.append(late.told)
    return True


def _claims_places(function: Function) -> bool:
    """Say whether lanes that find a place taken go on to another: keys put into a hash table."""
    flow = control_flow(function)
    tried = {at for t in retry_loops(function, flow) for at in flow.places(t.loop.blocks)}
    looped = {at for loop in flow.loops for at in flow.places(loop.blocks)}
    return any(
        i.opcode == "atom" and "cas" in i.modifiers and at in looped and at not in tried
        for at, i in enumerate(function.instructions)
    )


RAISING = Formula(
    name="share of later lanes that raise a word",
    unit="1",
    text="where(once > 0, 1 - 2.0**(-min(60, 1.4427*each)), "
    "0.6931*log2(1 + each*(2 + 1.781*each)/(2 + each)))/each",
    symbols={
        "each": "lanes that look at a word in the mean, less those that start together [1]",
        "once": "1 where a lane looks for one value that is gone after the first, else 0 [1]",
    },
    holds="values in random order, words at random; 2 to 1024 lanes a word within 25% of counts",
    source="derived: of values in random order the k-th is the largest so far with probability "
    "1/k; summed over a Poisson number of lanes that is the logarithmic integral "
    "log(each) + 0.577 + E1(each), here within 3% "
    "(measurements/atomics/h200-sxm/lookups/raised.csv)",
)
UNDER_WAY: Final = 3 << 16
"""Threads that start together, and all find words as they were at first: three quarters of those
that 132 SMs hold; counted as 180,000 to 236,000 (the same file). The GPU is not known here."""
_RARE: Final = 0.9
"""Share of lanes from which on a second run would tell little."""
_ORIGIN: Final = 1 << 36
"""What kept places have above offsets in their buffer."""
_RAISES: Final = frozenset({"max", "min", "cas"})


@record
class Raised:
    """What most lanes find that look before they raise."""

    first: float  # share of the blocks that start together, and find what was there at first
    # Buffers, offsets in them, what is there once the others look, and bytes of a word.
    words: list[tuple[Region, Array, Array, int]]
    told: str  # what was assumed

    def put(self) -> None:
        """Let the others begin."""
        for region, offset, value, width in self.words:
            region.forget()
            region.store(offset, width, value)


def raised_before(
    function: Function,
    counts: Mapping[int, Count],
    regions: Sequence[Region],
    scale: float,
    threads: int,
) -> Raised | None:
    """Return what most lanes find that look before they raise; None where none do.

    `counts` and `regions` are as the sampled blocks left them, of which there are `scale` times as
    many in the launch, with `threads` in all. The regions are forgotten if anything is returned.
    """
    first = UNDER_WAY / threads
    if max(first, 1 / scale) > _RARE:
        return None
    words = []
    told = []
    for number, ats in _raised_regions(function, counts).items():
        if number >= len(regions) or regions[number].size > MOST_BACKED:
            continue
        region = regions[number]
        width = counts[ats[0]].width
        looks = max(c.lanes for at, c in counts.items() if c.region == number and at not in ats)
        places = np.concatenate([p[a] for at in ats for p, a in counts[at].kept]) - _ORIGIN
        words_met = distinct(places)
        every = distinct_places(len(places), len(words_met), region.size // width)
        each = max(looks * scale * (1 - first) / every, 0.01)
        once = all(_claims(function, at) for at in ats)
        share = min(float(RAISING(each=each, once=float(once))), 1.0)
        if share > _RARE:
            continue
        late = words_met[mixed_arrays(words_met, np.asarray(1 << 20)) >= share * (1 << 20)]
        words.append((region, late, region.load(late, width, f"u{8 * width}"), width))
        told.append(
            f"{share + first:.2g} of the threads are taken to find {region.name} as it was at "
            "first, the others as those before them left it"
        )
    if not words:
        return None
    for region in regions:
        region.forget()
    return Raised(first, words, "; ".join(told))


def _raised_regions(function: Function, counts: Mapping[int, Count]) -> dict[int, list[int]]:
    """Return the atomics that raise words of buffers which nothing else changes, but loads read."""
    found: dict[int, list[int]] = {}
    read: set[int] = set()
    changed: set[int] = set()
    for at, count in counts.items():
        # Parts of instructions have numbers beyond all of them.
        if at >= len(function.instructions) or count.region < 0:
            changed.add(count.region)
            continue
        i = function.instructions[at]
        if i.opcode in ("ld", "ldu"):
            read.add(count.region)
        elif i.opcode in ("atom", "red") and _RAISES & {*i.modifiers} and count.kept:
            found.setdefault(count.region, []).append(at)
        else:
            changed.add(count.region)
    return {n: ats for n, ats in found.items() if n in read and n not in changed}


def _claims(function: Function, at: int) -> bool:
    """Say whether a compare-and-swap waits for a value that the text states."""
    i = function.instructions[at]
    rest = i.operands[1:] if i.opcode == "atom" else i.operands
    return "cas" in i.modifiers and len(rest) > 1 and isinstance(rest[1], Immediate)
