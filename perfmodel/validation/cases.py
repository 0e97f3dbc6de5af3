"""Cases: measured launches, each with its prediction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from perfmodel.errors import PerfmodelError
from perfmodel.hardware import Device
from perfmodel.kernels import Kernel
from perfmodel.measure.recorded import Recording, Row
from perfmodel.models.memory import CacheState
from perfmodel.models.time import Timing
from perfmodel.prediction.interval import regime, residual_class
from perfmodel.prediction.predict import predict
from perfmodel.validation.sweeps import Sweep, sweeps

Progress = Callable[[int, int], Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One measured launch and its prediction; times in seconds.

    Attributes
    ----------
    sweep, topic : str
    line : int
        In the topic's CSV.
    kernel : str
    params : mapping of str to int or str
    use : str
        "fit" or "validation".
    timing, cache : str
        Protocol.
    measured_s, predicted_s : float
    interval_s : tuple of two float
        90% interval of the prediction.
    bottleneck, regime, residual_class : str
        Of the prediction: largest term, regime, and whose residuals its interval has.
    spread : float
        Standard deviation of the predicted time from the device's figures, as a share of it.
    flop : float
        Useful operations.
    flop_peak : float
        Data-sheet peak of their precision [FLOP/s].
    dram_bytes : float
        DRAM bytes, read and written, as predicted.
    """

    sweep: str
    topic: str
    line: int
    kernel: str
    params: Mapping[str, int | str]
    use: str
    timing: str
    cache: str
    measured_s: float
    predicted_s: float
    interval_s: tuple[float, float]
    bottleneck: str
    regime: str
    residual_class: str
    spread: float
    flop: float
    flop_peak: float
    dram_bytes: float

    @property
    def label(self) -> str:
        """Kernel and sizes, as one text."""
        return " ".join([self.kernel, *(f"{name}={value}" for name, value in self.params.items())])

    @property
    def error(self) -> float:
        """Predicted over measured time, less one."""
        return self.predicted_s / self.measured_s - 1

    @property
    def covered(self) -> bool:
        """Whether the 90% interval holds the measured time."""
        low, high = self.interval_s
        return low <= self.measured_s <= high


def matched(recording: Recording) -> Iterator[tuple[Sweep, Row]]:
    """Yield the rows of a recording that can be predicted, with their sweeps, in order.

    Sweeps of one kernel may overlap: a row belongs to the first.
    """
    taken: set[tuple[str, int, str, str | None]] = set()
    for sweep in sweeps():
        topic = recording.topics.get(sweep.topic)
        for row in topic.rows if topic is not None else ():
            key = (sweep.topic, row.line, sweep.kernel, sweep.mapping)
            if row.trusted and key not in taken and sweep.holds(row):
                taken.add(key)
                yield sweep, row


def left_out(recording: Recording) -> int:
    """Return how many rows with a time are flagged as wrong, and so are no cases."""
    rows = (row for topic in recording.topics.values() for row in topic.rows)
    return sum(row.time_s is not None and not row.trusted for row in rows)


def predicted_cases(
    recording: Recording, device: Device, progress: Progress | None = None
) -> list[Case]:
    """Return all cases of a recording, predicted for a device.

    Parameters
    ----------
    recording : Recording
    device : Device
    progress : callable, optional
        Is told how many cases of how many are done.

    Raises
    ------
    PerfmodelError
        If a row cannot be predicted, or none can.
    """
    pairs = list(matched(recording))
    if not pairs:
        raise PerfmodelError(
            f"measurement folder {str(recording.folder)!r} has no row that a kernel describes"
        )
    found = []
    for done, (sweep, row) in enumerate(pairs):
        if progress is not None:
            progress(done, len(pairs))
        found.append(_case(sweep, row, device))
    if progress is not None:
        progress(len(pairs), len(pairs))
    return found


def _case(sweep: Sweep, row: Row, device: Device) -> Case:
    kernel = sweep.kernel_of(row)
    cache = sweep.cache_of(row)
    prediction = predict(
        kernel,
        device=device,
        timing=cast(Timing, row.timing),
        cache=cast(CacheState, cache),
        **sweep.params_of(row, device.sm_count),
    )
    traffic = prediction.traffic
    assert row.time_s is not None
    return Case(
        sweep=sweep.name,
        topic=sweep.topic,
        line=row.line,
        kernel=" ".join(filter(None, (kernel.name, kernel.mapping))),
        params=dict(prediction.params),
        use=sweep.use_of(row),
        timing=row.timing,
        cache=cache,
        measured_s=row.time_s,
        predicted_s=prediction.time_s,
        interval_s=prediction.interval_s,
        bottleneck=prediction.bottleneck,
        regime=regime(prediction.details, prediction.bottleneck),
        residual_class=residual_class(prediction.details, prediction.bottleneck),
        spread=prediction.details.figure_spread,
        flop=prediction.roofline.flop,
        flop_peak=_peak(device, kernel),
        dram_bytes=traffic["dram_read_bytes"] + traffic["dram_write_bytes"],
    )


def _peak(device: Device, kernel: Kernel) -> float:
    peak: float | None = getattr(device, f"peak_{kernel.precision}")
    return device.peak_fp32 if peak is None else peak
