"""Which of two pipes ptxas gives an addition: the integer pipe, or the multipliers.

An addition of two operands, a shift to the left by a constant, a negation or the upper half of a
sum of 64 bits can run on either (IADD3 or IMAD.IADD and VIADD, SHF or IMAD.SHL, LEA or IMAD,
IADD3.X or IMAD.X). ptxas hands them out so that the kernel's code holds as many instructions for
the one pipe as for the other, FP32 counting as multipliers: read from machine code of sm_90
(ptxas 13.0) of 12 additions with 0 to 24 logic and FP32 instructions in any order, in one block
and over several. sm_80 does the same, but for additions of constants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

Counts = Mapping[str, float]

EITHER: Final = "either"
"""What runs on either pipe, until it is known how many there are for both."""
_ALU: Final = ("int32",)
_MULTIPLIERS: Final = ("imad", "wide", "fma32")


def multipliers_share(counts: Sequence[Counts], copies: Sequence[float]) -> float:
    """Return the share of what runs on either pipe that goes to the multipliers.

    Parameters
    ----------
    counts : sequence of mapping of str to float
        Machine instructions of each instruction of PTX, by pipe.
    copies : sequence of float
        How often the kernel's code holds each.
    """

    def held(pipes: tuple[str, ...]) -> float:
        return sum(
            n * c.get(pipe, 0.0) for c, n in zip(counts, copies, strict=True) for pipe in pipes
        )

    free = held((EITHER,))
    if not free:
        return 0.0
    return min(max((held(_ALU) + free - held(_MULTIPLIERS)) / (2 * free), 0.0), 1.0)


def balanced(
    counts: Sequence[Counts], copies: Sequence[float], beside: Sequence[Counts] = ()
) -> list[Counts]:
    """Return the same counts with what runs on either pipe given to both, see the module.

    `beside` is what the code holds besides, once each: it is counted, not returned.
    """
    share = multipliers_share([*counts, *beside], [*copies, *[1.0] * len(beside)])
    return [_given(c, share) if EITHER in c else c for c in counts]


def _given(counts: Counts, share: float) -> Counts:
    free = counts[EITHER]
    found = {pipe: n for pipe, n in counts.items() if pipe != EITHER}
    for pipe, n in (("int32", free * (1.0 - share)), ("imad", free * share)):
        if n:
            found[pipe] = found.get(pipe, 0.0) + n
    return found
