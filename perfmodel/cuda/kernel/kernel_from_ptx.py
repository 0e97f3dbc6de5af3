"""From a PTX kernel and a launch to a `Kernel`, as if somebody had described it.

Pointers become buffers, memory instructions accesses with an index, loops of the control flow
loops with trips, other instructions counts on pipes. What has no formula, because data decides it,
is emulated and counted. Ways that following took are kept for launches that go the same way.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from perfmodel.cuda.addresses.asked import Asked, AskedAgain, NotingAlgebra, answers_alike
from perfmodel.cuda.addresses.conditions import TRUE
from perfmodel.cuda.addresses.flow import Flow, loop_variables
from perfmodel.cuda.addresses.instructions import Interpreter
from perfmodel.cuda.addresses.launch import KernelLaunch, Start, restart, start
from perfmodel.cuda.addresses.records import (
    BlockRun,
    Datum,
    Followed,
    LoopRun,
    MemoryAccess,
    NotFollowedError,
    is_data,
)
from perfmodel.cuda.addresses.sums import TooLargeError
from perfmodel.cuda.emulate.assumed_contents import no_end
from perfmodel.cuda.emulate.launch import emulated_launch
from perfmodel.cuda.emulate.lock_step import Progress, Turns
from perfmodel.cuda.emulate.odd_values import OddShares, odd_notes, with_ways
from perfmodel.cuda.emulate.result import Emulation, NoEndError, content_notes
from perfmodel.cuda.emulate.run import Effort, emulate
from perfmodel.cuda.kernel.accesses import Placed, joined_accesses
from perfmodel.cuda.kernel.builder import Builder
from perfmodel.cuda.kernel.counts import left_apart, left_unevenly, mean_trips, sure_turns
from perfmodel.cuda.kernel.placing import narrow, placed_accesses, placed_as_emulated, word_accesses
from perfmodel.cuda.parse.control_flow import ControlFlow, control_flow
from perfmodel.cuda.parse.memory_parts import memory_parts
from perfmodel.cuda.parse.syntax import Function, Module
from perfmodel.cuda.sass.divergence import varying_constants
from perfmodel.cuda.sass.machine_code import MachineCode, without_local_memory
from perfmodel.cuda.sass.unrolling import CountedLoop, unrolled_loops
from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Number
from perfmodel.expressions.nodes import TooLongError
from perfmodel.kernels.doubt import SURE, Doubt
from perfmodel.kernels.kernel import Kernel

_MOST_FORMS: Final = 64
"""Kernels, and forms of launches, whose ways are kept: the latest."""
_MOST_WAYS: Final = 6
"""Of one of them."""
_ENOUGH: Final = 18
"""Launches of a form in a row that went no known way, after which none is looked for."""


@dataclass(slots=True)
class Way:
    """What following a kernel found, and what it asked of the launch's ranges on the way."""

    function: Function
    began: Start  # what following began with
    asked: Asked
    found: Followed
    placed: Sequence[Placed]
    data: dict[str, Datum]
    kept: dict[str, Any] = field(default_factory=dict)  # what else follows from it alone, by name


@dataclass(slots=True)
class _Ways:
    """The ways of one form of launches, those first that were gone last."""

    known: list[Way] = field(default_factory=list)
    missed: int = 0


_ways: Final[dict[Any, _Ways]] = {}


def form_of(function: Function, bound: KernelLaunch) -> Any:
    """Return what launches have in common that may go the same way: all but their numbers.

    Numbers of a block count, for most of them are in the addresses.
    """
    buffers = tuple(
        (name, b.dtype, b.fill, b.npy, b.step, b.assumed) for name, b in bound.buffers.items()
    )
    structures = tuple((name, s.data, tuple(s.buffers)) for name, s in bound.structures.items())
    return (
        *(id(function), bound.block, tuple(side == 1 for side in bound.grid), bound.shared_bytes),
        *(tuple(bound.values), buffers, tuple(bound.shown.items()), bound.pointers, structures),
        tuple(bound.fields.items()),
    )


def known_way(
    module: Module, function: Function, bound: KernelLaunch, form: Any
) -> tuple[Start, Way] | None:
    """Return a way that a launch goes, and what its following would end with; None without one."""
    ways = _ways.get(form)
    if ways is None or ways.missed >= _ENOUGH:
        return None
    for place, way in enumerate(ways.known):
        begin = restart(way.began, way.asked.ranges, bound) or start(module, function, bound)
        begin.interpreter.algebra = algebra = AskedAgain(begin.interpreter.algebra.ranges)
        if way.function is function and answers_alike(algebra, way.asked):
            begin.interpreter.data.update(way.data)
            ways.known.insert(0, ways.known.pop(place))
            ways.missed = 0
            return begin, way
    ways.missed += 1
    return None


def keep_way(form: Any, way: Way) -> None:
    """Keep a way for launches of a form, if every question on it had an answer."""
    if not way.asked.sure:
        return
    ways = _ways.pop(form, None) or _Ways()
    if len(_ways) >= _MOST_FORMS:
        del _ways[next(iter(_ways))]
    ways.known = [way, *ways.known][:_MOST_WAYS]
    _ways[form] = ways


_FEW_LANES: Final = 1 << 10
"""Threads in which odd values are looked for where nothing else needs an emulation."""
_SHORT: Final = 1.0
"""Work of that, as of an emulation [s]."""
_SMALL: Final = 64
"""What unknown integers are below where a kernel does not end with any."""
_GUESS_SECONDS: Final = 2.0
_SMALL_SECONDS: Final = 3.0
"""Time of an emulation [s] with any unknown integers, with small ones, and of a loop whose end is
assumed."""
_ASSUMED_SECONDS: Final = 3.0
"""The same with contents that stand for those that nobody states."""
_MOST_LOST: Final = 0.5
"""Share of the accesses that may be left out."""


def emulated(
    module: Module,
    function: Function,
    bound: KernelLaunch,
    progress: Progress | None,
    together: Mapping[int, CountedLoop],
) -> Emulation:
    """Emulate a kernel; where unknown content keeps it from ending, with small numbers instead.

    Lengths, starts of rows and flags are read from buffers, and as random 32-bit numbers they are
    beyond reason. What does not end with small ones either is left after a while.
    """

    def run(effort: Effort, below: int | None = None) -> Emulation:
        launch = emulated_launch(bound, function, below)
        return emulate(module, function, launch, effort, progress, together)

    launch = emulated_launch(bound, function)
    told = all(r.content is not None or r.generated is not None for r in launch.buffers.values())
    if any(r.assumed for r in launch.buffers.values()):
        return run(Effort(seconds=_ASSUMED_SECONDS, assume=True))
    if not told:
        # Content that is unknown and read may be what keeps it going; else it only needs time.
        try:
            return run(Effort(seconds=_GUESS_SECONDS, patient=False))
        except NoEndError as error:
            if error.guessed:
                return run(Effort(seconds=_SMALL_SECONDS, assume=True), _SMALL)
    try:
        return run(Effort())
    except NoEndError as error:
        if not error.slow:
            raise
    return run(Effort(seconds=_SMALL_SECONDS, assume=True))


def check_followed(emulation: Emulation) -> None:
    """Refuse what would be nothing but assumed.

    Raises `PerfmodelError` if a loop does not end under assumed contents, or most accesses go to no
    buffer.
    """
    if emulation.endless:
        raise no_end(emulation.endless)
    if emulation.strayed > _MOST_LOST:
        raise PerfmodelError(
            f"{emulation.strayed:.0%} of the kernel's accesses go to addresses that no buffer has, "
            "as of pointers that are read from memory: pass indices into a buffer in their place, "
            "describe the kernel in TOML, or --assume to go on without them"
        )


def odd_shares(
    module: Module,
    function: Function,
    bound: KernelLaunch,
    emulation: Emulation | None,
    turns: Callable[[], Turns],
) -> tuple[OddShares, list[str], bool]:
    """Return how often odd values come, what to say of it, and if it is read from unknown content.

    Where nothing else needs an emulation, a short one looks for them; `turns` gives those of
    each basic block, as far as they are known.
    """
    noted = emulation is not None and any(r.guessed and r.decides for r in emulation.regions)
    if emulation is None and with_ways(function):
        launch = emulated_launch(bound, function)
        effort = Effort(_FEW_LANES, _SHORT, closely=False)
        with suppress(NoEndError):
            emulation = emulate(module, function, launch, effort, turns=turns())
    if emulation is None or not emulation.odd:
        return {}, [], False
    said = odd_notes(function, emulation.odd)
    if said and not noted:
        said += content_notes(emulation.regions, every=True)
    guessed = any(r.guessed for r in emulation.regions)
    return emulation.odd, said, guessed


_LONGEST: Final = 4000
"""Parts of a condition."""
_GUESSED: Final = Doubt(4.0, 4.0)
"""How far the time may be off where unknown content decides how often loops run: assumed."""
_GUESSED_SIZE: Final = Doubt(2.0, 3.0)
"""The same where the size of a buffer had to be assumed."""


def kernel_from_ptx(
    module: Module,
    function: Function,
    bound: KernelLaunch,
    registers: int = 32,
    progress: Progress | None = None,
    machine: MachineCode = (),
    assume: bool = False,
) -> Kernel:
    """Return the kernel that a PTX function is, launched like this.

    `progress` is told how many of how many emulated threads are done; `machine` is what ptxas made
    of the function, if that is at hand; `assume`: whether to go on where unknown content keeps a
    loop from ending, or most is left out. Raises `PerfmodelError` if an argument is missing, or the
    kernel can be neither followed nor emulated.
    """
    flow = control_flow(function)
    begin, way = _way(module, function, flow, bound)
    follower, bases = begin.interpreter, begin.bases
    narrow(way.placed, bound, bases, follower)
    found, placed = replace(way.found, loops=[*way.found.loops]), [*way.placed]
    together = unrolled_loops(machine, function, flow)
    apart = left_apart(found, flow, together, bound) | left_unevenly(found)
    if apart:
        found.loops = [replace(x, trips=None) if x.variable in apart else x for x in found.loops]
        placed = placed_accesses(function, found, bound, follower, bases)
    emulation: Emulation | None = None
    counted_loops: frozenset[str] = frozenset()
    if _needs_emulation(found, placed) or varying_constants(function):
        emulation = emulated(module, function, bound, progress, together)
        if not assume:
            check_followed(emulation)
        counted_loops = frozenset(x.variable for x in found.loops if _is_counted(x))
        found.loops = [
            replace(x, trips=Number(mean_trips(emulation, flow, x.index))) if _is_counted(x) else x
            for x in found.loops
        ]
        placed = placed_as_emulated(placed, emulation, bases, follower)
    kept = {} if apart or emulation is not None else way.kept
    if "joined" not in kept:
        placed = [part for p in placed for part in word_accesses(p, bases)]
        shared = frozenset(name for name, base in bases.items() if base.space == "shared")
        kept["joined"] = joined_accesses(function, flow, placed, shared)
    placed = kept["joined"]
    numbers = {begin.shown[name]: n for name, n in bound.values.items() if type(n) is int}
    turns = partial(sure_turns, found, bound, {**numbers, **bound.dimensions})
    odd, said, guessed = odd_shares(module, function, bound, emulation, turns)
    notes = [*(() if emulation is None else emulation.notes), *said]
    builder = Builder(
        *(module, function, bound, begin, found, registers, machine),
        *(emulation, counted_loops, odd, notes),
        kept=kept,
    )
    # Some are never made, as far as the emulation shows.
    ran = None if emulation is None else emulation.counts.keys()
    placed = [p for p in placed if ran is None or not p.counted or p.access.key in ran]
    if without_local_memory(machine):
        placed = [p for p in placed if not p.base or bases[p.base].space != "local"]
    made = builder.build([p for p in placed if p.base])
    doubt = _doubt(emulation, bool(counted_loops)).combined(builder.odd_doubt if guessed else SURE)
    doubt = doubt.combined(builder.count_doubt)
    return replace(made, doubt=doubt.combined(_GUESSED_SIZE) if builder.assumed else doubt)


def _doubt(emulation: Emulation | None, counted: bool) -> Doubt:
    """Return how far the time may be off by what was emulated, with loops that were counted."""
    if emulation is None:
        return SURE
    guessed = any(r.guessed and r.decides and not r.assumed for r in emulation.regions)
    return emulation.doubt.combined(_GUESSED if counted and guessed else SURE)


def _way(
    module: Module, function: Function, flow: ControlFlow, bound: KernelLaunch
) -> tuple[Start, Way]:
    """Follow a kernel with symbols, or find that it goes as it did at other sizes."""
    form = form_of(function, bound)
    known = known_way(module, function, bound, form)
    if known is not None:
        return known
    begin = start(module, function, bound)
    follower, bases = begin.interpreter, {*begin.bases}
    follower.algebra = algebra = NotingAlgebra(follower.algebra.ranges)
    found = _followed(function, flow, follower, taken := [*begin.shown.values(), "bin"])
    symbols = found is not None
    if found is None:
        found = _unfollowed(function, flow, taken)
    placed = placed_accesses(function, found, bound, follower, begin.bases)
    asked, algebra.asked = algebra.asked, Asked()
    began = replace(begin, bases={**begin.bases})
    way = Way(function, began, asked, found, placed, {**follower.data})
    if symbols and bases == begin.bases.keys():
        keep_way(form, way)
    return begin, way


def _followed(
    function: Function, flow: ControlFlow, follower: Interpreter, taken: Sequence[str]
) -> Followed | None:
    """Return what following a kernel with symbols finds; None where they end."""
    try:
        found = Flow(function, flow, follower, taken).run()
    except (NotFollowedError, TooLongError, TooLargeError):
        return None
    guards = [run.guard for run in found.blocks] + [a.guard for a in found.accesses]
    guards += [loop.trips for loop in found.loops if loop.trips is not None]
    # Of what is longer nobody would read or work out who runs what.
    return None if any(getattr(guard, "size", 1) > _LONGEST for guard in guards) else found


def _needs_emulation(found: Followed, placed: Sequence[Placed]) -> bool:
    return (
        any(loop.trips is None for loop in found.loops)
        or any(is_data(run.guard) for run in found.blocks)
        or any(p.counted for p in placed)
    )


def _is_counted(loop: LoopRun) -> bool:
    return loop.trips is None or is_data(loop.trips)


def _unfollowed(function: Function, flow: ControlFlow, taken: Sequence[str]) -> Followed:
    """Return a kernel's blocks, loops and accesses where nothing is known of them."""
    variables = loop_variables(flow, taken)
    found = Followed()
    for index, loop in enumerate(flow.loops):
        parent = None if loop.parent is None else variables[loop.parent]
        found.loops.append(LoopRun(index, variables[index], None, parent))
    for number, block in enumerate(flow.blocks):
        inner = flow.innermost[number]
        loop_of = None if inner is None else variables[inner]
        found.blocks.append(BlockRun(number, TRUE, loop_of))
        for at in range(block.start, block.stop):
            for part in range(len(memory_parts(function.instructions[at]))):
                access = MemoryAccess(at, None, TRUE, loop_of, frozenset(), part)
                found.accesses.append(access)
    return found
