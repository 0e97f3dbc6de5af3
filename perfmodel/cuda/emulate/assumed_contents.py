"""Contents that stand for those that nobody states, where they decide what threads do.

Provenance says what a buffer's numbers are for. What is an index into another buffer is uniform
over it; what begins and ends loops over another buffer are offsets that grow evenly to its end;
what is counted up begins at 0. Two short emulations, with small numbers and with larger ones, tell
how far an address moves with them, whatever arithmetic is in between.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final, Literal

from perfmodel.cuda.addresses.launch import UNSIZED, KernelLaunch
from perfmodel.cuda.emulate.launch import emulated_launch
from perfmodel.cuda.emulate.provenance import (
    ELSEWHERE,
    Provenance,
    Sources,
    parameters_read,
    provenance,
)
from perfmodel.cuda.emulate.result import UNKNOWN, Emulation, NoEndError
from perfmodel.cuda.emulate.run import Effort, emulate
from perfmodel.cuda.emulate.values import kind_of
from perfmodel.cuda.launch.spec import Buffer
from perfmodel.cuda.parse.control_flow import ControlFlow, control_flow
from perfmodel.cuda.parse.syntax import SIZES, Function, Instruction, Module
from perfmodel.errors import PerfmodelError
from perfmodel.kernels.doubt import SURE, Doubt
from perfmodel.kernels.kernel import Assumption, Kernel
from perfmodel.records import record

Use = Literal["counter", "offsets", "index", "length", "flag"]

_SMALL: Final = 64
_LARGER: Final = 256
"""What the numbers of the two emulations are below."""
_LANES: Final = 1 << 11
_SECONDS: Final = 0.5
"""Of each of the two: threads, and work as of an emulation."""
_FEWER: Final = 8
_MORE: Final = 512
"""What lengths of loops are below instead of `_SMALL`, to see how far the time hangs on them; flags
and kinds are below 2, or below the first."""
_LEAST_SLOPE: Final = 0.9
"""Bytes that an address moves for each number of a content that is an index."""
_UNSTATED: Final = Buffer(UNSIZED)
"""A pointer of which the launch says nothing."""
_READING: Final = frozenset({"ld", "ldu", "atom", "cp"})
_MOST_SUMS: Final = 1 << 24
"""Offsets of uneven rows that are worked out one by one."""
DOUBTS: Final[Mapping[Use, Doubt]] = {
    "counter": Doubt(),
    "offsets": Doubt(3.0, 3.0),
    "index": Doubt(1.5, 1.5),
    "length": Doubt(4.0, 4.0),
    "flag": Doubt(1.5, 1.5),
}
"""How far the time may be off besides what other contents of the same kind make of it: assumed."""


@record
class StandIn:
    """What stands for the content of one argument."""

    # Of the buffer: in `KernelLaunch.buffers`, and as the user knows it.
    key: str
    name: str
    use: Use
    words: str  # what it holds
    taken: Buffer | None  # the buffer with this content; None for random numbers
    others: tuple[Buffer, ...] = ()  # the same with other content that is as plausible


@record(slots=False)
class _Probe:
    """A function and what two emulations of it did, the second where that is asked for."""

    module: Module
    function: Function
    bound: KernelLaunch
    flow: ControlFlow
    found: Provenance

    @cached_property
    def small(self) -> Emulation:
        """What it does with small numbers."""
        return self._with(_SMALL)

    @cached_property
    def larger(self) -> Emulation:
        """What it does with larger ones."""
        return self._with(_LARGER)

    def _with(self, below: int) -> Emulation:
        launch = emulated_launch(self.bound, self.function, below)
        effort = Effort(_LANES, _SECONDS, assume=True, closely=False)
        return emulate(self.module, self.function, launch, effort)

    def regions(self, loads: Sources) -> set[int]:
        """Return the numbers of the buffers that some loads read."""
        counts = self.small.counts
        return {counts[at].region for at in loads if at in counts and counts[at].region >= 0}

    def extent(self, number: int, at: int) -> int | None:
        """Return below what numbers of a buffer keep an access within the one that it goes to.

        None where the address does not grow with them, or nobody states that buffer's size.
        """
        first = self.small.counts.get(at)
        target = self.small.regions[first.region] if first and first.region >= 0 else None
        if first is None or target is None or not target.sized:
            return None
        second = self.larger.counts.get(at)
        from_, to = self.small.regions[number].largest, self.larger.regions[number].largest
        if second is None or to <= from_:
            return None
        slope = (second.reach - first.reach) / (to - from_)
        if slope < _LEAST_SLOPE:
            return None
        rest = max(first.reach - slope * from_, 0.0)
        found = int((target.size - rest) / slope + 1 + 1e-9)
        return found if found > 1 else None


def stand_ins(
    module: Module, function: Function, bound: KernelLaunch, assume: bool = False
) -> tuple[StandIn, ...]:
    """Return what stands for contents that nobody states and that decide what threads do.

    Empty where all contents are stated, where none decides anything, and where the launch does not
    end with small numbers.

    Raises `PerfmodelError` if a loop does not end with small numbers, nor with larger ones, unless
    `assume`.
    """
    keys = list(emulated_launch(bound, function).buffers)
    stated = {key for key in keys if bound.buffers.get(key, _UNSTATED).known}
    if len(stated) == len(keys):
        return ()
    flow = control_flow(function)
    found = provenance(function, flow)
    ending = frozenset().union(*found.exits.values())
    if all(
        _stated(function, at, keys, stated)
        or (at not in ending and _reads_floats(function.instructions[at]))
        for at in found.everything
    ):
        return ()
    probe = _Probe(module, function, bound, flow, found)
    try:
        if probe.small.endless and probe.larger.endless and not assume:
            raise no_end(probe.larger.endless)
        made = _made(probe, keys)
    except NoEndError:
        return ()
    sized = [s for s in made if s.key in bound.buffers]
    if len(sized) == len(made) or _ends(module, function, bound):
        return tuple(sized)
    # How many offsets or indices there are, only the size of their buffer tells.
    return tuple(s for s in made if s in sized or s.use == "length")


def _stated(function: Function, at: int, keys: Sequence[str], stated: Container[str]) -> bool:
    """Say whether a load surely reads a buffer whose content is stated."""
    names = parameters_read(function).get(at, frozenset())
    read = [key for key in keys if key.partition("+")[0] in names]
    return ELSEWHERE not in names and bool(read) and all(key in stated for key in read)


def _made(probe: _Probe, keys: Sequence[str]) -> list[StandIn]:
    """Return what stands for contents that nobody states, of buffers called `keys`."""
    made = []
    for number in sorted(probe.regions(probe.found.everything)):
        if number >= len(keys):
            continue
        buffer = probe.bound.buffers.get(keys[number], _UNSTATED)
        size = _element(probe, number)
        if not buffer.known and size and buffer.bytes >= size:
            typed = replace(buffer, dtype=f"i{8 * size}", assumed=True)
            made.append(_stand_in(probe, number, keys[number], typed))
    return made


def _contents_of(names: Sequence[str]) -> str:
    """Return the start of a sentence: ``"content of idx decides"``."""
    return f"{UNKNOWN}{', '.join(names[:8])} decides"


def no_end(names: Sequence[str]) -> PerfmodelError:
    """Return what to say of a loop that contents which nobody states keep from ending."""
    return PerfmodelError(
        f"{_contents_of(names)} when a loop ends, nobody states it, and with what is assumed the "
        f"loop does not end: give it (--arg {names[0]}=FILE.npy, or fill or npy in a launch file), "
        "or --assume to go on with what is assumed"
    )


def variants(found: tuple[StandIn, ...]) -> Iterator[dict[str, Buffer]]:
    """Yield the other contents, of all arguments together; as many as one of them has most."""
    for turn in range(max((len(s.others) for s in found), default=0)):
        yield {s.key: s.others[min(turn, len(s.others) - 1)] for s in found if s.others}


def with_assumption(
    made: Kernel, found: Sequence[StandIn], others: Sequence[Kernel], allowed: bool
) -> Kernel:
    """Return a kernel that says which contents were assumed, and how far they may be off.

    It was made with `found`; `others` are the same launch with other contents, and `allowed` says
    whether to go on however far the time hangs on them.
    """
    told = [s for s in found if s.use != "counter"]
    if not told:
        return made
    words = "; ".join(f"{s.name}: {s.words}" for s in told)
    names = tuple(s.name for s in told)
    reason = (
        f"{_contents_of(names)} what threads do and is assumed ({words}): give it (--arg "
        f"{names[0]}=FILE.npy, or fill or npy in a launch file)"
    )
    doubt = Doubt(reasons=(reason,))
    for use in {s.use for s in told}:
        doubt = doubt.combined(DOUBTS[use])
    kept = Doubt(*(getattr(made.doubt, n) for n in ("shorter", "longer", "in_turn")))
    reasons = tuple(r for r in made.doubt.reasons if not r.startswith(UNKNOWN))
    differing = tuple(k for k in others if _timed(k) != _timed(made))
    return replace(
        made,
        doubt=doubt.combined(replace(kept, reasons=reasons)),
        assumption=Assumption(names, words, differing, allowed),
    )


def _timed(kernel: Kernel) -> Kernel:
    """Return a kernel without what its time does not depend on."""
    return replace(kernel, notes=(), doubt=SURE)


def _ends(module: Module, function: Function, bound: KernelLaunch) -> bool:
    """Return whether the launch ends with numbers of any size in what nobody states."""
    launch = emulated_launch(bound, function)
    try:
        emulate(module, function, launch, Effort(_LANES, _SECONDS, patient=False, closely=False))
    except NoEndError:
        return False
    return True


def _reads_floats(load: Instruction) -> bool:
    """Say whether a load is of floats, for which no others stand."""
    return load.opcode in _READING and kind_of(load.modifiers)[0] not in "sub"


def _element(probe: _Probe, number: int) -> int:
    """Return the bytes of the integers that are read of a buffer; 0 if they are no such."""
    loads = [
        probe.function.instructions[at]
        for at, count in probe.small.counts.items()
        if count.region == number and at < len(probe.function.instructions)
    ]
    read = [i for i in loads if i.opcode in _READING]
    sizes = {SIZES.get(kind_of(i.modifiers), 0) for i in read}
    whole = not any(map(_reads_floats, read))
    return sizes.pop() if whole and len(sizes) == 1 and sizes <= {1, 2, 4, 8} else 0


def _stand_in(probe: _Probe, number: int, key: str, buffer: Buffer) -> StandIn:
    """Return what stands for the content of a buffer; `buffer` has the type of its elements."""
    name = probe.small.regions[number].name
    size = int((buffer.dtype or "i32")[1:]) // 8
    count = max(buffer.bytes // size, 1)
    opcodes = {
        probe.function.instructions[at].opcode
        for at in probe.found.everything
        if at in probe.small.counts and probe.small.counts[at].region == number
    }

    def random(below: int) -> Buffer:
        return replace(buffer, fill="uniform", below=below)

    if "atom" in opcodes:
        return StandIn(key, name, "counter", "0", replace(buffer, fill="zeros"))
    ends = [loop for loop, made in probe.found.exits.items() if number in probe.regions(made)]
    inside = {at for loop in ends for at in probe.flow.places(probe.flow.loops[loop].blocks)}
    extents = {
        at: extent
        for at, made in probe.found.addresses.items()
        if number in probe.regions(made) and (extent := probe.extent(number, at)) is not None
    }
    if extents:
        at = min(extents, key=lambda at: (at not in inside, extents[at]))
        most, target = extents[at], probe.small.counts[at].region
        indexed = probe.small.regions[target].name
        if at in inside and target != number and count > 1:
            return _offsets(StandIn(key, name, "offsets", indexed, buffer), most - 1, count)
        ordered = replace(buffer, fill="index", step=max(1, most // count))
        words = f"uniform over {indexed} (integers below {most})"
        return StandIn(key, name, "index", words, random(most), (ordered,))
    if ends:
        words = f"integers below {_SMALL}"
        others = (random(_FEWER), random(_MORE))
        return StandIn(key, name, "length", words, random(_SMALL), others)
    return StandIn(key, name, "flag", "random numbers", None, (random(2), random(_FEWER)))


def _offsets(found: StandIn, end: int, count: int) -> StandIn:
    """Return offsets into the buffer that `found.words` names, which ends at `end`."""
    assert found.taken is not None
    step = end // (count - 1)
    uneven = replace(found.taken, fill="cumulative", below=2 * step + 1 if step else 2)
    others = (uneven,) if count <= _MOST_SUMS else ()
    if step == 0:
        words = f"offsets that grow to the end of {found.words}, by 0 or 1"
        return replace(found, words=words, taken=uneven if others else None)
    even = replace(found.taken, fill="index", step=step)
    words = f"offsets that grow evenly to the end of {found.words}, by {step}"
    return replace(found, words=words, taken=even, others=others)
