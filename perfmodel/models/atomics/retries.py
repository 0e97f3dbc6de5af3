"""Compare-and-swap loops on global memory: number of retries, and time of the round trips.

A lane whose compare-and-swap fails receives the new value and tries again. Of the lanes that
contend for an address one succeeds per round trip to L2, so with c lanes that all start together a
lane needs (c + 1)/2 attempts on average. The attempts of the others occupy the slice and the SM's
path to L2. The time combines the serial round trips of the most popular address, the slice, and the
sending SM.

Lanes of different warps reach the slice at different times: those with a short latency at that
moment succeed more often, and fewer attempts fail than with strict alternation. Lanes of one warp
travel together and alternate strictly. With several waves of blocks, new lanes replace finished
ones, so the number of contenders stays constant until the last wave.
"""

from typing import Final, NamedTuple

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import WARP_SIZE, Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.atomics.to_slices import Packets
from perfmodel.models.formula import Formula
from perfmodel.models.grid.geometry import AXES
from perfmodel.models.requests.request_record import Requests
from perfmodel.records import record

CONTENDERS = Formula(
    name="lanes that contend for the most popular address",
    unit="1",
    text="mean + drawn*(sqrt(2*mean*ln) + ln/3)",
    symbols={
        "mean": "mean number of lanes at an address of that popularity [1]",
        "drawn": "1 where lanes have random addresses, else 0 [1]",
        "ln": "natural logarithm of the number of such addresses [1]",
    },
    holds="the largest of many Poisson variables within 15%",
    source="derived: Bernstein's bound",
)
FAILING = Formula(
    name="failed attempts, over those with strict alternation",
    unit="1",
    text="1 - others*(1 - min(1, least + soon/sqrt(c)))",
    symbols={
        "others": "0 where the lanes at an address are all of one warp, else 1 [1]",
        "least": Coefficient("atomics.retries.least"),
        "soon": Coefficient("atomics.retries.soon"),
        "c": "lanes that contend for an address at a time [1]",
    },
    holds="4 to 2048 lanes, slices busy: counted 0.9 for 16, 0.3 for 2048",
    source="fitted form: see least and soon",
)
TRIES = Formula(
    name="attempts per lane",
    unit="1",
    text="max(1, (failing*(c + 1)/2 + (waves - 1)*(others*steady*c + (1 - others)*(c + 1)/2))"
    "/waves)",
    symbols={
        "failing": "failed attempts over those with strict alternation [1]",
        "c": "lanes that contend for an address at a time [1]",
        "waves": "waves of blocks [1]",
        "others": "0 where the lanes at an address are all of one warp, else 1 [1]",
        "steady": Coefficient("atomics.retries.steady"),
    },
    holds="1 to 4096 lanes per address; several waves of blocks within 13% (one standard "
    "deviation)",
    source="derived: one lane per address succeeds each round trip, and of lanes that start "
    "together one fewer contends after each; see steady",
)
TRIP_CLOCKS = Formula(
    name="round trip to the slowest address",
    unit="clocks",
    text="near + (far - near)*(1 + slowest)/2",
    symbols={
        "near": "round trip of a compare-and-swap to the near L2 partition, with the loop [clocks]",
        "far": "the same to the far partition [clocks]",
        "slowest": "relative deviation of the slowest of several addresses from the mean [1]",
    },
    holds="half of the SMs are near an address, and half of the 4 KiB pieces near an SM",
    source="derived: of m SMs that contend for an address, far ones exceed one half by sqrt(m)",
)
ROUNDS_TIME = Formula(
    name="time of the round trips at the most popular address",
    unit="s",
    text="all*trip + tries*own",
    symbols={
        "all": "round trips: lanes of the launch that contend for it [1]",
        "trip": "time of a round trip [s]",
        "tries": "attempts of a lane, over all waves of blocks [1]",
        "own": "time of an SM to send an attempt of one warp [s]",
    },
    holds="one lane succeeds each round trip",
    source="derived",
)
LOOP_TIME = Formula(
    name="time of compare-and-swap loops",
    unit="s",
    text="first + ((trips**own + send**own)**(p/own) + slice**p)**(1/p)",
    symbols={
        "first": "time to read all elements once, before the first attempt [s]",
        "trips": "serial round trips of the most popular address [s]",
        "slice": "time of the busiest slice for all attempts [s]",
        "send": "time of an SM to send all its attempts [s]",
        "own": Coefficient("atomics.retries.overlap_own"),
        "p": "exponent: how much the slice's time overlaps; bursts of warps coincide there at "
        "random [1]",
    },
    holds="1 to 1,000,000 lanes at 1 to 1,000,000 addresses; other places of a buffer are in "
    "other slices: a tenth of runs deviates by 13%",
    source="derived; see overlap_own, overlap_alone, overlap_waves and overlap_others",
)

NEAR: Final = Coefficient("atomics.retries.near")
FAR: Final = Coefficient("atomics.retries.far")
SIDE: Final = Coefficient("atomics.retries.side")
SAME_SIDE: Final = Coefficient("atomics.retries.same_side")
OVERLAP_ALONE: Final = Coefficient("atomics.retries.overlap_alone")
OVERLAP_WAVES: Final = Coefficient("atomics.retries.overlap_waves")
OVERLAP_OTHERS: Final = Coefficient("atomics.retries.overlap_others")
READ_COST: Final = Coefficient("atomics.retries.read_cost")
READ_LINES: Final = Coefficient("atomics.retries.read_lines")
LONE_COST: Final = Coefficient("atomics.retries.lone_cost")
PAIR_COST: Final = Coefficient("atomics.retries.pair_cost")
LANE_COST: Final = Coefficient("atomics.retries.lane_cost")
SHARED_COST: Final = Coefficient("atomics.retries.shared_cost")
SEVERAL: Final = Coefficient("atomics.retries.several")


@record
class Contention:
    """Lanes that want the same word, arrays over configurations."""

    wanted: Array  # lanes that want the most popular word
    usual: Array  # lanes that want one as popular in the mean
    together: Array  # lanes of a warp that want one word
    requests: Array  # warps that take part
    blocks: Array  # that take part: see `blocks_at_work`


class LoopTime(NamedTuple):
    """Time until all lanes of a loop or a lock have won [s], and attempts per lane."""

    time_s: Array
    tries: Array


def way_of_tries(sent: Packets, together: Array, device: Device) -> Array:
    """Return the time of all SMs to send one try of every lane [s].

    `together` lanes of a warp want one address.
    """
    lone = np.where(together > SEVERAL(device), SHARED_COST(device), LONE_COST(device))
    lanes = sent.lanes / np.maximum(sent.packets, 1e-9)
    second = np.clip(sent.sectors - 1, 0.0, 1.0)
    more = PAIR_COST(device) + LANE_COST(device) * np.maximum(lanes - 2, 0.0)
    packet = lone + second * more
    return np.asanyarray(sent.packets * packet / device.require("atomic_sector_rate"))


def first_reads(lines: Array, sectors: Array, device: Device) -> Array:
    """Return the time of all SMs to read every lane's element once [s].

    `lines` and `sectors` are those of each request, summed over the launch.
    """
    by_lines = READ_LINES(device)
    asked = by_lines * lines + (1 - by_lines) * sectors
    return np.asanyarray(READ_COST(device) * asked / device.require("atomic_sector_rate"))


def contenders(mean: Array, random: bool, addresses: Array) -> Array:
    """Return how many lanes want the most popular address; see `CONTENDERS`."""
    ln = np.log(np.maximum(addresses, 1.0))
    return CONTENDERS(mean=mean, drawn=float(random), ln=ln)


def blocks_at_work(instance: Instance, r: Requests) -> Array:
    """Return the blocks that take part, the last as the share of it that guards let through.

    A block of which one thread takes part takes nothing off the others' SMs.
    """
    blocks = np.ones(1)
    for axis, extent in zip(AXES, instance.grid, strict=True):
        share = r.shares.get(f"blockIdx.{axis}", 1.0)
        blocks = blocks * np.asanyarray(extent, dtype=float) * share
    return np.asanyarray(blocks)


def waves_and_sms(requests: Array, blocks: Array, device: Device) -> tuple[Array, Array]:
    """Return how often the warps that take part fill the GPU, at least once, and their SMs.

    `requests` are warps, `blocks` those of `blocks_at_work`: the busiest SM has one of so many
    parts of the work.
    """
    held = device.sm_count * device.max_threads_per_sm / WARP_SIZE
    waves = np.maximum(1.0, requests / held)
    return waves, np.clip(np.minimum(blocks, requests), 1.0, 1.0 * device.sm_count)


def cas_loops(
    wants: Contention, span: Array, first_s: Array, slice_s: Array, send_s: Array, device: Device
) -> LoopTime:
    """Return what loops of compare-and-swap need, whose addresses span so many bytes.

    Times are of all SMs to read every lane's element, of the busiest slice for one try of every
    lane, and of all SMs to send these [s].
    """
    waves, sms = waves_and_sms(wants.requests, wants.blocks, device)
    # A warp that competes with itself goes on with those of its lanes that are left.
    c = np.maximum(wants.usual / waves, wants.together)
    others = np.clip(c / wants.together - 1, 0.0, 1.0)
    failing = FAILING.on(device, others=others, c=c)
    found = TRIES.on(device, failing=failing, c=c, waves=waves, others=others)
    alone = OVERLAP_ALONE(device) + OVERLAP_WAVES(device) * (1 - 1 / waves)
    fewer = device.sm_count / sms
    rounds = ROUNDS_TIME(
        all=np.maximum(wants.wanted, wants.together * waves),
        trip=_trip_clocks(wants, span, sms, device) / device.sm_clock,
        tries=found * waves,
        own=send_s * (device.sm_count / np.maximum(wants.requests, 1.0)),
    )
    time = LOOP_TIME.on(
        device,
        first=first_s * fewer,
        trips=np.asanyarray(rounds),
        slice=found * slice_s,
        send=found * send_s * fewer,
        p=(1 - others) * alone + OVERLAP_OTHERS(device) * others,
    )
    return LoopTime(np.atleast_1d(time), found)


def _trip_clocks(wants: Contention, span: Array, sms: Array, device: Device) -> Array:
    """Return the clocks of a round at the slowest address."""
    # Blocks of SMs on one side are all near a place, or all far.
    among = np.clip(wants.wanted / wants.together, 1.0, sms)
    near, same_side = NEAR(device), SAME_SIDE(device)
    far = FAR(device) if device.l2_partitions > 1 else near
    several = (span > SIDE(device)) | (sms > np.maximum(among, same_side))
    return TRIP_CLOCKS(
        near=near * device.l2_latency * device.sm_clock,
        far=far * device.l2_latency * device.sm_clock,
        slowest=np.where(several, 1 / np.sqrt(np.where(sms > same_side, among, 1.0)), 0.0),
    )
