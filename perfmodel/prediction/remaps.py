"""Remaps: the same work given to other threads, or data laid out so that lanes touch neighbours.

Of a remap only what a thread's number stands for changes: x and y of block and grid swapped, or
quotient and remainder of a number. No access, instruction or barrier is added. This is done to the
record of a kernel, so it holds for one from any source.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from perfmodel.expressions import (
    Name,
    Node,
    Number,
    Operation,
    evaluate,
    exchanged,
    names,
    substitute,
)
from perfmodel.kernels import Access, Kernel, expanded
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.prediction.change import Change, changed
from perfmodel.prediction.cuda_lines import launch_lines
from perfmodel.prediction.record import Prediction
from perfmodel.prediction.rewrites import (
    TOGETHER,
    cuda_text,
    element_of,
    kernel_of,
    known_values,
    plain_index,
)
from perfmodel.records import record
from perfmodel.traffic import AccessTraffic

WASTE: Final = 1.3
"""Sectors over those that the wanted bytes need, from which an access counts as uncoalesced."""


@record
class Remap:
    """A launch with its work given to other threads; `puts` pairs what is there with what is put.

    `what` says in a clause what to do.
    """

    kernel: Kernel
    what: str
    puts: tuple[tuple[Node, Node], ...]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]

    def cuda(self, base: Prediction) -> tuple[str, ...]:
        """Return the launch and the definitions: what stands in place of what."""
        kernel = kernel_of(base)
        own = {} if kernel.translated else {node: name for name, node in kernel.definitions}
        lines = list(launch_lines(kernel.name, self.grid, self.block))
        for now, then in self.puts:
            there, was, name = cuda_text(then), cuda_text(now), own.get(now, "")
            lines.append(
                f"const int {name} = {there};  /* was {was} */"
                if name
                else f"/* in place of {was}: */ {there};"
            )
        return tuple(lines)


def remapped(base: Prediction) -> Iterator[Change]:
    """Yield the launch with its work given to other threads, so that lanes touch neighbours."""
    for found in remaps(base):
        yield changed(base, "remap", found.what, cuda=found.cuda(base), kernel=found.kernel)


def uncoalesced(base: Prediction) -> bool:
    """Say whether some global load or store asks for more sectors than its bytes need."""
    return any(r.access.kind != "atomic" and _wastes(r) for r in base.details.requests)


def _wastes(found: Requests | AccessTraffic) -> bool:
    """Say whether an access asks for more sectors than its bytes need, one a request at least."""
    needed = max(float(np.max(found.wanted_bytes)), SECTOR * float(np.max(found.requests)))
    return float(np.max(found.sectors)) * SECTOR > WASTE * needed


def remaps(base: Prediction) -> Iterator[Remap]:
    """Yield the launch with its work given to other threads, in every way that is one line."""
    kernel = kernel_of(base)
    if not movable(kernel):
        return
    (bx, by, bz), (gx, gy, gz) = base.block, base.grid
    if not uncoalesced(base):
        return
    if bx > 1 and by > 1 and bz == 1:
        yield _turned(base, across=gx > 1 and gy > 1 and gz == 1 and not kernel.block_work)
    yield from _other_pairs(base)


def movable(kernel: Kernel) -> bool:
    """Say whether threads may be numbered otherwise, as far as the record tells."""
    if kernel.pipeline is not None or kernel.menus or kernel.unequal is not None:
        return False
    if any(a.pipe in TOGETHER for a in kernel.arithmetic):
        return False
    return all(a.counted is None and a.multicast == Number(1) for a in kernel.accesses)


def _turned(base: Prediction, across: bool) -> Remap:
    """Return the launch with lanes along a block's y, and blocks along the grid's y if `across`."""
    (bx, by, _), (gx, gy, gz) = base.block, base.grid
    thread = Name("threadIdx.x")
    puts: dict[str, Node] = {
        "threadIdx.x": thread // by,
        "threadIdx.y": thread % by,
        "blockDim.x": Number(bx),
        "blockDim.y": Number(by),
    }
    what = (
        "swap .x and .y, so that the lanes of a warp run along what threadIdx.y counts now: in "
        f"blocks of {bx * by} threads in one dimension, take threadIdx.x / {by} for threadIdx.x "
        f"and threadIdx.x % {by} for threadIdx.y"
    )
    if across:
        puts |= {"blockIdx.x": Name("blockIdx.y"), "blockIdx.y": Name("blockIdx.x")}
        puts |= {"gridDim.x": Number(gx), "gridDim.y": Number(gy)}
        what += ", and swap blockIdx.x and blockIdx.y"
    grid = (gy, gx, gz) if across else (gx, gy, gz)
    return _made(base, puts, what, grid, (bx * by, 1, 1))


def _made(
    base: Prediction,
    puts: Mapping[str, Node],
    what: str,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
) -> Remap:
    kernel = kernel_of(base)

    def put(node: Node) -> Node:
        return substitute(node, puts)

    def moved(access: Access) -> Access:
        guard = None if access.guard is None else put(access.guard)
        return replace(access, index=put(access.index), guard=guard)

    launch = kernel.launch
    if grid != base.grid:
        launch = replace(launch, grid=(launch.grid[1], launch.grid[0], launch.grid[2]))
    if block != base.block:
        sizes = (Number(block[0]), Number(block[1]), Number(block[2]))
        launch = replace(launch, block=sizes)
    made = replace(
        kernel,
        definitions=tuple((name, put(node)) for name, node in kernel.definitions),
        guard=None if kernel.guard is None else put(kernel.guard),
        accesses=tuple(moved(a) for a in kernel.accesses),
        launch=launch,
    )
    pairs = [(n, put(n)) for _, n in kernel.definitions if names(n) & set(puts)]
    if not pairs:
        pairs = [(Name(n), p) for n, p in puts.items() if "Idx" in n]
    return Remap(made, what, tuple(pairs), grid, block)


def _other_pairs(base: Prediction) -> Iterator[Remap]:
    """Yield the launch with ``x % w`` and ``x / w`` of threads' numbers swapped.

    Of a number below w h, ``x / h`` and ``x % h`` are a row and a column as well.
    """
    kernel = kernel_of(base)
    nodes = [expanded(kernel, a.index) for a in kernel.accesses]
    for number, width in dict.fromkeys(pair for node in nodes for pair in _divided(node)):
        known = known_values(base.details.instance)
        count = base.block[0] * (base.grid[0] if "blockIdx.x" in names(number) else 1)
        w = int(evaluate(width, known))
        if w < 2 or count % w or count == w or max(base.block[1:]) > 1:
            continue
        h = Number(count // w)
        puts: dict[Node, Node] = {number % width: number // h, number // width: number % h}
        guards = [g for g in (kernel.guard, *(a.guard for a in kernel.accesses)) if g is not None]
        if any("threadIdx.x" in names(expanded(kernel, g)) for g in guards):
            continue
        moved = [exchanged(node, puts) for node in nodes]
        if any("threadIdx.x" in names(exchanged(node, dict.fromkeys(puts, Number(0))))
               for node in nodes):  # fmt: skip
            continue
        accesses = tuple(
            replace(a, index=index) for a, index in zip(kernel.accesses, moved, strict=True)
        )
        yield Remap(
            replace(kernel, accesses=accesses),
            "let the lanes of a warp run along the other axis: swap the quotient and the remainder "
            "of the thread's number",
            tuple(puts.items()),
            base.grid,
            base.block,
        )


def _divided(node: Node) -> Iterator[tuple[Node, Node]]:
    """Yield numbers of threads, each with what it is divided by."""
    waiting, seen = [node], set()
    while waiting:
        one = waiting.pop()
        if not isinstance(one, Operation) or id(one) in seen:
            continue
        seen.add(id(one))
        waiting += one.operands
        if one.operator in ("//", "%") and "threadIdx.x" in names(one.operands[0]):
            number, width = one.operands
            plain = Name("threadIdx.x")
            every = Name("blockIdx.x") * Name("blockDim.x") + plain
            if number in (plain, every) and not any("Idx" in n for n in names(width)):
                yield number, width


def coalescing(base: Prediction) -> Iterator[Change]:
    """Yield the uncoalesced accesses of each buffer as they would be with neighbouring lanes.

    An unrolled loop accesses a buffer in many places: moving one of them would not help.
    """
    kernel = kernel_of(base)
    far: dict[tuple[str, str], list[tuple[Access, AccessTraffic, int]]] = defaultdict(list)
    for access, found, request in zip(
        (a for a in kernel.accesses if kernel.buffer(a.buffer).space != "shared"),
        base.details.traffic.accesses,
        base.details.requests,
        strict=True,
    ):
        if access.kind == "atomic" or request.strides is None or not _wastes(found):
            continue
        if not float(np.max(found.wanted_bytes)):
            continue
        stride = float(np.max(request.strides.get("lane.x", 0.0)))
        apart = round(stride / element_of(base, access.buffer))
        far[access.buffer, access.kind].append((access, found, apart))
    for (buffer, kind), group in far.items():
        dense = {
            id(access): replace(access, index=_neighbours(access, kernel, apart))
            for access, _, apart in group
        }
        wanted = sum(float(np.max(found.wanted_bytes)) for _, found, _ in group)
        share = sum(float(np.max(found.sectors)) for _, found, _ in group) * SECTOR / wanted
        yield changed(
            base,
            "coalescing",
            f"lay {buffer!r} out so that lanes of a warp {kind} neighbouring elements ({share:.1f} "
            "times the wanted bytes now): at best",
            cuda=_lines(group[0][0], group[0][2], len(group) - 1),
            kernel=replace(kernel, accesses=tuple(dense.get(id(a), a) for a in kernel.accesses)),
        )


def _neighbours(access: Access, kernel: Kernel, apart: int) -> Node:
    """Return an index whose lanes are neighbours.

    Elements between those of two lanes, `apart`, are other accesses' or iterations': each of them
    gets a row of neighbours in the same place.
    """
    thread = Name("threadIdx.x")
    lane = thread % 32
    start = substitute(expanded(kernel, access.index), {"threadIdx.x": thread - lane})
    first = start
    if apart > 1:
        first = start + Number(31) * (start % apart)
    return first + (lane if access.vector == Number(1) else lane * access.vector)


def _lines(access: Access, row: int, others: int) -> tuple[str, ...]:
    """Return an access to data whose rows lie column by column, 32 at a time, a warp's together.

    Nothing where no rows are told apart. `row` elements are from one lane's to the next's, and so
    many `others` accesses to the buffer move alike.
    """
    if row < 2 or not isinstance(access.vector, Number):
        return ()
    index = plain_index(access.index)
    alike = f", and {others} more alike" if others else ""
    vector = int(access.vector.value)
    place = (
        f"{access.buffer}[now / {32 * row} * {32 * row} + now % {row} * 32 + now / {row} % 32"
        f"{f' * {vector}' if vector > 1 else ''}]"
    )
    return (
        # Such a comment may be broken between words, as a report of some width does.
        f"/* 32 rows of {row} elements at a time, stored column by column; {access.buffer}[now] "
        f"until then{alike}: */",
        f"const auto now = {index};" if index else "/* now: its index as it is */",
        f"const auto element = {place};" if access.kind == "load" else f"{place} = element;",
    )
