"""What ``--over NAME=VALUES`` says: the values that a sweep varies something over."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from perfmodel.cli.defines import parse_value_lists
from perfmodel.errors import PerfmodelError, shown

if TYPE_CHECKING:
    from perfmodel.prediction.grid import Axis

MOST_ROWS: Final = 1 << 20
"""Values of one option that go to a file of rows."""

_FRACTIONS: Final = ("hit-ratio", "compression")


def values_over(text: str, words: Collection[str]) -> tuple[str, tuple[float | str, ...]]:
    """Return the name and the values of an ``--over`` option; `words` names those not numbers."""
    name, _, values = text.partition("=")
    if name.strip() in _FRACTIONS:
        return name.strip(), _fractions(values, text)
    # A knob's name has a dash, which no parameter has.
    plain = name.strip().replace("-", "_")
    found = parse_value_lists([f"{plain}={values}"], words, option="--over")[plain]
    return name.strip(), tuple(v if isinstance(v, str) else float(v) for v in found)


def axis_over(text: str, words: Collection[str]) -> Axis:
    """Return an ``--over`` option as an axis of a grid, whole numbers to the last digit."""
    import numpy as np

    from perfmodel.prediction.grid import Axis

    name, _, values = (part.strip() for part in text.partition("="))
    if name in _FRACTIONS:
        return Axis(name, np.array(_fractions(values, text)))
    plain = name.replace("-", "_")
    found = parse_value_lists([f"{plain}={values}"], words, "--over", MOST_ROWS)[plain]
    return Axis(name, np.array(found, dtype=object if plain in words else np.int64))


def _fractions(values: str, text: str) -> tuple[float, ...]:
    """Return the numbers of ``a,b,c`` or ``start:stop:step``."""
    try:
        if ":" not in values:
            return tuple(float(part) for part in values.split(","))
        start, stop, step = (float(part) for part in values.split(":"))
    except ValueError:
        raise PerfmodelError(
            f"--over {shown(text)} must be NAME=a,b,c or NAME=start:stop:step"
        ) from None
    if not step > 0 or not start <= stop:
        raise PerfmodelError(f"--over {shown(text)}: a range goes up, by steps above 0")
    if not (stop - start) / step <= 10_000:
        raise PerfmodelError(
            f"--over {shown(text)} has over 10000 values: give a finite range of larger steps"
        )
    return tuple(start + i * step for i in range(int((stop - start) / step + 1e-9) + 1))
