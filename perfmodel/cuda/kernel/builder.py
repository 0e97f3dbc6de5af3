"""Putting a `Kernel` together from what following and emulating a PTX function found."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from perfmodel.cuda.addresses.algebra import Algebra
from perfmodel.cuda.addresses.conditions import TRUE
from perfmodel.cuda.addresses.launch import KernelLaunch, Start
from perfmodel.cuda.addresses.records import Followed, LoopRun
from perfmodel.cuda.addresses.sums import Sum, single, split, sum_of, written
from perfmodel.cuda.emulate.odd_values import OddShares
from perfmodel.cuda.emulate.result import Emulation
from perfmodel.cuda.kernel.accesses import (
    THREAD,
    Placed,
    chained,
    data_type,
    factored,
    known_part,
    named_accesses,
    place_of,
    rounds_of_loads,
    three_numbers,
)
from perfmodel.cuda.kernel.analysed import FLAT, Analysed, decided
from perfmodel.cuda.kernel.block_work import BlockWork
from perfmodel.cuda.kernel.counts import counted
from perfmodel.cuda.kernel.parts import (
    Drawing,
    at_random,
    data_factors,
    drawn_inside,
    lanes_in_data,
    renamed,
    unwrapped,
    where_guarded,
)
from perfmodel.cuda.kernel.sizes import elements_of, lengths_of
from perfmodel.cuda.kernel.work import constant_bytes, work_of
from perfmodel.cuda.parse.control_flow import ControlFlow, control_flow
from perfmodel.cuda.parse.source_places import place_name, users_line
from perfmodel.cuda.parse.syntax import Function, Module
from perfmodel.cuda.parse.waiting_loops import held_inside
from perfmodel.cuda.sass.asynchronous import copies_ahead
from perfmodel.cuda.sass.divergence import aggregated
from perfmodel.cuda.sass.machine_code import MachineCode
from perfmodel.expressions import Name, Node, Number, Operation, names, text
from perfmodel.kernels.access import Access
from perfmodel.kernels.counted import Counted, Unequal
from perfmodel.kernels.doubt import SURE, Doubt
from perfmodel.kernels.kernel import Buffer, Kernel, Launch, Loop, Parameter, Space
from perfmodel.records import record

_INDEX_NAMES: Final = {"x": ("x", "ix", "x_"), "y": ("y", "iy", "y_"), "z": ("z", "iz", "z_")}
_SPACES: Final[Mapping[str, Space]] = {"shared": "shared", "local": "local"}
_APART: Final = 40503
"""What tells an index of one load from that of another in a key of both: any large odd number."""


@record
class _Symbols:
    """What a kernel is made of whose indices have no number of the launch in them."""

    # Positions in the grid, by the names that indices have for them.
    parts: Sequence[tuple[Name, Sum]]
    definitions: tuple[tuple[str, Node], ...]
    guard: Node | None
    accesses: tuple[Access, ...]
    # How many loads of each loop wait for one another by their addresses.
    waits: Mapping[str | None, int]


@dataclass
class Builder:
    """Puts a kernel together; holds what its parts need of each other."""

    module: Module
    function: Function
    launch: KernelLaunch
    start: Start
    found: Followed
    registers: int
    machine: MachineCode = ()
    emulation: Emulation | None = None
    counted_loops: frozenset[str] = frozenset()
    odd: OddShares = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    assumed: bool = False  # whether the size of a buffer had to be assumed
    odd_doubt: Doubt = SURE
    count_doubt: Doubt = SURE
    # What follows from the way alone that following took: see `kernel_from_ptx`.
    kept: dict[str, Any] = field(default_factory=dict)

    # By number, what data decides of accesses' places.
    draws: dict[frozenset[Node], int] = field(default_factory=dict)
    # Buffers, bytes of an element and elements of each, by the base that they begin at.
    buffers: dict[str, Buffer] = field(default_factory=dict)
    elements: Mapping[str, int] = field(default_factory=dict)
    lengths: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def flow(self) -> ControlFlow:
        """The function's control flow."""
        return control_flow(self.function)

    @cached_property
    def held(self) -> dict[int, int]:
        """Atomics that hold a lock inside of loops, each with what frees it."""
        return held_inside(self.function, self.flow)

    @property
    def algebra(self) -> Algebra:
        """Arithmetic with what the launch says of ranges."""
        return self.start.interpreter.algebra

    def build(self, placed: Sequence[Placed]) -> Kernel:
        """Return the kernel."""
        found = self.found
        self._take_buffers(placed)
        on_chip = {buffer.name for buffer in self.buffers.values() if buffer.space == "shared"}
        symbols = self.kept.get("symbols")
        if symbols is None:
            symbols = self._symbols(placed, on_chip)
            # Elsewhere the launch's numbers are in the indices.
            if all(map(self._is_symbolic, placed)):
                self.kept["symbols"] = symbols
        parts = symbols.parts
        parameters = self._parameters()
        analysed = Analysed(
            *(self.function, self.flow, found, self.launch, parameters, parts),
            *(self.emulation, self.counted_loops, self.kept),
        )
        work = work_of(analysed, symbols.waits, self.machine, self.odd)
        self.odd_doubt, self.count_doubt = work.doubt, work.counted
        if work.origin:
            self.notes.append(work.origin)
        return Kernel(
            name=self.function.name,
            summary="from PTX",
            parameters=parameters,
            launch=self._launch(),
            buffers=tuple(self.buffers.values()),
            accesses=symbols.accesses,
            definitions=symbols.definitions,
            loops=tuple(self._loop(loop, parts, work.by_block.turns) for loop in found.loops),
            arithmetic=work.arithmetic,
            guard=symbols.guard,
            flop=Number(work.flop),
            precision=work.precision,
            barriers=work.barriers,
            paces=work.paces,
            loads_in_flight=None if work.in_flight is None else Number(work.in_flight),
            notes=tuple(dict.fromkeys(self.notes)),
            translated=True,
            constants=Number(min(work.constants, constant_bytes(self.module, self.function))),
            unequal=_unequal(self.emulation, work.by_block),
            block_work=work.by_block.blocks,
        )

    def _symbols(self, placed: Sequence[Placed], on_chip: Collection[str]) -> _Symbols:
        """Return the names of positions in the grid, the kernel's guard, and the accesses."""
        parts = self._index_names(placed)
        loops = {loop.variable for loop in self.found.loops}
        shared_guard, accesses = factored(self._accesses(placed, parts), loops)
        accesses = chained(named_accesses(accesses), placed, self.function, on_chip)
        definitions = tuple((name.name, written(part)) for name, part in parts)
        waits = rounds_of_loads(accesses, on_chip)
        return _Symbols(parts, definitions, shared_guard, tuple(accesses), waits)

    def _take_buffers(self, placed: Sequence[Placed]) -> None:
        """Name and size the buffers."""
        bases, interpreter = self.start.bases, self.start.interpreter
        self.elements = elements_of(placed, bases)
        sizes = lengths_of(placed, self.elements, bases, self._threads, interpreter, self.emulation)
        self.lengths, self.assumed = sizes.lengths, sizes.assumed
        self.notes += sizes.notes
        taken: set[str] = set()
        for base, size in self.elements.items():
            name = bases[base].name[:60]
            while name in taken:
                name += "_"
            taken.add(name)
            length, space = Number(self.lengths[base]), _SPACES.get(bases[base].space, "global")
            self.buffers[base] = Buffer(name, length, Number(size), space)

    def _accesses(
        self, placed: Sequence[Placed], parts: Sequence[tuple[Name, Sum]]
    ) -> list[Access]:
        """Return the accesses, each with its index and its guard."""
        accesses: list[Access] = []
        indices: dict[int, Node] = {}
        ahead = copies_ahead(self.function)
        together = aggregated(self.function)
        for p in placed:
            size = self.elements[p.base]
            index = self._index(p, indices)
            guard = renamed(known_part(p.access.guard), parts)
            loads = p.moved.kind == "load"
            instruction = self.function.instructions[p.access.at]
            accesses.append(
                Access(
                    buffer=self.buffers[p.base].name,
                    kind=p.moved.kind,
                    index=renamed(index, parts),
                    vector=Number(1 if self._is_local(p) else p.moved.width // size),
                    loop=p.access.loop,
                    guard=None if guard == TRUE else guard,
                    cache=p.moved.cache,
                    returns=p.moved.returns,
                    dtype=data_type(p.moved, size),
                    operation=p.moved.operation,
                    aggregated=p.access.at in together,
                    draw=self._draw(p, indices),
                    source=self._source(p),
                    counted=self._counted(p),
                    copied=instruction.opcode == "cp" and loads and not p.moved.bulk,
                    ahead=p.access.at in ahead and loads,
                    read_only="nc" in instruction.modifiers,
                )
            )
            if not p.counted:
                space, length = self.start.bases[p.base].space, self.lengths[p.base]
                indices[p.access.at] = place_of(index, space, length, self.launch.grid)
        return accesses

    def _draw(self, p: Placed, indices: Mapping[int, Node]) -> int:
        """Return which datum decides where it goes; 0 for none, -1 for one of unknown origin."""
        if p.offset is None or not self._data(p.offset):
            return 0
        if not p.access.sources or not p.access.sources <= indices.keys():
            return -1
        factors = frozenset(data_factors(p.offset, self.start.interpreter.data))
        return self.draws.setdefault(factors, len(self.draws) + 1)

    def _launch(self) -> Launch:
        """Return grid, block and what they need.

        Blocks take dynamic shared memory whether they use it or not, and all its arrays are one.
        """
        on_sm = {name: b for name, b in self.start.bases.items() if b.space == "shared"}
        dynamic = (name for name, b in on_sm.items() if b.dynamic and name in self.buffers)
        reached = max((self.lengths[x] * self.elements[x] for x in dynamic), default=0)
        stated = sum(b.size or 0 for b in on_sm.values() if not b.dynamic)
        return Launch(
            grid=three_numbers(self.launch.grid),
            block=three_numbers(self.launch.block),
            registers=Number(self.registers),
            shared_bytes=Number((self.launch.shared_bytes or reached) + stated),
        )

    def _loop(
        self, loop: LoopRun, parts: Sequence[tuple[Name, Sum]], stated: Mapping[str, float]
    ) -> Loop:
        trips = renamed(loop.trips or Number(1), parts)
        # Work that was counted is a mean warp's: how much longer the longest is, `unequal` says.
        share = stated.get(loop.variable, 1) if self.emulation is None else 1
        return Loop(loop.variable, trips, loop.parent, Number(share))

    def _parameters(self) -> tuple[Parameter, ...]:
        found = []
        for p in self.function.parameters:
            name = self.start.shown[p.name]
            if p.name not in self.launch.values:
                continue
            value = self.algebra.number(single(Name(name)))
            if value is not None:
                found.append(decided(name, value))
        return tuple(found)

    def _index_names(self, placed: Sequence[Placed]) -> list[tuple[Name, Sum]]:
        """Return names for the positions in the grid that indices and guards are made of."""
        used = " ".join(
            [text(written(p.offset)) for p in placed if p.offset is not None]
            + [text(p.access.guard) for p in placed]
        )
        taken = {*self.start.shown.values(), *(loop.variable for loop in self.found.loops)}
        parts = []
        for axis, tries in _INDEX_NAMES.items():
            if f"blockIdx.{axis}" not in used or f"threadIdx.{axis}" not in used:
                continue
            block = Name(f"blockIdx.{axis}") * Name(f"blockDim.{axis}")
            position = sum_of(block + Name(f"threadIdx.{axis}"))
            name = next(Name(t) for t in tries if t not in taken)
            if f"blockDim.{axis}" in used:
                parts.append((name, position))
        return parts

    @property
    def _threads(self) -> int:
        return math.prod(self.launch.grid) * math.prod(self.launch.block)

    def _index(self, p: Placed, indices: dict[int, Node]) -> Node:
        """Return the index of an access, in elements; at random where data decides it."""
        size, length = self.elements[p.base], self.lengths[p.base]
        local = self._is_local(p)
        wide = 1 if local else p.moved.width // size
        if p.offset is None or (p.counted and (local or self._data(p.offset))):
            # Only an example: what it asks for was counted.
            places = max(1, length // wide)
            drawn = Operation("random", (self._thread, Number(places)))
            return drawn * wide if wide > 1 else drawn
        elements, rest = split(p.offset, size)
        assert local or not rest.terms, "the element divides every term"
        if local:
            # Words of a thread's local memory lie beside those of its neighbours.
            word = written(elements)
            if self._data(elements):
                words = max(1, length // self._threads)
                word = Operation("random", (self._thread, Number(words)))
            return word * self._threads + self._thread
        if not self._data(elements):
            return written(elements)
        elements = where_guarded(elements, p.access.guard)
        key = self._key(p, indices)
        data = self.start.interpreter.data
        drawing = Drawing(length - wide + 1, key, p.access.guard, data, self.algebra)
        elements = unwrapped(elements, drawing.length, data, self.algebra)
        found = None
        if p.moved.kind != "atomic" and lanes_in_data(elements, data, self.algebra):
            found = drawn_inside(elements, drawing)
        if found is None:
            read = [indices[at] for at in p.access.sources if at in indices]
            found = at_random(elements, drawing, wide, read_at_key=read == [key])
        if found is None and p.moved.kind != "atomic":
            found = drawn_inside(elements, drawing)
        name = self.start.bases[p.base].name
        self.notes.append(f"accesses of {name} that data decides are taken to be at random places")
        if found is None:
            found = Operation("random", (key, Number(max(1, length // wide)))) * wide
        return found

    def _is_symbolic(self, p: Placed) -> bool:
        """Say whether an index is without numbers of the launch, and of what data decides."""
        return not self._is_local(p) and p.offset is not None and not self._data(p.offset)

    def _is_local(self, p: Placed) -> bool:
        return self.start.bases[p.base].space == "local"

    def _data(self, value: Sum) -> bool:
        return bool(data_factors(value, self.start.interpreter.data))

    def _key(self, p: Placed, indices: dict[int, Node]) -> Node:
        """Return what tells the random places of threads apart: where they read the index.

        An index that is made of several loads is as different as the most different of them.
        """
        known = [indices[at] for at in sorted(p.access.sources, reverse=True) if at in indices]
        # A place that comes out of a loop is no longer any of its turns.
        others = {loop.variable for loop in self.found.loops} - {*self.found.nest(p.access.loop)}
        known = [k for k in known if others.isdisjoint(names(k))]
        if not known:
            return self._thread
        differing = (k for k in known if any(n.startswith("threadIdx.") for n in names(k)))
        own = next(differing, known[0])
        if own == known[0]:
            return own
        return own + known[0] * _APART

    @property
    def _thread(self) -> Node:
        """Number of a thread in the launch."""
        sizes = (*self.launch.grid[1:], *self.launch.block[1:])
        return FLAT if math.prod(sizes) == 1 else THREAD

    def _counted(self, p: Placed) -> Counted | None:
        if not p.counted or self.emulation is None:
            return None
        # Who holds a lock inside its loop took it once, however often it tried.
        at = self.held.get(p.access.key, p.access.key)
        count = self.emulation.counts.get(at)
        return counted(count, self.emulation, p.moved.kind in ("atomic", "store"), at)

    def _source(self, p: Placed) -> str:
        """Return the file and line of an access, as far as the PTX says."""
        instruction = self.function.instructions[p.access.at]
        if instruction.source is None:
            return f"PTX:{instruction.line}"
        return place_name(users_line(instruction.source, self.module), self.module)


def _unequal(emulation: Emulation | None, by_block: BlockWork) -> Unequal | None:
    """Return how warps and blocks differ, beyond what conditions say of blocks."""
    if emulation is None or not by_block.blocks:
        return None if emulation is None else emulation.looping
    return replace(emulation.looping, spread=0.0)
