"""From a kernel's ``[pipeline]``, ``[menu]`` and ``precision`` to checked records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perfmodel.errors import PerfmodelError, shown
from perfmodel.kernels.kernel import PRECISIONS, Menu, Parameter, Pipeline
from perfmodel.kernels.scope import Scope
from perfmodel.kernels.values import check_keys, choice, is_list, read_table

MOST_ROWS = 256
"""Rows of a menu."""


def read_pipeline(table: Mapping[str, Any], scope: Scope) -> Pipeline | None:
    """Return what a kernel's table says of its pipeline, or None."""
    if "pipeline" not in table:
        return None
    keys = (
        "tiles",
        "launched",
        "resident",
        "waits",
        "parts",
        "parts_ns",
        "part_bytes",
        "result_bytes",
    )
    given = check_keys(table["pipeline"], keys, (), f"{scope.where}, pipeline")
    return Pipeline(
        tiles=scope.of_launch(given.get("tiles", 0), "pipeline: tiles"),
        launched=scope.of_launch(given.get("launched", 0), "pipeline: launched"),
        resident=scope.of_launch(given.get("resident", 1), "pipeline: resident"),
        waits=scope.of_launch(given.get("waits", 0), "pipeline: waits"),
        parts=scope.of_launch(given.get("parts", 1), "pipeline: parts"),
        parts_ns=scope.of_launch(given.get("parts_ns", 0), "pipeline: parts_ns"),
        part_bytes=scope.of_launch(given.get("part_bytes", 0), "pipeline: part_bytes"),
        result_bytes=scope.of_launch(given.get("result_bytes", 0), "pipeline: result_bytes"),
    )


def read_menus(
    table: Mapping[str, Any], parameters: Sequence[Parameter], where: str
) -> tuple[Menu, ...]:
    """Return the menus of a kernel's table: parameters, joined by commas, to rows of values."""
    known = tuple(p.name for p in parameters if not p.words)
    return tuple(
        _menu(key, rows, known, f"{where}, menu {shown(key)}")
        for key, rows in read_table(table, "menu", where).items()
    )


def _menu(key: str, rows: object, known: Sequence[str], where: str) -> Menu:
    names = tuple(name.strip() for name in key.split(","))
    for name in names:
        choice(name, tuple(known), where, "a parameter that is a number")
    if not is_list(rows) or not 1 <= len(rows) <= MOST_ROWS:
        raise PerfmodelError(f"{where} must be a list of 1 to {MOST_ROWS} rows")
    found = tuple(tuple(row) if is_list(row) else (row,) for row in rows)
    for row in found:
        if len(row) != len(names) or any(type(value) is not int for value in row):
            raise PerfmodelError(
                f"{where}: row {shown(list(row))} must have a whole number for each of "
                f"{', '.join(names)}"
            )
    return Menu(names, found)


def read_precision(table: Mapping[str, Any], parameters: Sequence[Parameter], where: str) -> str:
    """Return the ceiling of a kernel's operations, or the parameter whose words name it."""
    given = table.get("precision", "fp32")
    for parameter in parameters:
        if parameter.name == given and parameter.words:
            for word in parameter.words:
                choice(
                    word if word in PRECISIONS else f"{word}_tensor",
                    PRECISIONS,
                    f"{where}: precision, by {given}",
                )
            return parameter.name
    return choice(given, PRECISIONS, f"{where}: precision")
