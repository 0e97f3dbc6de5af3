"""A warp's request as a figure: lanes above, lines with their sectors below, and who asks for what.

The bytes of a line are to scale, and lines are in the order of their addresses; between lines that
do not follow one another is a gap.
"""

from itertools import pairwise
from typing import Any, Final

from perfmodel.models.requests.coalescing import LINE as LINE_BYTES
from perfmodel.models.requests.coalescing import SECTOR
from perfmodel.records import record
from perfmodel.reports import units
from perfmodel.reports.drawings.canvas import LINE, MARGIN, SMALL, Canvas, canvas
from perfmodel.reports.drawings.sectors import WarpRequest
from perfmodel.reports.figure_style import BAND, BLUE, FAINT, GREY, INK, Drawing

_LANE: Final = 20.0
_LINKS: Final = 64.0
_TALL: Final = 26.0
_ASKED: Final[dict[str, Any]] = {"facecolor": BLUE}
_MOVED: Final[dict[str, Any]] = {"facecolor": BLUE, "alpha": 0.35}
_LEFT: Final[dict[str, Any]] = {"facecolor": BAND, "edgecolor": GREY, "linewidth": 0.5}
_LEGEND: Final = (
    (_ASKED, "bytes asked for"),
    (_MOVED, "other bytes of these sectors"),
    (_LEFT, "sectors not moved"),
)
_NOTE: Final = (
    "Above: the 32 lanes. Below: lines of 128 B in the order of addresses, with sectors of 32 B."
)


@record
class _Line:
    """A line of memory in the picture: its number, and where it starts and ends."""

    number: int
    left: float
    right: float

    def at(self, byte: int) -> float:
        """Return where a byte of the buffer lies."""
        part = (byte - self.number * LINE_BYTES) / LINE_BYTES
        return self.left + part * (self.right - self.left)


def sectors_figure(found: WarpRequest, width: float) -> Drawing:
    """Draw a request: lanes, the sectors of their bytes, and the lines that these are in."""
    with canvas(width) as on:
        y = on.paragraph(16, found.access, size=12.0, weight="bold")
        y = on.paragraph(y, _place_text(found), color=GREY) + 8
        lines = _lines_of(found, width)
        _links(on, found, lines, y + _LANE)
        _lanes(on, found, y)
        _lines(on, found, lines, y + _LANE + _LINKS)
        y = on.paragraph(y + _LANE + _LINKS + _TALL + 14 + LINE, found.text, weight="bold")
        y = on.paragraph(y, found.mean_text)
        y = on.legend(y, _LEGEND)
        on.end(on.paragraph(y, _NOTE, color=GREY))
    return on.made


def _place_text(found: WarpRequest) -> str:
    place = found.place
    loops = "".join(f", {name} = {value}" for name, value in place.loops.items())
    block = ", ".join(map(str, place.block))
    return f"{found.kernel}: warp {place.warp} of block ({block}){loops}"


def _lane_width(width: float, found: WarpRequest) -> float:
    return (width - 2 * MARGIN) / len(found.lanes)


def _lines_of(found: WarpRequest, width: float) -> list[_Line]:
    """Return the places of the lines: all as wide, with gaps where they do not follow."""
    room, numbers = width - 2 * MARGIN, found.lines
    skips = [after - before > 1 for before, after in pairwise(numbers)]
    gap = min(24.0, 0.25 * room / len(numbers))
    gaps = [gap if skip else gap / 8 for skip in skips]
    wide = (room - sum(gaps)) / len(numbers)
    lines, x = [], MARGIN
    for number, after in zip(numbers, [*gaps, 0.0], strict=True):
        lines.append(_Line(number, x, x + wide))
        x += wide + after
    return lines


def _lanes(on: Canvas, found: WarpRequest, y: float) -> None:
    wide = _lane_width(on.width, found)
    every, middle = (1, y + _LANE / 2) if wide > 15 else (4, y - 8)
    if every == 1:
        on.text(MARGIN, y - 9, "lanes", color=GREY)
    for lane, first in enumerate(found.lanes):
        x = MARGIN + lane * wide
        if first is None:
            told, style = f"lane {lane}: takes no part", {"edgecolor": FAINT}
        else:
            last = first + found.width - 1
            where = f"sector {first // SECTOR} in line {first // LINE_BYTES}"
            told = f"lane {lane}: bytes {first} to {last} of {found.buffer}, {where}"
            style = {"edgecolor": INK, "facecolor": "white"}
        on.box((x, y, wide, _LANE), told, linewidth=0.7, **style)
        if lane % every == 0:
            colour = GREY if first is None else INK
            on.text(x + wide / 2, middle, str(lane), ha="center", color=colour, size=9.2)


def _links(on: Canvas, found: WarpRequest, lines: list[_Line], y: float) -> None:
    """Draw a line from each lane to the middle of its bytes."""
    wide = _lane_width(on.width, found)
    places = {line.number: line for line in lines}
    for lane, first in enumerate(found.lanes):
        if first is not None:
            to = places[first // LINE_BYTES].at(first + found.width // 2)
            start = MARGIN + (lane + 0.5) * wide
            on.line([start, start, to, to], [y, y + 5, y + _LINKS - 5, y + _LINKS])


def _lines(on: Canvas, found: WarpRequest, lines: list[_Line], y: float) -> None:
    asked = {n: [i for i, first in enumerate(found.lanes) if first is not None
                 and first // SECTOR == n] for n in found.sectors}  # fmt: skip
    for line in lines:
        start = line.number * LINE_BYTES
        for sector in range(start // SECTOR, start // SECTOR + LINE_BYTES // SECTOR):
            left, right = line.at(sector * SECTOR), line.at((sector + 1) * SECTOR)
            place = (left, y, right - left, _TALL)
            if sector not in asked:
                on.box(place, **_LEFT)
                continue
            on.box(place, _sector_text(sector, asked[sector]), **_MOVED)
            for first in {found.lanes[lane] for lane in asked[sector]}:
                assert first is not None
                at = line.at(first)
                on.box((at, y, line.at(first + found.width) - at, _TALL), **_ASKED)
            on.box(place, edgecolor=INK, linewidth=0.7)
    _addresses(on, found, lines, y + _TALL + 9)


def _sector_text(sector: int, lanes: list[int]) -> str:
    """Return which lanes ask for a sector, neighbours as a range."""
    runs: list[list[int]] = []
    for lane in lanes:
        if runs and lane == runs[-1][-1] + 1:
            runs[-1].append(lane)
        else:
            runs.append([lane])
    listed = ", ".join(str(r[0]) if len(r) == 1 else f"{r[0]} to {r[-1]}" for r in runs)
    return f"sector {sector} in line {sector * SECTOR // LINE_BYTES}: lanes {listed}"


def _addresses(on: Canvas, found: WarpRequest, lines: list[_Line], y: float) -> None:
    """Write where lines start: each if there is room, else the first and the last."""
    wide = lines[0].right - lines[0].left
    texts = [units.capacity(line.number * LINE_BYTES) for line in lines]
    some = range(len(lines)) if wide > 6 * max(map(len, texts)) else (0,)
    for i in some:
        on.text(lines[i].left, y, f"{found.buffer} + {texts[i]}" if i == 0 else f"+ {texts[i]}")
    if len(lines) > 1 and len(some) == 1:
        on.text(lines[-1].right, y, f"+ {texts[-1]}", ha="right")
        steps = {after.number - before.number for before, after in pairwise(lines)}
        if len(steps) == 1:
            stride = units.capacity(steps.pop() * LINE_BYTES)
            middle = (lines[0].left + lines[-1].right) / 2
            on.text(
                middle, y, f"lines at a stride of {stride}", ha="center", color=GREY, size=SMALL
            )
