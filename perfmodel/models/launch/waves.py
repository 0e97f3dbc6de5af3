"""Load imbalance and waves: how evenly a grid's blocks load the SMs, and the tail effect.

Blocks are scheduled in order of their index, x fastest, to whichever SM has room. The SM that ends
last decides, so every term of an SM's time is multiplied by that SM's work over the average. Blocks
at the edge of the grid that guards cut short count with the part of their warps, or wavefronts,
that remains.

Blocks that wait (rather than keep a unit busy) take one latency per wave. A single wave costs a
whole one, however few blocks it has; of many waves the blocks have desynchronised, and the last,
partial wave costs only its fraction. The formula has both ends and decays between them with the
number of waves.

Where a block's work depends on data, its work is taken as a random variable: blocks are scheduled
as others end, so only those that run at the end are uneven, and the SM that ends last is the
largest of as many nearly normal sums as there are SMs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from perfmodel.arrays import Array, largest, smallest, summed
from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.derivation import definition
from perfmodel.models.execution import Execution
from perfmodel.models.formula import Formula
from perfmodel.models.grid.geometry import AXES
from perfmodel.models.launch.handout import (
    IDLE,
    busiest_of,
    busiest_work,
    first_blocks,
    time_in_slots,
)
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.records import record

BALANCE = Formula(
    name="load imbalance: the busiest SM over the average",
    unit="1",
    text="busiest*m/work*uneven",
    symbols={
        "busiest": "work of the SM that ends last, over a full block's [1]",
        "m": "SMs [1]",
        "work": "work of all blocks, over a full block's [1]",
        "uneven": "factor of unequal blocks: the longest over the average, less with many waves "
        "[1]",
    },
    holds="blocks scheduled in order, x fastest, to whichever SM has room; blocks that guards cut "
    "short are smaller",
    source="derived: products of 300 to 1111 rows and columns take 0.98 to 1.01 of the time that "
    "this gives with their tag wavefronts counted one by one "
    "(measurements/built-in-kernels, first)",
)
ROUNDS = Formula(
    name="waves of blocks",
    unit="1",
    text="(x + (ceil(x) - x)/max(1, x))*uneven",
    symbols={
        "x": "blocks of the busiest SM over the blocks that it holds at a time [1]",
        "uneven": "factor of unequal blocks: the longest over the average, less with many waves "
        "[1]",
    },
    holds="one wave, and many waves; between them blocks desynchronise",
    source="derived at both ends; the decay between them is assumed",
)
CROWDING = Formula(
    name="load imbalance of blocks with data-dependent work",
    unit="1",
    text="1 + z*spread/(sqrt(held)*waves)",
    symbols={
        "z": "expected largest of as many normal numbers as there are SMs [1]",
        "spread": "standard deviation of a block's work over the mean [1]",
        "held": "blocks that share an SM [1]",
        "waves": "waves of blocks, at least one [1]",
    },
    holds="blocks scheduled as others end: only those that run at the end are uneven",
    source="derived: the sum of an SM's last blocks is nearly normal and independent of other "
    "SMs' sums",
)


def unevenness(instance: Instance, running: Any) -> Array:
    """Return the time of unequal blocks over that of as many average ones.

    If all run at a time, the longest is the last to end; of many waves it is the end of one. A
    block of unequal warps lasts as long as its longest. `running` is the share of the blocks that
    run at a time.
    """
    found = instance.kernel.unequal
    some = np.minimum(running, 1.0)
    if found is not None:
        return np.atleast_1d(found.slowest + (found.longest - found.slowest) * some)
    if instance.kernel.block_work:
        return np.atleast_1d(1 + (max(instance.kernel.block_work) - 1) * some)
    longest = np.maximum(
        np.atleast_1d(np.asanyarray(instance.number(instance.kernel.longest))), 1.0
    )
    return np.asanyarray(1 + (longest - 1) * some)


@definition
def largest_of(many: Array) -> Array:
    """Return the expected largest of so many standard normal numbers.

    By Blom, Statistical Estimates and Transformed Beta-Variables (1958).
    """
    from statistics import NormalDist  # late, for the time that it takes

    expected = [NormalDist().inv_cdf((m - 0.375) / (m + 0.25)) for m in np.ravel(many)]
    return np.reshape(expected, np.shape(many))


def crowding(instance: Instance, blocks: Array, held: Array, sm_count: int) -> Array:
    """Return the work of the busiest SM over the average, for blocks that data makes unequal.

    Of `blocks` of the launch, `held` share one of `sm_count` SMs.
    """
    found = instance.kernel.unequal
    if instance.kernel.block_work:  # who gets which is known
        return np.ones(1)
    if found is None:
        uneven = unevenness(instance, sm_count * held / blocks)
        # Blocks whose place decides their work are handed out in turn: each SM has its share of
        # the longest.
        beside = np.maximum(blocks / sm_count, 1.0) if instance.kernel.translated else 1.0
        return np.asanyarray(1 + (uneven - 1) / beside)
    sms = np.minimum(blocks, sm_count)
    here = np.maximum(blocks / sm_count, 1.0)
    crowd = CROWDING(
        z=largest_of(sms),
        spread=found.spread,
        held=np.minimum(held, here),
        waves=np.maximum(here / held, 1.0),
    )
    # No SM has more to do than if all its blocks were the longest: a short one spreads them too.
    return np.asanyarray(np.minimum(crowd, found.longest))


def side_by_side(held: Any, blocks: Any, sm_count: int) -> Array:
    """Return the blocks that share an SM: as many as it holds, or its part of a small grid."""
    return np.asanyarray(np.minimum(held, np.ceil(np.asanyarray(blocks, dtype=float) / sm_count)))


@record
class Balance:
    """How blocks fall on SMs, arrays over configurations.

    The fields are the symbols of `BALANCE`, `sms` its `m`, and `load` what it gives.
    """

    busiest: Array
    sms: float
    work: Array
    uneven: Array | float
    load: Array

    @classmethod
    def of(cls, busiest: Array, sms: float, work: Array, uneven: Array | float) -> Balance:
        """Return how blocks fall on SMs, with the load by `BALANCE`."""
        load = np.atleast_1d(BALANCE(busiest=busiest, m=sms, work=work, uneven=uneven))
        return cls(busiest, sms, work, uneven, load)

    def of_all(self, blocks: Array, busy: Array) -> Array:
        """Return the load of what all blocks do alike, those that are not `busy` too."""
        alike = np.ceil(blocks / self.sms) * self.sms / blocks * self.uneven
        return np.where(busy < blocks, alike, self.load)


def balances(
    instance: Instance,
    requests: Sequence[Requests],
    device: Device,
    held: Array | float = 1.0,
    uneven: Array | float = 1.0,
    on_chip: Sequence[Requests] = (),
) -> tuple[Balance, Array, Array]:
    """Return how blocks fall on SMs, from the grid and what guards let through.

    That is of what warps do, however few of their lanes take part; the load of L1, whose wavefronts
    may be fewer then; and the blocks at work: those beyond the data of every access are not.

    An SM holds `held` blocks; unequal ones add `uneven`: see `unevenness`. `requests` are of the
    global accesses, `on_chip` of the shared ones.
    """
    sm_count = device.sm_count
    blocks = np.atleast_1d(np.asanyarray(instance.blocks, dtype=float))
    if instance.kernel.block_work:
        order = np.asanyarray(instance.kernel.block_work)
        busiest = busiest_of(order, side_by_side(held, blocks, sm_count), sm_count)
        known = Balance.of(busiest, 1.0 * sm_count, np.full(1, order.sum()), uneven)
        return known, known.load, np.full(1, float(np.count_nonzero(order > IDLE)))
    # Blocks that meet at barriers in a loop do all of it, whatever guards of accesses say.
    in_step = any(b.loop is not None for b in instance.kernel.barriers)
    counts, warps, lanes = _axes_at_work(instance, requests, on_chip, in_step)
    busy = np.asanyarray(np.prod(np.stack(np.broadcast_arrays(*counts)), axis=0))
    held = side_by_side(np.maximum(np.asanyarray(held, dtype=float), 1.0), blocks, sm_count)
    found = [busiest_work(counts, warps, held, sm_count)] * 2
    if any(np.any(one != other) for one, other in zip(warps, lanes, strict=True)):
        found[1] = busiest_work(counts, lanes, held, sm_count)
    one_axis = sum(np.asanyarray(extent) > 1 for extent in instance.grid) <= 1
    early = np.where(one_axis, first_blocks(busy, blocks, held, device), 0.0)
    at_work = blocks * _share_at_work([*requests, *on_chip])
    work = busy if in_step else np.maximum(at_work, 1e-9)
    of_warps, of_l1 = (
        Balance.of(
            busiest=np.maximum(busiest, early),
            sms=1.0 * sm_count,
            work=work * every / np.maximum(found[0][1], 1e-9),
            uneven=uneven,
        )
        for busiest, every in found
    )
    return of_warps, of_l1.load, busy


def most_blocks(execution: Execution) -> Array:
    """Return the blocks that the busiest SM works on, those that leave at once apart."""
    sm_count, order = execution.device.sm_count, np.asanyarray(execution.kernel.block_work)
    every = execution.blocks / sm_count
    if order.size:
        held = side_by_side(execution.resident, execution.blocks, sm_count)
        every = busiest_of(order, held, sm_count) / order.max()
    return np.asanyarray(np.maximum(np.ceil(every), 1.0))


def in_turn(instance: Instance, held: Array, sm_count: int) -> Array:
    """Return the time of unequal blocks that only wait, over an average one's, where it is known.

    As many run at a time as there is room for, each as long as it would alone.
    """
    slots = np.maximum(np.asanyarray(held, dtype=float), 1.0).astype(int) * sm_count
    return np.array([time_in_slots(instance.kernel.block_work, int(n)) for n in np.ravel(slots)])


def at_work_share(instance: Instance) -> float:
    """Return the share of blocks that do not leave at once, where each one's work is known."""
    order = np.asanyarray(instance.kernel.block_work)
    return float(np.count_nonzero(order > IDLE)) / len(order)


def taking_part(requests: Sequence[Requests]) -> Array:
    """Return the least share of blocks that accesses have work for.

    Of loops whose last turn is not full, blocks wait in that turn too: they have part in all.
    """
    least = np.ones(1)
    for r in requests:
        share = np.ones(1)
        for v in r.variables:
            if v.target.startswith("blockIdx"):
                share = share * r.shares.get(v.name, 1.0)
        least = np.minimum(least, share)
    return np.asanyarray(least)


def mean_turns(instance: Instance, requests: Sequence[Requests]) -> Array:
    """Return the turns of the mean block over those of the first, in loops that go on by a grid.

    1 where blocks move on to others' parts: each is the first in turn.
    """
    least = np.ones(1)
    blocks = np.asanyarray(instance.blocks, dtype=float)
    for r in requests:
        if r.strides is None or r.access.kind != "load" or r.access.loop is None:
            continue
        strides, alone = np.zeros(1), np.zeros(1)  # of the axes that have more than a block
        for v in r.variables:
            if v.is_block:
                strides = strides + np.where(v.extent > 1, r.strides[v.name], 0.0)
                alone = alone + (v.extent > 1)
        grid = strides * blocks
        moves = np.asanyarray(instance.moves[instance.kernel.accesses.index(r.access)]) % blocks
        on = (alone == 1) & (r.strides[r.access.loop] == grid) & (grid != 0) & (moves == 0)
        least = np.minimum(least, np.where(on, r.shares.get(r.access.loop, 1.0), 1.0))
    return np.asanyarray(least)


def warps_let_in(r: Requests) -> Array:
    """Return the share of a block's warps that the kernel's guard lets in, in every block alike."""
    share = np.ones(1)
    for v in r.variables:
        if r.access.guard is None and v.target.startswith("threadIdx"):
            share = share * r.warp_shares.get(v.name, 1.0)
    return np.asanyarray(share)


def _share_at_work(requests: Sequence[Requests]) -> Array:
    """Return the share of warp executions that the guards let through.

    Warps that are kept out of every block alike make no block smaller than another.
    """
    done = np.zeros(1)
    possible = np.zeros(1)
    for r in requests:
        if r.access.counted is not None:
            continue
        every = r.executions
        there = np.minimum(r.requests, every)
        if r.sampled is not None and not r.shares:
            # Which blocks take part has no formula: they lie among the others, on every SM alike.
            there = every
        elif r.access.guard is not None:
            # Of a guard of the access's own, what it keeps from whole blocks counts alone: of what
            # it keeps from threads, the rest of what they do knows nothing.
            blocks = np.ones(1)
            for axis in AXES:
                blocks = blocks * r.shares.get(f"blockIdx.{axis}", np.ones(1))
            every = np.where(r.requests > 0, every, 0.0)
            there = every * blocks
        else:
            there = np.minimum(there / np.maximum(warps_let_in(r), 1e-9), every)
        done = done + there
        possible = possible + every
    return np.where(possible > 0, done / np.maximum(possible, 1), 1.0)


def _axes_at_work(
    instance: Instance, requests: Sequence[Requests], on_chip: Sequence[Requests], in_step: bool
) -> tuple[list[Array], list[Array], list[Array]]:
    """Return, for each axis, the blocks that take part, the last of them in part, and its work.

    That is over a whole block's, by its warps and by their wavefronts in L1; blocks `in_step` do
    all of it.
    """
    # Wavefronts of a request: where lanes are apart, those that take no part cost L1 nothing.
    asked = summed(np.minimum(r.requests, r.executions) for r in requests)
    waves = summed(np.maximum(r.data_wavefronts, r.tag_wavefronts) for r in requests)
    fan = np.maximum(waves / np.maximum(asked, 1.0), 1.0)
    # What the kernel's own guard lets in is all that any access can have.
    let_in = (r.shares for r in (*requests, *on_chip) if r.shares and r.access.guard is None)
    every = next(let_in, {}) if instance.kernel.guard is not None else {}
    known = [every if r.sampled is not None and not r.shares else r.shares for r in requests]
    found: tuple[list[Array], list[Array], list[Array]] = [], [], []
    for axis, extent in zip(AXES, instance.grid, strict=True):
        count = np.atleast_1d(np.asanyarray(extent, dtype=float))
        name = f"blockIdx.{axis}"
        shares = [each.get(name, np.ones(1)) for each in known] or [np.ones(1)]
        whole = [r.warp_shares.get(name, share) for r, share in zip(requests, shares, strict=False)]
        most = largest(*shares)
        # Slices that take part, the last of them in part; those after it have nothing to do.
        slices = np.clip(np.ceil(most * count - 1e-9), 1.0, count)
        by_lanes, by_warps = (
            np.clip(smallest(*s) * count - (slices - 1), 0.0, 1.0)
            for s in (shares, whole or [np.ones(1)])
        )
        cut = by_lanes / np.maximum(by_warps, 1e-9)
        if in_step:
            by_warps = cut = np.ones(1)
        lanes = by_warps * np.clip(cut, np.minimum(1 / fan, 1.0), 1.0)
        for column, value in zip(found, (slices, by_warps, lanes), strict=True):
            column.append(value)
    return found
