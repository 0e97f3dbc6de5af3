"""The timeline of four atomics as a figure: all at one address, and one at an address each."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from perfmodel.errors import PerfmodelError
from perfmodel.hardware.device import Device
from perfmodel.models.atomics.global_atomics import AtomicTime
from perfmodel.models.l2.slices import PASS_TIME
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.prediction import Prediction
from perfmodel.records import record
from perfmodel.reports import units
from perfmodel.reports.figure_style import BLUE, FAINT, GREY, INK, VERMILION, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


REQUESTS: Final = 4
"""Requests that are drawn: half of them from the near side of L2, half from the far."""
_SIZE: Final = (9.6, 5.2)
_BAR: Final = 0.62


@record
class Turn:
    """One warp's request on its way through L2, from SMs on the far side or not.

    When it arrives at the slice, its passes begin, and they are done, from its start [s].
    """

    far: bool
    arrives: float
    starts: float
    ends: float


@record
class Timeline:
    """The same requests, of so many additions each, twice.

    At one address in single file, and side by side at an address each with slices of their own.
    """

    lanes: float
    single_file: tuple[Turn, ...]
    side_by_side: tuple[Turn, ...]

    @property
    def adding(self) -> tuple[float, float]:
        """Time from the first pass to the last, in single file and side by side [s].

        Side by side it is that of one request: the others do not wait for it.
        """
        first, last = self.single_file[0], self.single_file[-1]
        alone = self.side_by_side[0]
        return last.ends - first.starts, alone.ends - alone.starts


def timeline(device: Device, requests: list[Requests], atomics: list[AtomicTime]) -> Timeline:
    """Return the timeline of a kernel's first global atomic.

    Raises `PerfmodelError` if the kernel has none.
    """
    if not atomics:
        raise PerfmodelError(
            "a timeline shows atomics on global memory, and this kernel has none: choose one such "
            "as atomic-add"
        )
    found = atomics[0]
    r = requests[found.position]
    lanes = float(np.ravel(r.active_lanes / np.maximum(r.requests, 1e-9))[0])
    # One address: a pass for each lane, and each waits for the one before.
    slot, turn = (float(np.ravel(x)[0]) for x in (found.slice_pass.slot, found.slice_pass.turn))
    service = lanes * float(PASS_TIME(slot=slot, turn=turn, s=1.0, again=1.0))
    near = device.l2_latency / 2
    far = (device.l2_far_latency or device.l2_latency) / 2
    ways = [(i >= REQUESTS // 2, far if i >= REQUESTS // 2 else near) for i in range(REQUESTS)]
    queue: list[Turn] = []
    for is_far, arrives in ways:
        starts = max(arrives, queue[-1].ends) if queue else arrives
        queue.append(Turn(is_far, arrives, starts, starts + service))
    apart = tuple(Turn(is_far, at, at, at + service) for is_far, at in ways)
    return Timeline(lanes, tuple(queue), apart)


def timeline_figure(prediction: Prediction) -> "Figure":
    """Draw four requests of a kernel's first global atomic, to scale in SM clocks.

    Raises `PerfmodelError` if the kernel has no global atomic.
    """
    details = prediction.details
    found = timeline(details.device, list(details.requests), list(details.time.atomics))
    clock = details.device.sm_clock
    with new_figure(*_SIZE) as figure:
        above, below = figure.subplots(2, 1, sharex=True)
        figure.subplots_adjust(left=0.12, right=0.97, top=0.84, bottom=0.17, hspace=0.42)
        _draw(above, found.single_file, clock, VERMILION)
        _draw(below, found.side_by_side, clock, BLUE)
        told = ("one address: serialised", "an address each: in parallel")
        for axes, what, time in zip((above, below), told, found.adding, strict=True):
            text = f"{what}, {units.number(time * clock)} clocks of adding"
            axes.set_title(text, loc="left", fontsize=10.5)
        below.set_xlabel("SM clocks since the request left")
        above.set_xlim(0, found.single_file[-1].ends * clock * 1.04)
        figure.text(0.12, 0.955, _heading(prediction, found), fontsize=13, va="center")
        _legend(figure)
    return figure


def _heading(prediction: Prediction, found: Timeline) -> str:
    count = len(found.single_file)
    return (
        f"{prediction.kernel} on {prediction.details.device.title}: {count} requests of "
        f"{units.number(found.lanes)} lanes"
    )


def _draw(axes: "Axes", turns: Sequence[Turn], clock: float, colour: str) -> None:
    for row, turn in enumerate(turns):
        arrives, starts, ends = (t * clock for t in (turn.arrives, turn.starts, turn.ends))
        axes.barh(row, arrives, _BAR, color=FAINT)
        if starts > arrives:
            axes.barh(row, starts - arrives, _BAR, left=arrives, color="white", hatch="////",
                      edgecolor=GREY, linewidth=0.6)  # fmt: skip
        axes.barh(row, ends - starts, _BAR, left=starts, color=colour)
    axes.set_yticks(range(len(turns)), ["far" if turn.far else "near" for turn in turns])
    axes.invert_yaxis()
    axes.set_ylabel("request from", color=INK)


def _legend(figure: "Figure") -> None:
    from matplotlib.patches import Patch

    figure.legend(
        handles=[
            Patch(color=FAINT, label="way to L2, longer from the far side"),
            Patch(facecolor="white", edgecolor=GREY, hatch="////", label="queued"),
            Patch(color=VERMILION, label="adding, serialised"),
            Patch(color=BLUE, label="adding, undisturbed"),
        ],
        loc="lower center", ncols=4, frameon=False, fontsize=9,
    )  # fmt: skip
