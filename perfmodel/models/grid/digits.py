"""Finer digits of threads: where an index divides threadIdx, or takes its remainder.

``threadIdx.x // 8*K + threadIdx.x % 8`` is affine in no digit of a block of 256 threads, but in
two digits of each warp: its lanes as four rows of eight. Digits are split at powers of two, as few
as the index needs.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from perfmodel.arrays import Array
from perfmodel.expressions import Node, evaluate, names
from perfmodel.models.agreement import agreed
from perfmodel.models.grid.affine import Variable
from perfmodel.models.grid.geometry import AXES


def split_threads(
    node: Node, values: Mapping[str, Any], variables: Sequence[Variable]
) -> tuple[Variable, ...] | None:
    """Return variables with thread digits split so that an index may be affine in them, or None."""
    found: list[Variable] = []
    for v in variables:
        found += _split(node, values, v) if v.target.startswith("threadIdx") else [v]
    return tuple(found) if len(found) > len(variables) else None


def _split(node: Node, values: Mapping[str, Any], v: Variable) -> list[Variable]:
    """Return a digit as the fewest digits whose powers of two move the index evenly."""
    extent = int(np.max(v.extent))
    bits = (extent & -extent).bit_length() - 1
    starts = [1 << bit for bit in range(bits)] + ([1 << bits] if extent >> bits > 1 else [])
    if len(starts) < 2:
        return [v]
    moves = _moves(node, values, v, starts)
    cuts = [1]
    for (low, by), (high, after) in itertools.pairwise(moves):
        if agreed(after * low != by * high):
            cuts.append(high)
    if len(cuts) == 1:
        return [v]
    ends = [*cuts[1:], extent]
    return [
        Variable(f"{v.name}/{at}%{end // at}", np.asanyarray(end // at), v.target, v.weight * at)
        for at, end in zip(cuts, ends, strict=True)
    ]


def _moves(
    node: Node, values: Mapping[str, Any], v: Variable, steps: Sequence[int]
) -> list[tuple[int, Array]]:
    """Return how far each step of a digit from the origin moves the index."""
    zero = {f"{base}.{axis}": 0 for base in ("threadIdx", "blockIdx") for axis in AXES}
    zero |= dict.fromkeys(names(node) - values.keys() - zero.keys(), 0)  # loops

    def at(step: int) -> Array:
        known = {**values, **zero, v.target: v.weight * step}
        return np.asanyarray(evaluate(node, known), dtype=float)

    origin = at(0)
    return [(step, at(step) - origin) for step in steps]
