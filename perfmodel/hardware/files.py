"""Device files: TOML with one table a figure, and the catalogue of those that come along.

A device file has ``name``, ``title`` and ``compute_capability``, optionally ``extends`` (a
catalogue name, or a path relative to the file), ``abstract = true`` (a base of other files, not a
device) and ``format = 1`` (the version that it was written for), and tables such as::

    [dram_bandwidth]
    value = 3352
    unit = "GB/s"
    kind = "datasheet"
    source = "..."

Tables ``[coefficients."STAGE.MECHANISM.COEFFICIENT"]`` state coefficients of the mechanisms that
were fitted on this GPU; see `perfmodel.hardware.coefficients`.

A figure replaces the extended file's whole figure of that name, its other sources included.
Cycles and rates per SM convert with the clock and SMs of the device that is loaded at the end.
"""

import os
import re
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.hardware.coefficients import CoefficientValue, coefficients_of, stated_coefficients
from perfmodel.hardware.device import Device, Inheritance, quantities
from perfmodel.hardware.figure import Figure
from perfmodel.hardware.figure_tables import read_figure, si_number
from perfmodel.names import DEVICES, device_names, stems
from perfmodel.packaged import packaged_toml
from perfmodel.text_files import is_path, parse_toml, read_text

CATALOGUE: Final = Path(__file__).parent / "catalogue"
MAX_EXTENDS: Final = 8
FORMAT: Final = 1
"""Version of the figures' meaning; a file fitted for another one is refused."""
_DEFINING: Final = ("sm_count", "sm_clock", "l2_size", "l2_slices", "dram_size", "dram_bandwidth")
"""Figures by which a GPU is another one."""
_MEASURED: Final = "dram_read_efficiency"
"""The figure by which a device counts as measured: see `perfmodel.prediction.interval.origin`."""
HEADERS: Final = ("name", "title", "compute_capability", "extends", "abstract", "format")


class _Sheet(NamedTuple):
    """A device file as read, before `extends` is followed."""

    path: Path
    headers: dict[str, Any]
    figures: dict[str, Figure]
    coefficients: dict[str, CoefficientValue]


def load_device(name_or_path: str | Path) -> Device:
    """Return the device of a catalogue name or of a TOML file.

    Parameters
    ----------
    name_or_path : str or Path
        A name from `device_names`, or a path. Text that ends in ``.toml`` or has a separator is a
        path; so is other text that names no catalogue device but an existing file.

    Raises
    ------
    PerfmodelError
        If there is no such device or file, or if the file is wrong.
    """
    if isinstance(name_or_path, str) and not is_path(name_or_path):
        name = name_or_path.lower()
        # A base such as "a100" is the beginning of its devices' names.
        if name in stems(DEVICES) and not _begins_others(name):
            return _load_catalogue_device(name)
        if not _is_file(Path(name_or_path)):
            raise _unknown_device(name_or_path)
    return _build(Path(name_or_path))


@lru_cache(maxsize=64)
def _load_catalogue_device(name: str) -> Device:
    return _build(CATALOGUE / f"{name}.toml")


@lru_cache(maxsize=64)
def _read_catalogue(name: str) -> _Sheet:
    return _read(CATALOGUE / f"{name}.toml")


def _begins_others(name: str) -> bool:
    # Most names begin no other one, and then no other file needs reading.
    others = [stem for stem in stems(DEVICES) if stem.startswith(f"{name}-")]
    return bool(others) and name not in (known := set(device_names())) and bool(known & {*others})


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _unknown_device(name: str) -> PerfmodelError:
    known = device_names()
    # A bare "h100" is far from every long name by ratio, but a prefix of some.
    close = [k for k in known if name and k.startswith(name.lower())]
    import difflib  # only when there is something wrong

    close = close or difflib.get_close_matches(name.lower()[:100], known, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(close)}?" if close else f"known are {', '.join(known)}."
    return PerfmodelError(
        f"unknown device {shown(name)}; {hint} A path to a TOML device file also works"
    )


def _build(path: Path) -> Device:
    """Return the device of the file at `path`, its `extends` followed."""
    chain = _chain(path)
    leaf = chain[0]
    where = _label(leaf.path)
    if leaf.headers.get("abstract", False):
        raise PerfmodelError(
            f'{where} is a base of device files, not a device: use it as extends = "..."'
        )
    headers: dict[str, Any] = {}
    figures: dict[str, Figure] = {}
    fitted: dict[str, CoefficientValue] = {}
    for sheet in reversed(chain):
        headers |= sheet.headers
        figures |= sheet.figures
        fitted |= sheet.coefficients
    name = leaf.headers.get("name")
    if name is None:
        raise PerfmodelError(f'{where} has no name: add name = "..."')
    if "compute_capability" not in headers:
        raise PerfmodelError(f'{where} has no compute_capability: add one, such as "9.0"')
    lacking = [n for n, what in quantities().items() if what.required and n not in figures]
    if lacking:
        more = f" and {len(lacking) - 4} more" if len(lacking) > 4 else ""
        raise PerfmodelError(
            f"{where} lacks the required {', '.join(lacking[:4])}{more}: add a table for each, "
            'or extends = "h100-sxm" or another catalogue name'
        )
    ordered = {n: figures[n] for n in quantities() if n in figures}
    numbers = _numbers(ordered, where)
    _check_reached(chain, numbers, where)
    return Device(
        inherited=_inherited(chain, headers["compute_capability"], ordered),
        name=name,
        title=leaf.headers.get("title", name),
        compute_capability=headers["compute_capability"],
        figures=MappingProxyType(ordered),
        coefficients=coefficients_of(headers["compute_capability"], fitted),
        **numbers,
    )


def _inherited(
    chain: list[_Sheet], capability: str, figures: dict[str, Figure]
) -> Inheritance | None:
    """Return what a user's file has from a catalogue GPU that it makes another one.

    None for the catalogue's own devices, for files that extend none, for those that leave what
    defines the GPU, and for those with measurements of DRAM of their own, as calibrations have.
    """
    own = [sheet for sheet in chain if sheet.path.parent != CATALOGUE]
    taken = chain[len(own) :]
    stated = {name for sheet in own for name in sheet.figures}
    if not own or not taken or _MEASURED in stated:
        return None
    base = {n: f for sheet in reversed(taken) for n, f in sheet.figures.items()}
    version = next(
        (s.headers["compute_capability"] for s in taken if "compute_capability" in s.headers), ""
    )
    changed = any(
        name in stated and (name not in base or _differs(figures[name], base[name]))
        for name in _DEFINING
    )
    if not changed and version in ("", capability):
        return None
    newer = version not in ("", capability)
    names = (n for n, f in base.items() if n not in stated and (newer or f.kind != "datasheet"))
    order = {name: at for at, name in enumerate(quantities())}
    return Inheritance(taken[0].path.stem, version, tuple(sorted(names, key=order.__getitem__)))


def _check_reached(chain: list[_Sheet], numbers: dict[str, Any], where: str) -> None:
    """Refuse a peak of tensor cores that is below a rate which another GPU has reached."""

    def stated(name: str) -> int:
        return next(place for place, sheet in enumerate(chain) if name in sheet.figures)

    exceeded = [
        name
        for name in numbers
        if name.startswith(("reached_", "sustained_"))
        and (peak := _peak_of(name)) in numbers
        and stated(peak) < stated(name)
        and numbers[peak] < numbers[name]
    ]
    if exceeded:
        raise PerfmodelError(
            f"{where} states a {_peak_of(exceeded[0])} below the {exceeded[0]} of the GPU that it "
            f'extends: state {" and ".join(exceeded)} too, such as the peak with kind = "assumed"'
        )


def _peak_of(name: str) -> str:
    return f"peak_{name.partition('_')[2]}"


def _differs(figure: Figure, other: Figure) -> bool:
    return figure.si_value(1.0, 1) != other.si_value(1.0, 1)


def _numbers(figures: dict[str, Figure], where: str) -> dict[str, Any]:
    """Return each figure in SI; the clock and the SMs come first, for the others need them."""
    numbers: dict[str, Any] = {}
    for name in ("sm_clock", "sm_count", *figures):
        numbers[name] = si_number(
            figures[name],
            quantities()[name],
            numbers.get("sm_clock", 1.0),
            numbers.get("sm_count", 1),
            f"{where}, figure {name!r}",
        )
    return numbers


def _chain(path: Path) -> list[_Sheet]:
    """Return the sheet at `path` and those it extends, itself first."""
    chain: list[_Sheet] = []
    seen: list[str] = []
    following: Path | None = path
    while following is not None:
        in_catalogue = following.parent == CATALOGUE
        sheet = _read_catalogue(following.stem) if in_catalogue else _read(following)
        chain.append(sheet)
        seen.append(os.path.realpath(following))
        following = _extended(sheet)
        if following is not None and os.path.realpath(following) in seen:
            raise PerfmodelError(f"{_label(sheet.path)} extends a file that extends it: a cycle")
        if following is not None and len(chain) > MAX_EXTENDS:
            raise PerfmodelError(
                f"{_label(path)} extends more than {MAX_EXTENDS} files deep: extend one nearer "
                "to the catalogue"
            )
    return chain


def _extended(sheet: _Sheet) -> Path | None:
    base: str | None = sheet.headers.get("extends")
    if base is None:
        return None
    if is_path(base):
        return sheet.path.parent / base
    if base not in stems(DEVICES):
        raise PerfmodelError(
            f"{_label(sheet.path)} extends {shown(base)}, neither in the catalogue nor a path that "
            f"ends in .toml{nearest(base, stems(DEVICES), 3)}"
        )
    return CATALOGUE / f"{base}.toml"


def _read(path: Path) -> _Sheet:
    """Return the sheet of one file: headers and figures, each checked by itself."""
    where = _label(path)
    if path.parent == CATALOGUE:
        table = packaged_toml(path, where)
    else:
        table = parse_toml(read_text(path, where, "device"), where)
    known = quantities()
    headers: dict[str, Any] = {}
    figures: dict[str, Figure] = {}
    fitted: dict[str, CoefficientValue] = {}
    for key, value in table.items():
        if key in HEADERS:
            headers[key] = _header(key, value, where)
        elif key == "coefficients":
            fitted = stated_coefficients(value, where)
        elif key in known:
            figures[key] = read_figure(value, known[key], f"{where}, figure {key!r}")
        else:
            raise PerfmodelError(
                f"{where} has an unknown figure {shown(key)}{nearest(key, [*known, *HEADERS])}"
            )
    return _Sheet(path, headers, figures, fitted)


def _header(key: str, value: object, where: str) -> object:
    if key == "abstract":
        if not isinstance(value, bool):
            raise PerfmodelError(f"{where}: abstract must be true or false, not {shown(value)}")
        return value
    if key == "format":
        if value != FORMAT or isinstance(value, bool):
            raise PerfmodelError(
                f"{where} has format {shown(value)}, but only format = {FORMAT} can be read: "
                "calibrate again with this version of perfmodel"
            )
        return value
    if not isinstance(value, str) or not value.isprintable() or not 0 < len(value) <= 200:
        raise PerfmodelError(f"{where}: {key} must be printable text, not {shown(value)}")
    if key == "name" and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", value):
        raise PerfmodelError(
            f"{where}: name must be of letters, digits, '-', '_' and '.', not {shown(value)}"
        )
    if key == "compute_capability" and not re.fullmatch(r"[0-9]{1,2}\.[0-9]", value):
        raise PerfmodelError(
            f'{where}: compute_capability must be such as "9.0", not {shown(value)}'
        )
    return value


def _label(path: Path) -> str:
    """Return the file for an error message: its name in the catalogue, else the path as given."""
    in_catalogue = path.parent == CATALOGUE
    text = path.stem if in_catalogue else str(path)
    return f"device file {text!r}"
