"""Where two records differ."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.record.store import Table


@dataclass(frozen=True, slots=True)
class Difference:
    """One launch whose values are not all the same."""

    launch: str
    columns: tuple[str, ...]
    """Those that differ, or that only one record has."""
    time: float
    """Relative change of the time."""


def differences(before: Table, after: Table) -> list[Difference]:
    """Return the launches of `after` that differ from `before` in any bit, the worst first.

    Raises
    ------
    KeyError
        If `before` does not have a launch.
    """
    found = []
    for launch, row in after.items():
        old = before[launch]
        columns = tuple(
            name for name in sorted({*old, *row}) if not _same(old.get(name), row.get(name))
        )
        if columns:
            found.append(Difference(launch, columns, row["time_s"] / old["time_s"] - 1))
    return sorted(found, key=lambda each: -abs(each.time))


def largest(before: Table, after: Table) -> Mapping[str, float]:
    """Return the largest relative change of each column that changed."""
    found: dict[str, float] = {}
    for launch, row in after.items():
        for name, value in row.items():
            old = before[launch].get(name)
            if old is not None and not _same(old, value):
                change = abs(value - old) / max(abs(old), abs(value))
                found[name] = max(found.get(name, 0.0), change)
    return found


def _same(old: float | None, new: float | None) -> bool:
    if old is None or new is None:
        return old is new
    return struct.pack("<d", old) == struct.pack("<d", new)
