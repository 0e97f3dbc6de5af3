"""Numbers of recorded measurements: one cell of a sealed CSV of the package."""

from functools import lru_cache
from typing import Final

from perfmodel.drills.sources import Found, Measured
from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.measure import folders
from perfmodel.measure.recorded import Recording

_CELLS: Final = {"us": ("us", 1e-6), "bytes": ("B", 1.0), "sectors": ("sectors", 1.0)}
"""Unit and SI value of a column, by the last word of its name."""


@lru_cache(maxsize=64)
def measured(source: Measured) -> Found:
    """Return the cell that a source names, in SI, with its file, line and GPU."""
    known = folders.sessions()
    if source.folder not in known:
        raise PerfmodelError(
            f"there are no measurements {shown(source.folder)}{nearest(source.folder, known)}"
        )
    recording = _recording(source.folder)
    topic = recording.topics.get(source.topic)
    if topic is None:
        raise PerfmodelError(
            f"measurements {source.folder} have no topic {shown(source.topic)}"
            f"{nearest(source.topic, recording.topics)}"
        )
    for column in (source.column, *(name for name, _ in source.where)):
        if column not in topic.columns:
            raise PerfmodelError(
                f"{source.folder}/{source.topic}.csv has no column {shown(column)}"
                f"{nearest(column, topic.columns)}"
            )
    rows = [
        row
        for row in topic.rows
        if all(row.values.get(name) == value for name, value in source.where)
        and source.column in row.values
    ]
    if len(rows) != 1:
        raise PerfmodelError(
            f"{len(rows)} rows of {source.folder}/{source.topic}.csv have these values: "
            "where must name one"
        )
    cell = rows[0].values[source.column]
    unit, scale = _CELLS.get(source.column.rpartition("_")[2], ("", 1.0))
    machine = recording.machine
    driver = f", driver {machine['driver']}" if "driver" in machine else ""
    origin = (
        f"measurements/{source.folder}/{source.topic}.csv, line {rows[0].line}: "
        f"{machine.get('gpu', source.folder)}{driver}"
    )
    if isinstance(cell, str):
        return Found(cell, origin=origin)
    return Found(cell * scale if scale != 1.0 else cell, unit, origin)


@lru_cache(maxsize=8)
def _recording(folder: str) -> Recording:
    return folders.recording(folders.root() / folder)
