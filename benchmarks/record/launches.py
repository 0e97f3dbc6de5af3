"""What is recorded: every row of the scoreboards, and every launch of the source corpora."""

from __future__ import annotations

import json
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from perfmodel import predict
from perfmodel.cuda.compile.program import Program, load_program
from perfmodel.cuda.kernel.translate import translated
from perfmodel.cuda.launch.launch_file import launch_from_table, read_launches
from perfmodel.cuda.launch.spec import LaunchSpec
from perfmodel.hardware import Device, device_names, load_device
from perfmodel.measure import folders
from perfmodel.measure.recorded import Recording, read_recording
from perfmodel.prediction import Prediction
from perfmodel.prediction.conditions import by_the_models
from perfmodel.validation.cases import as_timed, launch_of, matched
from perfmodel.validation.validate import find_recordings

SOURCE_DEVICES: Final = ("h100-sxm", "h200-sxm")
ARCHITECTURE: Final = "sm_90"

Values = dict[str, float]
"""Time and terms in seconds, and traffic, by name."""


@dataclass(frozen=True, slots=True)
class Part:
    """Launches that are predicted together: a scoreboard's folder, or one source file."""

    kind: str
    """"scoreboard" or "sources"."""
    name: str
    """Device and folder, or the file's path under measurements/."""
    first: int = 0
    step: int = 1
    """Which of its launches, as of a slice."""


def parts(every: int = 1, split: int = 400) -> list[Part]:
    """Return all parts, or those of one launch in so many, large folders in pieces."""
    return [*scoreboard_parts(every, split), *source_parts(every)]


def scoreboard_parts(every: int = 1, split: int = 400) -> list[Part]:
    """Return those of the scoreboards."""
    found = []
    for device in _devices():
        for recording in find_recordings(device):
            name = f"{device} {folders.name(recording.folder)}"
            count = sum(1 for _ in matched(recording))
            pieces = max(count // every // split, 1) if count else 0
            found += [
                Part("scoreboard", name, piece * every, pieces * every) for piece in range(pieces)
            ]
    return found


def source_parts(every: int = 1) -> list[Part]:
    """Return those of the sources."""
    return [Part("sources", name, 0, every) for name in _sources()]


def predicted(part: Part) -> Iterator[tuple[str, Values]]:
    """Yield the launches of a part, each with its name and what is predicted."""
    yield from _scoreboard(part) if part.kind == "scoreboard" else _source(part)


def predict_part(part: Part) -> tuple[Part, list[tuple[str, Values]]]:
    """Return a part and its launches: for processes that cannot send an iterator."""
    return part, list(predicted(part))


def values(prediction: Prediction) -> Values:
    """Return what is recorded of a prediction."""
    return {
        "time_s": float(prediction.time_s),
        **{f"term {name}": float(value) for name, value in prediction.terms_s.items()},
        **{f"traffic {name}": float(value) for name, value in prediction.traffic.items()},
    }


def _devices() -> list[str]:
    known = set(device_names())
    return sorted({*folders.measured(), *folders.published()} & known)


@lru_cache(maxsize=4)
def _recording(name: str) -> tuple[Device, Recording]:
    device, folder = name.split()
    return load_device(device), read_recording(folders.root() / folder)


def _predicted(*args: Any, **launch: Any) -> Values:
    with by_the_models():
        return values(predict(*args, **launch))


def _scoreboard(part: Part) -> Iterator[tuple[str, Values]]:
    device, recording = _recording(part.name)
    for sweep, row in list(matched(recording))[part.first :: part.step]:
        timed = as_timed(device, recording, row)
        name = f"{part.name} {row.topic} {row.line}"
        yield name, _predicted(**launch_of(sweep, row, timed))


def _sources() -> list[str]:
    kernels = folders.root() / "source-kernels"
    found = [
        path.relative_to(folders.root()).as_posix()
        for path in sorted(kernels.glob("*/*/program/*.toml"))
        if path.with_suffix(".cu").exists() and _is_corpus(path.parts[-3])
    ]
    return [*found, "matrix-products/h200-sxm/wgmma/launches.jsonl"]


def _is_corpus(session: str) -> bool:
    return session.startswith("corpus") or session == "first-kernels"


def _source(part: Part) -> Iterator[tuple[str, Values]]:
    path = folders.root() / part.name
    triton = path.suffix == ".jsonl"
    launches = _triton(path, part) if triton else compiled(path, part)
    for number, program, launch in launches:
        kernel = translated(program, launch)
        for device in SOURCE_DEVICES:
            found = _predicted(kernel, device=load_device(device))
            yield f"{device} {part.name} {number}", found


def compiled(path: Path, part: Part) -> Iterator[tuple[int, Program, LaunchSpec]]:
    """Yield launches of a source's launch file, numbered from 1, with its program; needs nvcc."""
    launches = list(enumerate(read_launches(path), 1))[part.first :: part.step]
    if launches:
        program = load_program(path.with_suffix(".cu"), ARCHITECTURE)
        yield from ((number, program, launch) for number, launch in launches)


def _triton(path: Path, part: Part) -> Iterator[tuple[int, Program, LaunchSpec]]:
    tables = [json.loads(line) for line in path.read_text().splitlines()]
    with tarfile.open(path.with_name("ptx.tar.gz")) as archive, tempfile.TemporaryDirectory() as to:
        archive.extractall(to, filter="data")
        for number, table in list(enumerate(tables, 1))[part.first :: part.step]:
            (file,) = Path(to).rglob(f"{table.pop('name')}.ptx")
            yield number, load_program(file), launch_from_table(table, "", Path(to))
