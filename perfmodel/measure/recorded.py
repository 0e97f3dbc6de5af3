"""Recorded measurements: a folder with one CSV a topic and a session file, read and checked.

The session file says what was measured and how::

    format = 1

    [machine]
    device = "h200-sxm"        # catalogue name of the GPU, if it has one
    gpu = "NVIDIA H200"
    driver = "580.159.04"

    [columns]                  # meaning and unit of columns, as far as they are not generally known
    pitch = "floats from the start of a run to that of the next"

    [files]                    # written by perfmodel.measure.seal.seal
    "gemm.csv" = "0123..."

Nothing doubtful is read: what was cut short or edited, what is in other units, and numbers that no
clock gives are refused, with the file and the line.
"""

import csv
import io
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.measure.seal import SESSION_FILE, checksum, measured_files
from perfmodel.measure.session_file import (
    INPUTS,
    PLAUSIBLE,
    RESULTS,
    WORDED,
    WORDS,
    name_fault,
    read_session,
)
from perfmodel.text_files import read_bytes

Value = str | int | float

MAX_BYTES: Final = 1 << 26
"""Largest CSV that is read [B]."""
_MOST_DIGITS: Final = 300
"""Fewer than any float that is not infinite may have."""
HARMLESS: Final = ("", "clock unknown")
"""Flags of rows whose times count all the same."""


@dataclass(frozen=True, slots=True)
class Row:
    """One measured point."""

    topic: str
    line: int  # its line in the CSV
    values: Mapping[str, Value]  # by column; a column that says nothing about the row is absent

    @property
    def time_s(self) -> float | None:
        """Time of a launch [s]; None where none was taken."""
        time = self.values.get("time_us")
        return None if time is None else float(time) * 1e-6

    @property
    def timing(self) -> str:
        """How it was timed: "profiler", "events" or ""."""
        return str(self.values.get("timing", ""))

    @property
    def cache(self) -> str:
        """What L2 held at the start: "cold", "warm", "dirty" or ""."""
        return str(self.values.get("cache", ""))

    @property
    def use(self) -> str:
        """Whether a fit may use it: "fit", "validation", or "" where the row does not say."""
        return str(self.values.get("use", ""))

    @property
    def flag(self) -> str:
        """What went wrong with it; "" if nothing did."""
        return str(self.values.get("flag", ""))

    @property
    def trusted(self) -> bool:
        """Whether its time counts: there is one, and nothing went wrong that changes it."""
        return self.time_s is not None and self.flag in HARMLESS


@dataclass(frozen=True, slots=True)
class Topic:
    """One CSV."""

    name: str  # its path in the folder, without ``.csv``: "gemm", "holdout/gemm"
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Recording:
    """A measurement folder."""

    folder: Path
    session: Mapping[str, Any]  # the session file, as read
    topics: Mapping[str, Topic]  # sorted by name

    @property
    def machine(self) -> Mapping[str, Any]:
        """The session file's table about the GPU."""
        found: Mapping[str, Any] = self.session.get("machine", {})
        return found

    def event_floor(self, row: Row) -> float | None:
        """Return what an empty kernel read between events while a row was measured [s].

        It depends on the host and on how launches are queued, so a session may say it: as
        ``event_floor_us`` under ``[session-1]`` for the rows of session 1, or under ``[protocol]``
        for all. None where it does not.
        """
        floor = self._stated(row).get("event_floor_us")
        return None if floor is None else float(floor) * 1e-6

    def cold_event_floor(self, row: Row) -> float | None:
        """Return what an empty kernel read between events after a flush [s], where a session says.

        The host queues it behind the flush, and its code and arguments have left L2: as
        ``event_floor_cold_us``, for cold rows.
        """
        floor = self._stated(row).get("event_floor_cold_us") if row.cache == "cold" else None
        return None if floor is None else float(floor) * 1e-6

    def _stated(self, row: Row) -> Mapping[str, Any]:
        """Return what the session file says of a row's protocol, its own session first."""
        own = self.session.get(f"session-{row.values.get('session', '')}", {})
        return {**self.session.get("protocol", {}), **own}

    def profiler_floors(self, row: Row) -> dict[str, float]:
        """Return what the row's profiler reads for an empty kernel, any work, and each warp [s].

        By the name of the device's figure that it stands in for. A session that was timed by
        another profiler than the catalogue's says it, as ``profiler_floor_us``,
        ``profiler_fetch_us`` and ``profiler_warp_us`` under ``[protocol]``.
        """
        protocol = self.session.get("protocol", {})
        if row.timing != "profiler":
            return {}
        return {
            f"launch_{name}": float(protocol[f"profiler_{name}_us"]) * 1e-6
            for name in ("floor", "fetch", "warp")
            if f"profiler_{name}_us" in protocol
        }

    @property
    def device(self) -> str | None:
        """Catalogue name of the GPU, if the session file gives one."""
        return self.machine.get("device")


def read_recording(folder: str | Path) -> Recording:
    """Return the measurements of a folder.

    `folder` has a session file and CSVs, some of which may lie in folders of their own; what lies
    in ``program/`` is not read.

    Raises `PerfmodelError` if there is no session file, its format is another, a CSV is missing,
    was changed since it was sealed, or holds what cannot be: unknown columns or units, NaN, times
    that are not above zero, a point twice.
    """
    folder = Path(folder)
    where = f"measurement folder {str(folder)!r}"
    if not os.path.isdir(folder):  # unlike Path's, False for a name that is too long
        raise PerfmodelError(f"{where} does not exist: give a folder with a {SESSION_FILE}")
    session = read_session(folder, where)
    described = session.get("columns", {})
    topics = {}
    for name, digest in _files(session, folder, where).items():
        content = read_bytes(folder / name, f"{where}, {name}", "measurements", MAX_BYTES)
        if checksum(content) != digest:
            raise PerfmodelError(
                f"{where}, {name} is not as it was recorded (its checksum differs): it was edited "
                "or cut short; restore or measure it again"
            )
        topic = name.removesuffix(".csv")
        topics[topic] = _topic(topic, content, described, f"{where}, {name}")
    return Recording(folder, MappingProxyType(session), MappingProxyType(topics))


def _files(session: Mapping[str, Any], folder: Path, where: str) -> dict[str, str]:
    """Return the checksums by file, after a look at what lies in the folder."""
    files = session.get("files", {})
    if not isinstance(files, dict) or not all(isinstance(v, str) for v in files.values()):
        raise PerfmodelError(f"{where}, {SESSION_FILE}: files must be a table of checksums")
    there = {p.relative_to(folder).as_posix() for p in measured_files(folder)}
    for name in sorted(there - set(files)):
        raise PerfmodelError(
            f"{where}, {name} has no checksum in {SESSION_FILE}: remove it, or seal the folder "
            "if it belongs there"
        )
    for name in sorted(set(files) - there):
        raise PerfmodelError(f"{where}, {name} is missing: restore or measure it again")
    if not files:
        raise PerfmodelError(f"{where} has no CSV: nothing was measured")
    return dict(sorted(files.items()))


def _topic(name: str, content: bytes, described: Mapping[str, Any], where: str) -> Topic:
    try:
        lines = list(csv.reader(io.StringIO(content.decode("utf-8"), newline=""), strict=True))
    except UnicodeDecodeError as error:
        raise PerfmodelError(
            f"{where} is not UTF-8 text (byte {error.start}): save it so"
        ) from None
    except csv.Error as error:
        raise PerfmodelError(f"{where} is not a CSV file: {error}") from None
    if not lines:
        raise PerfmodelError(f"{where} is empty: its first line must name the columns")
    columns = tuple(lines[0])
    _check_columns(columns, described, where)
    known: tuple[dict[str, Value], ...] = tuple({} for _ in columns)
    rows = []
    for number, cells in enumerate(lines[1:], 2):
        if cells:
            place = f"{where}, line {number}"
            rows.append(_row(name, _values(columns, cells, known, place), number, place))
    _check_points(columns, rows, where)
    return Topic(name, columns, tuple(rows))


def _check_columns(columns: Sequence[str], described: Mapping[str, Any], where: str) -> None:
    for name in columns:
        if columns.count(name) > 1:
            raise PerfmodelError(f"{where} has two columns {shown(name)}: rename one")
        fault = None if name in described else name_fault(name)
        if fault is not None:
            raise PerfmodelError(f"{where}: column {shown(name)} is not allowed: {fault}")
    for name in columns[parameter_count(columns) :]:
        if name not in RESULTS and name not in described:
            raise PerfmodelError(
                f"{where}: column {shown(name)} is unknown{nearest(name, [*RESULTS, *described])}; "
                f"describe it, with its unit, under [columns] in {SESSION_FILE}"
            )
    if "time_us" not in columns and "cycles" not in columns:
        raise PerfmodelError(f"{where} has no column time_us (nor cycles): it measures nothing")
    if "time_us" in columns:
        for name in ("timing", "repeats"):
            if name not in columns:
                raise PerfmodelError(
                    f"{where} has no column {name}, without which its times mean nothing: "
                    f"add {name} ({RESULTS[name]})"
                )


def parameter_count(columns: Sequence[str]) -> int:
    """Return how many of a topic's columns are parameters: those before the first result."""
    return next((i for i, name in enumerate(columns) if name in RESULTS), len(columns))


def _values(
    columns: Sequence[str], cells: Sequence[str], known: Sequence[dict[str, Value]], where: str
) -> dict[str, Value]:
    """Return what the cells of a line hold; those read before, by column and text, are `known`."""
    if len(cells) != len(columns):
        raise PerfmodelError(
            f"{where} has {len(cells)} cells, but {len(columns)} columns are named: "
            "the line is cut short or broken"
        )
    values = {}
    for name, cell, before in zip(columns, cells, known, strict=True):
        if cell == "":
            continue
        value = before.get(cell)
        if value is None:
            value = before[cell] = _value(name, cell, where)
        values[name] = value
    return values


def _row(topic: str, values: dict[str, Value], line: int, where: str) -> Row:
    for name, (low, high) in PLAUSIBLE.items():
        number = values.get(name)
        if number is None:
            continue
        if not (isinstance(number, int | float) and number > 0):
            raise PerfmodelError(f"{where}: {name} must be above 0, not {number!r}")
        if not low <= number <= high:
            raise PerfmodelError(
                f"{where}: {name} is {number:g}, beyond {low:g} to {high:g}, what "
                f"GPUs have: is it in another unit? It must be: {RESULTS[name]}"
            )
    if "time_us" not in values and "cycles" not in values and "flag" not in values:
        raise PerfmodelError(
            f"{where} has neither a time nor a flag that says why: measure it again"
        )
    for name, allowed in WORDED.items():
        if name in values and values[name] not in allowed:
            raise PerfmodelError(
                f"{where}: {name} must be {' or '.join(allowed)}, not {shown(values[name])}"
            )
    if "time_us" in values and "timing" not in values:
        raise PerfmodelError(
            f"{where} has a time, but timing does not say which: {' or '.join(WORDED['timing'])}"
        )
    return Row(topic, line, MappingProxyType(values))


def _value(name: str, cell: str, where: str) -> Value:
    if name in WORDS:
        return cell
    try:
        number = _number(cell)
    except ValueError:
        if name in RESULTS:
            raise PerfmodelError(f"{where}: {name} must be a number, not {shown(cell)}") from None
        return cell
    if not math.isfinite(number):
        raise PerfmodelError(f"{where}: {name} must be finite, not {cell}")
    if name in RESULTS and number < 0:
        raise PerfmodelError(f"{where}: {name} must not be negative, not {cell}")
    return number


def _number(cell: str) -> int | float:
    """Return a cell's number; ``1_000`` and one between spaces are none, unlike in Python."""
    if "_" in cell or cell != cell.strip():
        raise ValueError
    try:
        number = int(cell) if len(cell) < _MOST_DIGITS else float(cell)
    except ValueError:
        number = float(cell)
    return number


def _check_points(columns: Sequence[str], rows: Sequence[Row], where: str) -> None:
    keys = [*columns[: parameter_count(columns)], *(name for name in INPUTS if name in columns)]
    # Patterns of offsets stand after the results, but tell points apart like a parameter.
    keys += [name for name in columns if name not in RESULTS and name not in keys]
    seen: dict[tuple[Value | None, ...], int] = {}
    for row in rows:
        point = tuple(map(row.values.get, keys))
        if point in seen:
            raise PerfmodelError(
                f"{where}, line {row.line} repeats the point of line {seen[point]}: keep one"
            )
        seen[point] = row.line
