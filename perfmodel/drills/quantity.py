"""Quantities as people write them: ``1.07ms``, ``2.147 GB``, ``25%``, ``1/8``, ``28 sectors``.

Values are SI inside (bytes, seconds, operations a second); a share is a number from 0 to 1.
"""

import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.hardware.figure import UNITS as FIGURE_UNITS

_MEASURED: Final = ("bytes", "bytes/second", "seconds", "operations/second", "hertz")
_MORE: Final = {
    "KB": ("bytes", 1e3),
    "TB": ("bytes", 1e12),
    "TiB": ("bytes", 2.0**40),
    "MB/s": ("bytes/second", 1e6),
    "GiB/s": ("bytes/second", 2.0**30),
    "µs": ("seconds", 1e-6),  # U+00B5, the micro sign
    "μs": ("seconds", 1e-6),  # U+03BC, the Greek letter
    "%": ("share", 1e-2),
    "x": ("times", 1.0),
    "×": ("times", 1.0),  # noqa: RUF001
    "times": ("times", 1.0),
}
_OF_FIGURES: Final = {
    name: (unit.dimension, float(unit.factor))
    for name, unit in FIGURE_UNITS.items()
    if unit.dimension in _MEASURED and not unit.clock and not unit.sms
}
UNITS: Final[Mapping[str, tuple[str, float]]] = MappingProxyType({**_OF_FIGURES, **_MORE})
"""Dimension and SI value of each unit; any other word counts things, as in ``28 sectors``."""

MOST_CHARACTERS: Final = 64
"""Longest quantity."""

_NUMBER: Final = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
_QUANTITY: Final = re.compile(
    rf"(?P<top>{_NUMBER})(?:\s*/\s*(?P<bottom>{_NUMBER}))?\s*(?P<unit>.*)"
)
_COUNTED: Final = re.compile(r"[A-Za-z][A-Za-z -]{0,30}")
_FOLDED: Final = frozenset(unit.casefold() for unit in UNITS)


class Quantity(NamedTuple):
    """A value in SI and the unit that it is shown in."""

    value: float | int | str  # text for what is no number: a bottleneck, a warning
    unit: str = ""  # a key of `UNITS`, the name of what is counted, or empty


def dimension(unit: str) -> str:
    """Return what a unit measures: "bytes", "seconds" ..., "share", "times" or "count"."""
    return UNITS[unit][0] if unit in UNITS else "count"


def factor(unit: str) -> float:
    """Return the SI value of a unit."""
    return UNITS[unit][1] if unit in UNITS else 1.0


def check_unit(unit: str, what: str) -> str:
    """Return a unit, or the name of what is counted; refuse what is neither.

    Raises `PerfmodelError` if it is no word, or a unit but for its case: GB, not gb, for a
    lower-case b is a bit.
    """
    unknown = unit.casefold() in _FOLDED or not _COUNTED.fullmatch(unit)
    if unit and unit not in UNITS and unknown:
        raise PerfmodelError(f"{what}: unknown unit {shown(unit)}{nearest(unit, UNITS)}")
    return unit


def read_quantity(text: str, what: str) -> Quantity:
    """Return the quantity that a text states.

    `text`: number or fraction, then perhaps a unit: ``"16MiB"``, ``"2 TB/s"``, ``"1/8"``. `what`:
    start of the error messages. Raises `PerfmodelError` if it is no finite number, or the unit is
    none.
    """
    found = _QUANTITY.fullmatch(text.strip()) if len(text) <= MOST_CHARACTERS else None
    if found is None:
        raise PerfmodelError(
            f"{what} must be a number such as 4, 1/8, 25%, 1.07ms or 2.1GB, not {shown(text)}"
        )
    value: float | int = _number(found["top"])
    if found["bottom"] is not None:
        if not _number(found["bottom"]):
            raise PerfmodelError(f"{what} {shown(text)} divides by zero")
        value = value / _number(found["bottom"])
    unit = found["unit"].strip()
    check_unit(unit, what)
    scaled = value * factor(unit)
    if not math.isfinite(scaled):
        raise PerfmodelError(f"{what} {shown(text)} is no finite number")
    whole = isinstance(value, int) and factor(unit) >= 1
    return Quantity(int(scaled) if whole else scaled, unit)


def is_quantity(text: str) -> bool:
    """Say whether a text starts like a quantity and is no expression of several parts."""
    found = _QUANTITY.fullmatch(text.strip())
    return found is not None and (found["unit"].strip() in UNITS or not found["unit"].strip())


def _number(text: str) -> float | int:
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,18}", text) else float(text)
