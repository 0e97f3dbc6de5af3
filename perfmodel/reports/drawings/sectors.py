"""One request of a warp as a picture has it: its lanes' addresses, sectors and lines."""

from typing import Any

import numpy as np

from perfmodel.errors import PerfmodelError, shown
from perfmodel.fields import fields_of
from perfmodel.models.grid.geometry import AXES, block_shape
from perfmodel.models.requests.addressing import addressing
from perfmodel.models.requests.coalescing import EFFICIENCY, LINE, SECTOR
from perfmodel.models.requests.patterns import addresses_at
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.prediction import Prediction
from perfmodel.records import record
from perfmodel.reports import units
from perfmodel.reports.access_title import access_title
from perfmodel.reports.drawings.place import Place, check_place
from perfmodel.reports.step import scalar


@record
class WarpRequest:
    """A request of one warp to global memory."""

    kernel: str  # kernel and mapping, such as "gemm naive"
    # access, buffer and kind: what it is: ``"load A[m*K + k], every k"``
    access: str
    buffer: str
    kind: str
    place: Place
    width: int  # bytes that a lane moves
    # first byte of each of the 32 lanes, from the start of the buffer; None of those that take no
    # part
    lanes: tuple[int | None, ...]
    # mean_sectors and mean_lines: of all requests of the access in the launch
    mean_sectors: float
    mean_lines: float
    requests: float  # how many these are

    @property
    def taking(self) -> list[int]:
        """First bytes of the lanes that take part [B]."""
        return [first for first in self.lanes if first is not None]

    @property
    def sectors(self) -> tuple[int, ...]:
        """Distinct sectors, numbered from the start of the buffer."""
        return tuple(sorted({first // SECTOR for first in self.taking}))

    @property
    def lines(self) -> tuple[int, ...]:
        """Distinct lines, numbered from the start of the buffer."""
        return tuple(sorted({first // LINE for first in self.taking}))

    @property
    def used(self) -> float:
        """Distinct bytes that lanes ask for over the bytes of the sectors."""
        return scalar(
            EFFICIENCY(
                n=float(len(set(self.taking))),
                w=float(self.width),
                sectors=float(len(self.sectors)),
            )
        )

    @property
    def text(self) -> str:
        """The numbers as a sentence."""
        taking = units.several(len(self.taking), "lane")
        return (
            f"{taking} of {self.width} B: {units.several(len(self.sectors), 'sector')} in "
            f"{units.several(len(self.lines), 'line')}, {units.percent(self.used)} of their bytes "
            "asked for"
        )

    @property
    def mean_text(self) -> str:
        """What all requests of the access need on average."""
        return (
            f"on average {units.several(self.mean_sectors, 'sector')} and "
            f"{units.several(self.mean_lines, 'line')} per request, of "
            f"{units.count(self.requests)} requests"
        )

    def to_json(self) -> dict[str, Any]:
        """Return it as the object ``perfmodel.draw.sectors/1``."""
        return {
            "schema": "perfmodel.draw.sectors/1",
            **fields_of(self, "kernel", "access", "buffer", "kind"),
            **fields_of(self.place, "block", "warp", "loops"),
            "bytes_per_lane": self.width,
            **fields_of(self, "lanes", "sectors", "lines"),
            "efficiency": self.used,
            "launch": {
                "requests": self.requests,
                "sectors_per_request": self.mean_sectors,
                "lines_per_request": self.mean_lines,
            },
        }


def warp_request(
    prediction: Prediction, access: str | None = None, place: Place | None = None
) -> WarpRequest:
    """Return a request of a launch: of an access by its name or buffer, or the most expensive one.

    Raises `PerfmodelError` if there is no such access or request, or its addresses are not known
    one by one.
    """
    found = chosen_access(prediction, access)
    instance, title = prediction.details.instance, access_title(found.access)
    if found.access.counted is not None:
        raise PerfmodelError(
            f"{title}: its sectors were counted while the program was emulated, and no index "
            "expression says where its lanes are; choose another with --access"
        )
    place = place or Place()
    check_place(instance, place, instance.kernel.loop_nest(found.access.loop))
    block = tuple(int(scalar(np.asarray(n))) for n in instance.block)
    assert len(block) == 3
    position = instance.kernel.accesses.index(found.access)
    at = {f"blockIdx.{axis}": np.array([n]) for axis, n in zip(AXES, place.block, strict=True)}
    at |= {name: np.array([value]) for name, value in place.loops.items()}
    asked = addressing(instance, position, block_shape(block))
    (address,), (active,) = addresses_at(asked, at)
    warp = _warp(active, place.warp, title)
    requests = max(scalar(found.requests), 1e-9)
    return WarpRequest(
        kernel=prediction.label,
        access=title,
        buffer=found.access.buffer,
        kind=found.access.kind,
        place=Place(place.block, warp, place.loops),
        width=asked.width,
        lanes=tuple(
            int(first) if takes else None
            for first, takes in zip(address[warp], active[warp], strict=True)
        ),
        mean_sectors=scalar(found.sectors) / requests,
        mean_lines=scalar(found.lines) / requests,
        requests=scalar(found.requests),
    )


def chosen_access(prediction: Prediction, name: str | None) -> Requests:
    """Return the requests of an access to global memory, by name; None: with the most sectors."""
    every = [r for r in prediction.details.requests if scalar(r.requests) > 0]
    if not every:
        raise PerfmodelError(
            f"kernel {prediction.kernel!r} makes no access to global memory: there is nothing to "
            "draw"
        )
    if name is None:
        return max(every, key=lambda r: (scalar(r.sectors), scalar(r.data_wavefronts)))
    found = [r for r in every if name in (r.access.name, r.access.buffer)]
    if not found:
        listed = ", ".join(dict.fromkeys(r.access.name or r.access.buffer for r in every))
        raise PerfmodelError(
            f"--access {shown(name)}: no access to global memory is called so; there are {listed}"
        )
    return max(found, key=lambda r: scalar(r.sectors))


def _warp(active: Any, wanted: int | None, title: str) -> int:
    """Return the warp that is meant, of which a lane takes part."""
    some = np.flatnonzero(active.any(axis=1))
    if wanted is not None and not 0 <= wanted < len(active):
        raise PerfmodelError(
            f"--at warp must be 0 to {len(active) - 1} in this launch, not {wanted}"
        )
    if not len(some) or (wanted is not None and wanted not in some):
        who = "this warp" if wanted is not None else "this block"
        raise PerfmodelError(f"{title}: no lane of {who} takes part here; choose another with --at")
    return int(some[0]) if wanted is None else wanted
