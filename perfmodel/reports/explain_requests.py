"""What one warp asks of L1: lane strides, sectors, lines, efficiency and wavefronts, by access."""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from perfmodel.expressions import names, text
from perfmodel.expressions.nodes import FUNCTIONS
from perfmodel.models.grid.affine import Variable
from perfmodel.models.requests.coalescing import EFFICIENCY, GRANULES, LINE, ROW_OVERLAP, SECTOR
from perfmodel.models.requests.useful_bytes import distinct_share, useful_bytes
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.models.requests.wavefronts import BANK_WORD, DATA_WAVEFRONTS
from perfmodel.prediction.details import Details
from perfmodel.reports.lane_stride import lane_stride
from perfmodel.reports.step import NEGLIGIBLE, Step, close, definition, named, scalar, step

_MEAN = definition(
    "mean",
    "1",
    "total/requests",
    {"total": "summed over the launch [1]", "requests": "warp requests of the launch [1]"},
)
_ROWS = definition(
    "granules a request",
    "granules",
    "rows*row - (rows - 1)*shared",
    {
        "rows": "rows of lanes in a warp [1]",
        "row": "granules of a row [granules]",
        "shared": "granules that neighbouring rows share [granules]",
    },
    holds="rows that start alike in a granule",
)


@dataclass(frozen=True, slots=True)
class AccessShare:
    """An access that matters, and the name under which formulas refer to it.

    Attributes
    ----------
    position : int
        In ``Details.requests``.
    label : str
        As reports call it.
    symbol : str
        An identifier for formulas, unique in the kernel.
    section : str
        Title of its section.
    """

    position: int
    label: str
    symbol: str
    section: str


# What an access costs, by the term that it costs time in.
_COSTS: Final = {
    "": ("sectors",),
    "l1": ("data_wavefronts", "tag_wavefronts"),
    "l2": ("l1_fill_sectors",),
    "dram": ("dram_bytes",),
}


def access_shares(details: Details, small: Collection[str]) -> tuple[list[AccessShare], list[str]]:
    """Return the accesses that matter, and the names of the others.

    An access matters if it has 1% of the launch's sectors, or of the wavefronts, L2 sectors or
    DRAM bytes where these take time: their term is not one of `small`.
    """
    mattering: list[AccessShare] = []
    others: list[str] = []
    symbols: set[str] = set()
    for i, r in enumerate(details.requests):
        label = r.access.name or r.access.buffer
        if not any(share >= NEGLIGIBLE for share in _shares(details, i, small)):
            others.append(label)
            continue
        symbol = base = _identifier(label)
        again = 2
        while symbol in symbols:
            symbol, again = f"{base}_{again}", again + 1
        symbols.add(symbol)
        mattering.append(AccessShare(i, label, symbol, _section(details, r)))
    return mattering, others


def all_request_steps(details: Details, shares: Sequence[AccessShare]) -> Iterator[Step]:
    """Yield the steps of all accesses; those that cost the same share one section."""
    alike: dict[tuple[object, ...], list[tuple[AccessShare, list[Step]]]] = {}
    for share in shares:
        steps = list(request_steps(details, share))
        kind = details.requests[share.position].access.kind
        numbers = tuple((s.title, s.formula.text, tuple(s.values.items())) for s in steps)
        alike.setdefault((kind, numbers), []).append((share, steps))
    for (first, steps), *rest in alike.values():
        places = [_place(details.requests[share.position]) for share, _ in rest]
        section = first.section + (f"; alike: {', '.join(places)}" if places else "")
        yield from (replace(found, section=section) for found in steps)


def request_steps(details: Details, share: AccessShare) -> Iterator[Step]:
    """Yield what one request of an access asks for: stride, sectors, lines, wavefronts."""
    r = details.requests[share.position]
    if scalar(r.requests) == 0:
        return
    pattern = _pattern(r)
    section = share.section
    if pattern is not None:
        for v in pattern.lanes:
            along = (
                ""
                if len(pattern.lanes) == 1
                else f" along {v.target}" + (f" // {v.weight}" if v.weight > 1 else "")
            )
            found = lane_stride(section, f"lane stride{along}", details.instance, r, v)
            yield replace(found, note=_stride_note(found.result, r.width))
    for granule, name, total in ((SECTOR, "sectors", r.sectors), (LINE, "lines", r.lines)):
        steps = list(_granule_steps(section, pattern, granule, name))
        mean = scalar(total) / scalar(r.requests)
        if steps:
            yield from steps
        if not steps or not close(steps[-1].result, mean):
            yield _mean(section, r, f"{name} a request", name, scalar(total), bool(steps))
        if name == "sectors":
            if steps and pattern is not None:
                lanes = pattern.lanes_of_warp * distinct_share(r)
                full = {"n": lanes, "sectors": steps[-1].result}
            else:
                distinct = scalar(useful_bytes(r)) / scalar(r.requests) / r.width
                full = {"n": distinct, "sectors": mean}
            efficiency = step(section, EFFICIENCY, full | {"w": float(r.width)})
    yield efficiency
    yield from _wavefront_steps(section, r, pattern)


@dataclass(frozen=True, slots=True)
class _Pattern:
    """Full warps as rows of lanes: `inner` lanes `stride` bytes apart, `rows` rows `pitch` apart.

    `offset` is the lowest address, `step` what all warps' addresses are multiples of, from there.
    """

    lanes: tuple[Variable, ...]
    inner: int
    stride: int
    rows: int
    pitch: int
    offset: int
    step: int

    @property
    def lanes_of_warp(self) -> float:
        return math.prod(scalar(v.extent) for v in self.lanes)


def _pattern(r: Requests) -> _Pattern | None:
    """Return the pattern of a full warp's lanes, or None where the index is not affine."""
    if r.strides is None:
        return None
    strides = {name: int(scalar(s)) for name, s in r.strides.items()}
    lanes = tuple(v for v in r.variables if v.in_lane)
    moving = sorted(
        (abs(strides[v.name]), int(scalar(v.extent))) for v in lanes if strides[v.name] != 0
    )
    if len(moving) > 2:
        return None
    (stride, inner), (pitch, rows) = [*moving, (0, 1), (0, 1)][:2]
    low = sum((int(scalar(v.extent)) - 1) * min(strides[v.name], 0) for v in lanes)
    common = LINE
    for v in r.variables:
        if not v.in_lane and scalar(v.extent) > 1:
            common = math.gcd(common, abs(strides[v.name]))
    offset = int(scalar(r.offset)) + low
    return _Pattern(lanes, inner, stride, rows, pitch, offset, common)


def _granule_steps(
    section: str, pattern: _Pattern | None, granule: int, name: str
) -> Iterator[Step]:
    """Yield the closed form of a full warp's sectors or lines; nothing where there is none."""
    if pattern is None or (pattern.rows > 1 and pattern.stride > granule):
        return
    g = math.gcd(pattern.step, granule)
    lanes = {"n": float(pattern.inner), "s": float(pattern.stride)}
    place = {"o": float(pattern.offset % granule), "g": float(g), "G": float(granule)}
    if pattern.rows == 1:
        yield step(section, named(GRANULES, f"{name} a request", name), lanes | place)
        return
    if pattern.pitch % g:
        return
    row = step(section, named(GRANULES, f"{name} of a row of lanes", name), lanes | place)
    span = (pattern.inner - 1) * pattern.stride
    overlap = step(
        section,
        named(ROW_OVERLAP, f"{name} that neighbouring rows share", name),
        place | {"x": float((pattern.offset + span) % granule), "d": float(pattern.pitch - span)},
    )
    yield row
    yield overlap
    yield step(
        section,
        named(_ROWS, f"{name} a request", name),
        {"rows": float(pattern.rows), "row": row.result, "shared": overlap.result},
    )


def _wavefront_steps(section: str, r: Requests, pattern: _Pattern | None) -> Iterator[Step]:
    data = scalar(r.data_wavefronts) / scalar(r.requests)
    width = max(r.width, BANK_WORD)
    if pattern is not None and pattern.rows == 1:
        at_once = LINE // width
        shared = 1 if pattern.stride == 0 else math.gcd(pattern.stride // width, at_once)
        note = (
            "one address: every bank is read at most once"
            if pattern.stride == 0
            else f"gcd({pattern.stride // width}, {at_once}) = {shared}: "
            + ("no bank conflict" if shared == 1 else f"{shared} lanes in each bank they use")
        )
        found = step(section, DATA_WAVEFRONTS, {"w": float(width), "gcd": float(shared)}, note)
        if close(found.result, data):
            yield found
            data = 0.0
    if data:
        total = scalar(r.data_wavefronts)
        yield _mean(section, r, "data wavefronts a request", "clocks", total, False)
    tags = _mean(section, r, "tag wavefronts a request", "clocks", scalar(r.tag_wavefronts), False)
    lines = scalar(r.lines) / scalar(r.requests)
    note = (
        f"{lines:.4g} lines: a hash spreads them over four tag banks" if lines > 1 else "one line"
    )
    yield replace(tags, note=tags.note or note)


def _mean(section: str, r: Requests, title: str, unit: str, total: float, partial: bool) -> Step:
    """Return a number a request as total over requests, where no closed form gives it."""
    note = ""
    if partial:
        title += ", mean"
        note = "over all warps: some are cut short or start elsewhere in a line"
    elif r.sampled is not None:
        note = "counted address by address: no closed form for this index"
    formula = named(_MEAN, title, unit)
    return step(section, formula, {"total": total, "requests": scalar(r.requests)}, note)


def _stride_note(stride: float, width: int) -> str:
    apart = abs(stride)
    if apart == 0:
        return "all lanes read one address: a broadcast"
    if apart == width:
        return "consecutive: the warp is coalesced"
    if apart >= LINE:
        return "over a line apart: every lane has a line and a sector of its own"
    if apart >= SECTOR:
        return "a sector or more apart: every lane has a sector of its own"
    return "gaps between lanes: part of each sector goes unused"


def _identifier(label: str) -> str:
    """Return a name that formulas may use: "in" becomes "in_"."""
    name = re.sub(r"\W", "_", label, flags=re.ASCII)
    name = f"_{name}" if not name or name[0].isdigit() else name
    return f"{name}_" if keyword.iskeyword(name) or name in FUNCTIONS else name


def _shares(details: Details, position: int, small: Collection[str]) -> Iterator[float]:
    accesses = details.traffic.accesses
    for field in (f for term, fields in _COSTS.items() if term not in small for f in fields):
        total = sum(scalar(getattr(a, field)) for a in accesses)
        if total > 0:
            yield scalar(getattr(accesses[position], field)) / total


def _section(details: Details, r: Requests) -> str:
    """Return "Load A: A[m*K + k], 4 B a lane, every k, with m = ..."."""
    access, kernel = r.access, details.instance.kernel
    inside = f", every {access.loop}" if access.loop else ""
    definitions = dict(kernel.definitions)
    needed: list[str] = []
    waiting = [access.index]
    while waiting:
        for name in sorted(names(waiting.pop()) & definitions.keys()):
            if name not in needed:
                needed.append(name)
                waiting.append(definitions[name])
    where = ", ".join(f"{name} = {_tight(text(definitions[name]))}" for name in needed)
    return f"{access.kind.capitalize()} {_place(r)}, {r.width} B a lane{inside}" + (
        f", with {where}" if where else ""
    )


def _place(r: Requests) -> str:
    return f"{r.access.buffer}[{_tight(text(r.access.index))}]"


def _tight(expression: str) -> str:
    return expression.replace(" * ", "*")
