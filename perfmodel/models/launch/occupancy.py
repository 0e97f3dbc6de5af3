"""Occupancy: how many blocks of a kernel an SM holds at once, and what stops it from holding more.

The limits (warps, blocks, registers and shared memory of an SM) are those of the tables in the
CUDA C++ Programming Guide, section "Compute Capabilities". How resources are rounded up before
they are counted is NVIDIA's, as its header ``cuda_occupancy.h`` computes it (CUDA 13.0, function
``cudaOccMaxActiveBlocksPerMultiprocessor``); the rules hold for compute capability 8.0, 8.6 and
9.0, and the tests compare every count with that header.
"""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from perfmodel.errors import PerfmodelError
from perfmodel.hardware.device import WARP_SIZE, Device
from perfmodel.models.derivation import definition
from perfmodel.records import record

LIMITERS = ("warps", "blocks", "registers", "shared memory")
"""What can limit residency; where several limit alike, the first in this order is named."""

UNLIMITED = np.iinfo(np.int32).max
"""Block count of a resource that the kernel does not use (the header's ``INT_MAX``)."""

Integers = NDArray[np.int64]
IntOrArray = TypeVar("IntOrArray", int, Integers)


@record(slots=False, eq=False)
class Occupancy:
    """Residency of a kernel on one SM: arrays of the shape that `occupancy`'s arguments have."""

    # blocks_per_sm and warps_per_sm: resident blocks and warps per SM; 0 where a block cannot run
    # at all
    blocks_per_sm: Integers
    warps_per_sm: Integers
    fraction: NDArray[np.float64]  # resident warps over the most that the SM holds, 0 to 1
    limiter: NDArray[np.str_]  # the resource that admits the fewest blocks, one of `LIMITERS`
    # blocks that each of `LIMITERS` would admit alone, along the first axis; `UNLIMITED` where the
    # kernel uses none of it
    limits: Integers
    # shared_carveout and l1_size: shared memory that the SM sets apart from its unified L1, and
    # what is left of it [B]
    shared_carveout: Integers
    l1_size: Integers

    @property
    def resident(self) -> NDArray[np.float64]:
        """Blocks per SM, taken to be 1 where a block cannot run at all."""
        return np.asanyarray(np.maximum(np.asanyarray(self.blocks_per_sm, dtype=float), 1.0))


def occupancy(
    device: Device,
    threads_per_block: ArrayLike,
    registers_per_thread: ArrayLike,
    shared_per_block: ArrayLike = 0,
) -> Occupancy:
    """Return the blocks and warps that are resident on an SM, for any number of launches at once.

    Parameters
    ----------
    device
        The GPU.
    threads_per_block
        Threads of a block, 1 or more.
    registers_per_thread
        32-bit registers of a thread as the compiler reports them; 0 if the kernel uses none.
    shared_per_block
        Static and dynamic shared memory of a block together, without what the driver reserves [B].
        A kernel that wants over 48 KiB is taken to have opted in to it.

    Raises
    ------
    PerfmodelError
        If an argument is not a whole number, or below its minimum. A block that is merely too
        large is no error: it has 0 blocks per SM (see `check_block`).

    Notes
    -----
    - Registers are allocated by the warp, out of the file of one of `warp_allocation_granularity`
      sub-partitions. So the warps that fit are counted per sub-partition and then summed. A launch
      is refused if the block's warps, rounded up to whole sub-partitions, need too many.
    - Carve-out: NVIDIA does not document how the driver chooses. Assumed here is the smallest
      supported size that holds the shared memory of the resident blocks. The driver may take
      more: public Nsight Compute reports of kernels without shared memory, 256 threads, 8 blocks
      per SM, on compute capability 8.0 and 9.0, show 32 KiB where this rule gives 8 KiB.
    """
    threads, registers, shared = np.broadcast_arrays(
        _whole("threads_per_block", threads_per_block, minimum=1),
        _whole("registers_per_thread", registers_per_thread, minimum=0),
        _whole("shared_per_block", shared_per_block, minimum=0),
    )
    warps = _ceil_div(threads, WARP_SIZE)
    by_warps = np.where(
        threads <= device.max_threads_per_block, device.max_warps_per_sm // warps, 0
    )
    by_blocks = np.zeros_like(warps) + device.max_blocks_per_sm
    by_registers = _blocks_by_registers(device, warps, registers)
    allocated = _round_up(shared + device.shared_reserved_per_block, device.shared_allocation_unit)
    launches = allocated <= device.shared_per_block_max + device.shared_reserved_per_block
    by_shared = np.where(launches, device.shared_per_sm // np.maximum(allocated, 1), 0)
    by_shared = np.where(allocated == 0, UNLIMITED, by_shared)
    limits = np.stack([by_warps, by_blocks, by_registers, by_shared])
    blocks = limits.min(axis=0)
    carveout = _smallest_of(device.shared_carveouts, blocks * allocated)
    return Occupancy(
        blocks_per_sm=np.asanyarray(blocks),
        warps_per_sm=np.asanyarray(blocks * warps),
        fraction=np.asanyarray(blocks * warps / device.max_warps_per_sm),
        limiter=np.asanyarray(np.choose(limits.argmin(axis=0), LIMITERS)),
        limits=limits,
        shared_carveout=np.asanyarray(carveout),
        l1_size=np.asanyarray(device.l1_shared_size - carveout),
    )


def check_block(
    device: Device,
    threads_per_block: int,
    registers_per_thread: int = 0,
    shared_per_block: int = 0,
) -> None:
    """Refuse a block that the device cannot launch; arguments as in `occupancy`, of one launch.

    Raises `PerfmodelError` if an argument is not a whole number in its range: a block of no threads
    or too many; too many registers for a thread, or for the block as they are allocated (by whole
    warps and whole sub-partitions); more shared memory than a block may opt in to.
    """
    threads = int(_whole("threads_per_block", threads_per_block, minimum=1))
    registers = int(_whole("registers_per_thread", registers_per_thread, minimum=0))
    shared = int(_whole("shared_per_block", shared_per_block, minimum=0))
    where = f"compute capability {device.compute_capability}"
    if threads > device.max_threads_per_block:
        raise PerfmodelError(
            f"threads_per_block is {threads}, over the {device.max_threads_per_block} that "
            f"{where} allows; launch smaller blocks and more of them"
        )
    if registers > device.max_registers_per_thread:
        raise PerfmodelError(
            f"registers_per_thread is {registers}, over the {device.max_registers_per_thread} "
            f"that {where} allows; give what the compiler reports (--resource-usage)"
        )
    if shared > device.shared_per_block_max:
        raise PerfmodelError(
            f"shared_per_block is {shared} B, over the {device.shared_per_block_max} B that "
            f"a block of {where} may opt in to; use a smaller tile or fewer stages"
        )
    most = most_registers(device, threads)
    if registers > most:
        raise PerfmodelError(
            f"registers_per_thread {registers} x threads_per_block {threads} takes "
            f"{_allocated(device, registers, threads)} registers as allocated, over the "
            f"{device.max_registers_per_block} that a block of {where} has; use at most {most} "
            "registers (__launch_bounds__) or a smaller block"
        )


def most_registers(device: Device, threads: int) -> int:
    """Return the registers that each of a block's threads may have at most."""
    warps = _round_up(_ceil_div(threads, WARP_SIZE), device.warp_allocation_granularity)
    unit = device.register_allocation_unit
    per_warp = device.max_registers_per_block // warps // unit * unit
    return int(min(per_warp // WARP_SIZE, device.max_registers_per_thread))


def _allocated(device: Device, registers: int, threads: int) -> int:
    """Return the registers of a block as they are allocated: by warps, of whole sub-partitions."""
    warps = _round_up(_ceil_div(threads, WARP_SIZE), device.warp_allocation_granularity)
    return int(_round_up(registers * WARP_SIZE, device.register_allocation_unit) * warps)


def _blocks_by_registers(device: Device, warps: Integers, registers: Integers) -> Integers:
    """Blocks that the register file admits, for blocks of `warps` warps."""
    partitions = device.warp_allocation_granularity
    per_warp = _round_up(registers * WARP_SIZE, device.register_allocation_unit)
    warps_per_partition = device.registers_per_sm // partitions // np.maximum(per_warp, 1)
    launches = (per_warp * _round_up(warps, partitions) <= device.max_registers_per_block) & (
        registers <= device.max_registers_per_thread
    )
    blocks = np.where(launches, warps_per_partition * partitions // warps, 0)
    return np.where(registers == 0, UNLIMITED, blocks)


@definition
def _smallest_of(offered: Sequence[int], needed: Integers) -> Integers:
    """Return the smallest of the sizes offered that holds `needed`; the largest if none does."""
    sizes = np.sort(np.asarray(offered, dtype=np.int64))
    index = np.minimum(np.searchsorted(sizes, needed), sizes.size - 1)
    return np.asarray(sizes[index])


def _whole(name: str, value: ArrayLike, *, minimum: int) -> Integers:
    """`value` as int64, refused if it is not whole numbers of at least `minimum`."""
    array = np.asanyarray(value)
    if array.dtype.kind not in "iu":
        raise PerfmodelError(
            f"{name} is of type {array.dtype}, not integer; pass whole numbers of {minimum} or more"
        )
    if np.any(array < minimum):
        raise PerfmodelError(
            f"{name} is {array.min()}, below the smallest allowed; pass {minimum} or more"
        )
    return array.astype(np.int64)


def _ceil_div(value: IntOrArray, unit: int) -> IntOrArray:
    """Whole units that hold `value`."""
    return -(-value // unit)


def _round_up(value: IntOrArray, unit: int) -> IntOrArray:
    """`value` raised to a multiple of `unit`."""
    return _ceil_div(value, unit) * unit
