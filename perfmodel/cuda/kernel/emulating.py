"""A kernel emulated: for how long, and with which content where nobody states any."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from perfmodel.cuda.addresses.launch import KernelLaunch
from perfmodel.cuda.emulate.assumed_contents import no_end
from perfmodel.cuda.emulate.launch import emulated_launch
from perfmodel.cuda.emulate.lock_step import Progress, Turns
from perfmodel.cuda.emulate.odd_values import OddShares, odd_notes, with_ways
from perfmodel.cuda.emulate.result import Emulation, NoEndError, content_notes
from perfmodel.cuda.emulate.run import Effort, emulate
from perfmodel.cuda.parse.syntax import Function, Module
from perfmodel.cuda.sass.unrolling import CountedLoop
from perfmodel.errors import PerfmodelError

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
