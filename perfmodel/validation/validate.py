"""Validation: a device's predictions held against a measurement folder, baselines beside.

A transfer says what one GPU's measurements say of another, from that one's data sheet alone. The
target keeps what its data sheet and architecture fix: SMs, clock, lanes, limits, capacities, peak
rates and the DRAM's peak bandwidth. All that must be measured comes from the teacher, in the unit
in which it is expected to carry over: what happens on an SM or in L2 in clocks, what happens in
DRAM in seconds and as a share of the peak, the launch in seconds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from perfmodel.chunks import HERE, Workers
from perfmodel.errors import PerfmodelError, shown
from perfmodel.hardware import Device, device_names, load_device
from perfmodel.measure import folders
from perfmodel.measure.recorded import Recording
from perfmodel.rows_file import RowsFile
from perfmodel.validation.case import Case
from perfmodel.validation.cases import Progress, cases_of, left_out, with_topics
from perfmodel.validation.scores import Constants, Judged, data_sheet, fit_constants, fitted

Use = Literal["fit", "validation"]
DEVICES: Final = Path(__file__).with_name("devices")
"""Device files of GPUs outside the catalogue that others published measurements of."""


@dataclass(frozen=True, slots=True)
class Validation:
    """Predictions of a device against measurements."""

    device: Device
    machine: Mapping[str, Any]  # what the session file says of the GPU that was measured
    folders: tuple[str, ...]  # names of the measurement folders: "suite/h100-sxm/sweeps"
    published: bool  # whether others measured
    judged: tuple[Judged, ...]  # all cases with the baselines' times
    constants: Mapping[str, Constants]  # of the fitted roofline, by timing
    left_out: int  # rows that are flagged as wrong
    # Rows with a time, in L2 states that predictions know, that no kernel describes.
    undescribed: int

    def used(self, use: Use) -> list[Judged]:
        """Return the cases that are for fitting, or those for validation."""
        return [j for j in self.judged if j.case.use == use]


@dataclass(frozen=True, slots=True)
class Transfer:
    """Measurements of one GPU, predicted from its data sheet and a teacher."""

    device: str
    gpu: str
    teacher: str
    # Predicted from the data sheet and what the teacher's measurements say.
    taught: tuple[Judged, ...]
    # Predicted from the catalogue's figures, its own microbenchmarks among them; empty where the
    # catalogue does not have the device.
    own: tuple[Judged, ...]
    published: bool = True  # whether others measured


def find_recordings(device: str) -> list[Recording]:
    """Return a device's recorded measurements, ours before those of others.

    Raises `PerfmodelError` if there are none, naming what there is; or if one cannot be read.
    """
    ours = folders.measured()
    others = {n: f for n, f in folders.published().items() if n in device_names()}
    found = ours.get(device) or others.get(device)
    if found is None:
        raise PerfmodelError(
            f"no measurements of {shown(device)} are recorded; there are our own of "
            f"{', '.join(ours) or 'none'}, and published ones of {', '.join(others) or 'none'}; "
            "--from DIR reads a folder of yours"
        )
    return [folders.recording(folder) for folder in found]


def validate(
    recordings: Sequence[Recording],
    device: Device,
    progress: Progress | None = None,
    workers: Workers = HERE,
    use: Use | None = None,
    sampled: Callable[[Validation, int], Any] | None = None,
    rows: RowsFile | None = None,
) -> Validation:
    """Return how a device's predictions and the baselines compare with recordings of one GPU.

    Arguments are those of `perfmodel.validation.cases.cases_of`; `sampled` is given the validation
    of a sample, and that it is one in so many cases, before the others are predicted.
    """

    def first(cases: list[Case], step: int) -> None:
        if sampled is not None:
            sampled(_judged(recordings, device, cases), step)

    cases = cases_of(recordings, device, progress, use, workers, first if sampled else None, rows)
    return _judged(recordings, device, cases)


def _judged(recordings: Sequence[Recording], device: Device, cases: Sequence[Case]) -> Validation:
    constants = fit_constants(cases, device)
    times = zip(cases, data_sheet(cases, device), fitted(cases, device, constants), strict=True)
    return Validation(
        device=device,
        machine=recordings[0].machine,
        folders=tuple(folders.name(recording.folder) for recording in recordings),
        published=recordings[0].machine.get("origin") == "published",
        judged=tuple(Judged(case, float(sheet), float(roof)) for case, sheet, roof in times),
        constants=constants,
        left_out=sum(map(left_out, recordings)),
        undescribed=sum(map(_timed, recordings)) - len(cases),
    )


def _timed(recording: Recording) -> int:
    rows = (row for topic in recording.topics.values() for row in topic.rows)
    return sum(row.trusted and row.cache in ("cold", "warm") for row in rows)


def transfers(
    teacher: Device, progress: Progress = lambda *_: None, workers: Workers = HERE
) -> list[Transfer]:
    """Return the measurements of all other GPUs as a teacher that we measured predicts them.

    Of a GPU that we measured too, those launches that nothing is fitted on, in the topics that are
    recorded of the teacher as well; of others, all that is published. `progress` is told how many
    GPUs of how many are done.
    """
    listed_names = set(device_names()) - {teacher.name}  # folders of other programs name no device
    ours = {n: f for n, f in folders.measured().items() if n in listed_names}
    others = {n: f for n, f in folders.published().items() if n != teacher.name}
    topics = {t for r in find_recordings(teacher.name) for t in r.topics} if ours else set()
    found = []
    total = len(ours) + len(others)
    for done, (name, paths) in enumerate(ours.items()):
        progress(done, total)
        recordings = [with_topics(folders.recording(path), topics) for path in paths]
        found.append(_transfer(load_device(name), teacher, recordings, workers, "validation"))
    for done, (name, (folder, *_)) in enumerate(others.items(), len(ours)):
        progress(done, total)
        # A GPU outside the catalogue comes with a device file that extends the teacher's.
        own_file = DEVICES / f"{name}.toml"
        listed = load_device(own_file) if own_file.exists() else load_device(name)
        found.append(_transfer(listed, teacher, [folders.recording(folder)], workers))
    progress(total, total)
    return found


def _transfer(
    listed: Device,
    teacher: Device,
    recordings: Sequence[Recording],
    workers: Workers,
    use: Use | None = None,
) -> Transfer:
    own = listed.name in device_names()
    target = transferred(listed, teacher)
    machine = recordings[0].machine
    return Transfer(
        device=listed.name,
        gpu=str(machine.get("gpu", listed.name)),
        teacher=teacher.name,
        taught=validate(recordings, target, workers=workers, use=use).judged,
        own=validate(recordings, listed, workers=workers, use=use).judged if own else (),
        published=machine.get("origin") == "published",
    )


IN_CLOCKS: Final = ("shared_latency", "l1_latency", "l2_latency", "l2_far_latency")
"""Latencies that take as many SM clocks on both."""
PER_SM_CLOCK: Final = (
    "l2_read_bandwidth",
    "l2_write_bandwidth",
    "l2_crossing_bandwidth",
)
"""Bandwidths that are as many bytes a clock and SM on both."""
PER_CLOCK: Final = ("block_dispatch_rate",)
"""Rates that are as many a clock on both."""
SAME: Final = (
    "dram_read_efficiency",
    "dram_write_efficiency",
    "dram_copy_efficiency",
    "launch_floor",
    "event_floor",
)
"""Shares and times that are the same on both."""


def transferred(target: Device, teacher: Device) -> Device:
    """Return the target with everything that must be measured taken over from the teacher."""
    clocks = teacher.sm_clock / target.sm_clock
    size = (target.sm_count * target.sm_clock) / (teacher.sm_count * teacher.sm_clock)
    taught: dict[str, float] = {}
    for names, factor in (
        (IN_CLOCKS, clocks),
        (PER_SM_CLOCK, size),
        (PER_CLOCK, 1 / clocks),
        (SAME, 1.0),
    ):
        for name in names:
            value = getattr(teacher, name)
            if value is not None:
                taught[name] = value * factor
    # On the way to DRAM a load crosses L2, in clocks; DRAM itself keeps its own time.
    beyond_l2 = teacher.dram_latency - teacher.l2_latency
    taught["dram_latency"] = taught["l2_latency"] + beyond_l2
    made = target.with_figures(taught, "derived", f"transfer from {teacher.name}")
    return replace(made, title=f"{target.title}, as a {teacher.name} predicts it")
