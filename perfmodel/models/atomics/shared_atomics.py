"""Shared-memory atomics: bank conflicts of native ones, and aggregation by the compiler.

32-bit integers have native instructions (ATOMS): lanes at one bank, whether at one address or at
several, take one clock each. If the compiler sees an increment by 1 whose result is not used, it
emits ATOMS.POPC.INC, which counts the lanes of each address and takes one clock per address: 1.02
to 1.03 clocks per warp at 1 to 3 addresses. Sums that are the same for a whole warp are first
reduced inside the warp, and one lane adds the result.

All other types are compiled to loops of load, operation and compare-and-swap, in which one lane of
one warp succeeds at a time (`perfmodel.models.atomics.shared_loops`).
"""

from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.kernels.instance import Instance
from perfmodel.models.execution import Execution
from perfmodel.models.formula import Formula
from perfmodel.models.mechanism import mechanism
from perfmodel.models.requests.bank_conflicts import BankConflicts, bank_conflicts
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.requests.wavefronts import BANK_WORD, BANKS

WRAPPED_WARPS = Formula(
    name="warps whose lanes wrap around the elements",
    unit="1",
    text="(32 - gcd)/m",
    symbols={
        "gcd": "greatest common divisor of the elements and 32 [1]",
        "m": "elements of one word that consecutive threads add to, modulo [1]",
    },
    holds="from 32 elements to the threads of a block",
    source="derived: warps begin at multiples of 32 modulo m, which are multiples of gcd; a warp "
    "that begins past m - 32 wraps around to the first element, whose bank another lane uses: two "
    "clocks (measured 1.36 clocks per warp at 48 elements, 1.29 at 100)",
)
AGGREGATED_CLOCKS: Final = Coefficient("atomics.shared_atomics.aggregated_clocks")
SWAP_CLOCKS: Final = Coefficient("atomics.shared_atomics.swap_clocks")


def turns_of(r: Requests) -> BankConflicts:
    """Return how the lanes of a shared atomic, with `sharing`, meet in banks."""
    lanes = r.active_lanes / np.maximum(r.requests, 1e-9)
    return r.banks or bank_conflicts(r.address_sharing, lanes, r.random, r.width)


@mechanism(neutral=lambda execution, held: np.zeros(1), evidence=["atomics", "suite"])
def aggregated_clocks(execution: Execution, held: Array) -> Array:
    """Return the clocks that a block waits until all warps of its SM have come to their sums.

    Warps that want the old value wait for it by themselves. `held` blocks share an SM. A loop's
    additions take a clock each after that, so it is not the addition that lasts. Likely, and
    assumed, it is the special register that each warp reads for the address (S2UR in the machine
    code, outside of loops).
    """
    instance, device = execution.instance, execution.device
    total = np.zeros(1)
    for r in execution.on_chip:
        kind = instance.atomics[instance.kernel.accesses.index(r.access)]
        if kind is None:
            continue
        each = np.maximum(np.asanyarray(instance.runs(r.access.loop), dtype=float), 1.0)
        silent = (np.asanyarray(kind.aggregated) > 0) & (np.asanyarray(kind.returns) == 0)
        sums = np.where(silent, r.requests / each, 0.0)
        total = total + AGGREGATED_CLOCKS(device) * sums / execution.blocks * held
    return total


def bank_clocks(instance: Instance, r: Requests, device: Device) -> Array:
    """Return the clocks that a shared access holds the banks."""
    kind = instance.atomics[instance.kernel.accesses.index(r.access)]
    if kind is None or r.sharing is None:
        return r.data_wavefronts
    once = r.data_wavefronts
    if r.access.operation != "increment":
        swap = SWAP_CLOCKS(device) if r.access.operation == "cas" else 1.0
        each = np.where(np.asanyarray(kind.aggregated) > 0, 1.0, turns_of(r).clocks * swap)
        once = r.requests * each
    words = np.asanyarray(r.address_sharing.pitch) / BANK_WORD
    m = np.maximum(np.asanyarray(r.address_sharing.addresses, dtype=np.int64), 1)
    wraps = (m >= BANKS) & (m < np.asanyarray(instance.threads_per_block)) & (words == 1)
    wraps = wraps & (r.banks is None)
    share = WRAPPED_WARPS(gcd=np.gcd(m, BANKS) * 1.0, m=m * 1.0)
    return np.asanyarray(once * (1 + np.where(wraps & (not r.random), share, 0.0)))
