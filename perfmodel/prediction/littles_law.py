"""Little's law of a launch: bytes in flight needed and had at L2 and DRAM, and what limits them."""

from dataclasses import asdict
from typing import Any, Final, Literal

from perfmodel.arrays import Array
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.models.time.bytes_in_flight import WARPS_NEEDED, InFlight, Level, bytes_in_flight
from perfmodel.prediction.record import Prediction
from perfmodel.records import record

Limit = Literal["warps", "bytes per load", "loads per warp", "hits"]

WIDEST: Final = 16 * WARP_SIZE
"""Bytes of the widest load of a warp: 16 per lane (PTX ISA, ld: at most 128 bits)."""
LOADS: Final = (1, 2, 4, 8, 16)
"""Loads in flight per thread that `Saturation`s are given for."""


@record
class LevelInFlight:
    """Bytes in flight at one level of the memory hierarchy, means over a block's time."""

    level: Level
    latency_s: float  # of a load that it answers, unloaded
    bandwidth: float  # what it gives loads while it is busy all the time [B/s]
    needed_bytes: float  # bandwidth times latency, of the GPU
    needed_bytes_per_sm: float
    had_bytes: float  # of the GPU
    had_bytes_per_sm: float  # the product of the next four
    warps_per_sm: float  # resident, a mean over all SMs
    loads_per_warp: float  # in flight before the warp waits
    bytes_per_load: float  # that the level moves, a mean
    waiting: float  # share of a block's time in which its loads are in flight
    share: float  # had over needed
    limit: Limit | None  # None where enough is in flight
    # What each of them would have to be if it alone closed the gap; None without a gap.
    warps_needed: float | None
    loads_needed: float | None
    bytes_needed: float | None

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


@record
class Saturation:
    """Occupancy that saturates a level with so many loads in flight per thread."""

    loads: int
    warps_per_sm: float  # if they do nothing but wait for loads
    fraction: float | None  # of the warps that an SM can hold; None if it cannot hold as many


@record
class LittlesLaw:
    """Bytes in flight needed and had by a launch."""

    levels: tuple[LevelInFlight, ...]  # L2 and DRAM, as far as loads read there
    # the level that the next are for: DRAM, L2 if that answers most, None if L1 does
    saturating: Level | None
    bytes_per_load: float | None  # there [B]
    occupancies: tuple[Saturation, ...]
    missing: str | None  # why there are no levels; None if there are

    def to_json(self) -> dict[str, Any]:
        """Return it as the value of ``littles_law`` in ``perfmodel.prediction/1``."""
        needed = [
            {"loads_per_warp": o.loads, "warps_per_sm": o.warps_per_sm, "fraction": o.fraction}
            for o in self.occupancies
        ]
        return {
            "levels": [level.to_json() for level in self.levels],
            "occupancy_needed": self.saturating
            and {
                "level": self.saturating,
                "bytes_per_load": self.bytes_per_load,
                "by_loads": needed,
            },
            "missing": self.missing,
        }


def littles_law(prediction: Prediction) -> LittlesLaw:
    """Return how many bytes a launch needs in flight, and has.

    Every number is one of the prediction's: latencies and batches of loads of its blocks, and the
    times of L2 and DRAM alone.
    """
    details = prediction.details
    if details.time.resources is None:
        return _none("blocks copy tiles ahead: their copies overlap with work, and no warp waits")
    device = details.device
    found = bytes_in_flight(details.time.resources)
    if not found:
        return _none("no load brings bytes from L2 or DRAM: warps do not wait for stores")
    levels = tuple(_level(f, device.sm_count, device.max_warps_per_sm) for f in found)
    both = zip(reversed(found), reversed(levels), strict=True)
    chosen = next(((f, level) for f, level in both if level.limit != "hits"), None)
    if chosen is None:
        return LittlesLaw(levels, None, None, (), None)
    f, level = chosen
    rows = tuple(_saturation(f, n, device.sm_count, device.max_warps_per_sm) for n in LOADS)
    return LittlesLaw(levels, level.level, level.bytes_per_load, rows, None)


def _none(why: str) -> LittlesLaw:
    return LittlesLaw((), None, None, (), why)


def _level(f: InFlight, sms: int, most_warps: int) -> LevelInFlight:
    needed, had = _plain(f.needed), _plain(f.had)
    warps, loads, moved = _plain(f.warps), _plain(f.loads), _plain(f.bytes)
    share = had * sms / needed
    gap = 1 / share if share < 1 else None
    return LevelInFlight(
        level=f.level,
        latency_s=_plain(f.latency_s),
        bandwidth=_plain(f.bandwidth),
        needed_bytes=needed,
        needed_bytes_per_sm=needed / sms,
        had_bytes=had * sms,
        had_bytes_per_sm=had,
        warps_per_sm=warps,
        loads_per_warp=loads,
        bytes_per_load=moved,
        waiting=_plain(f.waiting),
        share=share,
        limit=None if gap is None else _limit(f, gap, most_warps),
        warps_needed=gap and warps * gap,
        loads_needed=gap and loads * gap,
        bytes_needed=gap and moved * gap,
    )


def _limit(f: InFlight, gap: float, most_warps: int) -> Limit:
    """Return the first that would close a gap if it were as large as it can be."""
    asked = _plain(f.asked)
    if asked >= gap * _plain(f.bytes):
        return "hits"
    if most_warps >= gap * _plain(f.warps):
        return "warps"
    if gap * asked <= WIDEST:
        return "bytes per load"
    return "loads per warp"


def _saturation(f: InFlight, loads: int, sms: int, most_warps: int) -> Saturation:
    warps = _plain(WARPS_NEEDED(needed=f.needed, sms=float(sms), loads=float(loads), bytes=f.bytes))
    return Saturation(loads, warps, warps / most_warps if warps <= most_warps else None)


def _plain(value: Array) -> float:
    return float(value.ravel()[0])
