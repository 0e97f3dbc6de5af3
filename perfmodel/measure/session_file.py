"""The session file of a measurement folder and the columns of its CSVs: what may stand there.

What ``session.toml`` says of the GPU and of the protocol stands in for device figures, so a number
in another unit, or none, is refused here, with its place and what is allowed. A CSV has the
parameters of its sweep first, and then results. Results have the names of ``columns.toml`` or are
described in the session file; parameters are free, but sizes come in bytes and times in
microseconds, so that no number is taken for another.
"""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from perfmodel.errors import PerfmodelError, shown
from perfmodel.measure.seal import FORMAT, SESSION_FILE
from perfmodel.packaged import packaged_toml
from perfmodel.text_files import parse_toml, read_text

_TABLES: Final = packaged_toml(Path(__file__).with_name("columns.toml"))
RESULTS: Final[Mapping[str, str]] = MappingProxyType(_TABLES["results"])
"""Known results; ones that a session file describes under ``[columns]`` come on top."""
WORDED: Final[Mapping[str, list[str]]] = MappingProxyType(_TABLES["worded"])
"""Results that are one of a few words, or empty."""
PLAUSIBLE: Final[Mapping[str, tuple[float, float]]] = MappingProxyType(_TABLES["plausible"])
"""Results that are above zero, and between what they may be: beyond, the unit is another."""

WORDS: Final = frozenset({*WORDED, "flag", "source"})
"""Columns that are text whatever they look like."""

INPUTS: Final = ("session", "state", "timing", "cache")
"""Columns that tell one point from another, besides the parameters."""

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_FOREIGN: Final = (
    (re.compile(r"time(_(ns|ms|s|sec|seconds|cycles))?"), "times come in microseconds, as time_us"),
    (re.compile(r"clock(_(hz|khz|ghz))?"), "clocks come in megahertz, as clock_mhz"),
    (
        re.compile(r"(.+_)?([kmgt]i?b|[kmg]i?bytes)", re.IGNORECASE),
        "sizes come in bytes, as bytes or ..._bytes",
    ),
)


def name_fault(name: str) -> str | None:
    """Return what is wrong with a column's name, or None: how it is written, or its unit."""
    if not _NAME.fullmatch(name):
        return "a name is made of letters, digits and '_'"
    return next((why for pattern, why in _FOREIGN if pattern.fullmatch(name)), None)


Bounds = tuple[float, float, str]

MACHINE: Final[Mapping[str, Bounds]] = MappingProxyType(_TABLES["machine"])
"""Numbers of ``[machine]``, each with the least and the most that a GPU may have, and its unit."""

PROTOCOL: Final[Mapping[str, Bounds]] = MappingProxyType(_TABLES["protocol"])
"""Numbers of ``[protocol]`` and of a session's own table, such as ``[session-1]``."""

_WORDS: Final = ("device", "gpu", "driver", "cuda", "compute_capability", "origin")


def read_session(folder: Path, where: str) -> dict[str, Any]:
    """Return what the session file of a folder says.

    `where`: how messages call the folder.

    Raises `PerfmodelError` if there is none, its format is another, or what it says of the GPU or
    of the protocol is of another kind or beyond all GPUs.
    """
    path = folder / SESSION_FILE
    if not path.is_file():
        raise PerfmodelError(
            f"{where} has no {SESSION_FILE}, which says what was measured and how: "
            "give a folder that has one"
        )
    where = f"{where}, {SESSION_FILE}"
    session = parse_toml(read_text(path, where, "session"), where)
    version = session.get("format")
    if version != FORMAT or isinstance(version, bool):
        came = "states no format" if version is None else f"has format {shown(version)}"
        raise PerfmodelError(
            f"{where} {came}, but only format = {FORMAT} can be read: "
            "measure again with this version of perfmodel"
        )
    own = [key for key in session if key.startswith("session-")]
    for key in ("machine", "columns", "protocol", *own):
        table = session.get(key, {})
        if not isinstance(table, dict):
            raise PerfmodelError(f"{where}: {key} must be a table")
        if key != "columns":
            _check_numbers(table, MACHINE if key == "machine" else PROTOCOL, f"{where}: {key}")
    runs = session.get("run", [])
    if not isinstance(runs, list) or not all(isinstance(run, dict) for run in runs):
        raise PerfmodelError(f"{where}: run must be a list of tables, each under [[run]]")
    for key in _WORDS:
        word = session.get("machine", {}).get(key, "")
        if not isinstance(word, str) or not word.isprintable():
            raise PerfmodelError(f"{where}: machine.{key} must be a text, not {shown(word)}")
    return session


def _check_numbers(table: Mapping[str, Any], known: Mapping[str, Bounds], where: str) -> None:
    for name, (low, high, unit) in known.items():
        value = table.get(name, low)
        whole = unit in ("SMs", "bytes", "bits")
        is_number = isinstance(value, int if whole else int | float)
        if (
            isinstance(value, bool)
            or not is_number
            or not math.isfinite(value)
            or not low <= value <= high
        ):
            kind = f"a whole number of {unit}" if whole else f"a number of {unit}"
            raise PerfmodelError(
                f"{where}.{name} must be {kind} from {low:g} to {high:g}, not {shown(value)}"
            )
