"""Traffic as a flow picture: bands from the SMs to DRAM, as wide as the bytes that move."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from markupsafe import Markup

from perfmodel.prediction.record import Prediction
from perfmodel.reports import units
from perfmodel.reports.page.content import ReportedLaunch
from perfmodel.reports.page.flow import Flow, flows, kept
from perfmodel.reports.page.svg import (
    NARROW,
    Drawing,
    Picture,
    element,
    label,
    mark,
    picture,
    rectangle,
)
from perfmodel.reports.page.time_svg import HALF

_NODE: Final = 12.0
_BANDS: Final = 110.0
"""Height of the widest band [CSS px]."""
_TOP: Final = 42.0
_THIN: Final = 2.0
_SMALL: Final = 11.0
_LINE: Final = 15.0
_VERBS: Final = {"read": "read", "written": "written", "atomic": "of atomics"}
_STYLE: Final = {"L1": "l1", "L2": "l2", "DRAM": "dram", "shared": "l1"}


def flow_picture(launch: ReportedLaunch) -> Picture:
    """Return the bytes that move between the levels of memory, widths to scale."""
    found = flows(launch.prediction)
    told = "; ".join(
        f"{f.near} and {f.far}: {units.data(f.read)} read, {units.data(f.written)} written"
        + (f", {units.data(f.atomic)} of atomics" if f.atomic else "")
        for f in found
    )
    return picture(
        f"traffic-{launch.number}",
        f"Traffic of {launch.label} at each level",
        f"{told}.",
        lambda width: _draw(launch.prediction, found, width),
        HALF,
    )


def _draw(prediction: Prediction, found: Sequence[Flow], width: float) -> Drawing:
    main = [flow for flow in found if flow.far != "shared"]
    side = [flow for flow in found if flow.far == "shared"]
    largest = max((flow.total for flow in found), default=0.0) or 1.0
    margin = 24.0 if width == NARROW else 34.0
    gap = (width - 2 * margin - 4 * _NODE) / 3
    xs = [margin + i * (gap + _NODE) for i in range(4)]
    depths = [sum(_heights(flow, largest)) for flow in main]
    tall = max(*depths, 12.0)
    middle, foot = _TOP + tall / 2, _TOP + tall
    parts: list[Markup] = []
    most = 1
    for flow, depth, x in zip(main, depths, xs, strict=False):
        parts += _bands(flow, largest, x + _NODE, gap, prediction, middle - depth / 2)
        lines = _numbers(flow, prediction, width == NARROW)
        most = max(most, len(lines))
        for i, shown in enumerate(lines):
            at = (x + _NODE + gap / 2, foot + 20 + _LINE * i)
            size = _SMALL - (1 if width == NARROW else 0)
            parts.append(label(*at, shown, size, anchor="middle"))
    # A level is as tall as what it passes to either side.
    nodes = [max(pair) for pair in zip([0.0, *depths], [*depths, 0.0], strict=True)]
    for name, x, node in zip(("SMs", "L1", "L2", "DRAM"), xs, nodes, strict=True):
        parts.append(rectangle(x, middle - node / 2 - 3, _NODE, node + 6, rx=2, class_="node"))
        parts.append(label(x + _NODE / 2, 16, name, anchor="middle", class_="strong"))
    for i, name in ((1, "L1"), (2, "L2")):
        share = kept(main[i - 1], main[i])
        if share is not None:
            parts.append(_served(name, share, xs[i] + _NODE / 2))
    height = foot + 12 + _LINE * most
    if side:
        parts += _shared(side[0], largest, xs, height, prediction)
        height += 50 + sum(_heights(side[0], largest))
    return Drawing(width, height, Markup("").join(parts))


def _served(name: str, share: float, x: float) -> Markup:
    """Return what a level keeps from going on."""
    if share >= 0:
        written, told = f"{units.percent(share)} hit", f"{name} serves {units.percent(share)}"
    else:
        more = units.percent(-share)
        written, told = f"+{more} fetched", f"{name} fetches {more} more than is asked for"
    return mark(f"{told} of the bytes read", label(x, 31, written, _SMALL, anchor="middle"))


def _heights(flow: Flow, largest: float) -> list[float]:
    """Return the bands' heights: to scale, but none too thin to see [CSS px]."""
    parts = (flow.read, flow.written, flow.atomic)
    return [max(_THIN, part / largest * _BANDS) if part else 0.0 for part in parts]


def _bands(
    flow: Flow, largest: float, x: float, gap: float, prediction: Prediction, top: float
) -> Iterator[Markup]:
    y = top
    kinds = ("read", "written", "atomic")
    for kind, height in zip(kinds, _heights(flow, largest), strict=True):
        if not height:
            continue
        moved = getattr(flow, kind)
        told = (
            f"{flow.near} and {flow.far}: {units.data(moved)} {_VERBS[kind]}, "
            f"{units.bandwidth(moved / prediction.time_s)} on average"
        )
        towards = kind == "read"
        band = rectangle(x, y, gap, height, class_="band")
        yield mark(
            told, band, _arrow(x, y, gap, height, towards), class_=f"{_STYLE[flow.far]} {kind}"
        )
        y += height


def _arrow(x: float, y: float, gap: float, height: float, towards_sm: bool) -> Markup:
    """Return a small arrow head in the middle of a band that has room for one."""
    if height < 9:
        return Markup("")
    size = min(height * 0.3, 7.0)
    at, middle = x + gap / 2, y + height / 2
    step = -size if towards_sm else size
    path = f"M{at - step:.1f} {middle - size:.1f}L{at + step:.1f} {middle:.1f}"
    return element("path", d=f"{path}L{at - step:.1f} {middle + size:.1f}z", class_="arrow")


def _numbers(flow: Flow, prediction: Prediction, narrow: bool) -> list[str]:
    """Return the lines below a gap: bytes each way, and how much of the bandwidth that is."""
    parts = {
        "read": f"← {units.data(flow.read)}" if narrow else f"{units.data(flow.read)} read",
        "written": f"{units.data(flow.written)} {'→' if narrow else 'written'}",
        "atomic": f"{units.data(flow.atomic)} atomics",
    }
    lines = [text for kind, text in parts.items() if getattr(flow, kind)] or ["nothing"]
    if flow.bandwidth and flow.total:
        rate = flow.total / prediction.time_s
        lines.append(f"{units.percent(rate / flow.bandwidth)} of peak")
    return lines


def _shared(
    flow: Flow, largest: float, xs: Sequence[float], top: float, prediction: Prediction
) -> Iterator[Markup]:
    """Yield shared memory below L1, which it divides an SM's memory with."""
    height = sum(_heights(flow, largest))
    y, start = top + 14, xs[0] + _NODE
    rate = flow.total / prediction.time_s
    share = f", {units.percent(rate / flow.bandwidth)} of peak" if flow.bandwidth else ""
    written = f"shared memory: {units.data(flow.total)}{share}"
    band = rectangle(start, y, xs[1] - start, height, class_="band")
    yield mark(f"{written}, in wavefronts of 128 B, conflicts included", band, class_="l1")
    for x in xs[:2]:
        yield rectangle(x, y - 3, _NODE, height + 6, rx=2, class_="node")
    yield label(xs[0], y + height + 20, written, _SMALL)
