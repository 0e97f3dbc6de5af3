"""Numbers for people: a number and its unit, three significant digits, no prefix confused.

Input is SI throughout. GB is 1e9 bytes and GiB is 2**30: traffic and bandwidths come in decimal
units, as the profiler and the data sheets give them; capacities come in binary ones.
"""

import math
from typing import Final

_DECIMAL: Final = ("", "k", "M", "G", "T", "P", "E")
_SECONDS: Final = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


def number(value: float) -> str:
    """Return three significant digits, or an integer as it is below 1e5: ``"29.0"``, ``"64"``."""
    if not math.isfinite(value):
        return str(value)
    # 2e-6/1e-9 is not exactly whole, but meant to be.
    if abs(value) < 1e5 and math.isclose(value, round(value), rel_tol=1e-12):
        return f"{value:.0f}"
    if abs(value) >= 1e15 or 0 < abs(value) < 1e-4:
        return f"{value:.3g}"
    rounded = float(f"{value:.3g}")  # first, so that 99.96 comes out as 100, not 100.0
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(rounded))))}f}"


def seconds(value: float) -> str:
    """Return a time [s] in s, ms, us or ns: ``"23.2 ms"``."""
    # Three digits round up at 999.5, so that no "1000 us" comes out.
    unit = next((u for u, factor in _SECONDS.items() if abs(value) >= 0.9995 * factor), "ns")
    return f"{number(value / _SECONDS[unit])} {unit}"


def span(low: float, high: float) -> str:
    """Return a range of times [s] in the unit of the larger: ``"18.6 to 29.0 ms"``."""
    text = seconds(high)
    unit = text.split()[1]
    return f"{number(low / _SECONDS[unit])} to {text}"


def count(value: float) -> str:
    """Return a count, exact below 100,000 and then in k, M, G ...: ``"537M"``."""
    # Without the space, for a lone M would be lost at the end of a line.
    short = number(value) if abs(value) < 1e5 else _prefixed(value, "", _DECIMAL, 1000)
    return short.replace(" ", "")


def several(value: float, what: str) -> str:
    """Return a count and what it is of: ``"1 round"``, ``"1.50 rounds"``."""
    text = count(value)
    return f"{text} {what}" if text == "1" else f"{text} {what}s"


def data(value: float) -> str:
    """Return bytes that move [B] in decimal units, as the profiler does: ``"4.23 GB"``."""
    if 0 < value < 1:
        return "<1 B"
    return _prefixed(value, "B", _DECIMAL, 1000)


def capacity(value: float) -> str:
    """Return bytes of a memory [B] in binary units: ``"50 MiB"``."""
    return _prefixed(value, "B", _BINARY, 1024)


def bandwidth(value: float) -> str:
    """Return a bandwidth [B/s]: ``"3.35 TB/s"``."""
    return _prefixed(value, "B/s", _DECIMAL, 1000)


def flop_rate(value: float) -> str:
    """Return a rate of floating-point operations [FLOP/s]: ``"5.93 TFLOP/s"``."""
    return _prefixed(value, "FLOP/s", _DECIMAL, 1000)


def sentence(text: str) -> str:
    """Return a text with a capital at its start and a full stop."""
    return f"{text[:1].upper()}{text[1:]}."


def percent(share: float) -> str:
    """Return a share of 1 in percent: ``"93%"``, with a decimal below 10."""
    value = 100 * share
    if value == 0 or value >= 9.95:
        return f"{value:.0f}%"
    return f"{value:.1f}%" if value >= 0.05 else "<0.1%"


def _prefixed(value: float, unit: str, prefixes: tuple[str, ...], step: int) -> str:
    power = 0
    # Three digits round up at 999.5, so that no "1000 kB" comes out.
    while abs(value) >= 0.9995 * step and power < len(prefixes) - 1:
        value /= step
        power += 1
    return f"{number(value)} {prefixes[power]}{unit}".rstrip()
