"""Retries: loops of compare-and-swap, at any number of addresses.

A lane that loses learns the new value, and tries again. Of the lanes that want one address one wins
a round, and a round is at least the way to L2 and back. Meanwhile the others try too, and their
tries fill the slice and the SM's way to L2: first all lanes, at the end one.

Where more than one warp wants an address, those whose way is short that moment win more often than
their turn comes, so that fewer tries fail than if all took turns. Lanes of one warp do take turns:
their tries travel together.

Of several waves of blocks, others take the place of lanes that are through: but for the last ones,
as many compete from a lane's first try to its last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from perfmodel.hardware.device import WARP_SIZE, Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.atomics.packets import Packets
from perfmodel.models.formula import Formula
from perfmodel.models.grid.geometry import AXES
from perfmodel.models.requests.request_record import Requests

Array = npt.NDArray[Any]

CONTENDERS = Formula(
    name="lanes that contend for the most popular address",
    unit="1",
    text="mean + drawn*(sqrt(2*mean*ln) + ln/3)",
    symbols={
        "mean": "lanes at an address that is as popular [1]",
        "drawn": "1 where lanes draw their addresses at random, else 0 [1]",
        "ln": "natural logarithm of the number of such addresses [1]",
    },
    holds="the largest of many Poisson numbers within 15%",
    source="derived: Bernstein's bound",
)
FAILING = Formula(
    name="failed attempts, over those of lanes that take turns",
    unit="1",
    text="1 - others*(1 - min(1, least + soon/sqrt(c)))",
    symbols={
        "others": "0 where the lanes at an address are all of one warp, else 1 [1]",
        "least": "of very many lanes [1]",
        "soon": "how much more often they fail where lanes are few [1]",
        "c": "lanes at an address at a time [1]",
    },
    holds="4 to 2048 lanes, slices busy: 0.9 of 16, 0.3 of 2048 counted",
    source="fitted: tries counted and timed (measurements/suite/h200-sxm/contention/retries.csv)",
)
TRIES = Formula(
    name="attempts per lane",
    unit="1",
    text="max(1, (failing*(c + 1)/2 + (waves - 1)*(others*steady*c + (1 - others)*(c + 1)/2))"
    "/waves)",
    symbols={
        "failing": "tries that fail, over those of lanes that take turns [1]",
        "c": "lanes at an address at a time [1]",
        "waves": "waves of blocks [1]",
        "others": "0 where the lanes at an address are all of one warp, else 1 [1]",
        "steady": "tries of a lane for each that competes, while others take their places [1]",
    },
    holds="1 to 4096 lanes at an address; of several waves of blocks within 13% (one deviation)",
    source="derived: one lane an address wins a round, and of a burst one fewer competes after "
    "each; `steady` fitted (retries.csv, fit rows)",
)
TRIP_CLOCKS = Formula(
    name="a round at the slowest address",
    unit="clocks",
    text="near + (far - near)*(1 + slowest)/2",
    symbols={
        "near": "a compare-and-swap's way to the near L2 partition, with the loop [clocks]",
        "far": "the same to the far one [clocks]",
        "slowest": "how much of the mean the slowest of several addresses is off [1]",
    },
    holds="half of the SMs are near a place, half of 4 KiB near an SM",
    source="derived: of m SMs that want an address, far ones exceed their half by sqrt(m)",
)
ROUNDS_TIME = Formula(
    name="time of the rounds at the most popular address",
    unit="s",
    text="all*trip + tries*own",
    symbols={
        "all": "rounds: lanes of the launch that want it [1]",
        "trip": "a round [s]",
        "tries": "tries of a lane, over all waves of blocks [1]",
        "own": "time of an SM to send a try of one warp [s]",
    },
    holds="one lane wins a round",
    source="derived",
)
LOOP_TIME = Formula(
    name="time of compare-and-swap loops",
    unit="s",
    text="first + ((rounds**own + send**own)**(p/own) + slice**p)**(1/p)",
    symbols={
        "first": "time to read all elements once, before the first try [s]",
        "rounds": "rounds of the most popular address, one after the other [s]",
        "slice": "time of the busiest slice for all tries [s]",
        "send": "time of an SM to send all its tries [s]",
        "own": "how sharply the slower of the two decides: a warp that waits keeps none back [1]",
        "p": "how much the slice overlaps: bursts of warps meet there at random [1]",
    },
    holds="1 to 1,000,000 lanes at 1 to 1,000,000 addresses; at other places of a buffer, other "
    "slices: a tenth of runs is 13% off the usual one "
    "(measurements/atomics/h200-sxm/cas/loops.csv)",
    source="derived; exponents fitted (measurements/suite/h200-sxm/contention/retries.csv)",
)

NEAR, FAR = 1.43, 2.19
"""A round over the latency of a near L2 hit, at the near and at the far partition: 414 and 634
clocks against 290, without the time to send a warp's own tries
(measurements/atomics/h200-sxm/cas/rounds.csv).
"""
SIDE: Final = 4096.0
"""Bytes that one L2 partition holds together (rounds.csv: places up to there are all near or all
far)."""
SAME_SIDE: Final = 16.0
"""Blocks that a launch puts on SMs of one partition first (rounds.csv)."""
LEAST, SOON = 0.296, 2.53
"""`least` and `soon` of `FAILING`; fitted (retries.csv, fit rows)."""
STEADY: Final = 0.371
"""`steady` of `TRIES`; fitted (the same rows)."""
OVERLAP_OWN: Final = 7.0
"""`own` of `LOOP_TIME`; fitted (the same rows: tries of up to 8 warps of one SM cost nothing beside
their rounds)."""
OVERLAP_ALONE, OVERLAP_WAVES, OVERLAP_OTHERS = 1.65, 2.2, 1.27
"""`p` of `LOOP_TIME` where only lanes of one warp meet, how much more it is for each part of the
work that is not the last wave's, and where others meet; fitted, as the costs below, to an H200 and
an H100 (retries.csv, fit rows; atomics/h100-sxm/addresses, loops.csv), whose one or two SMs alone
were near their places. `TRIP_CLOCKS` stays between near and far, which change every 4 KiB."""
READ_COST, READ_LINES = 2.03, 0.6
"""First reads of lone sectors over as many additions, and the share of it that goes by lines."""
LONE_COST, PAIR_COST, LANE_COST = 0.92, 1.76, 0.53
"""Time on the way of a try's packet with one lane over an addition's, how much longer it is with a
second sector, and with each lane beyond two: the more lanes, the longer a packet keeps its SM."""
SHARED_COST: Final = 1.4
"""The same of a lane whose neighbours want the same word: what one that returns takes."""
SEVERAL: Final = 2.0
"""Lanes of a warp at one word from which on its tries travel one by one."""


@dataclass(frozen=True, slots=True)
class Contention:
    """Lanes that want the same word, arrays over configurations.

    Attributes
    ----------
    wanted, usual : array
        Lanes that want the most popular word, and those that want one that is as popular in the
        mean.
    together : array
        Lanes of a warp that want one word.
    requests : array
        Warps that take part.
    blocks : array
        Blocks that take part: see `blocks_at_work`.
    """

    wanted: Array
    usual: Array
    together: Array
    requests: Array
    blocks: Array


@dataclass(frozen=True, slots=True)
class CasLoops:
    """Loops of compare-and-swap, arrays over configurations.

    Attributes
    ----------
    first_s : array
        Time to read all elements once, before the first try [s].
    rounds_s : array
        Time of the rounds of the most popular address, one after the other [s].
    slice_s, send_s : array
        Time of the busiest slice for all tries, and of an SM to send its own [s].
    overlap : array
        `p` of `LOOP_TIME`.
    tries : array
        Attempts per lane, over all waves of blocks.
    """

    first_s: Array
    rounds_s: Array
    slice_s: Array
    send_s: Array
    overlap: Array
    tries: Array

    @property
    def time_s(self) -> Array:
        """Time until all lanes have won [s]."""
        return np.atleast_1d(
            LOOP_TIME(
                first=self.first_s,
                rounds=self.rounds_s,
                slice=self.slice_s,
                send=self.send_s,
                own=OVERLAP_OWN,
                p=self.overlap,
            )
        )


def way_of_tries(sent: Packets, together: Array, device: Device) -> Array:
    """Return the time of all SMs to send one try of every lane [s].

    Parameters
    ----------
    sent : Packets
    together : array
        Lanes of a warp that want one address.
    device : Device
    """
    lone = np.where(together > SEVERAL, SHARED_COST, LONE_COST)
    lanes = sent.lanes / np.maximum(sent.packets, 1e-9)
    second = np.clip(sent.sectors - 1, 0.0, 1.0)
    packet = lone + second * (PAIR_COST + LANE_COST * np.maximum(lanes - 2, 0.0))
    return np.asanyarray(sent.packets * packet / device.require("atomic_sector_rate"))


def first_reads(lines: Array, sectors: Array, device: Device) -> Array:
    """Return the time of all SMs to read every lane's element once [s].

    Parameters
    ----------
    lines, sectors : array
        That the requests of the launch go to, each counted on its own.
    device : Device
    """
    asked = READ_LINES * lines + (1 - READ_LINES) * sectors
    return np.asanyarray(READ_COST * asked / device.require("atomic_sector_rate"))


def contenders(mean: Array, random: bool, addresses: Array) -> Array:
    """Return how many lanes want the most popular address; see `CONTENDERS`."""
    ln = np.log(np.maximum(addresses, 1.0))
    return np.asanyarray(CONTENDERS(mean=mean, drawn=float(random), ln=ln))


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

    Parameters
    ----------
    requests : array
        Warps that take part.
    blocks : array
        That take part, see `blocks_at_work`: the busiest SM has one of so many parts of the work.
    device : Device
    """
    held = device.sm_count * device.max_threads_per_sm / WARP_SIZE
    waves = np.maximum(1.0, requests / held)
    return waves, np.clip(np.minimum(blocks, requests), 1.0, 1.0 * device.sm_count)


def cas_loops(
    wants: Contention, span: Array, first_s: Array, slice_s: Array, send_s: Array, device: Device
) -> CasLoops:
    """Return what loops of compare-and-swap need.

    Parameters
    ----------
    wants : Contention
        Lanes that want the same address.
    span : array
        Bytes from the first address to the last.
    first_s, slice_s, send_s : array
        Time of all SMs to read every lane's element, of the busiest slice for one try of every
        lane, and of all SMs to send these [s].
    device : Device
    """
    waves, sms = waves_and_sms(wants.requests, wants.blocks, device)
    # A warp that competes with itself goes on with those of its lanes that are left.
    c = np.maximum(wants.usual / waves, wants.together)
    others = np.clip(c / wants.together - 1, 0.0, 1.0)
    failing = np.asanyarray(FAILING(others=others, least=LEAST, soon=SOON, c=c))
    found = np.asanyarray(TRIES(failing=failing, c=c, waves=waves, others=others, steady=STEADY))
    mixed = 1 - 1 / waves
    fewer = device.sm_count / sms
    rounds = ROUNDS_TIME(
        all=np.maximum(wants.wanted, wants.together * waves),
        trip=_trip_clocks(wants, span, sms, device) / device.sm_clock,
        tries=found * waves,
        own=send_s * (device.sm_count / np.maximum(wants.requests, 1.0)),
    )
    return CasLoops(
        first_s=first_s * fewer,
        rounds_s=np.asanyarray(rounds),
        slice_s=found * slice_s,
        send_s=found * send_s * fewer,
        overlap=(1 - others) * (OVERLAP_ALONE + OVERLAP_WAVES * mixed) + OVERLAP_OTHERS * others,
        tries=found * waves,
    )


def _trip_clocks(wants: Contention, span: Array, sms: Array, device: Device) -> Array:
    """Return the clocks of a round at the slowest address."""
    # Blocks of SMs on one side are all near a place, or all far.
    among = np.clip(wants.wanted / wants.together, 1.0, sms)
    several = (span > SIDE) | (sms > np.maximum(among, SAME_SIDE))
    clocks = TRIP_CLOCKS(
        near=NEAR * device.l2_latency * device.sm_clock,
        far=(FAR if device.l2_partitions > 1 else NEAR) * device.l2_latency * device.sm_clock,
        slowest=np.where(several, 1 / np.sqrt(np.where(sms > SAME_SIDE, among, 1.0)), 0.0),
    )
    return np.asanyarray(clocks)
