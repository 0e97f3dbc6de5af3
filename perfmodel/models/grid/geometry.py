"""Which threads share a warp: block shapes as digits of the lane and of the warp.

Threads are numbered with threadIdx.x fastest, 32 to a warp (CUDA C++ Programming Guide, thread
hierarchy). In a regular block each warp is a box of threads, so that threadIdx is a sum of lane
digits and warp digits and every affine index has one stride per digit.
"""

import math
from collections.abc import Mapping

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.records import record

AXES = ("x", "y", "z")
BLOCK_INDICES = tuple(f"blockIdx.{axis}" for axis in AXES)


@record
class Digit:
    """Part of threadIdx: `count` values, `weight` apart, along `axis`; in the lane or the warp."""

    name: str
    axis: str
    count: int
    weight: int
    in_lane: bool


@record
class BlockShape:
    """A block's threads as warps; no digits if irregular: warps are not all the same full box."""

    block: tuple[int, int, int]
    digits: tuple[Digit, ...]

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return math.prod(self.block)

    @property
    def warps(self) -> int:
        """Warps of a block, the last perhaps partial."""
        return -(-self.threads // WARP_SIZE)

    @property
    def regular(self) -> bool:
        """Whether every warp is the same full box of threads."""
        return bool(self.digits)

    @property
    def inside(self) -> Array:
        """Which lanes are threads of the block, shape (warps, 32)."""
        return np.arange(self.warps * WARP_SIZE).reshape(-1, WARP_SIZE) < self.threads

    def thread_indices(self) -> Mapping[str, Array]:
        """Return threadIdx.x, .y and .z of every thread, shape (warps, 32), -1 past the last."""
        linear = np.arange(self.warps * WARP_SIZE).reshape(-1, WARP_SIZE)
        x, y, _ = self.block
        inside = linear < self.threads
        parts = (linear % x, linear // x % y, linear // (x * y))
        return {
            f"threadIdx.{axis}": np.where(inside, part, -1)
            for axis, part in zip(AXES, parts, strict=True)
        }


def block_shape(block: tuple[int, int, int]) -> BlockShape:
    """Split a block into lane and warp digits, x fastest; irregular blocks get no digits."""
    digits: list[Digit] = []
    lanes_left = WARP_SIZE
    for axis, extent in zip(AXES, block, strict=True):
        inner = math.gcd(extent, lanes_left)
        # A warp ends inside this axis only at a multiple of the lanes that it has left.
        if lanes_left > 1 and inner not in (extent, lanes_left):
            return BlockShape(block, ())
        if inner > 1:
            digits.append(Digit(f"lane.{axis}", axis, inner, 1, in_lane=True))
        if extent // inner > 1:
            digits.append(Digit(f"warp.{axis}", axis, extent // inner, inner, in_lane=False))
        lanes_left //= inner
    if lanes_left > 1:
        return BlockShape(block, ())
    return BlockShape(block, tuple(digits))


def alike(values: Array) -> Array:
    """Return one value for all configurations where they agree: work on it is done once."""
    if values.ndim != 1 or len(values) < 2:
        return values
    if values.strides[0] == 0 or np.all(values == values[0]):
        return values[:1].copy()
    return values
