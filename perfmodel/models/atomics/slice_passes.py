"""Time of an atomic transaction in an L2 slice: by type, width, sectors and returned values.

Integer additions occupy the slice for a fixed time per packet and per sector. Floating-point
additions to the same sector also wait for the previous one, longer for doubles in both halves of
the sector. A transaction that returns old values takes longer the more lanes it answers.
Half-precision pairs and compare-and-swaps have measured times of their own.

Which of these decides depends on whether consecutive transactions of a slice go to the same sector.
"""

from typing import Final

import numpy as np

from perfmodel.arrays import Array
from perfmodel.hardware.coefficients import Coefficient
from perfmodel.hardware.device import Device
from perfmodel.kernels.access import DATA_TYPES
from perfmodel.models.atomics.to_slices import DOUBLES, HALVES, BusiestSlice, Operands, Packets
from perfmodel.models.formula import Formula
from perfmodel.models.l2.slices import PASS_TIME, most_answers, slice_slot
from perfmodel.models.requests.coalescing import LINE, SECTOR
from perfmodel.models.requests.contention import GRANULE
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.records import record

FULL_PASSES = Formula(
    name="share of atomic transactions of full sectors",
    unit="1",
    text="min(1, max(0, 2*share - 1))",
    symbols={"share": "share of the transactions' bytes that lanes change [1]"},
    holds="consecutive lanes that add to element i modulo any number: within 6%",
    source="derived: the first and last sector of a run are half full on average. 31, 12 and 33 "
    "int32 addresses take 6.4, 7.9 and 6.2 clocks per warp: 1.15 for full transactions, 1.48 for "
    "others",
)
WIDE_FLOAT: Final = Coefficient("atomics.slice_passes.wide_float")
DOUBLE_SPREAD: Final = Coefficient("atomics.slice_passes.double_spread")
ANSWER_CLOCKS: Final = Coefficient("atomics.slice_passes.answer_clocks")
ANSWER_LANE_CLOCKS: Final = Coefficient("atomics.slice_passes.answer_lane_clocks")
HALF2_CLOCKS: Final = Coefficient("atomics.slice_passes.half2_clocks")
HALF2_FULL_CLOCKS: Final = Coefficient("atomics.slice_passes.half2_full_clocks")
COMPARE_CLOCKS: Final = Coefficient("atomics.slice_passes.compare_clocks")
COMPARE_SECTOR_CLOCKS: Final = Coefficient("atomics.slice_passes.compare_sector_clocks")

_FLOATS: Final = np.array([name.startswith(("float", "half")) for name in DATA_TYPES])


@record
class SlicePass:
    """A pass of an atomic through the busiest slice, arrays over configurations."""

    slot: Array  # time that the slice works on it [s]
    turn: Array  # time after which the next at the same sector begins [s]
    sectors: Array  # of a packet
    again: Array  # share of a packet's passes that wait for one before them at the same sector

    @property
    def time_s(self) -> Array:
        """Time of a pass [s]."""
        return np.atleast_1d(
            PASS_TIME(slot=self.slot, turn=self.turn, s=self.sectors, again=self.again)
        )


def slice_pass(
    r: Requests, sent: Packets, operands: Operands, busiest: BusiestSlice, device: Device
) -> SlicePass:
    """Return the pass of an atomic, with `sharing`, through the slice that makes most of them."""
    hot = busiest.hot
    pieces = np.where(hot.third > 0, busiest.most, 1.0)
    back = most_answers(1 / np.maximum(hot.third, 1e-12), pieces, device) / pieces
    answer = (ANSWER_CLOCKS(device) + ANSWER_LANE_CLOCKS(device) * np.log2(sent.lanes_each)) * back
    # Only additions know what the bits mean.
    adds = r.access.operation in ("add", "increment", "raise")
    floats, doubles = (f[operands.dtype] & adds for f in (_FLOATS, DOUBLES))
    if operands.compares:
        each = _compare_time(sent, device)
        later = np.maximum(answer / device.sm_clock - each, 0.0) * np.clip(pieces - 2, 0.0, 1.0)
        slot = each + later
    else:
        each, slot = _addition(r, sent, doubles, pieces, answer, operands, device)
    turn_of_float = device.atomic_float_interval or device.require("atomic_interval")
    return SlicePass(
        slot=slot,
        turn=np.where(floats, np.maximum(turn_of_float, 2 * each * doubles), each),
        sectors=sent.sectors,
        again=np.minimum(1.0, hot.sector * sent.sectors / busiest.share)
        ** (1 + np.clip(pieces - 2, 0.0, 1.0)),
    )


def _addition(
    r: Requests,
    sent: Packets,
    doubles: Array,
    pieces: Array,
    answer: Array,
    operands: Operands,
    device: Device,
) -> tuple[Array, Array]:
    """Return the time of a pass of additions, and of the slice for it [s].

    `doubles` says where they add doubles, `answer` is the clocks that old values take.
    """
    # Fewer addresses than a sector has room for fill none.
    few = r.address_sharing.conflicts.addresses * r.width < SECTOR
    whole = np.where(few, 0.0, FULL_PASSES(share=sent.lanes_each * r.width / SECTOR))
    partial = device.require("atomic_interval")
    in_full = (device.atomic_full_interval or partial) * np.where(doubles, WIDE_FLOAT(device), 1.0)
    paired = np.where(doubles, _both_halves(r, sent), whole)
    each = partial + (in_full - partial) * paired
    one, full = HALF2_CLOCKS(device), HALF2_FULL_CLOCKS(device)
    of_type = (one + (full - one) * sent.filled) * HALVES[operands.dtype]
    least = np.maximum(answer * operands.returns, of_type) / device.sm_clock
    pitch, places = r.address_sharing.pitch, r.address_sharing.addresses
    lone = (pitch >= LINE) & (pitch < GRANULE) & (places > 1), pitch >= GRANULE
    slot = slice_slot(each, sent.sectors, pieces, least, *lone, device)
    # Additions of doubles stay slower, if less so from the third piece on.
    spread = 1 - (1 - DOUBLE_SPREAD(device)) * np.clip(pieces - 2, 0.0, 1.0)
    return each, np.maximum(slot, in_full * np.where(doubles, spread * paired, 0.0))


def _both_halves(r: Requests, sent: Packets) -> Array:
    """Return the share of passes that change doubles in both halves of their sector."""
    pitch, more = r.address_sharing.pitch, np.maximum(sent.lanes_each - 1, 0.0)
    # Two of four places are in both halves in two of three cases, three always.
    near = np.minimum(more, 1.0) * (2 / 3) + np.clip(more - 1, 0.0, 1.0) / 3
    both = np.where(pitch < SECTOR / 2, near, np.minimum(more, 1.0))
    return np.where(r.address_sharing.addresses * pitch <= SECTOR / 2, 0.0, both)


def _compare_time(sent: Packets, device: Device) -> Array:
    """Return the time of a pass of compare-and-swaps [s]."""
    several = np.clip(sent.lanes / np.maximum(sent.packets, 1e-9) - 1, 0.0, 1.0)
    alone, sector = COMPARE_CLOCKS(device), COMPARE_SECTOR_CLOCKS(device)
    packet = alone + several * (sector - alone) + sector * (sent.sectors - 1)
    return np.asanyarray(packet / sent.sectors / device.sm_clock)
