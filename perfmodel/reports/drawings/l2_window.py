"""What an access policy window does: what is set aside of L2, what stays there, and hits."""

from dataclasses import asdict, replace
from typing import Any, Final

import numpy as np

from perfmodel.errors import PerfmodelError
from perfmodel.fields import fields_of
from perfmodel.kernels.l2_control import AccessPolicyWindow
from perfmodel.models.l2 import residency
from perfmodel.models.l2.windows import marked, spilled_share
from perfmodel.prediction import Prediction
from perfmodel.prediction.simulated import simulate
from perfmodel.prediction.sweep import sweep
from perfmodel.records import record
from perfmodel.reports import units
from perfmodel.reports.step import scalar

_SETS: Final = 16
"""Of so many sets of L2 one is simulated, which stands for the others."""


@record
class AtRatio:
    """The launch at one hitRatio: what DRAM reads [B], L2's hit rate, and the time [s]."""

    hit_ratio: float
    dram_read_bytes: float
    l2_hit_rate: float
    time_s: float


@record
class WindowLines:
    """The bytes of a buffer that lie in the window, by what becomes of their lines."""

    kept: float  # persisting, with room in the set-aside [B]
    # persisting, for which the set-aside has no room: they compete as normal lines do [B]
    spilled: float
    # streaming and normal: not persisting: first to leave, or in L2's usual order [B]
    streaming: float
    normal: float

    @property
    def total(self) -> float:
        """All of them [B]."""
        return self.kept + self.spilled + self.streaming + self.normal


@record
class OverTime:
    """L2's hit rates in equal parts of a launch, simulated: with the window, and without any."""

    window: tuple[float, ...]
    none: tuple[float, ...]


@record
class L2Window:
    """What is set aside of L2, and what of an access policy window stays there."""

    kernel: str
    device: str
    l2_bytes: float
    set_aside: int  # as asked for [B]
    # ways and way_bytes: what that takes: whole ways of L2, and how large one is [B]
    ways: float
    way_bytes: float
    claimed: float  # bytes of it that windows of concurrent kernels mark
    window: AccessPolicyWindow
    buffer_bytes: float  # of the buffer that the window starts in
    picked: float  # share of the window's lines that get hitProp
    lines: WindowLines
    # share of the re-reads of the buffer that miss L2; None of one that is read once
    rereads_missed: float | None
    prediction: AtRatio  # the launch as it was given
    ratios: tuple[AtRatio, ...]  # the same launch at hitRatios from 0 to 1, in closed form
    over_time: OverTime | None = None  # None where nobody asked for it: the simulator takes seconds

    @property
    def best(self) -> AtRatio:
        """The hitRatio with the least time."""
        return min(self.ratios, key=lambda at: at.time_s)

    @property
    def text(self) -> str:
        """What becomes of the window, as sentences."""
        lines = self.lines
        parts = {
            "persisting, in the set-aside": lines.kept,
            "persisting, without room there": lines.spilled,
            "streaming": lines.streaming,
            "normal": lines.normal,
        }
        listed = ", ".join(f"{units.capacity(b)} {name}" for name, b in parts.items() if b >= 1)
        missed = (
            ""
            if self.rereads_missed is None
            else f" Of its re-reads {units.percent(self.rereads_missed)} miss L2."
        )
        return (
            f"Set aside: {units.capacity(self.ways * self.way_bytes)} of "
            f"{units.capacity(self.l2_bytes)}, {self.ways:.0f} of {residency.WAYS} ways. Window: "
            f"{units.capacity(lines.total)} of {self.window.buffer}; hitRatio "
            f"{self.window.hit_ratio:g} picks {units.percent(self.picked)} of its lines: "
            f"{listed}.{missed}"
        )

    @property
    def ratios_text(self) -> str:
        """What another hitRatio would do."""
        now, best = self.prediction, self.best
        return (
            f"DRAM reads {units.data(now.dram_read_bytes)} in {units.seconds(now.time_s)}; fastest "
            f"at hitRatio {best.hit_ratio:g}: {units.data(best.dram_read_bytes)} in "
            f"{units.seconds(best.time_s)}."
        )

    def to_json(self) -> dict[str, Any]:
        """Return it as the object ``perfmodel.draw.l2/1``."""
        return {
            "schema": "perfmodel.draw.l2/1",
            **fields_of(self, "kernel", "device", "l2_bytes", "set_aside"),
            "set_aside_ways": self.ways,
            **fields_of(self, "way_bytes", "claimed"),
            "window": {
                "buffer": self.window.buffer,
                "buffer_bytes": self.buffer_bytes,
                **fields_of(self.window, "num_bytes", "hit_ratio", "hit_prop", "miss_prop"),
                "picked": self.picked,
            },
            "lines": asdict(self.lines),
            "rereads_missed": self.rereads_missed,
            "prediction": asdict(self.prediction),
            "hit_ratios": [asdict(at) for at in self.ratios],
            "l2_hit_rate_over_time": self.over_time and fields_of(self.over_time, "window", "none"),
        }


def has_window(prediction: Prediction) -> bool:
    """Say whether a launch has an access policy window."""
    return prediction.details.setting.control.window is not None


def l2_window(prediction: Prediction, over_time: bool = False) -> L2Window:
    """Return what the access policy window of a launch does; `over_time` simulates it as well.

    Raises `PerfmodelError` if it has none.
    """
    details = prediction.details
    device, setting = details.device, details.setting
    control, window = setting.control, setting.control.window
    name = prediction.label
    if window is None:
        raise PerfmodelError(
            f"{name} has no access policy window to draw: give --window SIZE, and --set-aside SIZE"
        )
    length = scalar(details.instance.lengths[window.buffer])
    size = length * scalar(details.instance.element_bytes[window.buffer])
    table = next((t for t in details.traffic.tables if t.buffer == window.buffer), None)
    return L2Window(
        kernel=name,
        device=device.title,
        l2_bytes=device.l2_size,
        set_aside=control.set_aside,
        ways=scalar(residency.granted_ways(control.set_aside, device.l2_size)),
        way_bytes=device.l2_size / residency.WAYS,
        claimed=setting.claimed,
        window=window,
        buffer_bytes=size,
        picked=scalar(residency.picked_share(window.hit_ratio)),
        lines=_lines(prediction, size, table is not None and table.random),
        rereads_missed=None if table is None else scalar(table.misses),
        prediction=_at(window.hit_ratio, prediction),
        ratios=_ratios(prediction),
        over_time=_over_time(prediction) if over_time else None,
    )


def _lines(prediction: Prediction, size: float, random: bool) -> WindowLines:
    """Return what becomes of the window's lines."""
    details = prediction.details
    device, setting = details.device, details.setting
    window = setting.control.window
    assert window is not None
    held = np.full(1, size)
    persisting, streaming = (scalar(n) for n in marked(setting.control, window.buffer, held))
    spilled = scalar(
        spilled_share(
            setting.control, window.buffer, held, random, setting.claimed, device.l2_size, device
        )
    )
    inside = min(max(size - window.offset, 0.0), float(window.num_bytes))
    kept, lost = persisting * (1 - spilled) * size, persisting * spilled * size
    passing = streaming * size
    return WindowLines(kept, lost, passing, max(inside - kept - lost - passing, 0.0))


def _ratios(prediction: Prediction) -> tuple[AtRatio, ...]:
    """Return the launch at hitRatios from 0 to 1."""
    details = prediction.details
    claimed = details.setting.claimed
    # What concurrent kernels claim is all that counts of their windows.
    others = (AccessPolicyWindow("", round(claimed)),) if claimed else ()
    params: dict[str, Any] = dict(prediction.params)
    found = sweep(
        details.instance.kernel,
        "hit-ratio",
        [step / residency.PICK_STEPS for step in range(residency.PICK_STEPS + 1)],
        control=details.setting.control,
        params=params,
        device=details.device,
        timing=prediction.timing,
        cache=prediction.cache,
        concurrent=others,
    )
    return tuple(
        _at(float(ratio), each) for ratio, each in zip(found.values, found.predictions, strict=True)
    )


def _over_time(prediction: Prediction) -> OverTime:
    """Return L2's hit rates over the launch, with its window and without."""
    details, control = prediction.details, prediction.details.setting.control
    params: dict[str, Any] = dict(prediction.params)
    rates = []
    for each in (control, replace(control, window=None, set_aside=0)):
        found = simulate(
            details.instance.kernel,
            device=details.device,
            cache=prediction.cache,
            control=each,
            sets=_SETS,
            **params,
        )
        rates.append(tuple(found.hit_rates("l2")))
    return OverTime(*rates)


def _at(ratio: float, prediction: Prediction) -> AtRatio:
    traffic = prediction.traffic
    return AtRatio(ratio, traffic["dram_read_bytes"], traffic["l2_hit_rate"], prediction.time_s)
