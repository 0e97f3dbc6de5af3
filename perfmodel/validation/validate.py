"""Validation: a device's predictions held against a measurement folder, baselines beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from perfmodel.errors import PerfmodelError, shown
from perfmodel.hardware import Device, device_names, load_device
from perfmodel.measure import folders
from perfmodel.measure.recorded import Recording, read_recording
from perfmodel.validation.baselines import Constants, data_sheet, fit_constants, fitted
from perfmodel.validation.cases import Progress, left_out, predicted_cases
from perfmodel.validation.scores import Judged
from perfmodel.validation.transfer import transferred

Use = Literal["fit", "validation"]


@dataclass(frozen=True, slots=True)
class Validation:
    """Predictions of a device against measurements.

    Attributes
    ----------
    device : Device
    machine : mapping
        What the session file says of the GPU that was measured.
    folders : tuple of str
        Names of the measurement folders.
    published : bool
        Whether others measured.
    judged : tuple of Judged
        All cases with the baselines' times.
    constants : mapping of str to Constants
        Of the fitted roofline, by timing.
    left_out : int
        Rows that are flagged as wrong.
    undescribed : int
        Rows with a time, in L2 states that predictions know, that no kernel describes.
    """

    device: Device
    machine: Mapping[str, Any]
    folders: tuple[str, ...]
    published: bool
    judged: tuple[Judged, ...]
    constants: Mapping[str, Constants]
    left_out: int
    undescribed: int

    def used(self, use: Use) -> list[Judged]:
        """Return the cases that are for fitting, or those for validation."""
        return [j for j in self.judged if j.case.use == use]


@dataclass(frozen=True, slots=True)
class Transfer:
    """Published measurements of one GPU, predicted from its data sheet and a teacher.

    Attributes
    ----------
    device : str
    gpu : str
    teacher : str
    taught : tuple of Judged
        Predicted from the data sheet and what the teacher's measurements say.
    own : tuple of Judged
        Predicted from the catalogue's figures, published microbenchmarks among them; empty where
        the catalogue does not have the device.
    """

    device: str
    gpu: str
    teacher: str
    taught: tuple[Judged, ...]
    own: tuple[Judged, ...]


def find_recordings(device: str) -> list[Recording]:
    """Return a device's recorded measurements, ours before those of others.

    Raises
    ------
    PerfmodelError
        If there are none, naming what there is; or if one cannot be read.
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
    return [read_recording(folder) for folder in found]


def validate(
    recordings: Sequence[Recording],
    device: Device,
    progress: Progress | None = None,
    workers: int = 1,
) -> Validation:
    """Return how a device's predictions and the baselines compare with recordings of one GPU.

    Parameters
    ----------
    recordings : sequence of Recording
    device : Device
    progress : callable, optional
        Is told how many cases of how many are done, recording by recording.
    workers : int
        Processes that share the work.
    """
    cases = [
        case
        for recording in recordings
        for case in predicted_cases(recording, device, progress, workers=workers)
    ]
    constants = fit_constants(cases, device)
    times = zip(cases, data_sheet(cases, device), fitted(cases, device, constants), strict=True)
    return Validation(
        device=device,
        machine=recordings[0].machine,
        folders=tuple(recording.folder.resolve().name for recording in recordings),
        published=recordings[0].machine.get("origin") == "published",
        judged=tuple(Judged(case, float(sheet), float(roof)) for case, sheet, roof in times),
        constants=constants,
        left_out=sum(map(left_out, recordings)),
        undescribed=sum(map(_timed, recordings)) - len(cases),
    )


def _timed(recording: Recording) -> int:
    rows = (row for topic in recording.topics.values() for row in topic.rows)
    return sum(row.trusted and row.cache in ("cold", "warm") for row in rows)


def transfers(teacher: Device, progress: Progress | None = None) -> list[Transfer]:
    """Return the published measurements of all other GPUs as the teacher predicts them.

    Parameters
    ----------
    teacher : Device
        A GPU that we measured.
    progress : callable, optional
        Is told how many GPUs of how many are done.
    """
    others = {n: f for n, f in folders.published().items() if n != teacher.name}
    found = []
    for done, (name, (folder, *_)) in enumerate(others.items()):
        if progress is not None:
            progress(done, len(others))
        recording = read_recording(folder)
        # A GPU outside the catalogue comes with a device file that extends the teacher's.
        own_file = folder / "device.toml"
        listed = None if own_file.exists() else load_device(name)
        target = load_device(own_file) if listed is None else transferred(listed, teacher)
        found.append(
            Transfer(
                device=name,
                gpu=str(recording.machine.get("gpu", name)),
                teacher=teacher.name,
                taught=validate([recording], target).judged,
                own=() if listed is None else validate([recording], listed).judged,
            )
        )
    if progress is not None:
        progress(len(others), len(others))
    return found
