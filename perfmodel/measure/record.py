"""Writing a measurement folder: a CSV a topic, and session.toml about the GPU and the run.

Rows are appended as they come, so that whatever ends a run leaves a folder that another run can go
on with. `perfmodel.measure.recorded` reads it back.
"""

import csv
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, Final

from perfmodel.errors import PerfmodelError
from perfmodel.measure.gpu import GpuFacts
from perfmodel.measure.seal import FORMAT, begins_sealed
from perfmodel.measure.seal import SESSION_FILE as SESSION
from perfmodel.measure.session_file import name_fault, read_session
from perfmodel.measure.sweep import Point, Sweep, counter_metrics
from perfmodel.text_files import write_file

FAILED: Final = "failed.txt"
"""Points of the last run that failed, a line each."""
PROTOCOL: Final = ("use", "timing", "cache", "repeats", "time_us", "spread", "clock_mhz", "flag")
"""Columns that every topic has."""


@dataclass(slots=True)
class Folder:
    """A measurement folder that rows are added to."""

    path: Path
    columns: Mapping[str, list[str]]  # header of each topic's CSV
    seen: set[tuple[str, ...]] = field(default_factory=set)  # rows that are there already

    def has(self, sweep: Sweep, point: Point, timing: str, cache: str) -> bool:
        """Say whether a row is there already."""
        return self._key(sweep, point, timing, cache) in self.seen

    def add(self, sweep: Sweep, point: Point, row: Mapping[str, Any]) -> None:
        """Append a row to the topic's CSV."""
        path, columns = self.path / f"{sweep.topic}.csv", self.columns[sweep.topic]
        whole = {"function": sweep.function, **point.params, "use": point.use, **row}
        new = not path.exists()
        with path.open("a", newline="") as file:
            writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerow(whole)
        self.seen.add(self._key(sweep, point, str(row["timing"]), str(row["cache"])))

    def fail(self, sweep: Sweep, point: Point, reason: str) -> str:
        """Record that a point failed, and return what failed and why, in one line."""
        sizes = " ".join(f"{name}={value}" for name, value in point.params.items())
        line = f"{sweep.topic} {sweep.function} {sizes}: {reason}"
        with (self.path / FAILED).open("a") as file:
            file.write(line + "\n")
        return line

    def _key(self, sweep: Sweep, point: Point, timing: str, cache: str) -> tuple[str, ...]:
        given = {"function": sweep.function, "timing": timing, "cache": cache, **point.params}
        return (sweep.topic, *(str(given.get(name, "")) for name in self._named(sweep.topic)))

    def _named(self, topic: str) -> list[str]:
        columns = self.columns[topic]
        return [*columns[: columns.index("use")], "timing", "cache"]


def open_folder(
    path: Path,
    sweeps: Sequence[Sweep],
    facts: GpuFacts,
    about: Mapping[str, str],
) -> Folder:
    """Start a measurement folder, or go on with one of the same GPU.

    `sweeps`: all that will write to it: they decide the columns. `about`: ``command`` and ``date``,
    for the record.

    Raises `PerfmodelError` if the folder belongs to another GPU or another format, holds something
    else, or rows of it were edited since an earlier run: nothing is written then.
    """
    by_topic: dict[str, list[Sweep]] = {}
    for sweep in sweeps:
        by_topic.setdefault(sweep.topic, []).append(sweep)
    columns = {topic: _columns(some) for topic, some in by_topic.items()}
    folder = Folder(path, columns)
    if (path / SESSION).exists():
        _read_back(folder, _checked_session(path, facts))
    else:
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise PerfmodelError(
                f"{str(path)!r} is not empty and has no {SESSION}: name another folder"
            )
        path.mkdir(parents=True, exist_ok=True)
    (path / FAILED).unlink(missing_ok=True)  # what failed before is tried again
    odd = {name for names in columns.values() for name in names if name_fault(name)}
    described = dict.fromkeys(odd, "parameter of the sweep, in the unit that its name says")
    _write_session(path, facts, about, described)
    return folder


@cache
def known_gpus() -> Mapping[str, Mapping[str, str]]:
    """Return the catalogue's devices by the driver's names, and bases by compute capability."""
    return tomllib.loads((Path(__file__).parent / "known_gpus.toml").read_text())


def note_floor(path: Path) -> None:
    """State in the session file what an empty kernel read between events, if that was measured."""
    import tomli_w

    launches = path / "launch.csv"
    if not launches.exists():
        return
    with launches.open(newline="") as file:
        floors = [
            float(row["time_us"])
            for row in csv.DictReader(file)
            if (row["grid"], row["timing"], row["cache"]) == ("1", "events", "warm")
        ]
    if not floors:
        return
    session = tomllib.loads((path / SESSION).read_text())
    session.setdefault("protocol", {})["event_floor_us"] = round(median(floors), 3)
    write_file(path / SESSION, tomli_w.dumps(session))


def _columns(sweeps: Sequence[Sweep]) -> list[str]:
    names = {"function": None}
    for s in sweeps:
        for case in s.table.get("cases", [{}]):
            names |= dict.fromkeys(case)
        names |= dict.fromkeys(s.table.get("vary", {})) | dict.fromkeys(s.table.get("set", {}))
    taken = [n for n in names if n in (*PROTOCOL, "cycles", *counter_metrics())]
    if taken:
        raise PerfmodelError(
            f"{sweeps[0].where}: parameter {taken[0]!r} is called like a measured column: rename it"
        )
    cycles = ["cycles"] if any(s.clocks for s in sweeps) else []
    counted = [name for name in counter_metrics() if any(name in s.counters for s in sweeps)]
    return [*names, *PROTOCOL, *cycles, *counted]


def _read_back(folder: Folder, session: Mapping[str, Any]) -> None:
    """Note the rows that are there; the rest of one that was cut short is dropped."""
    sealed = session.get("files", {})
    paths = {topic: folder.path / f"{topic}.csv" for topic in folder.columns}
    found = {topic: path.read_bytes() for topic, path in paths.items() if path.exists()}
    whole = {topic: content[: content.rfind(b"\n") + 1] for topic, content in found.items()}
    for topic, content in whole.items():
        named = repr(str(paths[topic]))
        if f"{topic}.csv" in sealed and not begins_sealed(content, sealed[f"{topic}.csv"]):
            raise PerfmodelError(
                f"{named} is not as it was recorded: it was edited or cut short; restore it, or "
                "delete it to measure it again"
            )
        header = ",".join(folder.columns[topic]).encode()
        if content.partition(b"\n")[0] != header:
            raise PerfmodelError(
                f"{named} has other columns than this version writes: name another folder"
            )
    for topic, content in whole.items():
        if content != found[topic]:
            write_file(paths[topic], content)
        for row in csv.DictReader(content.decode("utf-8", "replace").splitlines()):
            folder.seen.add((topic, *(row[name] for name in folder._named(topic))))


def _checked_session(path: Path, facts: GpuFacts) -> dict[str, Any]:
    session = read_session(path, f"measurement folder {str(path)!r}")
    gpu = session.get("machine", {}).get("gpu")
    if gpu != facts.name:
        raise PerfmodelError(
            f"{str(path / SESSION)!r} is of a {gpu}, this is a {facts.name}: name another folder"
        )
    return session


def _write_session(
    path: Path, facts: GpuFacts, about: Mapping[str, str], described: Mapping[str, str]
) -> None:
    import tomli_w

    held = asdict(facts)
    held["gpu"] = held.pop("name")
    held["compute_capability"] = ".".join(map(str, facts.compute_capability))
    device = known_gpus()["device"].get(facts.name)
    if device:
        held["device"] = device
    previous = {}
    if (path / SESSION).exists():
        previous = tomllib.loads((path / SESSION).read_text())
    runs = [*previous.get("run", []), dict(about)]
    columns = {**previous.get("columns", {}), **dict(sorted(described.items()))}
    whole = {**previous, "format": FORMAT, "machine": held, "run": runs, "columns": columns}
    write_file(path / SESSION, tomli_w.dumps(whole))
