"""What a warp issues in each loop of a kernel, and how long it takes alone.

ptxas's own code tells; where no ptxas is at hand, a table says what it typically makes of PTX. The
table knows nothing of what stands around. Clocks of a lone warp are the longest chain of results,
or all issues: as if ptxas found the order in which nothing waits that need not. What that is worth
is in docs/decisions/0006: with ptxas's own code counts are exact as a rule.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from perfmodel.cuda.addresses.records import Followed
from perfmodel.cuda.kernel.analysed import Analysed, Numbers
from perfmodel.cuda.kernel.counts import body_runs
from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.memory_parts import is_memory
from perfmodel.cuda.parse.opcodes import is_block_barrier, read_registers, written_registers
from perfmodel.cuda.parse.syntax import Function, Instruction, SpecialRegister
from perfmodel.cuda.sass.frequencies import Issued, Runs, issued
from perfmodel.cuda.sass.machine_code import BRANCH, MachineCode
from perfmodel.cuda.sass.machine_pace import BARRIER, MEETING, body_takes
from perfmodel.cuda.sass.opcodes import latencies, opcodes
from perfmodel.cuda.sass.sure_waits import sure_waits
from perfmodel.cuda.sass.tensor_work import multiply_accumulates, tensor_clocks, waits_for_products
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.kernels.doubt import SURE, Doubt
from perfmodel.packaged import packaged_toml
from perfmodel.records import record

_ALL: Final = 0.95
"""Share of the warps that run a block from which on it counts as run by all."""
_SOME: Final = 1 / 32
"""Share of the warps that run a block from which on some warp of each block of threads does."""


class Took(NamedTuple):
    """What a lone warp takes for some instructions."""

    clocks: float  # without waits for global memory
    waits: float  # for loads from global memory, one after the other


@record
class WarpWork:
    """A warp's work, of a turn of each loop and of what is in none (None)."""

    # Instructions by pipe: without products on tensor cores, and of accesses to memory only the
    # "masked".
    counts: Mapping[tuple[str, str | None], float]
    paces: Mapping[str | None, Took]
    branches: frozenset[int]  # blocks of PTX whose branch is left one
    # Places where a warp's lanes reconverge that are among the paces, each as long as a branch.
    meetings: Mapping[str | None, float]
    origin: str = ""  # what to say of where this is from, if it is not machine code
    doubt: Doubt = SURE  # how far the time may be off by how this is counted


def entered_share(
    kernel: Analysed, shares: Mapping[int, float], inside: Iterable[int], entering: float = 1.0
) -> float:
    """Return the share of warps, or of turns, that run a loop: those that the block lasts for.

    Where conditions say who runs it, those who do set the pace: how many turns of it the last warp
    has, the loop says (`perfmodel.kernels.kernel.Loop`). Where the turns were counted, as a mean
    warp's, only who never comes to the loop is left out. Conditions may say that (`entering`). Else
    the others wait for these at a barrier, if more warps run one; where no more do, the others are
    of other blocks, or of other turns. `shares`: of the warps that run each block; `inside`: blocks
    of the loop.
    """
    function, flow, numbers = kernel.function, kernel.flow, {*inside}
    found = next((loop for loop in flow.loops if loop.header in numbers), None)
    if found is None:
        return 1.0
    if kernel.emulation is None:
        return shares[found.header] if 0.0 < shares[found.header] < 1.0 else 1.0
    if entering < _ALL:
        return entering
    before = [b for b in flow.blocks[found.header].predecessors if b not in found.blocks]
    entered = max((shares[b] for b in before if b in shares), default=1.0)
    if entered <= 0.0:
        return 1.0
    meeting = [s for b, s in shares.items() if s > _ALL * entered and _meets(function, flow, b)]
    part = entered / min(meeting, default=entered)
    return part if _SOME <= part < _ALL else 1.0


def _meets(function: Function, flow: ControlFlow, block: int) -> bool:
    """Say whether a block's warps wait for one another."""
    return any(is_block_barrier(function.instructions[at]) for at in flow.places([block]))


def loops_of_blocks(found: Followed) -> dict[int, str | None]:
    """Return the innermost loop of each block that runs."""
    return {run.block: run.loop for run in found.blocks}


TABLE: Final = Path(__file__).with_name("rule_work.toml")
_NOTHING: Final[Mapping[str, float]] = MappingProxyType({})
_READ: Final[Mapping[str, float]] = MappingProxyType({"other": 1.0})
_INTEGERS: Final = ("s", "u", "b")
_ROUNDS: Final = 4
"""Iterations after which a loop goes on as before."""
_ORIGIN: Final = "instructions are counted by rules, within 10%, at times 30%, not in machine code"
"""Median and 90th percentile of six corpora: docs/decisions/0006."""
BY_RULES: Final = Doubt(1.28, 1.28)
"""What times 33% off at the 90th percentile are beyond the 15% of machine code, in quadrature, on
the same 147 launches (docs/decisions/0006)."""


@lru_cache(maxsize=1)
def _rules() -> Mapping[str, tuple[tuple[frozenset[str], Mapping[str, float]], ...]]:
    entries = packaged_toml(TABLE)["rule"]
    found: dict[str, tuple[tuple[frozenset[str], Mapping[str, float]], ...]] = {}
    for e in entries:
        row = (frozenset(e.get("modifiers", ())), MappingProxyType(e["counts"]))
        for opcode in e["opcodes"]:
            found[opcode] = (*found.get(opcode, ()), row)
    return found


def rule_counts(instruction: Instruction) -> Mapping[str, float]:
    """Return what an instruction becomes, by pipe: nothing of what is counted otherwise.

    That is accesses to memory and products on tensor cores.
    """
    if is_memory(instruction) or multiply_accumulates(instruction):
        return _NOTHING
    if instruction.opcode == "mov" and any(
        isinstance(o, SpecialRegister) for o in instruction.operands
    ):
        return _READ
    kind = instruction.type_name
    given = {*instruction.modifiers, kind[-2:]}
    for modifiers, counts in _rules().get(instruction.opcode, ()):
        if modifiers <= given:
            return counts
    integer = kind[:1] in _INTEGERS and instruction.opcode not in ("ld", "vote", "match")
    return {"int32" if integer else "other": 1.0}


def work_by_rules(kernel: Analysed, numbers: Numbers) -> WarpWork:
    """Return a warp's work as the table has it."""
    function, flow = kernel.function, kernel.flow
    counts = [rule_counts(i) for i in function.instructions]
    share_of = {r.block: s for r, (s, _) in zip(kernel.found.blocks, numbers.shares, strict=True)}
    members: dict[str | None, list[int]] = {None: []}
    for block, loop in sorted(loops_of_blocks(kernel.found).items()):
        members.setdefault(loop, []).append(block)
    totals: defaultdict[tuple[str, str | None], float] = defaultdict(float)
    paces = {}
    for loop, inside in members.items():
        entering = numbers.entering.get(loop or "", 1.0)
        entered = entered_share(kernel, share_of, inside, entering)
        body = []
        for block in inside:
            for at in flow.places([block]):
                body.append((function.instructions[at], counts[at], share_of[block] / entered))
                for pipe, count in counts[at].items():
                    totals[pipe, loop] += count * share_of[block]
        waits = sure_waits(function, flow, [(b, share_of[b] / entered) for b in inside])
        paces[loop] = Took(chain_clocks(body, loop is not None), waits)
    branches = frozenset(b for inside in members.values() for b in inside)
    return WarpWork(dict(totals), paces, branches, {}, _ORIGIN, BY_RULES)


def chain_clocks(
    body: Sequence[tuple[Instruction, Mapping[str, float], float]], loop: bool
) -> float:
    """Return the clocks of a body, or of an iteration, without waits for global memory.

    `body`: each with its machine instructions by pipe, and the share of warps that run it; `loop`:
    whether the last leads to the first.
    """
    issues = 0.0
    for i, counts, share in body:
        of_one = max(sum(counts.values()), tensor_clocks(i), float(is_memory(i)))
        issues = issues + share * of_one
    there: dict[str, float] = {}
    end = before = 0.0
    for _ in range(_ROUNDS if loop else 1):
        before = end
        for i, counts, _ in body:
            begin = max((there.get(r, 0.0) for r in read_registers(i)), default=0.0)
            ready = begin + _latency(i, counts)
            there |= dict.fromkeys(written_registers(i), ready)
            end = max(end, ready)
    branch = latencies().branch if loop else 0.0
    return max(issues + branch, end - before)


def _latency(instruction: Instruction, counts: Mapping[str, float]) -> float:
    found = latencies()
    if is_memory(instruction):
        return found.shared if instruction.space == "shared" else 0.0
    if tensor_clocks(instruction):
        return found.pipe["tensor16"]
    pipe = max(counts, key=lambda name: counts[name], default="")
    return found.pipe.get(pipe, found.pipe["other"]) * sum(counts.values())


def work_by_code(kernel: Analysed, numbers: Numbers, code: MachineCode) -> WarpWork | None:
    """Return what the machine code says, None if it is not at hand or does not show it."""
    if not code:
        return None
    found = kernel.found
    turns = body_runs(found, numbers.trips)
    runs = {
        run.block: share * turns[run.loop]
        for run, (share, _) in zip(found.blocks, numbers.shares, strict=True)
    }
    entries = _entries(kernel, runs, turns)
    parts = issued(code, kernel.function, kernel.flow, Runs(runs, entries))
    if not parts:
        return None
    return WarpWork(
        _counts(kernel, parts, runs, turns),
        _paces(kernel, parts, runs, turns, numbers),
        _branches(kernel, parts),
        _meetings(kernel, parts, turns),
    )


def _counts(
    kernel: Analysed,
    parts: Sequence[Issued],
    runs: Mapping[int, float],
    turns: Mapping[str | None, float],
) -> dict[tuple[str, str | None], float]:
    loops = loops_of_blocks(kernel.found)
    totals: defaultdict[tuple[str, str | None], float] = defaultdict(float)
    guarded: defaultdict[int | None, float] = defaultdict(float)
    known = opcodes().pipe
    for part in parts:
        loop = loops.get(part.block)
        for i in part.code:
            pipe = known.get(i.opcode, "other")
            if pipe == "memory" and i.guarded:
                guarded[i.line] += part.times
            elif pipe not in ("memory", "tensor"):
                totals[pipe, loop] += part.times / turns[loop]
    asked: defaultdict[int | None, float] = defaultdict(float)
    loop_of: dict[int | None, str | None] = {}
    for instruction, block in zip(kernel.function.instructions, kernel.flow.block_of, strict=True):
        if is_memory(instruction):
            asked[instruction.line] += runs.get(block, 0.0)
            loop_of[instruction.line] = loops.get(block)
    for line, loop in loop_of.items():
        more = guarded[line] - asked[line]
        if more > 0:
            totals["masked", loop] += more / turns[loop]
    return dict(totals)


def _paces(
    kernel: Analysed,
    parts: Sequence[Issued],
    runs: Mapping[int, float],
    turns: Mapping[str | None, float],
    numbers: Numbers,
) -> dict[str | None, Took]:
    loops = loops_of_blocks(kernel.found)
    clocks: dict[str | None, float] = dict.fromkeys((None, *loops.values()), 0.0)
    waits = dict(clocks)
    for part, took, waiting in _taken(kernel, parts, numbers.steps):
        clocks[loops.get(part.block)] += took[0] * part.times
        waits[loops.get(part.block)] += took[1] * waiting
    shares = {b: runs[b] / turns[loops[b]] for b in runs}
    found = {}
    for loop, taken in clocks.items():
        members = [b for b, of in loops.items() if of == loop]
        entering = numbers.entering.get(loop or "", 1.0)
        entered = entered_share(kernel, shares, members, entering)
        each = taken / turns[loop] / entered
        each = _with_products(kernel, each, [(b, shares[b] / entered) for b in members])
        each += latencies().begin if loop is None else 0.0
        found[loop] = Took(each, waits[loop] / turns[loop] / entered)
    return found


def _taken(
    kernel: Analysed, parts: Sequence[Issued], steps: Mapping[str | None, int]
) -> Iterator[tuple[Issued, tuple[float, float], float]]:
    """Yield each block of machine code with its clocks and waits, body by body.

    And how often a warp waits there, or for another of its block: at barriers of loops all do.
    """
    loops = loops_of_blocks(kernel.found)
    warps = math.ceil(math.prod(kernel.launch.block) / WARP_SIZE)
    bodies: dict[int | None, list[Issued]] = {}
    for part in parts:
        bodies.setdefault(part.loop, []).append(part)
    for number, inside in bodies.items():
        step = steps.get(loops.get(inside[0].block) or "", 0)
        met = number is not None and any(i.opcode == BARRIER for part in inside for i in part.code)
        most = max(part.times for part in inside)
        takes = body_takes(inside, number is not None, step, warps)
        for part, took in zip(inside, takes, strict=True):
            yield part, took, min(part.times * warps, most) if met else part.times


def _with_products(kernel: Analysed, clocks: float, blocks: Sequence[tuple[int, float]]) -> float:
    """Return the clocks of blocks with those of a warp group's products, which overlap with them.

    Where they are waited for, one comes after the other.
    """
    products, waited = 0.0, False
    for block, share in blocks:
        for at in kernel.flow.places([block]):
            instruction = kernel.function.instructions[at]
            if instruction.opcode == "wgmma":
                products += tensor_clocks(instruction) * share
                waited = waited or waits_for_products(instruction)
    return clocks + products if waited else max(clocks, products)


def _branches(kernel: Analysed, parts: Sequence[Issued]) -> frozenset[int]:
    """Return the blocks of PTX whose branch machine code has, too."""
    lines = {i.line for part in parts for i in part.code if i.opcode == BRANCH}
    function, flow = kernel.function, kernel.flow
    return frozenset(
        n for n, b in enumerate(flow.blocks) if function.instructions[b.stop - 1].line in lines
    )


def _meetings(
    kernel: Analysed, parts: Sequence[Issued], turns: Mapping[str | None, float]
) -> dict[str | None, float]:
    loops = loops_of_blocks(kernel.found)
    found: defaultdict[str | None, float] = defaultdict(float)
    for part in parts:
        loop = loops.get(part.block)
        found[loop] += sum(i.opcode == MEETING for i in part.code) * part.times / turns[loop]
    return dict(found)


def _entries(
    kernel: Analysed, runs: Mapping[int, float], known: Mapping[str | None, float]
) -> dict[int, float]:
    """Return how often a warp comes to each loop from outside; `known`: how often bodies run."""
    emulation = kernel.emulation
    followed = {loop.index: loop for loop in kernel.found.loops}
    entries = {}
    for number, loop in enumerate(kernel.flow.loops):
        if emulation is not None:
            entries[number] = emulation.entries(loop) / emulation.sampled_warps
        elif number in followed:
            each = known[followed[number].variable] / known[followed[number].parent]
            entries[number] = runs.get(loop.header, 0.0) / each
    return entries
