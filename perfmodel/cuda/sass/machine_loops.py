"""Loops in machine code: the clocks of a lone warp, and how often it waits for loads.

ptxas says in each instruction when a warp may issue it
(`perfmodel.cuda.sass.machine_code`). Where its machine code is at hand, that is followed;
else `perfmodel.cuda.sass.schedule` guesses its order. A loop of PTX is found again by what
it does to memory: as many accesses of each kind (bytes of shared memory, whose neighbours ptxas
puts together) and as many functions, or twice, four or eight times as many where ptxas put
iterations together; one that does nothing to memory by its length.
"""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from perfmodel.cuda.parse.memory_parts import memory_parts
from perfmodel.cuda.parse.registers import is_memory
from perfmodel.cuda.parse.syntax import FloatImmediate, Instruction
from perfmodel.cuda.sass.latencies import latencies
from perfmodel.cuda.sass.machine_code import BARRIERS, CALL, MachineCode, MachineInstruction
from perfmodel.hardware.device import SCHEDULERS

TABLE: Final = Path(__file__).with_suffix(".toml")
FAR: Final = 600.0
"""Clocks of a load from global memory while its waits are counted; any long time."""
NEAR: Final = 32.0
"""Clocks of a load that hits L1 (measurements/suite/h200-sxm/foundation/latency.csv): no wait is
shorter.

What a warp issues meanwhile is no part of a turn's own clocks.
"""
OPERANDS: Final = 10.0
"""Clocks until an instruction of memory has read its operands: assumed."""
_MEETING: Final = 0x141
"""BSYNC: takes as long as a branch (measurements/instructions/h200-sxm/one-warp)."""
_ROUNDS: Final = 4
"""Iterations after which a loop goes on as before."""
_TOGETHER: Final = (1, 2, 4, 8, 16)
_ALIKE: Final = 1.35
"""Factor within which lengths are alike: less than the root of 2, so that one of 1, 2, 4, ...
iterations put together is. Lengths of PTX are estimates, within 15% as a rule."""
_BY_BYTES: Final = frozenset({"shared load", "shared store"})
_CONTROL: Final = frozenset({"commit_group", "wait_group", "wait_all"})
_FUNCTION: Final = "function"
_FUNCTIONS: Final = frozenset(
    {"ex2", "lg2", "sin", "cos", "tanh", "rcp", "sqrt", "rsqrt", "div", "rem"}
)
"""Opcodes of PTX that take one MUFU each, in the way of usual values."""
Kinds = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class MachineLoop:
    """A loop of machine code without loops in it.

    Attributes
    ----------
    kinds : mapping of str to int
        Accesses to memory, shuffles, barriers and functions of a turn; of shared memory the bytes.
    instructions : int
    clocks : float
        Of a turn of a lone warp, waits for global memory apart.
    waits : float
        For loads from global memory, one after the other; in loops with barriers beside the other
        warps of the block.
    straight : bool
        Whether all of it is issued in each turn: no branch leads past anything, calls apart.
    """

    kinds: Kinds
    instructions: int
    clocks: float
    waits: float
    straight: bool = True


@lru_cache(maxsize=1)
def _table() -> tuple[Mapping[int, str], Mapping[int, float | None]]:
    """Return the kinds of opcodes, and their latencies; None for global memory's."""
    with TABLE.open("rb") as stream:
        entries = tomllib.load(stream)["opcode"]
    known = latencies()
    named: dict[str, float | None] = {"far": None, **known.pipe}
    named |= {opcode: clocks for opcode, given, clocks in known.instruction if not given}
    for name in ("special", "shared", "shared_atomic", "constant"):
        named[name] = getattr(known, name)
    return (
        {e["code"]: e["kind"] for e in entries if "kind" in e},
        {e["code"]: named[e["latency"]] for e in entries if "latency" in e},
    )


@dataclass(frozen=True, slots=True)
class Wanted:
    """An innermost loop of PTX that may be one of machine code.

    Attributes
    ----------
    kinds : mapping of str to int
        See `kinds_of`.
    length : float
        Instructions of an iteration, as machine code is taken to have them.
    trips : float
        Iterations.
    """

    kinds: Kinds
    length: float
    trips: float


def machine_loops(code: MachineCode, step: int = 0, warps: int = 1) -> tuple[MachineLoop, ...]:
    """Return the innermost loops of a kernel's machine code, in its order.

    Parameters
    ----------
    code : MachineCode
    step : int
        Bytes that some lane of a warp comes to new data of global memory after: what a thread loads
        beside an earlier load, within them, is in L1. 0 where nothing is known.
    warps : int
        Of a block: those of a loop with barriers issue it together.
    """
    kinds, _ = _table()
    found = []
    for begin, end in _innermost(code):
        body = tuple(_usual_way(code, begin, end))
        what: Counter[str] = Counter()
        for i, _ in body:
            if i.opcode in kinds:
                kind = kinds[i.opcode]
                what[kind] += i.width if kind in _BY_BYTES else 1
        again = _again([i for i, _ in body], step) if step else {}
        near = _turn(body, again, NEAR)
        waits = (_turn(body, again, FAR) - near) / (FAR - NEAR)
        clocks = near - waits * NEAR
        if what["barrier"]:
            # What others of the block do meanwhile hides loads that are used behind a barrier.
            waits = _turn(body, again, FAR, warps) - _turn(body, again, NEAR, warps)
            waits /= FAR - NEAR
        # What branches for certain was followed: calls for odd values, and the way back.
        straight = all(branches or i.target is None for i, branches in body)
        found.append(MachineLoop(MappingProxyType(what), len(body), clocks, waits, straight))
    return tuple(found)


def _innermost(code: MachineCode) -> list[tuple[int, int]]:
    """Return the first and the last instruction of each loop that has no other in it."""
    # A kernel ends with a branch to itself: that is none.
    back = [(i.target, at) for at, i in enumerate(code) if i.target is not None and i.target < at]
    found = []
    latest = -1  # where a loop begins that ends before
    for begin, end in back:
        if latest < begin:
            found.append((begin, end))
        latest = max(latest, begin)
    return found


def _usual_way(
    code: MachineCode, begin: int, end: int
) -> Iterator[tuple[MachineInstruction, bool]]:
    """Yield the instructions of a turn, past calls for odd values, and whether each branches."""
    at = begin
    while at <= end:
        target = code[at].target
        skipped = () if target is None or at == end else code[at + 1 : target]
        called = target is not None and target <= end and any(i.opcode == CALL for i in skipped)
        yield code[at], called or at == end or code[at].opcode == _MEETING
        at = target if called and target is not None else at + 1


def _turn(
    body: Sequence[tuple[MachineInstruction, bool]],
    again: Mapping[int, int],
    far: float,
    warps: int = 1,
) -> float:
    """Return the clocks of a turn, once the loop runs steadily; see `_again`.

    Of a warp beside others that do the same: each scheduler issues for its share of them in turn,
    and shared memory serves one access of one warp a clock.
    """
    kinds, known = _table()
    share = max(warps / SCHEDULERS, 1.0)
    served = 0.0
    branch = latencies().branch
    free = [0.0] * BARRIERS
    now = begin = 0.0
    for _ in range(_ROUNDS):
        begin = now
        arrived: dict[int, float] = {}
        for at, (i, branches) in enumerate(body):
            issued = max([now, *(free[b] for b in i.waits)])
            if kinds.get(i.opcode) in _BY_BYTES:
                issued = max(issued, served)
                served = issued + warps
            now = issued + max(i.stall, branch if branches else 1, share)
            if i.result is not None:
                latency = known.get(i.opcode, OPERANDS)
                there = issued + (far if latency is None else latency)
                if at in again:
                    there = max(issued + NEAR, arrived[again[at]])
                arrived[at] = there
                free[i.result] = max(free[i.result], there)
            if i.operands is not None:
                free[i.operands] = max(free[i.operands], issued + OPERANDS)
    return now - begin


def _again(body: Sequence[MachineInstruction], step: int) -> dict[int, int]:
    """Return loads of what an earlier load of the turn brings, and the first that does.

    Those whose addresses are in one register, the lowest taken to begin `step` bytes.
    """
    kinds, _ = _table()
    groups: dict[tuple[int, int], list[int]] = {}
    written: Counter[int] = Counter()
    for at, i in enumerate(body):
        register, _ = i.address
        if kinds.get(i.opcode) == "load":
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


def kinds_of(instructions: Iterable[Instruction]) -> Kinds:
    """Return what instructions of PTX do, as `MachineLoop.kinds` has it."""
    found: Counter[str] = Counter()
    for i in instructions:
        kind = _kind(i)
        if kind is not None:
            found[kind] += memory_parts(i)[0].width if kind in _BY_BYTES else 1
    return found


def _kind(i: Instruction) -> str | None:
    spaces = {m.partition("::")[0] for m in i.modifiers}
    if i.opcode in ("bar", "barrier"):
        return "barrier"
    if i.opcode == "shfl":
        return "shfl"
    if i.opcode in _FUNCTIONS:
        # A constant's reciprocal is known already (machine code of a stencil, nvcc 13.0).
        constant = i.opcode == "div" and isinstance(i.operands[-1], FloatImmediate)
        return None if constant and "f32" in i.modifiers else _FUNCTION
    if i.opcode == "cp":
        return None if _CONTROL & spaces else "copy"
    if not is_memory(i) or spaces & {"local", "param", "const"}:
        return None
    shared = "shared " if "shared" in spaces else ""
    names = {"ld": "load", "ldu": "load", "st": "store", "atom": "atomic", "red": "atomic"}
    return shared + names[i.opcode] if i.opcode in names else None


def matched(wanted: Sequence[Wanted], loops: Sequence[MachineLoop]) -> list[tuple[int, int] | None]:
    """Return, of each loop of PTX, the iterations put together and the loop of machine code it is.

    Both stand in the same order: ptxas keeps it (machine code of all corpora of programs that are
    open). As many as can be are found; of ways to find so many, the one with most iterations put
    together, then with the lengths nearest. None stands for what does nothing to be known by, and
    for what is no loop of the machine code, as ptxas may have put all iterations together.

    Parameters
    ----------
    wanted : sequence of Wanted
        Innermost loops of PTX, in its order.
    loops : sequence of MachineLoop
        In their order.
    """
    # By how many of each are left: matched, log2 of iterations together, lengths apart; and how.
    best: list[tuple[tuple[float, float, float], tuple[tuple[int, int] | None, ...]]]
    best = [((0.0, 0.0, 0.0), ())] * (len(loops) + 1)
    for loop in reversed(wanted):
        row = [((best[-1][0]), (None, *best[-1][1]))]
        for at in range(len(loops) - 1, -1, -1):
            (count, together, near), ways = best[at]
            options = [row[0], ((count, together, near), (None, *ways))]
            n = _copies(loop, loops[at])
            if n:
                (count, together, near), ways = best[at + 1]
                apart = abs(loops[at].instructions - n * loop.length)
                score = (count + 1.0, together + math.log2(n), near - apart)
                options.append((score, ((n, at), *ways)))
            row.insert(0, max(options, key=lambda o: o[0]))
        best = row
    return list(best[0][1])


def _copies(wanted: Wanted, loop: MachineLoop) -> int:
    """Return the iterations of PTX in a turn of a loop of machine code, 0 if it is another."""
    known = wanted.kinds.keys() - {_FUNCTION}
    for n in _TOGETHER:
        if n <= max(wanted.trips, 1.0) and loop.kinds == {
            k: n * count for k, count in wanted.kinds.items()
        }:
            longer = loop.instructions / (n * max(wanted.length, 1.0))
            if known or 1 / _ALIKE <= longer <= _ALIKE:
                return n
    return 0
