"""Cases: measured launches, each with its prediction."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeVar, cast

import numpy as np

from perfmodel.chunks import HERE, Workers
from perfmodel.errors import PerfmodelError
from perfmodel.hardware import Device
from perfmodel.measure.recorded import Recording, Row
from perfmodel.models.global_accesses import CacheState
from perfmodel.models.mechanism import switch_off, switched_off
from perfmodel.models.time.launch import COLD_CODE
from perfmodel.models.time.stage import Timing
from perfmodel.prediction.interval import regime, residual_class
from perfmodel.prediction.predict import predict
from perfmodel.prediction.record import Prediction
from perfmodel.rows_file import RowsFile
from perfmodel.validation.case import Case, written_cases
from perfmodel.validation.sweeps import Sweep, sweeps

T = TypeVar("T")
Progress = Callable[[int, int], Any]

SAMPLE: Final = 200
"""Cases of a sample that is scored first."""
_WORTH_WORKERS: Final = 200
_TOGETHER: Final = 64
"""Cases of a chunk."""


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
    workers: Workers = HERE,
    sampled: Callable[[list[Case], int], Any] | None = None,
    rows: RowsFile | None = None,
) -> list[Case]:
    """Return all cases of recordings, in their order, predicted for a device.

    `progress`: is told how many cases of how many are done. `use`: which cases; all by default.
    `workers`: who predicts, if there are some hundred cases. `sampled`: is given a sample of the
    cases before the others are predicted, and that it is one in so many: about `SAMPLE` of them,
    evenly spaced in their order. Not called where there are less than twice as many. `rows`: where
    cases are written as they come, and where those of an earlier run are read; without a sample.

    Raises `PerfmodelError` if a row cannot be predicted, or a recording has none that a kernel
    describes.
    """
    works = [
        _Work(str(recording.folder), sweep, row, _floors(device, recording, row))
        for recording in recordings
        for sweep, row in _described(recording, use)
    ]

    def tell(done: int) -> None:
        if progress is not None:
            progress(done, len(works))

    work = partial(_cases, device, switched_off())
    some = workers if len(works) >= _WORTH_WORKERS else HERE
    if rows is not None:
        pieces = _pieces(works, _TOGETHER)
        return written_cases(
            rows, work, pieces, some, lambda done: tell(min(done * _TOGETHER, len(works)))
        )
    step = len(works) // SAMPLE if sampled is not None and len(works) >= 2 * SAMPLE else 1
    first = list(range(0, len(works), step)) if step > 1 else []
    rest = [i for i in range(len(works)) if not first or i % step]
    together = 1 if some.submit is None else _TOGETHER
    chunks = [*_pieces(first, together), *_pieces(rest, together)]
    found: dict[int, Case] = {}
    sent = ([works[i] for i in chunk] for chunk in chunks)
    for chunk, cases in zip(chunks, some.in_order(work, sent), strict=True):
        tell(len(found))
        found.update(zip(chunk, cases, strict=True))
        if sampled is not None and len(found) == len(first):
            sampled([found[i] for i in first], step)
    tell(len(works))
    return [found[i] for i in range(len(works))]


@dataclass(frozen=True, slots=True)
class _Work:
    """A row to be predicted."""

    folder: str  # of its recording
    sweep: Sweep
    row: Row
    floors: Mapping[str, float]  # see `_floors`


def _described(recording: Recording, use: str | None) -> list[tuple[Sweep, Row]]:
    every = list(matched(recording))
    if use is None and not every:
        raise PerfmodelError(
            f"measurement folder {str(recording.folder)!r} has no row that a kernel "
            "describes: give a folder that `perfmodel measure` wrote"
        )
    return [(sweep, row) for sweep, row in every if use in (None, sweep.use_of(row))]


def _pieces(items: Sequence[T], size: int) -> list[Sequence[T]]:
    return [items[i : i + size] for i in range(0, len(items), size)]


def _cases(device: Device, off: frozenset[str], works: Sequence[_Work]) -> list[Case]:
    """Return the cases of some rows, predicted without the mechanisms that are off."""
    switch_off(off)
    return [_case(device, work) for work in works]


def _case(device: Device, work: _Work) -> Case:
    """Return the case of a row; what makes it none is named with its file and line."""
    row = work.row
    try:
        return one_case(work.sweep, row, stated(device, work.floors))
    except PerfmodelError as error:
        where = f"measurement folder {work.folder!r}, {row.topic}.csv, line {row.line}"
        raise PerfmodelError(f"{where}: {error}") from None


def as_timed(device: Device, recording: Recording, row: Row) -> Device:
    """Return a device as the host and the profiler of a row see it."""
    return stated(device, _floors(device, recording, row))


def _floors(device: Device, recording: Recording, row: Row) -> dict[str, float]:
    """Return the figures that the host and the profiler of a row have instead of a device's."""
    floor, cold = recording.event_floor(row), recording.cold_event_floor(row)
    if cold is not None:
        floor = cold - COLD_CODE(device)  # which a cold launch has beside its floor
    floors = {} if floor is None else {"event_floor": floor}
    return floors | recording.profiler_floors(row)


def stated(device: Device, values: Mapping[str, float]) -> Device:
    """Return a device with the launch overheads of a measurement's host and profiler [s]."""
    new = {name: value for name, value in values.items() if value != getattr(device, name)}
    source = "session file of the measurements"
    return device.with_figures(new, "measured", source) if new else device


def one_case(sweep: Sweep, row: Row, device: Device, prediction: Prediction | None = None) -> Case:
    """Return the case of a row that belongs to a sweep; `prediction` is its, if at hand."""
    kernel = sweep.kernel_of(row)
    prediction = prediction or predict_row(sweep, row, device)
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
        low_s=prediction.interval_s[0],
        high_s=prediction.interval_s[1],
        bottleneck=prediction.bottleneck,
        regime=regime(prediction.behind.circumstances, prediction.bottleneck),
        residual_class=residual_class(prediction.behind.circumstances, prediction.bottleneck),
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
