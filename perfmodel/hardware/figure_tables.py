"""Figures from the tables of a device file, checked against the fields of `Device`.

Every error is a `PerfmodelError` of one line that starts with `where`: the file and the figure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, cast

from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.hardware.device import Quantity
from perfmodel.hardware.figure import KINDS, UNITS, Figure, Kind, units_of

_KEYS: Final = ["value", "unit", "kind", "source", "note", "standard_error", "also"]


def read_figure(table: object, what: Quantity, where: str, *, nested: bool = False) -> Figure:
    """Return the figure that a TOML `table` states.

    Parameters
    ----------
    table : object
        The table as read: ``value``, ``unit``, ``kind``, ``source`` and, optionally, ``note``,
        ``standard_error`` and ``also``, a list of such tables from other sources.
    what : Quantity
        The field it is for.
    where : str
        Start of the error messages.
    nested : bool
        Whether the table stands in an ``also``, and so has none itself.

    Raises
    ------
    PerfmodelError
        If a key is missing, unknown or of the wrong type, the unit measures something else, or
        the value makes no sense for the field.
    """
    if not isinstance(table, dict):
        raise PerfmodelError(
            f"{where} must be a table with value, unit, kind and source, not {shown(table)}"
        )
    for key in table:
        if key not in _KEYS:
            raise PerfmodelError(f"{where} has an unknown key {shown(key)}{nearest(key, _KEYS)}")
    unit = _text(table, "unit", where)
    if unit not in UNITS:
        raise PerfmodelError(
            f"{where}: unknown unit {shown(unit)}, while {what.dimension} come in "
            f"{_listed(units_of(what.dimension))}{nearest(unit, UNITS)}"
        )
    if UNITS[unit].dimension != what.dimension:
        raise PerfmodelError(
            f"{where}: unit {unit!r} measures {UNITS[unit].dimension}, but {what.dimension} are "
            f"asked for: use {_listed(units_of(what.dimension))}"
        )
    kind = _text(table, "kind", where)
    if kind not in KINDS:
        raise PerfmodelError(f"{where}: kind {shown(kind)} must be {_listed(list(KINDS))}")
    values = _values(table, what, where)
    error = table.get("standard_error")
    return Figure(
        value=max(values),
        unit=unit,
        kind=cast(Kind, kind),
        source=_text(table, "source", where),
        note=_text(table, "note", where) if "note" in table else "",
        standard_error=None if error is None else _number(error, f"{where}: standard_error"),
        also=_others(table, what, where, nested),
        values=tuple(values) if what.many else (),
    )


def si_number(figure: Figure, what: Quantity, clock: float, sms: int, where: str) -> Any:
    """Return what the field of `Device` holds: `figure` in SI, an int or a tuple where it is one.

    Parameters
    ----------
    figure : Figure
        From `read_figure`.
    what : Quantity
        The field it is for.
    clock : float
        SM clock [Hz], for units in cycles.
    sms : int
        SMs of the GPU, for units per SM.
    where : str
        Start of the error messages.

    Raises
    ------
    PerfmodelError
        If the SI value is out of the field's bounds, or broken where it must be whole.
    """
    factor = figure.si_factor(clock, sms)
    numbers = [_bounded(v * factor, what, where) for v in figure.values or (figure.value,)]
    return tuple(numbers) if what.many else numbers[0]


def _values(table: Mapping[str, object], what: Quantity, where: str) -> list[float]:
    if "value" not in table:
        raise PerfmodelError(f"{where} has no value: add value = NUMBER in {table['unit']}")
    value = table["value"]
    if not what.many:
        return [_number(value, f"{where}: value")]
    if not isinstance(value, list) or not value:
        raise PerfmodelError(f"{where}: value must be a list of numbers, not {shown(value)}")
    return [_number(v, f"{where}: value") for v in value]


def _number(value: object, what: str) -> float:
    # bool is an int in Python, but not a number in a device file.
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise PerfmodelError(f"{what} must be a number, not {shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or number < 0:
        raise PerfmodelError(f"{what} must be finite and not negative, not {shown(value)}")
    return number


def _bounded(value: float, what: Quantity, where: str) -> float | int:
    if what.minimum is None and value <= 0:
        raise PerfmodelError(f"{where}: value must be above 0; leave the figure out if unknown")
    if what.minimum is not None and value < what.minimum:
        raise PerfmodelError(f"{where}: value must be at least {what.minimum:g}, not {value:g}")
    if what.maximum is not None and value > what.maximum:
        raise PerfmodelError(f"{where}: value must be at most {what.maximum:g}, not {value:g}")
    if not math.isfinite(value):
        raise PerfmodelError(f"{where}: value is too large to be held in SI units")
    if not what.whole:
        return value
    if abs(value - round(value)) > 1e-9 * value:
        raise PerfmodelError(f"{where}: value must be whole {what.dimension}, not {value:g}")
    return round(value)


def _text(table: Mapping[str, object], key: str, where: str) -> str:
    if key not in table:
        raise PerfmodelError(f'{where} has no {key}: add {key} = "..."')
    value = table[key]
    if not isinstance(value, str):
        raise PerfmodelError(f"{where}: {key} must be text in quotes, not {shown(value)}")
    text = " ".join(value.split())
    if not text or not text.isprintable():
        raise PerfmodelError(f"{where}: {key} must be printable text, not {shown(value)}")
    return text


def _others(
    table: Mapping[str, object], what: Quantity, where: str, nested: bool
) -> tuple[Figure, ...]:
    if "also" not in table:
        return ()
    also = table["also"]
    if nested or not isinstance(also, list):
        raise PerfmodelError(f"{where}: also must be one list of tables, not {shown(also)}")
    return tuple(
        read_figure(entry, what, f"{where}, also {number}", nested=True)
        for number, entry in enumerate(also, 1)
    )


def _listed(names: list[str]) -> str:
    return " or ".join(map(repr, names))
