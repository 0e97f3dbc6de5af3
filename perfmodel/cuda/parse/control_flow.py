"""Control flow of a function: basic blocks, dominators, natural loops.

Indirect branches go to every label of their table. A call comes back. The virtual exit, where
``ret``, ``exit``, ``trap`` and the end of the text lead, has the number ``len(blocks)``.

Immediate dominators are found after Lengauer and Tarjan (TOPLAS 1979), their simple version. The
method is O(edges * log(nodes)), so that a hostile graph takes no more time than a long one.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

from perfmodel.cuda.parse.once import once
from perfmodel.cuda.parse.syntax import Function, Instruction, Label
from perfmodel.errors import PerfmodelError
from perfmodel.records import record

_ENDS: Final = frozenset({"ret", "exit", "trap"})
_MOST_MEMBERS: Final = 1_000_000
"""Blocks of all loops together: bounds what deeply nested loops may cost."""


@record
class Block:
    """Instructions `start` … `stop` - 1, entered only at the first, left only after the last."""

    start: int
    stop: int
    # Blocks, or the virtual exit; after a conditional branch, the one that follows comes last.
    successors: tuple[int, ...]
    predecessors: tuple[int, ...]


@record
class Loop:
    """A natural loop: all back edges to one header, and what lies on the way."""

    header: int
    blocks: frozenset[int]
    back_edges: tuple[tuple[int, int], ...]  # from a block of the loop to its header
    exits: tuple[tuple[int, int], ...]  # from a block of the loop to one outside
    parent: int | None  # index of the loop around it, or None
    depth: int  # 1 for an outermost loop


@record(slots=False)
class ControlFlow:
    """The graph of a function; block 0 is the entry."""

    blocks: tuple[Block, ...]
    block_of: tuple[int, ...]  # block of each instruction
    # Immediate dominator of each block; None for the entry and for blocks that nothing reaches.
    dominators: tuple[int | None, ...]
    # Immediate post-dominator of each block, where a divergent warp meets again; may be the virtual
    # exit. None for blocks that never get there.
    post_dominators: tuple[int | None, ...]
    # Blocks that are reached, each after those that lead to it, back edges aside.
    order: tuple[int, ...]
    loops: tuple[Loop, ...]  # outer ones before inner ones
    # Edges that go back, but not to a dominator: loops with several entries, not in `loops`.
    irreducible: tuple[tuple[int, int], ...]

    @property
    def exit(self) -> int:
        """Number of the virtual exit."""
        return len(self.blocks)

    @cached_property
    def innermost(self) -> tuple[int | None, ...]:
        """Index of the innermost loop that each block is in, or None."""
        found: list[int | None] = [None] * len(self.blocks)
        for number, loop in enumerate(self.loops):  # outer ones first
            for block in loop.blocks:
                found[block] = number
        return tuple(found)

    def places(self, blocks: Iterable[int]) -> list[int]:
        """Return where the instructions of some blocks are in the function, block by block."""
        return [at for b in blocks for at in range(self.blocks[b].start, self.blocks[b].stop)]


@once
def control_flow(function: Function) -> ControlFlow:
    """Return the control flow of a function.

    Raises `PerfmodelError` if a branch goes to a label that the function does not have, or loops
    are nested beyond reason.
    """
    ranges = _ranges(function)
    number = {start: n for n, (start, _) in enumerate(ranges)}
    following = [_successors(function, stop, number) for _, stop in ranges]
    return graph(function.name, ranges, following)


def graph(
    name: str, ranges: Sequence[tuple[int, int]], following: Sequence[tuple[int, ...]]
) -> ControlFlow:
    """Return the control flow of blocks: the range of each, and those that follow it."""
    count = len(ranges)
    block_of = tuple(b for b, (start, stop) in enumerate(ranges) for _ in range(start, stop))
    leading: list[list[int]] = [[] for _ in range(count + 1)]
    for block, targets in enumerate(following):
        for target in targets:
            leading[target].append(block)
    blocks = tuple(
        Block(start, stop, targets, tuple(sources))
        for (start, stop), targets, sources in zip(ranges, following, leading, strict=False)
    )
    down, order = immediate_dominators([*following, ()], leading, 0)
    up, _ = immediate_dominators(leading, [*following, ()], count)
    loops, irreducible = _loops(name, blocks, down, order)
    inside = tuple(block for block in order if block < count)
    return ControlFlow(
        *(blocks, block_of, tuple(down[:count]), tuple(up[:count]), inside, loops, irreducible)
    )


def _ranges(function: Function) -> list[tuple[int, int]]:
    """Return the first instruction of each block, and the one behind its last."""
    size = len(function.instructions)
    starts = {0, *(i for i in function.labels.values() if i < size)}
    starts |= {
        i + 1
        for i, instruction in enumerate(function.instructions)
        if i + 1 < size and (instruction.opcode in _ENDS or instruction.opcode in ("bra", "brx"))
    }
    ordered = sorted(starts) if size else []
    return list(zip(ordered, [*ordered[1:], size], strict=True)) if size else []


def _successors(function: Function, stop: int, number: Mapping[int, int]) -> tuple[int, ...]:
    """Return what follows a block that ends at `stop`; `number` has blocks by their starts."""
    last = function.instructions[stop - 1]
    behind = number.get(stop, len(number))
    if last.opcode in _ENDS:
        targets = [len(number)]
    elif last.opcode in ("bra", "brx"):
        names = _targets(function, last)
        targets = [number.get(function.labels[name], len(number)) for name in names]
    else:
        return (behind,)
    if last.guard is not None:
        targets.append(behind)
    return tuple(dict.fromkeys(targets))


def _targets(function: Function, branch: Instruction) -> tuple[str, ...]:
    """Return the labels that a branch may go to."""
    labels = [o.name for o in branch.operands if isinstance(o, Label)]
    if branch.opcode == "brx":
        names = tuple(n for label in labels for n in function.branch_tables.get(label, ()))
    else:
        names = tuple(labels)
    unknown = next((n for n in names if n not in function.labels), None)
    if unknown is not None or not names:
        which = f"label {unknown[:60]!r}" if unknown is not None else "label or table"
        raise PerfmodelError(
            f"function {function.name!r}, line {branch.line}: {branch.name} has no {which} to go "
            "to; is the file whole?"
        )
    return names


def _loops(
    name: str,
    blocks: Sequence[Block],
    dominators: Sequence[int | None],
    order: Sequence[int],
) -> tuple[tuple[Loop, ...], tuple[tuple[int, int], ...]]:
    """Return the natural loops, outer ones first, and the edges that make no natural loop."""
    spans = _spans(dominators, order)
    place = {block: i for i, block in enumerate(order)}
    edges: dict[int, list[tuple[int, int]]] = {}
    irreducible: list[tuple[int, int]] = []
    for source in order:
        if source >= len(blocks):
            continue
        for target in blocks[source].successors:
            if target < len(blocks) and place[target] <= place[source]:
                if spans[target][0] <= spans[source][0] < spans[target][1]:
                    edges.setdefault(target, []).append((source, target))
                else:
                    irreducible.append((source, target))
    members: dict[int, frozenset[int]] = {}
    total = 0
    for header, back in edges.items():
        members[header] = _members(blocks, header, [s for s, _ in back], place)
        total += len(members[header])
        if total > _MOST_MEMBERS:
            raise PerfmodelError(
                f"function {name!r} has loops nested beyond reason: at most "
                f"{_MOST_MEMBERS} blocks in all its loops together are analysed"
            )
    loops: list[Loop] = []
    innermost: dict[int, int] = {}
    for header in sorted(members, key=lambda h: (-len(members[h]), place[h])):
        inside = members[header]
        parent = innermost.get(header)
        exits = [(b, s) for b in sorted(inside) for s in blocks[b].successors if s not in inside]
        level = 1 if parent is None else loops[parent].depth + 1
        loops.append(Loop(header, inside, tuple(edges[header]), tuple(exits), parent, level))
        innermost |= dict.fromkeys(inside, len(loops) - 1)
    return tuple(loops), tuple(irreducible)


def _members(
    blocks: Sequence[Block], header: int, sources: Sequence[int], reached: dict[int, int]
) -> frozenset[int]:
    inside = {header}
    waiting = [s for s in sources if s != header]
    inside.update(waiting)
    while waiting:
        for before in blocks[waiting.pop()].predecessors:
            if before not in inside and before in reached:
                inside.add(before)
                waiting.append(before)
    return frozenset(inside)


def _spans(dominators: Sequence[int | None], order: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Return a range of numbers of each block that holds those of all that it dominates.

    `order` has dominators before what they dominate.
    """
    sizes = dict.fromkeys(order, 1)
    for block in reversed(order):
        above = dominators[block]
        if above is not None:
            sizes[above] += sizes[block]
    spans: dict[int, tuple[int, int]] = {}
    used = dict.fromkeys(order, 1)  # numbers of each block's range that are given away
    for block in order:
        above = dominators[block]
        start = 0 if above is None else spans[above][0] + used[above]
        if above is not None:
            used[above] += sizes[block]
        spans[block] = (start, start + sizes[block])
    return spans


def immediate_dominators(
    successors: Sequence[Sequence[int]], predecessors: Sequence[Sequence[int]], root: int
) -> tuple[list[int | None], list[int]]:
    """Return the immediate dominator of each node, and the nodes in reverse postorder.

    `root` dominates all: it has no dominator, nor have nodes that it does not reach.
    """
    preorder, parent, postorder = _search(successors, root)
    number = {node: i for i, node in enumerate(preorder)}
    count = len(preorder)
    semi = list(range(count))
    best = list(range(count))  # node of the least semidominator on the way up, see _evaluate
    ancestor = [-1] * count
    buckets: list[list[int]] = [[] for _ in range(count)]
    dominator = [0] * count
    for i in range(count - 1, 0, -1):
        for before in predecessors[preorder[i]]:
            if before in number:
                semi[i] = min(semi[i], semi[_evaluate(number[before], ancestor, best, semi)])
        buckets[semi[i]].append(i)
        above = parent[i]
        ancestor[i] = above
        for j in buckets[above]:
            least = _evaluate(j, ancestor, best, semi)
            dominator[j] = least if semi[least] < semi[j] else above
        buckets[above].clear()
    for i in range(1, count):
        if dominator[i] != semi[i]:
            dominator[i] = dominator[dominator[i]]
    found: list[int | None] = [None] * len(successors)
    for i in range(1, count):
        found[preorder[i]] = preorder[dominator[i]]
    return found, postorder[::-1]


def _search(
    successors: Sequence[Sequence[int]], root: int
) -> tuple[list[int], list[int], list[int]]:
    """Return nodes in depth-first preorder, the number of each one's parent, and the postorder."""
    preorder, parent, postorder = [root], [-1], []
    seen = {root: 0}
    path = [(root, iter(successors[root]))]
    while path:
        node, rest = path[-1]
        for target in rest:
            if target not in seen:
                seen[target] = len(preorder)
                preorder.append(target)
                parent.append(seen[node])
                path.append((target, iter(successors[target])))
                break
        else:
            postorder.append(node)
            path.pop()
    return preorder, parent, postorder


def _evaluate(node: int, ancestor: list[int], best: list[int], semi: list[int]) -> int:
    """Return the node of the least semidominator from `node` up, shortening the way for later."""
    if ancestor[node] < 0:
        return node
    path = []
    at = node
    while ancestor[ancestor[at]] >= 0:
        path.append(at)
        at = ancestor[at]
    for i in reversed(path):
        above = ancestor[i]
        if semi[best[above]] < semi[best[i]]:
            best[i] = best[above]
        ancestor[i] = ancestor[above]
    return best[node]
