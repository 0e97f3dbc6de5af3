"""Histograms: how likely each value of a random index is, and what that does to warps.

A histogram over millions of bins is kept as groups of consecutive bins that are about equally
likely, so that expectations over all bins are sums over some ten thousand groups.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Name, Node, Operation, evaluate, exchanged
from perfmodel.expressions.mixing import mixed_arrays
from perfmodel.kernels.access import Access
from perfmodel.records import record

BIN: Final = "bin"
_EXACT: Final = 1 << 14
"""Bins at the start that are groups of their own; later groups grow by a share of their place."""
_GROWTH: Final = 1 + 1 / 256
_RESOLUTION: Final = 1 << 52


@record
class Histogram:
    """Probabilities of the values of a random index."""

    starts: Array  # first bin of each group
    sizes: Array  # bins of each group
    likely: Array  # probability of each of a group's bins

    @property
    def bins(self) -> int:
        """All bins."""
        return int(self.sizes.sum())

    @property
    def most_likely(self) -> float:
        """Probability of the likeliest bin."""
        return float(self.likely.max())

    def merged(self, together: int) -> "Histogram":
        """Return the histogram of `together` neighbouring bins at a time, as sectors hold them."""
        if together <= 1:
            return self
        edges = np.append(self.starts, self.bins)
        below = np.append(0.0, np.cumsum(self.likely * self.sizes))
        last = -(-self.bins // together)
        # The last one may hold fewer bins: it is a group of its own.
        starts = np.unique(np.append(np.minimum(self.starts // together, last - 1), last - 1))
        sizes = np.diff(np.append(starts, last))
        ends = np.minimum((starts + sizes) * together, self.bins)
        mass = np.interp(ends, edges, below) - np.interp(starts * together, edges, below)
        return Histogram(starts, sizes, mass / sizes)

    def draw(self, key: Any) -> Array:
        """Return a bin for each key: the same for the same key."""
        key = np.asarray(key)
        count = np.asarray(_RESOLUTION)
        uniform = mixed_arrays(key, count) / float(_RESOLUTION)
        mass = self.likely * self.sizes
        below = np.append(0.0, np.cumsum(mass))
        group = np.minimum(np.searchsorted(below, uniform, side="right") - 1, len(mass) - 1)
        # Groups without mass are never drawn, for the next one starts at the same place.
        inside = (uniform - below[group]) / np.maximum(mass[group], 1e-300)
        step = np.minimum((inside * self.sizes[group]).astype(np.int64), self.sizes[group] - 1)
        return np.asarray(self.starts[group] + np.maximum(step, 0))


def uniform(bins: int) -> Histogram:
    """Return the histogram of equally likely bins."""
    return Histogram(np.zeros(1, dtype=np.int64), np.array([bins]), np.array([1.0 / bins]))


def histogram(access: Access, bins: int, known: Mapping[str, Any]) -> Histogram:
    """Return the histogram of an access's random index.

    `bins`: values that the index can take. `known`: parameters and dimensions, plain numbers.

    Raises `PerfmodelError` if the weights are not one for each bin, or make no sense.
    """
    weights = access.weights
    if weights is None:
        return uniform(bins)
    what = f"weights of the {access.kind} {access.name or access.buffer!r}"
    if isinstance(weights, tuple):
        if len(weights) != bins:
            raise PerfmodelError(
                f"{what}: there are {len(weights)} of them for {bins} bins; give one for each"
            )
        starts = np.arange(bins, dtype=np.int64)
        values = np.array(weights)
    else:
        starts = _starts(bins)
        middle = (starts + np.append(starts[1:], bins) - 1) / 2
        values = np.asarray(evaluate(weights, {**known, BIN: middle}), dtype=float)
        values = np.broadcast_to(values, starts.shape)
    sizes = np.diff(np.append(starts, bins))
    total = float((values * sizes).sum())
    if np.any(values < 0) or not 0 < total < np.inf:
        raise PerfmodelError(f"{what} must be 0 or more and not all 0, with {bins} bins")
    return Histogram(starts, sizes, values / total)


def random_part(index: Node) -> tuple[Node, Operation] | None:
    """Return an index with ``bin`` for its ``random(key, n)``, and that; None if it has none."""
    found = _find(index)
    return None if found is None else (exchanged(index, {found: Name(BIN)}), found)


def _find(node: Node) -> Operation | None:
    if not isinstance(node, Operation):
        return None
    if node.operator == "random":
        return node
    return next((f for part in node.operands if (f := _find(part)) is not None), None)


def _starts(bins: int) -> Array:
    """Return where groups start: single bins first, then groups that grow."""
    if bins <= _EXACT:
        return np.arange(bins, dtype=np.int64)
    steps = int(np.ceil(np.log(bins / _EXACT) / np.log(_GROWTH))) + 1
    later = np.unique((_EXACT * _GROWTH ** np.arange(steps)).astype(np.int64))
    return np.concatenate([np.arange(_EXACT, dtype=np.int64), later[later < bins]])
