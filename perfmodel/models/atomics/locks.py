"""Spin locks: lanes exchange at a word until it was free, then do little, and give it back.

The lock goes from hand to hand: the exchange that gets it, the load, the store and the fence of
what it guards, and the exchange that frees it, one after the other. Meanwhile all lanes that wait
go on trying, and their exchanges fill the slice and the SM's way to L2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.models.atomics.retries import Contention, waves_and_sms
from perfmodel.models.formula import Formula

WAITING = Formula(
    name="attempts per lane at a lock",
    unit="1",
    text="often*(c + 1)/2",
    symbols={
        "often": "tries of a lane that waits while the lock goes to the next one [1]",
        "c": "lanes at a lock at a time [1]",
    },
    holds="1 to 512 lanes",
    source="derived: of c lanes one gets the lock a turn; see often",
)
LOCK_TIME = Formula(
    name="time of spin locks",
    unit="s",
    text="others + ((max(all, lone*min(all, together))*turn)**p + slice**p + send**p)**(1/p)",
    symbols={
        "others": "time of all SMs to send what is not a try: a load, a store, an exchange [s]",
        "all": "lanes of the launch that want the most popular lock [1]",
        "lone": "turns that a lane takes while only its own warp's lanes want the lock: turns of "
        "others' lanes fit between them [1]",
        "together": "lanes of a warp that want one lock [1]",
        "turn": "from one owner to the next [s]",
        "slice": "time of the busiest slice for all tries [s]",
        "send": "time of an SM to send all its tries [s]",
        "p": "how sharply the slowest decides [1]",
    },
    holds="a load and a store under the lock, warps with all lanes; of several waves of blocks a "
    "fifth too slow",
    source="derived; see turn, lone and sharp",
)

TURN: Final = Coefficient("atomics.locks.turn")
LONE: Final = Coefficient("atomics.locks.lone")
OFTEN: Final = Coefficient("atomics.locks.often")
SHARP: Final = Coefficient("atomics.locks.sharp")
OTHERS: Final = 3.0
"""Requests of a lane that are no tries: the load, the store, and the exchange that frees."""


@dataclass(frozen=True, slots=True)
class SpinLocks:
    """Locks that lanes try until they get them, arrays over configurations.

    Attributes
    ----------
    wanted : array
        Lanes of the launch that want the most popular lock.
    together : array
        Lanes of a warp that want one lock.
    turn_s : float
        Time from one owner to the next [s].
    slice_s, send_s, others_s : array
        Time of the busiest slice for all tries, of an SM to send them, and of all SMs to send what
        is no try [s].
    lone, sharp : float
        `lone` and `p` of `LOCK_TIME`.
    """

    wanted: Array
    together: Array
    turn_s: float
    slice_s: Array
    send_s: Array
    others_s: Array
    lone: float
    sharp: float

    @property
    def time_s(self) -> Array:
        """Time until all lanes have had their lock [s]."""
        return np.atleast_1d(
            LOCK_TIME(
                others=self.others_s,
                all=self.wanted,
                lone=self.lone,
                together=self.together,
                turn=self.turn_s,
                slice=self.slice_s,
                send=self.send_s,
                p=self.sharp,
            )
        )


def spin_locks(wants: Contention, slice_s: Array, network_s: Array, device: Device) -> SpinLocks:
    """Return what lanes need for their locks.

    Parameters
    ----------
    wants : Contention
        Lanes that want the same lock.
    slice_s, network_s : array
        Time of the busiest slice, and of all SMs to send, for one try of every lane [s].
    device : Device
    """
    waves, sms = waves_and_sms(wants.requests, wants.blocks, device)
    tries = np.asanyarray(WAITING(often=OFTEN(device), c=np.maximum(wants.usual / waves, 1.0)))
    send = network_s * (device.sm_count / sms)
    return SpinLocks(
        wanted=np.maximum(wants.wanted, 1.0),
        together=wants.together,
        turn_s=TURN(device) * device.l2_latency,
        slice_s=tries * slice_s,
        send_s=tries * send,
        others_s=OTHERS * send,
        lone=LONE(device),
        sharp=SHARP(device),
    )
