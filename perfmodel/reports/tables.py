"""Pieces that all reports share: tables, labelled lines, and bars."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table as Grid
from rich.text import Text

from perfmodel.records import record

_LONG_WORD: Final = 24  # a longer one may be broken: paths, sources, formulas
_SHORT_BAR: Final = 8


@record
class Table:
    """A table that a terminal, a page and a Markdown file show.

    Attributes
    ----------
    title : str
    columns : tuple of str
    rows : tuple of tuple of str
        As many cells as columns; line breaks are kept.
    note : str
        A sentence or more below it; may be empty.
    align : str
        "l" or "r" for each column; columns without one are aligned left.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    align: str = ""

    def __rich__(self) -> Columns:
        """Return what a terminal shows of it: columns and rows."""
        return table(self.columns, self.rows, self.align)

    def side(self, column: int) -> str:
        """Return "l" or "r"."""
        return self.align[column : column + 1] or "l"

    def without(self, *names: str) -> Table:
        """Return the table without some columns."""
        keep = [i for i, name in enumerate(self.columns) if name not in names]
        return Table(
            self.title,
            tuple(self.columns[i] for i in keep),
            tuple(tuple(row[i] for i in keep) for row in self.rows),
            self.note,
            "".join(map(self.side, keep)),
        )


@record
class Bar:
    """A horizontal bar that fills `share` (0 to 1) of `width` characters."""

    share: float
    width: int = 20

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the bar: eighths of a character, or whole "#" where only ASCII goes."""
        width = min(self.width, options.max_width)
        eighths = round(min(max(self.share, 0.0), 1.0) * width * 8)
        if options.ascii_only:
            yield Segment("#" * round(eighths / 8))
        else:
            partial = " ▏▎▍▌▋▊▉"[eighths % 8].strip()
            yield Segment("█" * (eighths // 8) + partial)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Say how wide the bar is."""
        return Measurement(min(_SHORT_BAR, self.width), self.width)


@record
class Columns:
    """A table without lines, which fits the terminal: see `table`."""

    headers: tuple[Text, ...]
    rows: tuple[tuple[RenderableType | None, ...], ...]
    align: str
    gap: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the table; columns that there is no room for go below, beside the first again."""
        sizes = [self._measured(console, options, i) for i in range(len(self.headers))]
        for number, places in enumerate(self._blocks(sizes, options.max_width)):
            if number:
                yield Text()
            widths = self._widths([sizes[i] for i in places], options.max_width)
            made = Grid(box=None, padding=(0, self.gap, 0, 0), pad_edge=False, header_style="bold")
            for i, width in zip(places, widths, strict=True):
                side: Literal["left", "right"] = "right" if self.align[i : i + 1] == "r" else "left"
                made.add_column(self.headers[i], justify=side, overflow="fold", width=width)
            for row in self.rows:
                made.add_row(*(row[i] for i in places))
            yield made

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Say how wide the table is."""
        sizes = [self._measured(console, options, i) for i in range(len(self.headers))]
        gaps = self.gap * (len(sizes) - 1)
        most = sum(size.maximum for size in sizes) + gaps
        return Measurement(min(sum(size.minimum for size in sizes) + gaps, most), most)

    def _measured(self, console: Console, options: ConsoleOptions, place: int) -> Measurement:
        """Return the widths at which a column still reads well, and at which nothing wraps."""
        cells = [self.headers[place], *(row[place] for row in self.rows)]
        each = [Measurement.get(console, options, cell) for cell in cells if cell is not None]
        most = max(size.maximum for size in each)
        if self.align[place : place + 1] == "r":  # numbers stay whole
            return Measurement(most, most)
        return Measurement(min(max(size.minimum for size in each), _LONG_WORD), most)

    def _blocks(self, sizes: Sequence[Measurement], room: int) -> Iterator[list[int]]:
        """Yield the columns that stand side by side."""
        block, used = [0], sizes[0].minimum
        for i, size in enumerate(sizes[1:], 1):
            if len(block) > 1 and used + self.gap + size.minimum > room:
                yield block
                block, used = [0], sizes[0].minimum
            block.append(i)
            used += self.gap + size.minimum
        yield block

    def _widths(self, sizes: Sequence[Measurement], room: int) -> list[int]:
        """Return the columns' widths: what is too wide gives way, the widest first."""
        room -= self.gap * (len(sizes) - 1)
        most = max(size.maximum for size in sizes)
        for limit in range(most, 0, -1):
            widths = [min(size.maximum, max(size.minimum, limit)) for size in sizes]
            if sum(widths) <= room:
                break
        spare = room - sum(widths)
        for i, size in enumerate(sizes):
            if spare > 0 and size.maximum > widths[i]:
                widths[i], spare = widths[i] + 1, spare - 1
        return widths


def table(
    headers: Sequence[str],
    rows: Iterable[Sequence[RenderableType | None]],
    align: str = "",
    gap: int = 2,
) -> Columns:
    """Return a table without lines: a bold header, columns `gap` spaces apart.

    Where it is wider than the terminal, text wraps at words; columns that then still find no room
    go below the others, beside the first column again. A header may be empty, and a cell None;
    `align` is as in `Table`.
    """
    return Columns(
        tuple(plain(header) for header in headers),
        tuple(tuple(plain(c) if isinstance(c, str) else c for c in row) for row in rows),
        align,
        gap,
    )


def labelled(lines: Iterable[tuple[str, str]], width: int = 9) -> Grid:
    """Return lines of a bold label and a text that wraps beside it; labels at least `width`."""
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="bold", no_wrap=True, min_width=width)
    grid.add_column(overflow="fold")
    for label, text in lines:
        grid.add_row(plain(label), plain(text))
    return grid


def beside(label: str, text: Text) -> Grid:
    """Return a text that wraps beside its label, not below it."""
    grid = Grid.grid()
    grid.add_column(no_wrap=True, width=len(label))
    grid.add_column(overflow="fold")
    grid.add_row(plain(label), text)
    return grid


def plain(text: str, style: str = "") -> Text:
    """Return text as it is: what looks like markup is none."""
    return Text(text, style)
