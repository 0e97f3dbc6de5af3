"""Pieces that all reports share: plain tables, labelled lines, and bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

Align = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class Bar:
    """A horizontal bar that fills `share` (0 to 1) of `width` characters."""

    share: float
    width: int = 20

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the bar: eighths of a character, or whole "#" where only ASCII goes."""
        eighths = round(min(max(self.share, 0.0), 1.0) * self.width * 8)
        if options.ascii_only:
            yield Segment("#" * round(eighths / 8))
        else:
            partial = " ▏▎▍▌▋▊▉"[eighths % 8].strip()
            yield Segment("█" * (eighths // 8) + partial)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Say how wide the bar is."""
        return Measurement(self.width, self.width)


def table(
    headers: Sequence[str],
    rows: Iterable[Sequence[RenderableType | None]],
    *,
    align: Sequence[Align] = (),
    gap: int = 2,
) -> Table:
    """Return a table without lines: a bold header, columns `gap` spaces apart.

    Parameters
    ----------
    headers
        One a column; an empty one has no heading.
    rows
        A cell for each column; None is an empty cell.
    align
        Alignment by column; columns without one are aligned left.
    gap
        Spaces between columns.
    """
    made = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="bold")
    for position, header in enumerate(headers):
        side = align[position] if position < len(align) else "left"
        made.add_column(plain(header), justify=side, overflow="fold", no_wrap=side == "right")
    for row in rows:
        made.add_row(*(plain(cell) if isinstance(cell, str) else cell for cell in row))
    return made


def labelled(lines: Iterable[tuple[str, str]], width: int = 9) -> Table:
    """Return lines of a bold label and a text that wraps beside it; labels at least `width`."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="bold", no_wrap=True, min_width=width)
    grid.add_column(overflow="fold")
    for label, text in lines:
        grid.add_row(plain(label), plain(text))
    return grid


def plain(text: str, style: str = "") -> Text:
    """Return text as it is: what looks like markup is none."""
    return Text(text, style)
