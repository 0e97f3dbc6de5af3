"""Figures from the tables of a device file, checked against the fields of `Device`.

Every error is a `PerfmodelError` of one line that starts with `where`: the file and the figure.
"""

import math
from dataclasses import replace
from typing import Any

from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.hardware.device import Quantity
from perfmodel.hardware.figure import KINDS, UNITS, Figure, units_of
from perfmodel.tables import LARGEST_FLOAT, Reader, read_record


def read_figure(table: object, what: Quantity, where: str, *, nested: bool = False) -> Figure:
    """Return the figure that a TOML table states for a field of `Device`.

    It has ``value``, ``unit``, ``kind``, ``source`` and, optionally, ``note``, ``standard_error``
    and ``also``, a list of such tables from other sources; `nested` ones have none.

    Raises `PerfmodelError` if a key is missing, unknown or of the wrong type, the unit measures
    something else, or the value makes no sense for the field.
    """
    values: list[float] = []

    def value(given: Any, place: str) -> float:
        values.extend(_values(given, what, place))
        return max(values)

    def also(given: Any, _: str) -> tuple[Figure, ...]:
        if nested or not isinstance(given, list):
            raise PerfmodelError(f"{where}: also must be one list of tables, not {shown(given)}")
        return tuple(
            read_figure(entry, what, f"{where}, also {number}", nested=True)
            for number, entry in enumerate(given, 1)
        )

    readers: dict[str, Reader] = {
        "unit": lambda given, place: _unit(_text(given, place), what, where),
        "kind": lambda given, place: _kind(_text(given, place), where),
        "value": value,
        **dict.fromkeys(("source", "note"), _text),
        "standard_error": _number,
        "also": also,
    }
    found = read_record(Figure, table, where, readers)
    return replace(found, values=tuple(values)) if what.many else found


def si_number(figure: Figure, what: Quantity, clock: float, sms: int, where: str) -> Any:
    """Return what the field of `Device` holds: `figure` in SI, an int or a tuple where it is one.

    `clock`: SM clock [Hz], for units in cycles. `sms`: of the GPU, for units per SM.

    Raises `PerfmodelError` if the SI value is out of the field's bounds, or broken where it must be
    whole.
    """
    factor = UNITS[figure.unit].si_factor(clock, sms)
    numbers = [_bounded(v * factor, what, where) for v in figure.values or (figure.value,)]
    return tuple(numbers) if what.many else numbers[0]


def _unit(name: str, what: Quantity, where: str) -> str:
    wanted = _listed(units_of(what.dimension))
    if name not in UNITS:
        raise PerfmodelError(
            f"{where}: unknown unit {shown(name)}, while {what.dimension} come in {wanted}"
            f"{nearest(name, UNITS)}"
        )
    if UNITS[name].dimension != what.dimension:
        raise PerfmodelError(
            f"{where}: unit {name!r} measures {UNITS[name].dimension}, but {what.dimension} are "
            f"asked for: use {wanted}"
        )
    return name


def _kind(name: str, where: str) -> str:
    if name not in KINDS:
        raise PerfmodelError(f"{where}: kind {shown(name)} must be {_listed(list(KINDS))}")
    return name


def _values(value: Any, what: Quantity, where: str) -> list[float]:
    if not what.many:
        return [_number(value, where)]
    if not isinstance(value, list) or not value:
        raise PerfmodelError(f"{where} must be a list of numbers, not {shown(value)}")
    return [_number(v, where) for v in value]


def _number(value: object, what: str) -> float:
    # bool is an int in Python, but not a number in a device file.
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise PerfmodelError(f"{what} must be a number, not {shown(value)}")
    if not 0 <= value <= LARGEST_FLOAT:
        raise PerfmodelError(f"{what} must be finite and not negative, not {shown(value)}")
    return float(value)


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


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise PerfmodelError(f"{where} must be text in quotes, not {shown(value)}")
    text = " ".join(value.split())
    if not text or not text.isprintable():
        raise PerfmodelError(f"{where} must be printable text, not {shown(value)}")
    return text


def _listed(names: list[str]) -> str:
    return " or ".join(map(repr, names))
