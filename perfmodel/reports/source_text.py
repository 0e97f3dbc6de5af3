"""Accesses of a prediction beside the source lines that make them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from perfmodel.expressions import text
from perfmodel.models.atomics.shared_atomics import bank_clocks
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.prediction import Prediction
from perfmodel.reports.tables import plain, table
from perfmodel.reports.units import count, number, percent

_SHARES: Final = {
    "dram": "dram_bytes",
    "l2": "l1_fill_sectors",
    "l1": "data_wavefronts",
    "latency": "l1_fill_sectors",
    "stalls": "l1_fill_sectors",
    "issue": "requests",
}
"""What of an access takes its part of a term: what it moves, or how often it waits or issues."""


@dataclass(frozen=True, slots=True)
class SourceAccess:
    """Accesses that a source line makes alike: of one kind, to one buffer.

    Attributes
    ----------
    source : str
        File and line, or empty.
    buffer, kind, space : str
    index : str
        Of the first of them.
    accesses : int
        How many there are: those of an unrolled loop.
    requests : float
    sectors_per_request : float or None
        None for shared memory, which has no sectors.
    wavefronts_per_request : float
        Clocks in L1's data stage.
    l1_hit_rate : float or None
        Of a load's sectors; None for others.
    l2_hit_rate : float or None
        Of the sectors that a load asks of L2; None if it asks none.
    time_share : float or None
        Their part of the bottleneck, as a share of the predicted time; None where accesses have
        none.
    """

    source: str
    buffer: str
    kind: str
    space: str
    index: str
    accesses: int
    requests: float
    sectors_per_request: float | None
    wavefronts_per_request: float
    l1_hit_rate: float | None
    l2_hit_rate: float | None
    time_share: float | None


def source_accesses(prediction: Prediction) -> list[SourceAccess]:
    """Return the accesses of a prediction in the order of the source."""
    details = prediction.details
    field = _SHARES.get(prediction.bottleneck, "")
    groups: dict[tuple[str, str, str, str], list[_Part]] = {}
    for r, a in zip(details.requests, details.traffic.accesses, strict=True):
        numbers = {
            name: _first(getattr(a, name)) for name in ("requests", "sectors", *_SHARES.values())
        }
        part = _Part(f"{a.buffer}[{text(r.access.index)}]", numbers)
        groups.setdefault((r.access.source, a.buffer, a.kind, "global"), []).append(part)
    for r in details.on_chip:
        clocks = _first(bank_clocks(details.instance, r, details.device))
        numbers = {"requests": _first(r.requests), "data_wavefronts": clocks}
        part = _Part(f"{r.access.buffer}[{text(r.access.index)}]", numbers)
        key = (r.access.source, r.access.buffer, r.access.kind, "shared")
        groups.setdefault(key, []).append(part)
    busy = min(1.0, prediction.terms_s[prediction.bottleneck] / prediction.time_s)
    total = sum(part.numbers.get(field, 0.0) for parts in groups.values() for part in parts)
    found = [
        _joined(key, parts, field, busy / total if total else 0.0) for key, parts in groups.items()
    ]
    return sorted(found, key=lambda a: _place(a.source))


@dataclass(frozen=True, slots=True)
class _Part:
    index: str
    numbers: Mapping[str, float]


def _joined(
    key: tuple[str, str, str, str], parts: Sequence[_Part], field: str, weight: float
) -> SourceAccess:
    source, buffer, kind, space = key

    def total(name: str) -> float:
        return sum(part.numbers.get(name, 0.0) for part in parts)

    requests = max(total("requests"), 1e-9)
    sectors, fills = total("sectors"), total("l1_fill_sectors")
    load = kind == "load" and space == "global"
    reads = load and fills > 0
    return SourceAccess(
        source=source,
        buffer=buffer,
        kind=kind,
        space=space,
        index=parts[0].index,
        accesses=len(parts),
        requests=total("requests"),
        sectors_per_request=sectors / requests if space == "global" else None,
        wavefronts_per_request=total("data_wavefronts") / requests,
        l1_hit_rate=1 - fills / sectors if load and sectors else None,
        l2_hit_rate=max(0.0, 1 - total("dram_bytes") / (fills * SECTOR)) if reads else None,
        time_share=total(field) * weight if weight else None,
    )


def source_record(prediction: Prediction) -> list[dict[str, Any]]:
    """Return the accesses for JSON."""
    return [asdict(access) for access in source_accesses(prediction)]


def source_report(prediction: Prediction, files: Mapping[str, Sequence[str]]) -> RenderableType:
    """Return a table of accesses under their source lines.

    Parameters
    ----------
    prediction : Prediction
    files : mapping of str to sequence of str
        Lines of the sources that accesses name, as far as they are there.
    """
    rows: list[tuple[RenderableType | None, ...]] = []
    shown = ""
    accesses = source_accesses(prediction)
    several = len({_place(a.source)[0] for a in accesses}) > 1
    for access in accesses:
        if access.source != shown:
            shown = access.source
            rows.append((Text(_line(shown, files, several), style="bold"), *[None] * 6))
        rows.append(
            (
                Padding(
                    plain(f"{access.kind} {access.index}{_more(access.accesses)}"), (0, 0, 0, 2)
                ),
                count(access.requests),
                "-" if access.sectors_per_request is None else number(access.sectors_per_request),
                number(access.wavefronts_per_request),
                _rate(access.l1_hit_rate),
                _rate(access.l2_hit_rate),
                _rate(access.time_share),
            )
        )
    headers = ("source line", "requests", "sectors", "clocks", "L1 hits", "L2 hits", "of time")
    return Group(
        "",
        table(headers, rows, "lrrrrrr"),
        "Sectors and clocks of L1's data stage are a request's; of time: a part of the bottleneck.",
    )


def _more(accesses: int) -> str:
    return f", and {accesses - 1} more" if accesses > 1 else ""


def _line(source: str, files: Mapping[str, Sequence[str]], several: bool) -> str:
    """Return a source line with its number, or where it is if its text is not known.

    Where accesses stand in several files, such as headers, the line says in which.
    """
    file, _, line = source.rpartition(":")
    lines = files.get(file, ())
    if line.isdecimal() and 1 <= int(line) <= len(lines):
        return f"{source if several else line}: {lines[int(line) - 1].strip()}"
    return source or "(no line known)"


def _place(source: str) -> tuple[str, int]:
    file, _, line = source.rpartition(":")
    return file, int(line) if line.isdecimal() else 0


def _rate(value: float | None) -> str:
    return "-" if value is None else percent(value)


def _first(value: Any) -> float:
    return float(np.ravel(value)[0])
