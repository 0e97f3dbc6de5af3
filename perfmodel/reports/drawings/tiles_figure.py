"""A block's tiles as a figure: where they lie in A, B and C, and, enlarged, who makes what of C."""

from typing import Any, Final

from perfmodel.records import record
from perfmodel.reports import units
from perfmodel.reports.drawings.canvas import MARGIN, Canvas, canvas
from perfmodel.reports.drawings.tiles import BlockTiles, Part
from perfmodel.reports.figure_style import AMBER, BAND, BLUE, GREEN, GREY, VERMILION, Drawing

_TWO: Final = 500.0
"""Width from which both halves are next to each other."""
_GAP: Final = 26.0
"""Between the matrices, where their names are."""
_LEAST: Final = 4.0
"""Parts that would be smaller are drawn so large."""
_OTHERS: Final[dict[str, Any]] = {"facecolor": BAND, "edgecolor": GREY, "linewidth": 0.6}
_NEEDED: Final[dict[str, Any]] = {"facecolor": GREEN, "alpha": 0.3}
_STEP: Final[dict[str, Any]] = {"facecolor": GREEN}
_TILE: Final[dict[str, Any]] = {"facecolor": BLUE}
_WARP: Final[dict[str, Any]] = {"facecolor": AMBER}
_THREAD: Final[dict[str, Any]] = {"facecolor": VERMILION}


@record
class _Field:
    """A matrix, or a part of one, in the picture: where it is, and what of the matrix it shows."""

    name: str
    left: float
    top: float
    scale: float  # points of an element
    rows: tuple[int, int]
    columns: tuple[int, int]
    width: float
    height: float

    def places(self, part: Part) -> list[tuple[float, float, float, float]]:
        """Return the rectangles of a part: none too small to see, and all inside."""
        found = []
        for top, bottom in part.rows:
            for left, right in part.columns:
                wide = min(max((right - left) * self.scale, _LEAST), self.width)
                tall = min(max((bottom - top) * self.scale, _LEAST), self.height)
                x = min((left - self.columns[0]) * self.scale, self.width - wide)
                y = min((top - self.rows[0]) * self.scale, self.height - tall)
                found.append((self.left + x, self.top + y, wide, tall))
        return found


def tiles_figure(found: BlockTiles, width: float) -> Drawing:
    """Draw a block's tiles: in the whole matrices, and enlarged."""
    side = width - 20 if width < _TWO else width / 2 - 16
    half = side + 34
    with canvas(width) as on:
        on.text(MARGIN, 16, f"Tiles of {found.kernel}", size=12.0, weight="bold")
        top = on.paragraph(34, _place(found), color=GREY) + 2
        on.text(MARGIN, top, "the matrices", color=GREY)
        _whole(on, found, (MARGIN, top + 28, side))
        x, y = (MARGIN, top + half) if width < _TWO else (width / 2 + MARGIN, top)
        on.text(x, y, "the block's tiles, enlarged", color=GREY)
        _enlarged(on, found, (x, y + 28, side))
        below = top + half * (2 if width < _TWO else 1) + 8
        y = on.paragraph(below, units.sentence(found.text))
        on.end(on.legend(y, _legend(found)) + 8)
    return on.made


def _place(found: BlockTiles) -> str:
    m, n, k = found.sizes
    block = ", ".join(map(str, found.block))
    stages = f"; shared memory holds the tiles of {found.stages} steps" if found.stages > 1 else ""
    return (
        f"C = A B, M = {m}, N = {n}, K = {k}: block ({block}), step {found.step} of "
        f"{found.steps}{stages}"
    )


def _legend(found: BlockTiles) -> list[tuple[dict[str, Any], str]]:
    parts = [
        (_TILE, f"tile of C: {found.c.size}"),
        (_STEP, f"of A {found.a.size} and of B {found.b.size}, in this step"),
        (_NEEDED, "in all steps"),
    ]
    if found.warp is not None and found.thread is not None:
        parts.insert(1, (_WARP, f"a warp's: {found.warp.size}"))
        parts.insert(2, (_THREAD, f"a thread's: {found.thread.size}"))
    return parts


def _whole(on: Canvas, found: BlockTiles, place: tuple[float, float, float]) -> None:
    """Draw the matrices to scale, with what the block takes and makes of them."""
    (x, y, side), (m, n, k) = place, found.sizes
    scale = (side - _GAP - 12) / max(k + n, k + m)
    a, b, c = _fields(x, y, scale, (0, m), (0, n), (0, k))
    for field, size in ((a, f"{m} x {k}"), (b, f"{k} x {n}"), (c, f"{m} x {n}")):
        told = f"{field.name}: {size}"
        on.box((field.left, field.top, field.width, field.height), told, **_OTHERS)
    _draw(on, a, Part(found.c.rows, ((0, k),)), "A in all steps", _NEEDED)
    _draw(on, b, Part(((0, k),), found.c.columns), "B in all steps", _NEEDED)
    _step(on, found, (a, b, c))


def _enlarged(on: Canvas, found: BlockTiles, place: tuple[float, float, float]) -> None:
    """Draw the block's tile of C with its tiles of A and B, and what a thread makes and needs."""
    x, y, side = place
    runs = (found.c.rows, found.c.columns, found.a.columns)
    rows, columns, depth = ((r[0][0], r[-1][1]) for r in runs)
    tall, wide, deep = (stop - start for start, stop in (rows, columns, depth))
    scale = (side - _GAP - 12) / (max(tall, wide) + deep)
    a, b, c = _fields(x, y, scale, rows, columns, depth)
    _step(on, found, (a, b, c))
    if found.warp is None or found.thread is None:
        return
    _draw(on, c, found.warp, "a warp's part of C", _WARP)
    _draw(on, c, found.thread, "a thread's part of C", _THREAD)
    _draw(on, a, Part(found.thread.rows, found.a.columns), "what the thread needs of A", _THREAD)
    _draw(on, b, Part(found.b.rows, found.thread.columns), "what the thread needs of B", _THREAD)


def _fields(
    x: float,
    y: float,
    scale: float,
    rows: tuple[int, int],
    columns: tuple[int, int],
    depth: tuple[int, int],
) -> tuple[_Field, _Field, _Field]:
    """Return A left of C, and B above it."""
    tall, wide, deep = (scale * (stop - start) for start, stop in (rows, columns, depth))
    deep = max(deep, _LEAST)
    right, below = x + deep + _GAP, y + deep + _GAP
    return (
        _Field("A", x, below, scale, rows, depth, deep, tall),
        _Field("B", right, y, scale, depth, columns, wide, deep),
        _Field("C", right, below, scale, rows, columns, wide, tall),
    )


def _draw(on: Canvas, field: _Field, part: Part, what: str, style: dict[str, Any]) -> None:
    rows, columns = (
        ", ".join(f"{start} to {stop - 1}" if stop - start > 1 else str(start) for start, stop in r)
        for r in (part.rows, part.columns)
    )
    told = f"{what}: {part.size}, rows {rows}, columns {columns}"
    for place in field.places(part):
        on.box(place, told, **style)


def _step(on: Canvas, found: BlockTiles, fields: tuple[_Field, _Field, _Field]) -> None:
    """Draw the tiles of A, B and C, and each matrix's name above it."""
    a, b, c = fields
    _draw(on, a, found.a, f"A of step {found.step}", _STEP)
    _draw(on, b, found.b, f"B of step {found.step}", _STEP)
    _draw(on, c, found.c, "the block's tile of C", _TILE)
    for field in fields:
        on.text(field.left, field.top - 9, field.name, weight="bold")
