"""Spin locks: threads that acquire a word by atomic exchange, work under it, and release it.

A critical section is a chain: the successful exchange, the load, store and fence of the guarded
data, and the releasing exchange. Owners follow one another, so lanes times the time from one owner
to the next is the shortest possible time. Meanwhile all waiting lanes retry, and their exchanges
occupy the slice of the lock and the SM's path to L2. The three times combine as a power mean.

Of c contending lanes one succeeds at a time, so a lane makes on average (c + 1)/2 times the
attempts per owner.
"""

from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.models.atomics.retries import Contention, LoopTime, waves_and_sms
from perfmodel.models.formula import Formula

WAITING = Formula(
    name="attempts per lane at a lock",
    unit="1",
    text="often*(c + 1)/2",
    symbols={
        "often": Coefficient("atomics.locks.often"),
        "c": "lanes that contend for a lock at a time [1]",
    },
    holds="1 to 512 lanes",
    source="derived: of c lanes one gets the lock at a time; see often",
)
LOCK_TIME = Formula(
    name="time of spin locks",
    unit="s",
    text="others + ((max(all, lone*min(all, together))*turn)**p + slice**p + send**p)**(1/p)",
    symbols={
        "others": "time of all SMs to send what is no attempt: loads, stores, releasing exchanges "
        "[s]",
        "all": "lanes of the launch that want the most popular lock [1]",
        "lone": Coefficient("atomics.locks.lone"),
        "together": "lanes of a warp that want one lock [1]",
        "turn": "time from one owner to the next [s]",
        "slice": "time of the busiest slice for all attempts [s]",
        "send": "time of an SM to send all its attempts [s]",
        "p": Coefficient("atomics.locks.sharp"),
    },
    holds="a load and a store under the lock, warps with all lanes active; of several waves of "
    "blocks 20% too slow",
    source="derived; see turn, lone and sharp",
)

TURN: Final = Coefficient("atomics.locks.turn")
OTHERS: Final = 3.0
"""Requests of a lane that are no tries: the load, the store, and the exchange that frees."""


def spin_locks(wants: Contention, slice_s: Array, network_s: Array, device: Device) -> LoopTime:
    """Return the time until all lanes have had their lock.

    `slice_s` and `network_s` are the time of the busiest slice, and of all SMs to send, for one try
    of every lane [s].
    """
    waves, sms = waves_and_sms(wants.requests, wants.blocks, device)
    tries = WAITING.on(device, c=np.maximum(wants.usual / waves, 1.0))
    send = network_s * (device.sm_count / sms)
    time = LOCK_TIME.on(
        device,
        others=OTHERS * send,
        all=np.maximum(wants.wanted, 1.0),
        together=wants.together,
        turn=TURN(device) * device.l2_latency,
        slice=tries * slice_s,
        send=tries * send,
    )
    return LoopTime(np.atleast_1d(time), tries)
