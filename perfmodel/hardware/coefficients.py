"""Coefficients: the fitted numbers of mechanisms, by architecture, each with its origin.

A mechanism declares a coefficient where its formula stands, and asks the device for its value. The
values are data: ``catalogue/coefficients/CC/STAGE.toml``, CC the compute capability that they were
fitted on, a table for each, such as::

    [dirty_lines.stream_room]
    value = 0.687
    unit = "1"
    text = "share of L2 in which the last bytes read and written remain"
    kind = "fitted"
    source = "measurements/..., rows marked fit"
    note = "3.1% rms"
    standard_error = 0.01

Values are in the unit in which formulas take them: SI, or clocks of an SM. A compute capability
without a folder of its own has the values of the newest one that has, which counts as inherited.
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast, get_args

import numpy as np
import numpy.typing as npt

from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.hardware.figure import Kind
from perfmodel.packaged import packaged_toml
from perfmodel.records import record
from perfmodel.tables import LARGEST_FLOAT, Reader, one_of, read_record

if TYPE_CHECKING:
    from perfmodel.hardware.device import Device

FOLDER: Final = Path(__file__).parent / "catalogue" / "coefficients"
_KIND: Final = one_of(get_args(Kind))
_declared: "dict[str, Coefficient | CoefficientTable]" = {}


@record
class CoefficientValue:
    """The value of a coefficient on one architecture."""

    value: float | tuple[float, ...]  # in `unit`; several for a table
    unit: str
    kind: Kind
    source: str  # the measurements and rows, the derivation, or the publication
    text: str = ""  # what it is, in one line
    note: str = ""  # residual of the fit, what other values give, doubts
    standard_error: float | None = None  # in `unit`


@record(eq=False)
class Coefficients:
    """All coefficients of an architecture."""

    compute_capability: str  # of the GPUs that they were fitted on
    # By name, "STAGE.MECHANISM.COEFFICIENT"; recorded numbers while a derivation is recorded.
    values: Mapping[str, Any]
    origins: Mapping[str, CoefficientValue]

    def __eq__(self, other: object) -> bool:
        """Compare the numbers, not where they are from."""
        if not isinstance(other, Coefficients):
            return NotImplemented
        return self is other or dict(self.values) == dict(other.values)

    def __hash__(self) -> int:
        """Agree with `__eq__`: equal numbers are of one architecture."""
        return hash(self.compute_capability)

    # A mapping proxy cannot be pickled, and sweeps send devices to other processes.
    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the mappings as dictionaries."""
        return Coefficients, (self.compute_capability, dict(self.values), dict(self.origins))


@record
class Coefficient:
    """A number of a mechanism that each architecture has its own of."""

    # "STAGE.MECHANISM.COEFFICIENT": the file of values, the mechanism's module, and the number;
    # the file says what it is, and its unit.
    name: str

    def __post_init__(self) -> None:
        """Let `declared` know of it."""
        _declare(self)

    @property
    def meaning(self) -> str:
        """What it is, with its unit in brackets."""
        found = coefficients_of("").origins[self.name]
        return f"{found.text} [{found.unit}]"

    def __call__(self, device: "Device") -> float:
        """Return its value on a device, in the unit of its file."""
        return cast(float, device.coefficients.values[self.name])


@record
class CoefficientTable:
    """Several numbers of a mechanism in a row, as of 3 to 10 ways set aside."""

    name: str  # as of `Coefficient`

    def __post_init__(self) -> None:
        """Let `declared` know of it."""
        _declare(self)

    def __call__(self, device: "Device") -> npt.NDArray[np.float64]:
        """Return its values on a device, in the unit of its file."""
        return np.asanyarray(device.coefficients.values[self.name], dtype=float)


def declared() -> Mapping[str, Coefficient | CoefficientTable]:
    """Return the coefficients of all models that are imported, by name."""
    return MappingProxyType(_declared)


def _declare(found: Coefficient | CoefficientTable) -> None:
    if found.name.count(".") != 2:
        raise ValueError(f"{found.name!r} is not STAGE.MECHANISM.COEFFICIENT")
    if found.name in _declared:
        raise ValueError(f"{found.name!r} is declared twice")
    _declared[found.name] = found


def coefficients_of(
    compute_capability: str, stated: Mapping[str, CoefficientValue] = MappingProxyType({})
) -> Coefficients:
    """Return the coefficients that GPUs of a compute capability have, their own or inherited.

    `compute_capability`: such as "9.0". `stated`: by name, what a device file states instead.
    """
    known = architectures()
    found = _read(compute_capability if compute_capability in known else known[-1])
    if not stated:
        return found
    origins = {**found.origins, **stated}
    values = {name: value.value for name, value in origins.items()}
    return Coefficients(
        found.compute_capability, MappingProxyType(values), MappingProxyType(origins)
    )


def stated_coefficients(table: object, where: str) -> dict[str, CoefficientValue]:
    """Return the coefficients of a device file's table ``[coefficients]``, by name.

    `table`: as read: ``[coefficients."STAGE.MECHANISM.COEFFICIENT"]`` with the keys of the
    catalogue. `where`: start of the error messages.

    Raises `PerfmodelError` if there is no such coefficient, or its table is wrong.
    """
    if not isinstance(table, dict):
        raise PerfmodelError(f'{where}: coefficients must be tables, [coefficients."NAME"]')
    usual = coefficients_of("").origins
    found: dict[str, CoefficientValue] = {}
    for name, entry in table.items():
        label = f"{where}, coefficient {shown(name)}"
        if name not in usual:
            raise PerfmodelError(f"{label} is not one{nearest(name, list(usual))}")
        found[name] = _value(entry, label)
        if found[name].unit != usual[name].unit:
            raise PerfmodelError(f"{label} must be in {usual[name].unit!r}")
        if np.shape(found[name].value) != np.shape(usual[name].value):
            raise PerfmodelError(f"{label}: value must be as many numbers as in the catalogue")
    return found


def architectures() -> tuple[str, ...]:
    """Return the compute capabilities that have coefficients of their own, oldest first."""
    found = (folder.name for folder in FOLDER.iterdir() if folder.is_dir())
    return tuple(sorted(found, key=float))


@lru_cache(maxsize=8)
def _read(capability: str) -> Coefficients:
    found: dict[str, CoefficientValue] = {}
    for path in sorted((FOLDER / capability).glob("*.toml")):
        stage, where = path.stem, f"coefficients {capability}/{path.name}"
        table = packaged_toml(path, where)
        for mechanism, entries in table.items():
            if not isinstance(entries, dict):
                raise PerfmodelError(f"{where}: {mechanism} must be tables of coefficients")
            for name, entry in entries.items():
                full = f"{stage}.{mechanism}.{name}"
                found[full] = _value(entry, f"{where}, {mechanism}.{name}")
    values = {name: value.value for name, value in found.items()}
    return Coefficients(capability, MappingProxyType(values), MappingProxyType(found))


def _value(entry: object, where: str) -> CoefficientValue:
    def numbers(value: Any, _: str) -> float | tuple[float, ...]:
        if isinstance(value, list):
            return tuple(number(one, where) for one in value)
        return number(value, where)

    def number(value: Any, _: str) -> float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not abs(value) <= LARGEST_FLOAT:
            raise PerfmodelError(f"{where}: values must be finite numbers, not {shown(value)}")
        return float(value)

    readers: dict[str, Reader] = {
        "value": numbers,
        **dict.fromkeys(("unit", "source", "text", "note"), _text),
        "kind": _KIND,
        "standard_error": number,
    }
    return read_record(CoefficientValue, entry, where, readers)


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise PerfmodelError(f"{where} must be text in quotes, not {shown(value)}")
    return " ".join(value.split())
