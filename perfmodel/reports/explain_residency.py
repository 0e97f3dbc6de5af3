"""What L2 keeps of tables, and what a set-aside costs writes: the formulas with numbers put in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Final

from perfmodel.models.dram.writeback import LOST_TIME, WRITEBACK_TIME
from perfmodel.models.l2.residency import GRANTED_WAYS, PICKED, ROOM, TABLE_MISSES, WAYS, granted
from perfmodel.models.l2.tables import Table
from perfmodel.prediction.record import Prediction
from perfmodel.reports import units
from perfmodel.reports.step import Step, definition, named, scalar, step

RESIDENCY: Final = "L2 residency"


def residency_steps(prediction: Prediction) -> Iterator[Step]:
    """Yield what is set aside and picked, and for each table what misses and what DRAM reads."""
    details = prediction.details
    control, capacity = details.setting.control, float(details.device.l2_size)
    tables: tuple[Table, ...] = details.traffic.tables
    if not tables:
        return
    if control.set_aside:
        given = {"s": float(control.set_aside), "c": capacity}
        aside = units.capacity(scalar(GRANTED_WAYS(**given)) * capacity / WAYS)
        yield step(RESIDENCY, GRANTED_WAYS, given, f"whole ways: {aside}")
    if control.set_aside and details.setting.claimed:
        held = {"others": details.setting.claimed, "granted": granted(control.set_aside, capacity)}
        yield step(RESIDENCY, ROOM, {"c": capacity, **held})
    if control.window is not None:
        yield step(RESIDENCY, PICKED, {"r": float(control.window.hit_ratio)})
    for table in tables:
        yield from _table_steps(table, prediction.cache == "warm")


def _table_steps(table: Table, warm: bool) -> Iterator[Step]:
    if warm:
        first, once = scalar(table.first * table.misses), "first reads that miss [B]"
    else:
        first, once = scalar(table.first), "first reads, which all miss [B]"
    notes = []
    if table.random:
        notes.append("at random places: a line is there if it was drawn since L2 last turned over")
    if scalar(table.lines.overflow) > 0:
        notes.append(
            "overflow: lines of a set beyond the ways set aside, of a binomial number of picks"
        )
    missing = step(
        RESIDENCY,
        named(TABLE_MISSES, f"{table.buffer}: {TABLE_MISSES.name}"),
        asdict(table.lines),
        "; ".join(notes),
    )
    yield missing
    yield step(
        RESIDENCY,
        definition(
            f"{table.buffer}: DRAM reads",
            "B",
            "first + again*missing",
            {
                "first": once,
                "again": "bytes that the other reads would fetch if all missed [B]",
                "missing": "share of them that misses [1]",
            },
        ),
        {"first": first, "again": table.again, "missing": missing.result},
    )


def writeback_steps(prediction: Prediction) -> Iterator[Step]:
    """Yield the time of write-backs beside a set-aside."""
    details = prediction.details
    yield step(RESIDENCY, LOST_TIME, details.time.inputs["lost"])
    time = named(WRITEBACK_TIME, "time of writeback")
    yield step(RESIDENCY, time, details.time.inputs["writeback"])
