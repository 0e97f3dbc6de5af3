"""Accesses of a prediction beside the source lines that make them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from perfmodel.expressions import text
from perfmodel.kernels.access import Access
from perfmodel.models.atomics.shared_atomics import bank_clocks
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.prediction import Prediction
from perfmodel.records import record
from perfmodel.reports.lines import Cell, Indented, Piece, plain, stack
from perfmodel.reports.step import scalar
from perfmodel.reports.tables import table
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


_Line = tuple[str, str, str, str]
"""Source line, buffer, kind and space of accesses that are alike."""
_Numbers = Mapping[str, float]


@record
class SourceAccess:
    """Accesses that a source line makes alike: of one kind, to one buffer."""

    source: str  # file and line, or empty
    buffer: str
    kind: str
    space: str
    index: str  # of the first of them
    accesses: int  # how many there are: those of an unrolled loop
    requests: float
    sectors_per_request: float | None  # None for shared memory, which has no sectors
    wavefronts_per_request: float  # clocks in L1's data stage
    l1_hit_rate: float | None  # of a load's sectors; None for others
    l2_hit_rate: float | None  # of the sectors that a load asks of L2; None if it asks none
    # their part of the bottleneck, as a share of the predicted time; None where accesses have none
    time_share: float | None


def source_accesses(prediction: Prediction) -> list[SourceAccess]:
    """Return the accesses of a prediction in the order of the source."""
    details = prediction.details
    groups: dict[_Line, list[_Numbers]] = {}
    indices: dict[_Line, str] = {}

    def add(access: Access, space: str, numbers: _Numbers) -> None:
        line = (access.source, access.buffer, access.kind, space)
        indices.setdefault(line, f"{access.buffer}[{text(access.index)}]")
        groups.setdefault(line, []).append(numbers)

    for r, a in zip(details.requests, details.traffic.accesses, strict=True):
        fields = ("requests", "sectors", *_SHARES.values())
        add(r.access, "global", {name: scalar(getattr(a, name)) for name in fields})
    for r in details.on_chip:
        clocks = scalar(bank_clocks(details.instance, r, details.device))
        add(r.access, "shared", {"requests": scalar(r.requests), "data_wavefronts": clocks})
    field = _SHARES.get(prediction.bottleneck, "")
    busy = min(1.0, prediction.terms_s[prediction.bottleneck] / prediction.time_s)
    total = sum(part.get(field, 0.0) for parts in groups.values() for part in parts)
    weight = busy / total if total else 0.0
    found = [_joined(line, indices[line], parts, field, weight) for line, parts in groups.items()]
    return sorted(found, key=lambda a: _place(a.source))


def _joined(
    line: _Line, index: str, parts: Sequence[_Numbers], field: str, weight: float
) -> SourceAccess:
    source, buffer, kind, space = line

    def total(name: str) -> float:
        return sum(part.get(name, 0.0) for part in parts)

    requests = max(total("requests"), 1e-9)
    sectors, fills = total("sectors"), total("l1_fill_sectors")
    load = kind == "load" and space == "global"
    return SourceAccess(
        source=source,
        buffer=buffer,
        kind=kind,
        space=space,
        index=index,
        accesses=len(parts),
        requests=total("requests"),
        sectors_per_request=sectors / requests if space == "global" else None,
        wavefronts_per_request=total("data_wavefronts") / requests,
        l1_hit_rate=1 - fills / sectors if load and sectors else None,
        l2_hit_rate=max(0.0, 1 - total("dram_bytes") / (fills * SECTOR))
        if load and fills > 0
        else None,
        time_share=total(field) * weight if weight else None,
    )


def source_record(prediction: Prediction) -> list[dict[str, Any]]:
    """Return the accesses for JSON."""
    return [asdict(access) for access in source_accesses(prediction)]


def source_report(prediction: Prediction, files: Mapping[str, Sequence[str]]) -> Piece:
    """Return a table of accesses under their source lines.

    `files` holds the lines of the sources that accesses name, as far as they are there.
    """
    rows: list[tuple[str | Cell | None, ...]] = []
    shown = ""
    accesses = source_accesses(prediction)
    several = len({_place(a.source)[0] for a in accesses}) > 1
    for access in accesses:
        if access.source != shown:
            shown = access.source
            rows.append((plain(_line(shown, files, several), "bold"), *[None] * 6))
        more = f", and {access.accesses - 1} more" if access.accesses > 1 else ""
        rows.append(
            (
                Indented(plain(f"{access.kind} {access.index}{more}"), 2),
                count(access.requests),
                "-" if access.sectors_per_request is None else number(access.sectors_per_request),
                number(access.wavefronts_per_request),
                _rate(access.l1_hit_rate),
                _rate(access.l2_hit_rate),
                _rate(access.time_share),
            )
        )
    headers = ("source line", "requests", "sectors", "clocks", "L1 hits", "L2 hits", "of time")
    return stack(
        "",
        table(headers, rows, "lrrrrrr"),
        "Sectors and clocks of L1's data stage are a request's; of time: a part of the bottleneck.",
    )


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
