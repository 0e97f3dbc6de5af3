"""From a PTX kernel and a launch to a `Kernel`, as if somebody had described it.

Pointers become buffers, memory instructions accesses with an index, loops of the control flow
loops with trips, other instructions counts on pipes. What has no formula, because data decides it,
is emulated and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from perfmodel.cuda.addresses.conditions import TRUE
from perfmodel.cuda.addresses.flow import Flow, loop_variables
from perfmodel.cuda.addresses.instructions import Interpreter
from perfmodel.cuda.addresses.launch import Base, interpreter
from perfmodel.cuda.addresses.launched import Bound
from perfmodel.cuda.addresses.records import (
    BlockRun,
    Followed,
    LoopRun,
    MemoryAccess,
    NotFollowedError,
    is_data,
)
from perfmodel.cuda.addresses.sums import (
    TooLargeError,
    constant,
    minus,
    plus,
    scaled,
    single,
)
from perfmodel.cuda.addresses.values import ALIGNED
from perfmodel.cuda.emulate.assumed_contents import no_end
from perfmodel.cuda.emulate.launch import emulated_launch
from perfmodel.cuda.emulate.odd_values import OddShares, odd_notes, with_ways
from perfmodel.cuda.emulate.result import content_notes
from perfmodel.cuda.emulate.run import (
    Emulation,
    NoEndError,
    Progress,
    emulate,
)
from perfmodel.cuda.kernel.accesses import Placed
from perfmodel.cuda.kernel.builder import Builder
from perfmodel.cuda.kernel.counts import mean_trips
from perfmodel.cuda.kernel.several_buffers import with_joined_buffers
from perfmodel.cuda.kernel.tensors import tensor_copy, with_box
from perfmodel.cuda.kernel.uneven_loops import left_apart, left_unevenly
from perfmodel.cuda.kernel.vectors import joined_accesses
from perfmodel.cuda.launch.content import TYPES
from perfmodel.cuda.launch.spec import Buffer
from perfmodel.cuda.parse.control_flow import ControlFlow, control_flow
from perfmodel.cuda.parse.memory_instructions import moved
from perfmodel.cuda.parse.memory_parts import memory_parts
from perfmodel.cuda.parse.syntax import Function, Module
from perfmodel.cuda.sass.divergence import varying_constants
from perfmodel.cuda.sass.machine_code import MachineCode
from perfmodel.cuda.sass.machine_instructions import unrolled_loops
from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Name, Number
from perfmodel.expressions.nodes import TooLongError
from perfmodel.kernels.doubt import SURE, Doubt
from perfmodel.kernels.kernel import Kernel

_ORDERED: Final = frozenset({"zeros", "index", "cumulative"})
"""Recipes of content that is at no random places."""
_WORD: Final = 4
"""[B] by which local memory is laid out."""
_LONGEST: Final = 4000
"""Parts of a condition."""
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
_GUESSED: Final = Doubt(4.0, 4.0)
"""How far the time may be off where unknown content decides how often loops run: assumed."""
_MOST_LOST: Final = 0.5
"""Share of the accesses that may be left out."""
_GUESSED_SIZE: Final = Doubt(2.0, 3.0)
"""The same where the size of a buffer had to be assumed."""


def kernel_from_ptx(
    module: Module,
    function: Function,
    bound: Bound,
    registers: int = 32,
    progress: Progress | None = None,
    machine: MachineCode = (),
    assume: bool = False,
) -> Kernel:
    """Return the kernel that a PTX function is, launched like this.

    Parameters
    ----------
    module, function
        The file, and the kernel in it.
    bound : Bound
        The launch, its arguments matched with the kernel's parameters.
    registers : int
        Of a thread.
    progress : callable, optional
        Told how many of how many emulated threads are done.
    machine : tuple of MachineInstruction
        What ptxas made of the function; empty if it is not at hand.
    assume : bool
        Whether to go on where unknown content keeps a loop from ending, or most is left out.

    Raises
    ------
    PerfmodelError
        If an argument is missing, or the kernel can be neither followed nor emulated.
    """
    follower, bases, shown = interpreter(module, function, bound.launch)
    flow = control_flow(function)
    try:
        found = Flow(function, flow, follower, [*shown.values(), "bin"]).run()
        if _too_long(found):
            raise NotFollowedError("conditions grow too long to follow")
    except (NotFollowedError, TooLongError, TooLargeError):
        found = _unfollowed(function, flow, [*shown.values(), "bin"])
    apart = left_apart(found, flow, unrolled_loops(function, flow), bound.launch)
    apart |= left_unevenly(found)
    found.loops = [replace(x, trips=None) if x.variable in apart else x for x in found.loops]
    placed = [_placed(function, access, bases, found, follower) for access in found.accesses]
    stated = {
        p.access.at
        for p in placed
        if p.base and _in_order(bound.buffers.get(bases[p.base].parameter or ""))
    }
    placed = [_by_content(p, stated, follower) for p in placed]
    _narrow(placed, bound, bases, follower)
    emulation: Emulation | None = None
    doubt = SURE
    counted_loops: frozenset[str] = frozenset()
    if _needs_emulation(found, placed) or varying_constants(function):
        emulation = _emulated(module, function, bound, progress)
        if not assume:
            _check_followed(emulation)
        before = found.loops
        counted_loops = frozenset(x.variable for x in before if _is_counted(x))
        found.loops = [_counted_loop(loop, emulation, flow) for loop in found.loops]
        placed = [with_box(p, emulation) for p in placed]
        placed = [_with_base(p, emulation, bases) for p in placed]
        placed = with_joined_buffers(placed, emulation, bases, follower.data)
        looped = bool(counted_loops)
        doubt = emulation.doubt
        if looped and any(r.guessed and r.decides and not r.assumed for r in emulation.regions):
            doubt = doubt.beside(_GUESSED)
    placed = [part for p in placed for part in _words(p, bases)]
    shared = frozenset(name for name, base in bases.items() if base.space == "shared")
    placed = joined_accesses(function, flow, placed, shared)
    builder = Builder(module, function, bound.launch, registers, follower, bases, shown, emulation)
    builder.machine = machine
    builder.counted_loops = counted_loops
    builder.odd, said, guessed = _odd(module, function, bound, emulation)
    builder.notes += said
    made = builder.build(found, [p for p in placed if p.base and _runs(p, emulation)])
    if guessed:
        doubt = doubt.beside(builder.odd_doubt)
    return replace(made, doubt=doubt.beside(_GUESSED_SIZE) if builder.assumed else doubt)


def _too_long(found: Followed) -> bool:
    """Say whether what decides who runs what is beyond what anybody would read or work out."""
    guards = [run.guard for run in found.blocks] + [a.guard for a in found.accesses]
    guards += [loop.trips for loop in found.loops if loop.trips is not None]
    return any(getattr(guard, "size", 1) > _LONGEST for guard in guards)


def _emulated(
    module: Module, function: Function, bound: Bound, progress: Progress | None
) -> Emulation:
    """Emulate a kernel; where unknown content keeps it from ending, with small numbers instead.

    Lengths, starts of rows and flags are read from buffers, and as random 32-bit numbers they are
    beyond reason. What does not end with small ones either is left after a while.
    """
    launch = emulated_launch(bound, function)
    told = all(r.content is not None or r.generated is not None for r in launch.buffers.values())
    if any(r.assumed for r in launch.buffers.values()):
        return emulate(
            *(module, function, launch),
            most_seconds=_ASSUMED_SECONDS,
            assume=True,
            progress=progress,
        )
    if not told:
        # Content that is unknown and read may be what keeps it going; else it only needs time.
        try:
            return emulate(
                module,
                function,
                launch,
                most_seconds=_GUESS_SECONDS,
                patient=False,
                progress=progress,
            )
        except NoEndError as error:
            guessed = error.guessed
        launch = emulated_launch(bound, function, _SMALL if guessed else None)
        if guessed:
            return emulate(
                module,
                function,
                launch,
                most_seconds=_SMALL_SECONDS,
                assume=True,
                progress=progress,
            )
    try:
        return emulate(module, function, launch, progress=progress)
    except NoEndError as error:
        if not error.slow:
            raise
    launch = emulated_launch(bound, function)
    return emulate(
        module, function, launch, most_seconds=_SMALL_SECONDS, assume=True, progress=progress
    )


def _check_followed(emulation: Emulation) -> None:
    """Refuse what would be nothing but assumed.

    Raises
    ------
    PerfmodelError
        If a loop does not end under assumed contents, or most accesses go to no buffer.
    """
    if emulation.endless:
        raise no_end(emulation.endless)
    if emulation.strayed > _MOST_LOST:
        raise PerfmodelError(
            f"{emulation.strayed:.0%} of the kernel's accesses go to addresses that no buffer has, "
            "as of pointers that are read from memory: pass indices into a buffer in their place, "
            "describe the kernel in TOML, or --assume to go on without them"
        )


def _odd(
    module: Module, function: Function, bound: Bound, emulation: Emulation | None
) -> tuple[OddShares, list[str], bool]:
    """Return how often odd values come, what to say of it, and if it is read from unknown content.

    Where nothing else needs an emulation, a short one looks for them.
    """
    noted = emulation is not None and any(r.guessed and r.decides for r in emulation.regions)
    if emulation is None and with_ways(function):
        launch = emulated_launch(bound, function)
        with suppress(NoEndError):
            emulation = emulate(module, function, launch, lanes=_FEW_LANES, most_seconds=_SHORT)
    if emulation is None or not emulation.odd:
        return {}, [], False
    said = odd_notes(function, emulation.odd)
    if said and not noted:
        said += content_notes(emulation.regions, every=True)
    guessed = any(r.guessed for r in emulation.regions)
    return emulation.odd, said, guessed


def _placed(
    function: Function,
    access: MemoryAccess,
    bases: dict[str, Base],
    found: Followed,
    follower: Interpreter,
) -> Placed:
    """Return an access with its buffer and offset, as far as they are known."""
    what = moved(function, access.at, access.part)
    if what.bulk and access.coordinates:
        return tensor_copy(access, what, bases, follower)
    unknown = {loop.variable for loop in found.loops if loop.trips is None}
    counted = what.bulk or is_data(access.guard) or not unknown.isdisjoint(found.nest(access.loop))
    if access.address is None:
        return Placed(access, "", None, what, counted=True)
    inside = [
        factor.name
        for factors in access.address.terms
        for factor in factors
        if isinstance(factor, Name) and factor.name in bases
    ]
    start = single(Name(inside[0])) if inside else None
    if start is not None and bases[inside[0]].parameter is not None:
        start = scaled(start, ALIGNED)
    if start is None or any(access.address.terms.get(k) != v for k, v in start.terms.items()):
        return Placed(access, "", None, what, counted=True)
    offset = minus(access.address, start)
    if any(name in bases for name in offset.names):
        return Placed(access, "", None, what, counted=True)
    made = [follower.data[name] for name in offset.names if name in follower.data]
    # A number that is computed in a way that is not followed is no random one.
    computed = any(not datum.sources or datum.computed for datum in made)
    counted = counted or computed or len(made) > 1
    return Placed(access, inside[0], offset, what, counted)


def _in_order(buffer: Buffer | None) -> bool:
    """Say whether a buffer's content is stated, and not as random numbers."""
    return buffer is not None and (buffer.npy is not None or buffer.fill in _ORDERED)


def _by_content(p: Placed, stated: set[int], follower: Interpreter) -> Placed:
    """Return an access counted by emulation if what it is placed by is stated content."""
    names = () if p.offset is None else p.offset.names
    read = {at for name in names if name in follower.data for at in follower.data[name].sources}
    return replace(p, counted=True) if read & stated else p


def _narrow(
    placed: Sequence[Placed], bound: Bound, bases: dict[str, Base], follower: Interpreter
) -> None:
    """Make known what is read from random integers below a number, if nobody changes them."""
    changed = {p.base for p in placed if p.moved.kind != "load"}
    for p in placed:
        buffer = bound.buffers.get(bases[p.base].parameter or "") if p.base else None
        below = None if buffer is None or p.base in changed else buffer.below_all
        if below is None or buffer is None or TYPES[buffer.dtype or "u8"].itemsize != p.moved.unit:
            continue
        for name, datum in [*follower.data.items()]:
            if datum.instruction == p.access.at and 0 < below <= datum.high:
                shuffled = buffer.fill == "permutation"
                found = replace(datum, low=0, high=below - 1, shuffled=shuffled)
                follower.data[name] = found
                follower.algebra.add_variable(name, 0, below - 1)


def _words(p: Placed, bases: dict[str, Base]) -> list[Placed]:
    """Return an access as the hardware makes it: in local memory, one for each word of a lane."""
    count = p.moved.width // _WORD
    if not p.base or bases[p.base].space != "local" or count < 2 or p.counted or p.offset is None:
        return [p]
    moved_word = replace(p.moved, unit=_WORD, width=_WORD)
    return [
        replace(p, offset=plus(p.offset, constant(_WORD * i)), moved=moved_word)
        for i in range(count)
    ]


def _needs_emulation(found: Followed, placed: Sequence[Placed]) -> bool:
    return (
        any(loop.trips is None for loop in found.loops)
        or any(is_data(run.guard) for run in found.blocks)
        or any(p.counted for p in placed)
    )


def _is_counted(loop: LoopRun) -> bool:
    return loop.trips is None or is_data(loop.trips)


def _counted_loop(loop: LoopRun, emulation: Emulation, flow: ControlFlow) -> LoopRun:
    if not _is_counted(loop):
        return loop
    return LoopRun(
        loop.index, loop.variable, Number(mean_trips(emulation, flow, loop.index)), loop.parent
    )


def _runs(p: Placed, emulation: Emulation | None) -> bool:
    """Say whether an access is ever made, as far as the emulation shows."""
    return emulation is None or not p.counted or p.access.key in emulation.counts


def _with_base(p: Placed, emulation: Emulation, bases: dict[str, Base]) -> Placed:
    """Return an access with the buffer that the emulation saw it go to; none if it never ran."""
    if p.base:
        return p
    count = emulation.counts.get(p.access.key)
    if count is None or count.region == -3 or count.region >= len(emulation.regions):
        return p  # it goes to no buffer that is known: a pointer read from unknown content
    if count.region < 0:
        space = "shared" if count.region == -1 else "local"
        base = next((name for name, b in bases.items() if b.space == space), "")
    else:
        wanted = emulation.regions[count.region].name
        base = next((name for name, b in bases.items() if wanted in (b.name, b.parameter)), "")
    return Placed(p.access, base, None, p.moved, True)


def _unfollowed(function: Function, flow: ControlFlow, taken: Sequence[str]) -> Followed:
    """Return a kernel's blocks, loops and accesses where nothing is known of them."""
    variables = loop_variables(flow, taken)
    found = Followed()
    for index, loop in enumerate(flow.loops):
        parent = None if loop.parent is None else variables[loop.parent]
        found.loops.append(LoopRun(index, variables[index], None, parent))
    for number, block in enumerate(flow.blocks):
        inner = flow.innermost(number)
        loop_of = None if inner is None else variables[inner]
        found.blocks.append(BlockRun(number, TRUE, loop_of))
        for at in range(block.start, block.stop):
            for part in range(len(memory_parts(function.instructions[at]))):
                access = MemoryAccess(at, None, TRUE, loop_of, frozenset(), part)
                found.accesses.append(access)
    return found
