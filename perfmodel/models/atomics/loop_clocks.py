"""Compare-and-swap loops in shared memory: clocks from one success at a word to the next.

An attempt is a load, the operation, and a compare-and-swap. A success by one warp fails all
attempts whose load came before it. Warps of a block that run in lockstep have one success per
iteration of the loop; warps that do not have the next success as soon as the next compare-and-swap
with a fresh load arrives. Warps lose lockstep when their attempts take longer than the time from
load to swap.

On a full SM the attempts also occupy its banks: then the time per success is the wavefronts of an
attempt times the attempts per success, which grow with the warps that contend.
"""

from typing import Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import WARP_SIZE, Device
from perfmodel.models.formula import Formula
from perfmodel.records import record

LOOP_CLOCKS = Formula(
    name="clocks from one successful attempt to the next",
    unit="clocks",
    text="max(step*alone/w**kept + (1 - step)*max(swap, alone/w**p), "
    "turn*all/w*tries*(1 + tail/waves))",
    symbols={
        "step": "1 where the warps of a block run in lockstep: one of each iteration succeeds [1]",
        "alone": "clocks of an attempt of a single warp [clocks]",
        "w": "warps of the block that contend for the address [1]",
        "kept": Coefficient("atomics.loop_clocks.in_step"),
        "swap": "clocks from a load to its compare-and-swap [clocks]",
        "p": "exponent: how much sooner than a warp's next attempt another warp succeeds [1]",
        "turn": "wavefronts of an attempt: clocks for which it occupies the SM [clocks]",
        "all": "warps of the SM that attempt anything [1]",
        "tries": "attempts per success [1]",
        "tail": Coefficient("atomics.loop_clocks.tail"),
        "waves": "waves of blocks, one after the other [1]",
    },
    holds="1 to 64 warps per SM within 15%, some 4 and 8 warps alone on an SM within 35%",
    source="derived: a success fails the attempts whose load came before it; see in_step, sooner "
    "and tail",
)
LOOP_TRIES = Formula(
    name="attempts per success on a full SM",
    unit="1",
    text="min(w, each*w + first)",
    symbols={
        "w": "warps of the block that contend for the address [1]",
        "each": Coefficient("atomics.loop_clocks.tries_each"),
        "first": Coefficient("atomics.loop_clocks.tries_first"),
    },
    holds="counted: 2.8, 3.9 to 4.2, 6.4 to 6.9 and 12.2 to 12.8 attempts with 4, 8, 16 and 32 "
    "warps; the fit includes clocks between wavefronts",
    source="fitted form: of other warps' attempts those fail that are between load and swap at a "
    "success, a fixed share of each iteration; see tries_each and tries_first",
)
WARPS_IN_STEP = Formula(
    name="whether the warps of a block stay in lockstep",
    unit="1",
    text="min(1, max(0, 3 - x/lose))",
    symbols={
        "x": "clocks of an attempt of all warps of the block, over those from a load to its swap "
        "[1]",
        "lose": "a third of the ratio from which they lose lockstep [1]",
    },
    holds="threads that add once, and blocks of 1 to 32 warps that add again and again",
    source="fitted form: see lose_once, lose_again and lose_apart",
)
LOSE_ONCE: Final = Coefficient("atomics.loop_clocks.lose_once")
LOSE_AGAIN: Final = Coefficient("atomics.loop_clocks.lose_again")
WARPS_TOGETHER: Final = Coefficient("atomics.loop_clocks.warps_together")


@record
class Tried:
    """Who tries an address of a block, arrays over configurations."""

    warps: Array | float  # of the block that try the address
    block: Array | float  # all warps of the block
    held: Array | float  # blocks that share an SM
    once: Array | bool  # whether each thread adds only once
    apart: Array | float  # addresses of a warp
    width: int  # bytes of an element, 4 or 8


class LoopCosts(NamedTuple):
    """What a try takes, by the bytes of an element: see `LOOP_CLOCKS`, `WARPS_IN_STEP`."""

    alone: float
    swap: float
    sooner: float
    lose_apart: float
    turn: float
    turn_apart: float

    def turn_of(self, spread: Array) -> Array:
        """Return the wavefronts of a try whose lanes are spread so far; see `spread_of`."""
        return np.asanyarray(self.turn + (self.turn_apart - self.turn) * spread)


_COSTS: Final = tuple(
    tuple(Coefficient(f"atomics.loop_clocks.{name}{width}") for width in ("", "_wide"))
    for name in LoopCosts._fields
)


def loop_costs(width: int, device: Device) -> LoopCosts:
    """Return what a try takes, of elements of 4 or 8 B."""
    return LoopCosts(*(each[width == 8](device) for each in _COSTS))


def spread_of(apart: Array) -> Array:
    """Return how far lanes are spread: 0 at one address, 1 at one each."""
    return np.asanyarray(np.log2(apart) / np.log2(WARP_SIZE))


def loop_clocks(tried: Tried, waves: Array | float, device: Device, step: bool = True) -> Array:
    """Return the clocks from one success of a loop to the next; see `LOOP_CLOCKS`.

    `waves` are those of blocks. Warps that draw their addresses do not keep `step`.
    """
    costs = loop_costs(tried.width, device)
    w, block = np.asanyarray(tried.warps, float), np.asanyarray(tried.block, float)
    # Lanes of a warp win together, but where more than some warps try an address.
    own = spread_of(np.asanyarray(tried.apart)) / np.maximum(w / WARPS_TOGETHER(device), 1.0)
    apart = np.asanyarray(tried.apart) >= WARP_SIZE
    again = np.where(apart, costs.lose_apart, LOSE_AGAIN(device))
    lose = np.where(tried.once, LOSE_ONCE(device), again)
    in_step = WARPS_IN_STEP(x=block * costs.turn / costs.swap, lose=lose)
    tries = LOOP_TRIES.on(device, w=w)
    return LOOP_CLOCKS.on(
        device,
        step=in_step * float(step),
        alone=costs.alone,
        w=w,
        swap=costs.swap,
        p=costs.sooner,
        turn=costs.turn_of(own),
        all=block * tried.held,
        tries=np.asanyarray(tries),
        waves=np.maximum(waves, 1.0),
    )
