"""The session file of a measurement folder, ``session.toml``: read and checked.

What it says of the GPU and of the protocol stands in for device figures, so a number in another
unit, or none, is refused here, with its place and what is allowed.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from perfmodel.errors import PerfmodelError, shown
from perfmodel.measure.seal import FORMAT, SESSION_FILE
from perfmodel.text_files import parse_toml, read_text

Bounds = tuple[float, float, str]

MACHINE: Final[Mapping[str, Bounds]] = MappingProxyType(
    {
        "sms": (1, 1024, "SMs"),
        "l2_bytes": (1 << 16, 1 << 40, "bytes"),
        "persisting_max": (0, 1 << 40, "bytes"),
        "window_max": (0, 1 << 40, "bytes"),
        "memory_bytes": (1 << 28, 1 << 50, "bytes"),
        "sm_clock_mhz": (100, 10_000, "MHz"),
        "memory_clock_mhz": (100, 50_000, "MHz"),
        "bus_bits": (8, 1 << 16, "bits"),
    }
)
"""Numbers of ``[machine]``, each with the least and the most that a GPU may have, and its unit."""

PROTOCOL: Final[Mapping[str, Bounds]] = MappingProxyType(
    {
        "event_floor_us": (0.1, 1000, "microseconds"),
        "event_floor_cold_us": (0.1, 1000, "microseconds"),
        "profiler_floor_us": (0.1, 1000, "microseconds"),
        "profiler_fetch_us": (0, 1000, "microseconds"),
        "profiler_warp_us": (0, 1000, "microseconds"),
    }
)
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
