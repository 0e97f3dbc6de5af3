"""Cases: measured launches, each with its prediction."""

from __future__ import annotations

import signal
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, cast

import numpy as np

from perfmodel.errors import PerfmodelError
from perfmodel.hardware import Device, Figure
from perfmodel.measure import folders
from perfmodel.measure.recorded import Recording, Row
from perfmodel.models.global_accesses import CacheState
from perfmodel.models.mechanism import switch_off, switched_off
from perfmodel.models.time.launch import COLD_CODE
from perfmodel.models.time.stage import Timing
from perfmodel.prediction.interval import regime, residual_class
from perfmodel.prediction.predict import predict
from perfmodel.prediction.record import Prediction
from perfmodel.validation.sweeps import Sweep, sweeps

Progress = Callable[[int, int], Any]

SAMPLE: Final = 200
"""Cases of a sample that is scored first."""
_WORTH_PROCESSES: Final = 200
_work: Final[dict[str, Any]] = {}


@dataclass(frozen=True, slots=True)
class Case:
    """One measured launch and its prediction; times in seconds."""

    sweep: str
    topic: str
    line: int  # in the topic's CSV
    kernel: str
    params: Mapping[str, int | str]
    use: str  # "fit" or "validation"
    # Protocol.
    timing: str
    cache: str
    measured_s: float
    predicted_s: float
    interval_s: tuple[float, float]  # 90% interval of the prediction
    # Of the prediction: largest term, regime, and whose residuals its interval has.
    bottleneck: str
    regime: str
    residual_class: str
    # Standard deviation of the predicted time from the device's figures, as a share of it.
    spread: float
    flop: float  # useful operations
    flop_peak: float  # data-sheet peak of their precision [FLOP/s]
    # Bytes that a roofline is given: each array once, or the DRAM bytes predicted if more [B].
    roofline_bytes: float

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
    """Yield the rows of a recording that can be predicted, each with its first sweep, in order."""
    seen: set[tuple[str, int]] = set()
    for sweep in sweeps():
        topic = recording.topics.get(sweep.topic)
        for row in topic.rows if topic is not None else ():
            if (row.topic, row.line) in seen or not (row.trusted and sweep.holds(row)):
                continue
            seen.add((row.topic, row.line))
            yield sweep, row


def with_topics(recording: Recording, names: Collection[str]) -> Recording:
    """Return a recording with those of some topics that it has, and no others."""
    some = {name: topic for name, topic in recording.topics.items() if name in names}
    return replace(recording, topics=some)


def left_out(recording: Recording) -> int:
    """Return how many rows with a time are flagged as wrong, and so are no cases."""
    rows = (row for topic in recording.topics.values() for row in topic.rows)
    return sum(row.time_s is not None and not row.trusted for row in rows)


def predict_row(sweep: Sweep, row: Row, device: Device) -> Prediction:
    """Return the prediction of a row that belongs to a sweep, under the row's protocol."""
    return predict(**launch_of(sweep, row, device))


def launch_of(sweep: Sweep, row: Row, device: Device) -> dict[str, Any]:
    """Return the arguments of `predict` for a row that belongs to a sweep."""
    return {
        "kernel": sweep.kernel_of(row),
        "device": device,
        "timing": cast(Timing, row.timing),
        "cache": cast(CacheState, sweep.cache_of(row)),
        "l2": sweep.control_of(row),
        **sweep.params_of(row, device.sm_count),
    }


def cases_of(
    recordings: Sequence[Recording],
    device: Device,
    progress: Progress | None = None,
    use: str | None = None,
    workers: int = 1,
    sampled: Callable[[list[Case], int], Any] | None = None,
) -> list[Case]:
    """Return all cases of recordings, in their order, predicted for a device.

    Parameters
    ----------
    progress : callable, optional
        Is told how many cases of how many are done.
    use : {"fit", "validation"}, optional
        Which cases; all by default.
    workers : int
        Processes that share the work; more than one need a main module that can be imported.
    sampled : callable, optional
        Is given a sample of the cases before the others are predicted, and that it is one in so
        many: about `SAMPLE` of them, evenly spaced in their order. Not called where there are less
        than twice as many.

    Raises
    ------
    PerfmodelError
        If a row cannot be predicted, or a recording has none that a kernel describes.
    """
    works = _works(recordings, use)
    for number, recording in enumerate(recordings):
        if use is None and not any(work.recording == number for work in works):
            raise PerfmodelError(
                f"measurement folder {str(recording.folder)!r} has no row that a kernel "
                "describes: give a folder that `perfmodel measure` wrote"
            )
    step = len(works) // SAMPLE if sampled is not None and len(works) >= 2 * SAMPLE else 1
    first = range(0, len(works), step) if step > 1 else range(0)
    order = [*first, *(i for i in range(len(works)) if i % step or step == 1)]
    found: dict[int, Case] = {}
    for position, case in zip(
        order, _each(recordings, device, use, works, order, workers), strict=True
    ):
        if progress is not None:
            progress(len(found), len(works))
        found[position] = case
        if sampled is not None and len(found) == len(first):
            sampled([found[i] for i in first], step)
    if progress is not None:
        progress(len(works), len(works))
    return [found[i] for i in range(len(works))]


@dataclass(frozen=True, slots=True)
class _Work:
    """A row to be predicted, of the recording of a number."""

    recording: int
    sweep: Sweep
    row: Row


def _works(recordings: Sequence[Recording], use: str | None) -> list[_Work]:
    return [
        _Work(number, sweep, row)
        for number, recording in enumerate(recordings)
        for sweep, row in matched(recording)
        if use in (None, sweep.use_of(row))
    ]


def _each(
    recordings: Sequence[Recording],
    device: Device,
    use: str | None,
    works: Sequence[_Work],
    order: Sequence[int],
    workers: int,
) -> Iterator[Case]:
    """Yield the cases in an order of their positions."""
    if workers < 2 or len(works) < _WORTH_PROCESSES:
        for i in order:
            yield _case(recordings[works[i].recording], device, works[i].sweep, works[i].row)
        return
    with ProcessPoolExecutor(
        workers,
        mp_context=get_context("spawn"),
        initializer=_start_worker,
        initargs=([(r.folder, tuple(r.topics)) for r in recordings], device, use, switched_off()),
    ) as pool:
        yield from pool.map(_nth_case, order, chunksize=8)


def _start_worker(
    read: Sequence[tuple[Path, Sequence[str]]],
    device: Device,
    use: str | None,
    off: frozenset[str],
) -> None:
    switch_off(off)
    # An interruption is for the process that asked: it stops, and these with it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A recording is full of views that cannot be sent to another process: each reads its own.
    recordings = [with_topics(folders.recording(folder), topics) for folder, topics in read]
    _work.update(recordings=recordings, device=device, works=_works(recordings, use))


def _nth_case(position: int) -> Case:
    work: _Work = _work["works"][position]
    return _case(_work["recordings"][work.recording], _work["device"], work.sweep, work.row)


def _case(recording: Recording, device: Device, sweep: Sweep, row: Row) -> Case:
    """Return the case of a row; what makes it none is named with its file and line."""
    try:
        return one_case(sweep, row, as_timed(device, recording, row))
    except PerfmodelError as error:
        where = f"measurement folder {str(recording.folder)!r}, {row.topic}.csv, line {row.line}"
        raise PerfmodelError(f"{where}: {error}") from None


def at_floor(device: Device, floor: float | None) -> Device:
    """Return a device on the host of a measurement, where an empty kernel takes `floor` [s]."""
    return _stated(device, {} if floor is None else {"event_floor": floor})


def as_timed(device: Device, recording: Recording, row: Row) -> Device:
    """Return a device as the host and the profiler of a row see it."""
    floor, cold = recording.event_floor(row), recording.cold_event_floor(row)
    if cold is not None:
        floor = cold - COLD_CODE(device)  # which a cold launch has beside its floor
    return _stated(at_floor(device, floor), recording.profiler_floors(row))


def _stated(device: Device, values: Mapping[str, float]) -> Device:
    new = {name: value for name, value in values.items() if value != getattr(device, name)}
    if not new:
        return device
    figures = {
        name: Figure(
            value=value, unit="s", kind="measured", source="session file of the measurements"
        )
        for name, value in new.items()
    }
    stated: dict[str, Any] = {**new, "figures": MappingProxyType({**device.figures, **figures})}
    return replace(device, **stated)


def one_case(sweep: Sweep, row: Row, device: Device) -> Case:
    """Return the case of a row that belongs to a sweep."""
    kernel = sweep.kernel_of(row)
    prediction = predict_row(sweep, row, device)
    moved = prediction.traffic["dram_read_bytes"] + prediction.traffic["dram_write_bytes"]
    assert row.time_s is not None
    return Case(
        sweep=sweep.name,
        topic=sweep.topic,
        line=row.line,
        kernel=" ".join(filter(None, (kernel.name, kernel.mapping))),
        params=dict(prediction.params),
        use=sweep.use_of(row),
        timing=row.timing,
        cache=sweep.cache_of(row),
        measured_s=row.time_s,
        predicted_s=prediction.time_s,
        interval_s=prediction.interval_s,
        bottleneck=prediction.bottleneck,
        regime=regime(prediction.details, prediction.bottleneck),
        residual_class=residual_class(prediction.details, prediction.bottleneck),
        spread=prediction.figure_spread,
        flop=prediction.roofline.flop,
        flop_peak=_peak(device, prediction.details.instance.precision),
        roofline_bytes=max(_touched(prediction), moved),
    )


def _touched(prediction: Prediction) -> float:
    """Return the bytes of all arrays, each once and no more of it than lanes ask for [B]."""
    instance = prediction.details.instance
    wanted: dict[str, float] = {}
    for access in prediction.details.traffic.accesses:
        asked = float(np.max(access.wanted_bytes))
        wanted[access.buffer] = wanted.get(access.buffer, 0.0) + asked
    return sum(
        min(asked, float(np.max(instance.lengths[name]) * np.max(instance.element_bytes[name])))
        for name, asked in wanted.items()
    )


def _peak(device: Device, precision: str) -> float:
    peak: float | None = getattr(device, f"peak_{precision}")
    return device.peak_fp32 if peak is None else peak
