"""Immediate dominators of a graph, after Lengauer and Tarjan (TOPLAS 1979), their simple version.

Their method is O(edges * log(nodes)), so that a hostile graph takes no more time than a long one.
"""

from __future__ import annotations

from collections.abc import Sequence


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
