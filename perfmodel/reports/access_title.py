"""How a report calls an access: what it loads or stores, by which index."""

from collections.abc import Iterable, Iterator
from typing import Final

from perfmodel.expressions import names, text
from perfmodel.kernels import Kernel
from perfmodel.kernels.access import Access
from perfmodel.models.requests.coalescing import EFFICIENCY
from perfmodel.models.requests.warp_requests import Requests
from perfmodel.prediction.details import Details
from perfmodel.reports import units
from perfmodel.reports.step import scalar

_LEAST: Final = 0.01
"""Share of the sectors and of the wavefronts below which an access is not listed."""
_ALL: Final = 0.995
"""Sector efficiency from which all bytes of a sector are asked for, in whole percents."""
_MOST: Final = 8
"""Accesses that are listed."""


def access_lines(details: Details) -> Iterator[str]:
    """Yield what each access asks for, those alike in one line; the smallest are left out."""
    whole = [(scalar(r.sectors), scalar(r.data_wavefronts)) for r in details.requests]
    sums = [max(sum(each), 1.0) for each in zip(*whole, strict=True)] or [1.0, 1.0]
    found: dict[str, list[Requests]] = {}
    for r, costs in zip(details.requests, whole, strict=True):
        if any(cost >= _LEAST * total for cost, total in zip(costs, sums, strict=True)):
            found.setdefault(access_title(r.access), []).append(r)
    for name, alike in list(found.items())[:_MOST]:
        times = f" ({len(alike)} times)" if len(alike) > 1 else ""
        yield f"{name[:1].upper()}{name[1:]}{times}: {_asked(alike[0])}"
    if len(found) > _MOST:
        yield f"and {len(found) - _MOST} accesses more"
    shown = [alike[0].access for alike in list(found.values())[:_MOST]]
    if where := _where(shown, details.instance.kernel):
        yield f"with {where}"


def _asked(r: Requests) -> str:
    """Return what a request asks for."""
    requests = max(scalar(r.requests), 1e-9)
    sectors, lines = scalar(r.sectors) / requests, scalar(r.lines) / requests
    data, tags = scalar(r.data_wavefronts) / requests, scalar(r.tag_wavefronts) / requests
    counted = "; counted address by address" if r.sampled is not None else ""
    wanted = scalar(r.useful_bytes) / requests
    used = scalar(EFFICIENCY(n=wanted / r.width, w=float(r.width), sectors=sectors))
    asked = f" ({units.percent(used)} of their bytes asked for)" if used < _ALL else ""
    return (
        f"{units.count(requests)} requests of {r.width} B per lane, each "
        f"{units.several(sectors, 'sector')}{asked}, {units.several(lines, 'line')}, "
        f"{units.number(data)} data and {units.several(tags, 'tag wavefront')}{counted}"
    )


def access_title(access: Access) -> str:
    """Return "load A[m*K + k], every k"."""
    inside = f", every {access.loop}" if access.loop else ""
    return f"{access.kind} {access.buffer}[{_tight(text(access.index))}]{inside}"


def _where(accesses: Iterable[Access], kernel: Kernel) -> str:
    """Return the definitions that indices are made of, such as "m = blockIdx.y*32 + ..."."""
    definitions = dict(kernel.definitions)
    needed: list[str] = []
    waiting = [access.index for access in accesses]
    while waiting:
        for name in sorted(names(waiting.pop(0)) & definitions.keys()):
            if name not in needed:
                needed.append(name)
                waiting.append(definitions[name])
    return ", ".join(f"{name} = {_tight(text(definitions[name]))}" for name in needed)


def _tight(expression: str) -> str:
    return expression.replace(" * ", "*")
