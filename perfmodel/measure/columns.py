"""Columns of recorded measurements: what they are called, and in which unit they come.

A CSV has the parameters of its sweep first, and then results. Results have the names of
``columns.toml`` or are described in the session file; parameters are free, but sizes come in bytes
and times in microseconds, so that no number is taken for another.
"""

import re
from pathlib import Path
from types import MappingProxyType
from typing import Final

from perfmodel.packaged import packaged_toml

RESULTS: Final = MappingProxyType(packaged_toml(Path(__file__).with_name("columns.toml")))
"""Known results; ones that a session file describes under ``[columns]`` come on top."""

PROTOCOL: Final = MappingProxyType(
    {
        "use": ("fit", "validation"),
        "timing": ("profiler", "events", "graph"),
        "cache": ("cold", "warm", "dirty"),
    }
)
"""Results that are one of a few words, or empty."""

PLAUSIBLE: Final = MappingProxyType(
    {
        "time_us": (0.1, 1e9),
        "cycles": (1e-3, 1e15),
        "repeats": (1, 1e9),
        "clock_mhz": (50, 10_000),
    }
)
"""Results that are above zero, and between what they may be: beyond, the unit is another.

No launch is over in 100 ns, where an empty kernel takes five times that, or lasts a quarter of an
hour.
"""

WORDS: Final = frozenset({*PROTOCOL, "flag", "source"})
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
