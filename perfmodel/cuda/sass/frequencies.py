"""How often a warp issues each block of machine code, by how often it runs the blocks of PTX.

ptxas says of each machine instruction which line of PTX it is made of. A block of machine code
runs as often as the block of PTX that most of its instructions are of. Of a loop of PTX, ptxas may
make several pieces, one behind the other: a loop of four iterations a turn, two iterations, one.
What a piece holds of the loop's accesses to memory, or of its instructions, says how many
iterations it does; each piece takes of those that are left as many as go into it. Functions that
are called behind a branch which PTX does not have are no usual way: they are for odd values, and
the block counts as never run. Others are issued with who calls them (divisions of 64 bits).
"""

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from perfmodel.cuda.parse.control_flow import ControlFlow
from perfmodel.cuda.parse.memory_parts import is_memory, memory_parts
from perfmodel.cuda.parse.once import once
from perfmodel.cuda.parse.syntax import Function
from perfmodel.cuda.sass.machine_code import BRANCH, CALL, ENDS, MachineCode, machine_flow
from perfmodel.cuda.sass.opcodes import opcodes
from perfmodel.records import record

_SURE: Final = 10
"""Instructions that one stands for which is never moved to another block: an access to memory, or
the branch of PTX itself."""
_LONG: Final = ("u64", "s64", "b64")
"""Types whose instructions are two of the machine's."""
_NARROW: Final = 0.25
"""Share of a loop's instructions from which on those of 32 bits tell its iterations."""
_NO_BRANCH: Final = -1
_NOT_COUNTED: Final = ("bra", "mov", "cvt")


class Runs(NamedTuple):
    """How often a warp runs what PTX has, the mean of the launch."""

    blocks: Mapping[int, float]
    # Of each loop, by its number: how often it is come to from outside.
    entries: Mapping[int, float]


@record
class Issued:
    """Machine instructions in a row, and how often a warp issues them."""

    code: MachineCode
    times: float
    block: int  # of PTX, that they are made of
    loop: int | None  # innermost loop of machine code that they are in, by its number


class _Piece(NamedTuple):
    """Of a loop of PTX, a loop of machine code or a block that runs once."""

    start: int
    loop: int | None
    block: int
    iterations: int


def issued(code: MachineCode, function: Function, flow: ControlFlow, runs: Runs) -> list[Issued]:
    """Return the blocks of a kernel's machine code with how often a warp issues each.

    Nothing where the code does not show it: without lines, where it calls functions of PTX, or
    where these were put in several places, which have the same lines.
    """
    if not _shows(code, function, flow):
        return []
    known = _beside(code, function, flow)
    if known.calls_functions:
        return []
    found = _Frequencies(known, runs)
    found.add_body(None, 1.0)
    parts = []
    for n, inside in enumerate(known.inside):
        of = (found.times.get(n, 0.0), found.made_of[n], known.machine.innermost[n])
        parts += [Issued(each, *of) for each in inside]
    return parts


def loops_together(code: MachineCode, function: Function, flow: ControlFlow) -> dict[int, int]:
    """Return the iterations of a turn of each loop of PTX: of its longest piece of machine code."""
    if not _shows(code, function, flow):
        return {}
    found: dict[int, int] = {}
    known = _beside(code, function, flow)
    for loop, of in zip(known.machine.loops, _Frequencies(known, Runs({}, {})).loops, strict=True):
        if of is not None:
            found[of] = max(found.get(of, 0), known.iterations(of, loop.blocks))
    return found


@once
def _shows(code: MachineCode, function: Function, flow: ControlFlow) -> bool:
    """Say whether machine code has lines, each of one block of PTX, and its branches are known."""
    if any(not 0 <= i.target < len(code) for i in code if i.target is not None):
        return False
    blocks: dict[int, set[int]] = {}
    for instruction, block in zip(function.instructions, flow.block_of, strict=True):
        blocks.setdefault(instruction.line, set()).add(block)
    return any(i.line is not None for i in code) and all(len(b) == 1 for b in blocks.values())


class _Code:
    """A kernel's machine code beside its PTX: what no launch changes."""

    def __init__(self, code: MachineCode, function: Function, flow: ControlFlow) -> None:
        self.code, self.function, self.flow = code, function, flow
        self.accesses, self.constants = opcodes().access, opcodes().constant
        places = {i.line: at for at, i in enumerate(function.instructions)}
        self.place = [None if i.line is None else places.get(i.line) for i in code]
        self.machine = machine_flow(code)
        self.reached = [
            n == 0 or above is not None for n, above in enumerate(self.machine.dominators)
        ]
        self.votes = [self._votes(n) for n in range(len(self.machine.blocks))]
        self.odd = {n for n in range(len(self.machine.blocks)) if self._is_odd(n)}
        self.in_code = {i.line for i in code}
        self.moved = {i.line for i in code if i.opcode in self.accesses}
        self.back = [self._back(n) for n in range(len(self.machine.loops))]
        self.inside = [self._inside(n) for n in range(len(self.machine.blocks))]
        self.calls_functions = self._calls_functions()
        self._iterations: dict[tuple[int, frozenset[int]], int] = {}

    def _calls_functions(self) -> bool:
        """Say whether a call's PTX is unknown: a function that ptxas left one."""
        inside = self.machine.places(n for n, reached in enumerate(self.reached) if reached)
        return any(self.code[at].opcode == CALL and self.place[at] is None for at in inside)

    def _calls(self, number: int) -> list[int]:
        """Return where a block calls functions that PTX does not."""
        inside = self.machine.places([number])
        return [at for at in inside if self.code[at].opcode == CALL and self._opcode(at) != "call"]

    def _is_odd(self, number: int) -> bool:
        """Say whether a block calls a function behind a branch that PTX does not have."""
        before = self.machine.blocks[number].predecessors
        ends = [self.machine.blocks[b].stop - 1 for b in before]
        return bool(self._calls(number)) and any(
            self.code[at].opcode == BRANCH and self._opcode(at) != "bra" for at in ends
        )

    def _inside(self, number: int) -> list[MachineCode]:
        """Return what is issued in a block: its own instructions, and those that it calls."""
        block = self.machine.blocks[number]
        called = [] if number in self.odd else self._called(number)
        return [self.code[block.start : block.stop], *called]

    def _called(self, number: int) -> list[MachineCode]:
        """Return the functions that a block calls, each up to where it returns."""
        begins = [self.code[at].target for at in self._calls(number)]
        found = []
        for begin in begins:
            rest = () if begin is None else self.code[begin:]
            length = next((n for n, i in enumerate(rest, 1) if i.opcode in ENDS), 0)
            found.append(tuple(rest[:length]))
        return found

    def _opcode(self, at: int) -> str:
        place = self.place[at]
        return "" if place is None else self.function.instructions[place].opcode

    def _votes(self, number: int) -> Counter[int]:
        """Return how many instructions of a machine block are of each block of PTX."""
        block = self.machine.blocks[number]
        votes: Counter[int] = Counter()
        for at in range(block.start, block.stop):
            place, i = self.place[at], self.code[at]
            if place is None:
                continue
            branches = i.opcode == BRANCH and self._opcode(at) == "bra"
            accesses = is_memory(self.function.instructions[place]) and i.opcode in self.accesses
            if i.guarded and not branches:
                continue
            if not branches or i.conditional:
                votes[self.flow.block_of[place]] += _SURE if branches or accesses else 1
        return votes

    def _back(self, number: int) -> int | None:
        """Return the loop of PTX whose branches back a machine loop has, if it has any."""
        found: Counter[int | None] = Counter()
        for source, _ in self.machine.loops[number].back_edges:
            at = self.machine.blocks[source].stop - 1
            place = self.place[at]
            if place is not None and self._opcode(at) == "bra":
                found[self.flow.innermost[self.flow.block_of[place]]] += 1
        return found.most_common(1)[0][0] if found else _NO_BRANCH

    def iterations(self, of: int, blocks: Iterable[int]) -> int:
        """Return the iterations of a loop of PTX that some blocks of machine code hold.

        By the bytes of its accesses to memory, which ptxas may put together; else by how often its
        instructions stand there.
        """
        key = of, frozenset(blocks)
        if key not in self._iterations:
            self._iterations[key] = self._held(*key)
        return self._iterations[key]

    def _held(self, of: int, blocks: Iterable[int]) -> int:
        body = [b for b in self.flow.loops[of].blocks if self.flow.innermost[b] == of]
        own = [self.function.instructions[at] for at in self.flow.places(body)]
        here = [self.code[at] for at in self.machine.places(blocks)]
        widths = [(i.line, memory_parts(i)) for i in own if is_memory(i)]
        lines = {line for line, _ in widths}
        whole = sum(parts[0].width for _, parts in widths if parts)
        if whole and not lines.isdisjoint(self.moved):
            held = sum(i.width for i in here if i.opcode in self.accesses and i.line in lines)
            return max(round(held / whole), 1) if held else 0
        # A parameter that an instruction takes may be loaded on its line.
        counts = Counter(i.line for i in here if i.opcode not in self.constants)
        each = Counter(i.line for i in own)
        every = [
            (counts[i.line] / each[i.line] / (2 if i.type_name in _LONG else 1), i.type_name)
            for i in own
            if i.line in self.in_code and i.opcode not in _NOT_COUNTED
        ]
        narrow = [count for count, kind in every if kind not in _LONG]
        if len(narrow) < _NARROW * len(every):
            narrow = [count for count, _ in every]
        return round(statistics.median_low(narrow)) if narrow else 0


_beside: Final = once(_Code)


class _Frequencies:
    """Goes through a kernel's machine code from its outermost blocks to its innermost loops."""

    def __init__(self, code: _Code, runs: Runs) -> None:
        self.code, self.runs = code, runs
        self.flow, self.machine = code.flow, code.machine
        self.made_of = [
            max(votes, key=lambda b: (votes[b], runs.blocks.get(b, 0.0)), default=0)
            for votes in code.votes
        ]
        self.loops = [self._loop_made_of(n) for n in range(len(code.machine.loops))]
        self.times: dict[int, float] = {}

    def _loop_made_of(self, number: int) -> int | None:
        """Return the loop of PTX whose branch back, or else whose start, a machine loop has."""
        back = self.code.back[number]
        header = self.machine.loops[number].header
        return self.flow.innermost[self.made_of[header]] if back == _NO_BRANCH else back

    def add_body(self, number: int | None, turns: float) -> None:
        """Say how often the blocks of a loop's body run, and those of the loops in it.

        `number`: the loop of machine code; None for what is in no loop; `turns`: of the body.
        """
        loop = None if number is None else self.loops[number]
        each = 1.0 if loop is None else self.runs.blocks.get(self.flow.loops[loop].header, 0.0)
        body = [n for n, of in enumerate(self.machine.innermost) if of == number]
        inside = [n for n in body if self.code.reached[n]]
        children = [n for n, x in enumerate(self.machine.loops) if x.parent == number]
        for n in inside:
            share = self._runs(n) / each if each else 0.0
            self.times[n] = 0.0 if n in self.code.odd else turns * min(share, 1.0)
        going = dict.fromkeys(children, turns)
        for of, pieces in self._pieces(loop, inside, children).items():
            entries = turns * self.runs.entries.get(of, 0.0) / each if each else 0.0
            going |= self._add_loop(of, entries, pieces)
        for n in children:
            self.add_body(n, going[n])

    def _runs(self, number: int) -> float:
        return self.runs.blocks.get(self.made_of[number], 0.0)

    def _pieces(
        self, around: int | None, inside: Iterable[int], children: Iterable[int]
    ) -> dict[int, list[_Piece]]:
        """Return the pieces of each loop of PTX that stand in a body of machine code, in order."""
        found: dict[int, list[_Piece]] = {}
        for n in children:
            of, loop = self.loops[n], self.machine.loops[n]
            if of is not None and of != around:
                start = self.machine.blocks[loop.header].start
                many = self.code.iterations(of, loop.blocks)
                found.setdefault(of, []).append(_Piece(start, n, loop.header, many))
        for n in inside:
            of = self._outermost(self.flow.innermost[self.made_of[n]], around)
            if of is not None:
                many = self.code.iterations(of, [n])
                found.setdefault(of, []).append(_Piece(self.machine.blocks[n].start, None, n, many))
        return {of: sorted(pieces, key=lambda p: p.start) for of, pieces in found.items()}

    def _outermost(self, loop: int | None, around: int | None) -> int | None:
        """Return the loop of PTX right inside `around` that a loop is in; None if in none."""
        while loop is not None and self.flow.loops[loop].parent != around:
            loop = self.flow.loops[loop].parent
        return loop

    def _add_loop(self, of: int, entries: float, pieces: Sequence[_Piece]) -> dict[int, float]:
        """Say how often pieces of a loop of PTX run, and return the turns of those that loop."""
        every = self.runs.blocks.get(self.flow.loops[of].header, 0.0)
        come = self.runs.entries.get(of, 0.0)
        left = every / come if come else 0.0
        working = [p for p in pieces if p.iterations]
        apart = len(working) > 1 and any(p.loop is not None for p in pieces)
        turns: dict[int, float] = {}
        for p in pieces:
            many = 1.0
            if p.iterations and p.loop is not None and p is working[-1]:
                many = left / p.iterations
            elif p.iterations and (p.loop is not None or apart):
                many = left // p.iterations
            if p.loop is not None:
                many = many if p.iterations else 0.0
                turns[p.loop] = entries * many
            else:
                many = min(many, 1.0)
                share = min(self._runs(p.block) / every, 1.0) if every else 0.0
                self.times[p.block] = 0.0 if p.block in self.code.odd else entries * many * share
            left -= many * p.iterations
        return turns
