"""Walks from drawn places: loads and turns of loops that stay at what a thread has drawn.

A thread that draws a row of a table reads its words one after the other, by loads of their own or
in a loop. The first word of a sector is at a random place; the others are in the same sector, and
L1 has it, if it keeps a line for every thread.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from perfmodel.arrays import Array, summed
from perfmodel.expressions import Number, names
from perfmodel.models.agreement import agreed
from perfmodel.models.derivation import glimpse
from perfmodel.models.grid.affine import plane
from perfmodel.models.requests.addressing import Addressing
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.footprint import RUN_GRANULES, Extent, power_of_two_gcd
from perfmodel.models.requests.random_places import DrawnWalk, drawn_at, draws_of, first_place
from perfmodel.models.requests.request_record import Requests

_GRANULES: Final = (SECTOR, LINE // 2, LINE)


def drawn_walk(a: Addressing) -> DrawnWalk | None:
    """Return the way of a load from what is drawn; None where lanes do not draw each."""
    if a.access.draw < 0:
        return None
    index = a.index
    two = (first_place, lambda _: Number(1))
    low, high = (plane(drawn_at(index, at), a.values, a.variables) for at in two)
    if not (low.affine and high.affine):
        return None
    draws = tuple(draws_of(index))
    drawn = frozenset().union(*(names(d) for d in draws), _again(a))
    turns = []
    for v in a.variables:
        stride = low.strides[v.name]
        if not agreed((high.strides[v.name] == stride) | (v.extent <= 1)):
            return None
        if v.is_block or v.target.startswith("threadIdx"):
            if not agreed((stride == 0) | (v.extent <= 1)):
                return None
        elif v.target not in drawn:
            turns.append(Extent(np.abs(stride) * a.element, v.extent))
    pitch = np.abs(high.offset - low.offset) * a.element
    return DrawnWalk(draws, pitch, low.offset * a.element, tuple(turns))


def _again(a: Addressing) -> set[str]:
    """Return the loops whose turns load anew what decides where an access goes, as a chase's do."""
    kernel = a.instance.kernel
    sources = (x.loop for x in kernel.accesses if x.name == a.access.needs)
    return {loop.variable for source in sources for loop in kernel.loop_nest(source)}


def with_walks(requests: Sequence[Requests]) -> list[Requests]:
    """Return requests whose blocks come once to each sector that loads of a draw share."""
    walks: dict[tuple[Any, ...], list[int]] = {}
    for i, r in enumerate(requests):
        if r.walk is not None:
            a = r.access
            walks.setdefault((a.buffer, a.kind, a.draw, *r.walk.draws), []).append(i)
    found = list(requests)
    for members in walks.values():
        shares = _shares([requests[i] for i in members])
        for i in members if shares is not None else ():
            own = requests[i].distinct_per_block
            own = None if own is None else own * shares
            found[i] = replace(requests[i], distinct_per_block=own, walked=shares)
    return found


def _shares(members: Sequence[Requests]) -> Array | None:
    """Return the sectors, halves and lines that a walk comes to, over those that it asks for.

    None where it leaves a sector out, or asks for each once.
    """
    walks = [r.walk for r in members if r.walk is not None]
    pitch = walks[0].pitch
    if not all(agreed(w.pitch == pitch) for w in walks[1:]):
        return None
    # Where a load alone starts and ends, and how often it asks.
    parts = []
    for r, w in zip(members, walks, strict=True):
        end, asked = w.offset + r.width, np.ones(1)
        for turn in sorted(w.turns, key=lambda t: np.max(glimpse(t.stride))):
            if not agreed(turn.stride <= end - w.offset + SECTOR - r.width):
                return None
            end, asked = end + turn.stride * np.maximum(turn.count - 1, 0), asked * turn.count
        parts.append((w.offset, end, asked))
    parts.sort(key=lambda part: np.max(glimpse(part[0])))
    start, end, _ = parts[0]
    for begins, ends, _ in parts[1:]:
        if not agreed(begins <= end + SECTOR):
            return None
        end = np.maximum(end, ends)
    asked = summed(n for *_, n in parts)
    if not agreed(asked > 1):
        return None
    width = float(min(r.width for r in members))
    step = [np.maximum(power_of_two_gcd(granule, pitch), width) for granule in _GRANULES]
    touched = [
        RUN_GRANULES(run=end - start + start % g, w=width, g=g, G=float(granule))
        for g, granule in zip(step, _GRANULES, strict=True)
    ]
    shares = (np.minimum(n / np.maximum(asked, 1.0), 1.0) for n in touched)
    return np.stack(np.broadcast_arrays(*map(np.atleast_1d, shares)))
