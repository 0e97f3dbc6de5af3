"""Pieces that all reports share: tables, labelled lines, and bars."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Final

from perfmodel.records import record
from perfmodel.reports.lines import PLAIN, Cell, Look, Piece, Words, cells, plain

_LONG_WORD: Final = 24  # a longer one may be broken: paths, sources, formulas
_SHORT_BAR: Final = 8


@record
class Table:
    """A table that a terminal, a page and a Markdown file show."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  # as many cells as columns; line breaks are kept
    note: str = ""  # a sentence or more below it; may be empty
    align: str = ""  # "l" or "r" for each column; columns without one are aligned left

    def side(self, column: int) -> str:
        """Return "l" or "r"."""
        return self.align[column : column + 1] or "l"

    def lines(self, width: int, look: Look = PLAIN) -> list[str]:
        """Return what text shows of it: columns and rows."""
        return table(self.columns, self.rows, self.align).lines(width, look)

    def without(self, *names: str) -> "Table":
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

    def lines(self, width: int, look: Look = PLAIN) -> list[str]:
        """Return the bar: eighths of a character, or whole "#" where only ASCII goes."""
        eighths = round(min(max(self.share, 0.0), 1.0) * min(self.width, width) * 8)
        if look.ascii_only:
            return ["#" * round(eighths / 8)]
        return ["█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()]

    def sizes(self) -> tuple[int, int]:
        """Return its least and its full width."""
        return min(_SHORT_BAR, self.width), self.width


@record
class Sparkline:
    """Shares (0 to 1) over time, a character each."""

    shares: Sequence[float]

    def lines(self, width: int, look: Look = PLAIN) -> list[str]:
        """Return them in eight levels and what they are: eighths, or signs that grow in ASCII."""
        levels = "_.-:=+*#" if look.ascii_only else "▁▂▃▄▅▆▇█"
        drawn = "".join(levels[min(7, int(8 * share))] for share in self.shares)
        return plain(f"{drawn} over time, 0 to 100%").lines(width, look)


@record
class Columns:
    """A table without lines, which fits the terminal: see `table`."""

    headers: tuple[Words, ...]
    rows: tuple[tuple[Cell, ...], ...]
    align: str
    gap: int

    def lines(self, width: int, look: Look = PLAIN) -> list[str]:
        """Return its lines; columns without room go below, beside the first again."""
        found: list[str] = []
        for places, widths in self._parts(width):
            found += [""] if found else []
            columns = list(zip(places, widths, strict=True))
            heads = [self.headers[i].lines(room, look) for i, room in columns]
            high = max(map(len, heads))  # of headers the last lines are level
            drawn = [[[""] * (high - len(head)) + head for head in heads]]
            drawn += [[row[i].lines(room, look) for i, room in columns] for row in self.rows]
            found += (
                (" " * self.gap).join(map(self._padded, parts, widths, places)).rstrip()
                for row in drawn
                for parts in zip_longest(*row, fillvalue="")
            )
        return found

    def sizes(self) -> tuple[int, int]:
        """Return the widths at which all columns read well, and at which nothing wraps."""
        sizes = [self._measured(i) for i in range(len(self.headers))]
        gaps = self.gap * (len(sizes) - 1)
        most = sum(most for _, most in sizes) + gaps
        return min(sum(least for least, _ in sizes) + gaps, most), most

    def _padded(self, text: str, width: int, place: int) -> str:
        spaces = " " * (width - cells(text))
        return spaces + text if self._right(place) else text + spaces

    def _right(self, place: int) -> bool:
        return self.align[place : place + 1] == "r"

    def _parts(self, room: int) -> Iterator[tuple[list[int], list[int]]]:
        """Yield which columns stand side by side, and their widths."""
        measured = (self._measured(i) for i in range(len(self.headers)))
        sizes = [(min(least, room), min(most, room)) for least, most in measured]
        for places in self._blocks(sizes, room):
            yield places, self._widths([sizes[i] for i in places], room)

    def _measured(self, place: int) -> tuple[int, int]:
        """Return the widths at which a column still reads well, and at which nothing wraps."""
        column: list[Cell] = [self.headers[place], *(row[place] for row in self.rows)]
        each = [cell.sizes() for cell in column]
        most = max(most for _, most in each)
        if self._right(place):  # numbers stay whole
            return most, most
        return min(max(least for least, _ in each), _LONG_WORD), most

    def _blocks(self, sizes: Sequence[tuple[int, int]], room: int) -> Iterator[list[int]]:
        """Yield the columns that stand side by side."""
        block, used = [0], sizes[0][0]
        for i, (least, _) in enumerate(sizes[1:], 1):
            if len(block) > 1 and used + self.gap + least > room:
                yield block
                block, used = [0], sizes[0][0]
            block.append(i)
            used += self.gap + least
        yield block

    def _widths(self, sizes: Sequence[tuple[int, int]], room: int) -> list[int]:
        """Return the columns' widths: what is too wide gives way, the widest first."""
        room -= self.gap * (len(sizes) - 1)
        largest = max(1, *(most for _, most in sizes))
        for limit in range(largest, 0, -1):
            widths = [min(most, max(least, limit)) for least, most in sizes]
            if sum(widths) <= room:
                break
        else:  # words and numbers are broken as well
            for limit in range(largest, 0, -1):
                widths = [min(least, limit) for least, _ in sizes]
                if sum(widths) <= room:
                    break
        spare = room - sum(widths)
        for i, (_, most) in enumerate(sizes):
            if spare > 0 and most > widths[i]:
                widths[i], spare = widths[i] + 1, spare - 1
        return widths


@record
class Labelled:
    """Lines of a label and a text that wraps beside it."""

    rows: tuple[tuple[str, Piece], ...]
    width: int  # of the labels, at least
    gap: int = 2
    style: str = "bold"

    def lines(self, width: int, look: Look = PLAIN) -> list[str]:
        """Return its lines."""
        before = max([self.width, *(cells(label) for label, _ in self.rows)]) + self.gap
        return [
            (look.styled(beside, self.style) + " " * (before - cells(beside)) + line).rstrip()
            for label, text in self.rows
            for beside, line in zip_longest(
                [label], text.lines(max(width - before, 1), look), fillvalue=""
            )
        ]


def table(
    headers: Sequence[str],
    rows: Iterable[Sequence[str | Cell | None]],
    align: str = "",
    gap: int = 2,
) -> Columns:
    """Return a table without lines: a bold header, columns `gap` spaces apart.

    Where it is wider than the terminal, text wraps at words; columns that then still find no room
    go below the others, beside the first column again. A header may be empty, and a cell None;
    `align` is as in `Table`.
    """
    return Columns(
        tuple(plain(header, "bold") for header in headers),
        tuple(
            tuple(plain(c or "") if c is None or isinstance(c, str) else c for c in row)
            for row in rows
        ),
        align,
        gap,
    )


def labelled(lines: Iterable[tuple[str, str | Piece]], width: int = 9) -> Labelled:
    """Return lines of a bold label and a text that wraps beside it; labels at least `width`."""
    rows = ((label, plain(text) if isinstance(text, str) else text) for label, text in lines)
    return Labelled(tuple(rows), width)


def beside(label: str, text: Words) -> Labelled:
    """Return a text that wraps beside its label, not below it."""
    return Labelled(((label, text),), len(label), gap=0, style="")
