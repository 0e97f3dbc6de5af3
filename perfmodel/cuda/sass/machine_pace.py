"""Clocks of a lone warp in machine code, and how often it waits for loads from global memory.

ptxas says in each instruction when a warp may issue it (`perfmodel.cuda.sass.machine_code`): that
is followed, through a loop's body until it runs steadily, or once through what is in no loop.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from perfmodel.cuda.parse.noted import exactly
from perfmodel.cuda.sass.frequencies import Issued
from perfmodel.cuda.sass.machine_code import BARRIERS, BRANCH, MachineInstruction
from perfmodel.cuda.sass.opcodes import latencies, opcodes
from perfmodel.hardware.device import SCHEDULERS

FAR: Final = 600.0
"""Clocks of a load from global memory while its waits are counted; any long time."""
NEAR: Final = 32.0
"""Clocks of a load that hits L1 (measurements/suite/h200-sxm/foundation/latency.csv): no wait is
shorter.

What a warp issues meanwhile is no part of a turn's own clocks.
"""
OPERANDS: Final = 10.0
"""Clocks until an instruction of memory has read its operands: assumed."""
MEETING: Final = 0x141
"""BSYNC: takes as long as a branch (measurements/instructions/h200-sxm/one-warp)."""
BARRIER: Final = 0x11D
_MOST_KNOWN: Final = 256
"""Bodies whose clocks are kept, the latest."""
_ROUNDS: Final = 4
"""Iterations after which a loop goes on as before."""


class _Step(NamedTuple):
    """An instruction, the share of its turns that branches there, and its block."""

    code: MachineInstruction
    taken: float
    block: int


_known: Final[dict[tuple[Any, ...], tuple[list[_Step], list[tuple[float, float]]]]] = {}
"""Clocks of loop bodies, by the identity of their instructions, which are kept for that."""


def body_takes(
    blocks: Sequence[Issued], loop: bool, step: int = 0, warps: int = 1
) -> list[tuple[float, float]]:
    """Return what each block of a body takes when it is run, one after the other.

    The clocks without waits for global memory, and these waits, of loads one after the other.

    `blocks`: those that a warp may come to, in their order, without inner loops'. `loop`: whether
    the last leads to the first. `step`: bytes that some lane of a warp comes to new data of global
    memory after: what a thread loads within them of an earlier load hits L1. 0 where nothing
    is known. `warps`: of a block: those of a loop with barriers issue it together.
    """
    steps = list(_steps(blocks, loop))
    # Launches differ in how often a body runs, and seldom in what of it is run.
    places = tuple((id(s.code), s.taken, s.block) for s in steps)
    key = places, len(blocks), loop, step, warps
    if key not in _known:
        if len(_known) >= _MOST_KNOWN:
            del _known[next(iter(_known))]
        _known[key] = steps, _take(steps, len(blocks), loop, step, warps)
    return _known[key][1]


def _take(
    steps: Sequence[_Step], count: int, loop: bool, step: int, warps: int
) -> list[tuple[float, float]]:
    """Return what `body_takes` does, of the steps of `count` blocks."""
    again = _again([s.code for s in steps], step) if step else {}
    near = _run(steps, count, again, loop, NEAR)
    far = _run(steps, count, again, loop, FAR)
    waits = [(f - n) / (FAR - NEAR) for f, n in zip(far, near, strict=True)]
    clocks = [n - w * NEAR for n, w in zip(near, waits, strict=True)]
    if loop and any(s.code.opcode == BARRIER for s in steps):
        # What others of the block do meanwhile hides loads that are used behind a barrier.
        beside = [_run(steps, count, again, loop, clocks_, warps) for clocks_ in (FAR, NEAR)]
        waits = [(f - n) / (FAR - NEAR) for f, n in zip(*beside, strict=True)]
    return [(c, max(w, 0.0)) for c, w in zip(clocks, waits, strict=True)]


def _steps(blocks: Sequence[Issued], loop: bool) -> list[_Step]:
    found = []
    for number, part in enumerate(blocks):
        after = blocks[number + 1].times if number + 1 < len(blocks) else 0.0
        if not part.times:
            continue
        for i in part.code:
            taken = 0.0
            if i.opcode == MEETING:
                taken = 1.0
            elif i.opcode == BRANCH and i.target is not None:
                taken = 1.0 - min(after / part.times, 1.0) if i.conditional else 1.0
                taken = 1.0 if loop and number + 1 == len(blocks) else taken
            found.append(_Step(i, exactly(taken), number))
    return found


def _run(
    steps: Sequence[_Step],
    count: int,
    again: Mapping[int, int],
    loop: bool,
    far: float,
    warps: int = 1,
) -> list[float]:
    """Return the clocks of each block of a turn, once the loop runs steadily; see `_again`.

    Of a warp beside others that do the same: each scheduler issues for its share of them in turn,
    and shared memory serves one access of one warp a clock.
    """
    known, access = opcodes().latency, opcodes().access
    share = max(warps / SCHEDULERS, 1.0)
    served = now = 0.0
    branch = latencies().branch
    free = [0.0] * BARRIERS
    passed = [0.0] * count
    for _ in range(_ROUNDS if loop else 1):
        passed = [0.0] * count
        arrived: dict[int, float] = {}
        for at, (i, taken, block) in enumerate(steps):
            begin = now
            at_last = max([now, *(free[b] for b in i.waits)])
            if access.get(i.opcode) == "shared":
                at_last = max(at_last, served)
                served = at_last + warps
            now = at_last + max(i.stall, taken * branch, 1, share)
            passed[block] += now - begin
            if i.result is not None:
                latency = known.get(i.opcode, OPERANDS)
                there = at_last + (far if latency is None else latency)
                if at in again:
                    there = max(at_last + NEAR, arrived[again[at]])
                arrived[at] = there
                free[i.result] = max(free[i.result], there)
            if i.operands is not None:
                free[i.operands] = max(free[i.operands], at_last + OPERANDS)
    return passed


def _again(body: Sequence[MachineInstruction], step: int) -> dict[int, int]:
    """Return loads of what an earlier load of the turn brings, and the first that does.

    Those whose addresses are in one register, the lowest taken to begin `step` bytes.
    """
    access = opcodes().access
    groups: dict[tuple[int, int], list[int]] = {}
    written: Counter[int] = Counter()
    for at, i in enumerate(body):
        register, _ = i.address
        if access.get(i.opcode) == "load":
            groups.setdefault((register, written[register]), []).append(at)
        written[i.written] += 1
    found = {}
    for members in groups.values():
        low = min(body[at].address[1] for at in members)
        first: dict[int, int] = {}
        for at in members:
            brings = first.setdefault((body[at].address[1] - low) // step, at)
            if brings != at:
                found[at] = brings
    return found
