"""Updates that come late: a guard reads a word, and few lanes find that they have to raise it.

``if (value > best[i]) atomicMax(&best[i], value)`` is done by everybody who finds `best` as it was
at first, and seldom by those who come after many others. Sampled blocks all come first. So they are
run again: those of the first wave as before, then the others, for whom most words hold what the
launch has made of them by then: all but the share of lanes that raise a word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.cuda.emulate.counts import Count
from perfmodel.cuda.emulate.memory import MOST_BACKED, Region
from perfmodel.cuda.parse.syntax import Function, Immediate
from perfmodel.expressions.mixing import mixed_arrays
from perfmodel.models.formula import Formula
from perfmodel.models.grid.distinct import distinct
from perfmodel.models.requests.sampled_places import distinct_places
from perfmodel.records import record

RAISING = Formula(
    name="share of later lanes that raise a word",
    unit="1",
    text="where(once > 0, 1 - 2.0**(-min(60, 1.4427*each)), "
    "0.6931*log2(1 + each*(2 + 1.781*each)/(2 + each)))/each",
    symbols={
        "each": "lanes that look at a word in the mean, less those that start together [1]",
        "once": "1 where a lane looks for one value that is gone after the first, else 0 [1]",
    },
    holds="values in random order, words at random; 2 to 1024 lanes a word within 25% of counts",
    source="derived: of values in random order the k-th is the largest so far with probability "
    "1/k; summed over a Poisson number of lanes that is the logarithmic integral "
    "log(each) + 0.577 + E1(each), here within 3% "
    "(measurements/atomics/h200-sxm/lookups/raised.csv)",
)
UNDER_WAY: Final = 3 << 16
"""Threads that start together, and all find words as they were at first: three quarters of those
that 132 SMs hold; counted as 180,000 to 236,000 (the same file). The GPU is not known here."""
_RARE: Final = 0.9
"""Share of lanes from which on a second run would tell little."""
_ORIGIN: Final = 1 << 36
"""What kept places have above offsets in their buffer."""
_RAISES: Final = frozenset({"max", "min", "cas"})


@record
class Raised:
    """What most lanes find that look before they raise."""

    first: float
    """Share of the blocks that start together, and find what was there at first."""
    words: list[tuple[Region, Array, Array, int]]
    """Buffers, offsets in them, what is there once the others look, and bytes of a word."""
    told: str
    """What was assumed."""

    def put(self) -> None:
        """Let the others begin."""
        for region, offset, value, width in self.words:
            region.forget()
            region.store(offset, width, value)


def raised_before(
    function: Function,
    counts: Mapping[int, Count],
    regions: Sequence[Region],
    scale: float,
    threads: int,
) -> Raised | None:
    """Return what most lanes find that look before they raise; None where none do.

    `counts` and `regions` are as the sampled blocks left them, of which there are `scale` times as
    many in the launch, with `threads` in all. The regions are forgotten if anything is returned.
    """
    first = UNDER_WAY / threads
    if max(first, 1 / scale) > _RARE:
        return None
    words = []
    told = []
    for number, ats in _raised_regions(function, counts).items():
        if number >= len(regions) or regions[number].size > MOST_BACKED:
            continue
        region = regions[number]
        width = counts[ats[0]].width
        looks = max(c.lanes for at, c in counts.items() if c.region == number and at not in ats)
        places = np.concatenate([p[a] for at in ats for p, a in counts[at].kept]) - _ORIGIN
        words_met = distinct(places)
        every = distinct_places(len(places), len(words_met), region.size // width)
        each = max(looks * scale * (1 - first) / every, 0.01)
        once = all(_claims(function, at) for at in ats)
        share = min(float(RAISING(each=each, once=float(once))), 1.0)
        if share > _RARE:
            continue
        late = words_met[mixed_arrays(words_met, np.asarray(1 << 20)) >= share * (1 << 20)]
        words.append((region, late, region.load(late, width, f"u{8 * width}"), width))
        told.append(
            f"{share + first:.2g} of the threads are taken to find {region.name} as it was at "
            "first, the others as those before them left it"
        )
    if not words:
        return None
    for region in regions:
        region.forget()
    return Raised(first, words, "; ".join(told))


def _raised_regions(function: Function, counts: Mapping[int, Count]) -> dict[int, list[int]]:
    """Return the atomics that raise words of buffers which nothing else changes, but loads read."""
    found: dict[int, list[int]] = {}
    read: set[int] = set()
    changed: set[int] = set()
    for at, count in counts.items():
        # Parts of instructions have numbers beyond all of them.
        if at >= len(function.instructions) or count.region < 0:
            changed.add(count.region)
            continue
        i = function.instructions[at]
        if i.opcode in ("ld", "ldu"):
            read.add(count.region)
        elif i.opcode in ("atom", "red") and _RAISES & {*i.modifiers} and count.kept:
            found.setdefault(count.region, []).append(at)
        else:
            changed.add(count.region)
    return {n: ats for n, ats in found.items() if n in read and n not in changed}


def _claims(function: Function, at: int) -> bool:
    """Say whether a compare-and-swap waits for a value that the text states."""
    i = function.instructions[at]
    rest = i.operands[1:] if i.opcode == "atom" else i.operands
    return "cas" in i.modifiers and len(rest) > 1 and isinstance(rest[1], Immediate)
