"""The roofline in a terminal: ceilings and ridge points, the kernels' roofs, and a small plot."""

import math
from collections.abc import Iterator, Sequence
from typing import Final

from perfmodel.prediction import Prediction
from perfmodel.records import record
from perfmodel.reports import units
from perfmodel.reports.lines import PLAIN, Look, Piece, plain, stack
from perfmodel.reports.roofline import (
    LEVELS,
    Roofline,
    ridge_points,
    roof_name,
    roof_rate,
    roofline,
)
from perfmodel.reports.tables import table

_COLOURS: Final = {"l1": "blue", "l2": "green", "dram": "red"}
_MARKS: Final = {"l1": "1", "l2": "2", "dram": "D"}
_WIDEST: Final = 100
_NARROWEST: Final = 40
_ROWS: Final = 18
_MARGIN: Final = 7
Cells = dict[tuple[int, int], tuple[str, str]]
"""Character and style by row from below and column."""
Spans = list[tuple[str, str]]
"""Texts of a line, each with its style."""

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


def roofline_report(predictions: Sequence[Prediction]) -> Piece:
    """Return the roofline of predictions of one GPU, for any width of terminal."""
    found = roofline(predictions)
    parts: list[Piece | str] = [
        plain(f"Roofline of {found.device.name} ({found.device.title})", "bold"),
        "",
        _ceiling_table(found),
        "",
    ]
    roofs = found.table().without("#")
    if found.drawn:
        parts += [roofs, "", RooflinePlot(found)]
    return stack(*parts, *([plain(roofs.note)] if roofs.note else []))


def _ceiling_table(found: Roofline) -> Piece:
    ridges = ridge_points(found.ceilings)
    rows = [[LEVELS[name], units.bandwidth(value)] for name, value in found.memory.items()]
    for name, peak in found.peaks.items():
        numbers = (f"{ridges[name, level]:.2f}" for level in found.memory)
        rows.append([roof_name(name), roof_rate(peak, name), *numbers])
    headers = ["ceiling", "peak", *(f"ridge {LEVELS[level]}" for level in found.memory)]
    wide = [[*row, *[""] * (len(headers) - len(row))] for row in rows]
    note = plain("Ridge points in FLOP/B: peak over bandwidth.")
    return stack(table(headers, wide, "l" + "r" * len(headers)), note)


@record
class Scale:
    """A logarithmic axis: values `low` to `high` on cells 0 to `cells` - 1."""

    low: float
    high: float
    cells: int

    def cell(self, value: float) -> int:
        """Return the cell of a value, perhaps outside."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return round(share * (self.cells - 1))

    def value(self, cell: int) -> float:
        """Return the value in the middle of a cell."""
        return float(self.low * (self.high / self.low) ** (cell / (self.cells - 1)))

    def decades(self) -> Iterator[float]:
        """Yield the powers of ten on the axis."""
        for power in range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1):
            yield 10.0**power


@record
class RooflinePlot:
    """A plot of characters in the width of the console, double logarithmic."""

    found: Roofline

    def lines(self, width: int, look: Look = PLAIN) -> list[str]:
        """Draw roofs, ceilings and dots, then axes and a key."""
        found: list[str] = []
        for spans in plot_lines(self.found, min(width, _WIDEST)):
            if len(spans) == 1 or width < _NARROWEST:
                found += plain("".join(text for text, _ in spans)).lines(width)
            else:
                found.append("".join(look.styled(*span) for span in spans))
        return found


def plot_lines(found: Roofline, width: int) -> Iterator[Spans]:
    """Yield the lines of a plot at most `width` columns wide (40 at least)."""
    drawn = list(zip(_LETTERS, found.drawn, strict=False))
    across, up = found.limits(found.used or {"": found.highest})
    x, y = Scale(*across, max(width, _NARROWEST) - _MARGIN), Scale(*up, _ROWS)
    cells: Cells = {}
    for name, bandwidth in found.memory.items():
        for column in range(x.cells):
            rate = x.value(column) * bandwidth
            if y.low <= rate <= found.highest:
                cells[y.cell(rate), column] = ("/", _COLOURS[name])
    for name, peak in found.used.items():
        row, start = y.cell(peak), x.cell(peak / max(found.memory.values()))
        cells |= {(row, column): ("-", "") for column in range(max(start, 0), x.cells)}
        label = f"{roof_name(name)} {roof_rate(peak, name)}"
        _write(cells, row + 1, x.cells - len(label), label, "")
    for name in found.memory:
        _label_roof(cells, y.cells, LEVELS[name], ("/", _COLOURS[name]))
    for letter, (_, _, place) in drawn:
        for p in place.points:
            row, column = y.cell(place.flop_per_s), x.cell(p.intensity)
            _write(cells, row, min(column, x.cells - 2), letter + _MARKS[p.level], "bold")
    ticks = {y.cell(value): units.count(value) for value in y.decades()}
    yield [("FLOP/s", "")]
    for row in reversed(range(y.cells)):
        tick = f"{ticks.get(row, ''):>{_MARGIN - 2}} |"
        last = max((column for r, column in cells if r == row), default=-1)
        yield [(tick, ""), *(cells.get((row, column), (" ", "")) for column in range(last + 1))]
    yield from _x_axis(x)
    key = ", ".join(f"{letter} {label}" for letter, (_, label, _) in drawn)
    yield [(f"{key}; 1 at L1, 2 at L2, D at DRAM", "")]


def _label_roof(cells: Cells, rows: int, label: str, drawn: tuple[str, str]) -> None:
    """Write a roof's name to the left of it, in the lowest row that has room."""
    for row in range(rows):
        own = [column for (r, column), cell in cells.items() if r == row and cell == drawn]
        columns = range(min(own, default=0) - len(label) - 1, min(own, default=0) - 1)
        if columns.start >= 0 and not any((row, c) in cells for c in columns):
            _write(cells, row, columns.start, label, drawn[1])
            return


def _write(cells: Cells, row: int, column: int, text: str, style: str) -> None:
    for i, character in enumerate(text):
        cells[row, column + i] = (character, style)


def _x_axis(x: Scale) -> Iterator[Spans]:
    rule = ["-"] * x.cells
    numbers = [" "] * (x.cells + 4)
    for value in x.decades():
        column = x.cell(value)
        rule[column] = "+"
        text = f"{value:g}"
        start = min(max(column - len(text) // 2, 0), x.cells - len(text))
        if all(c == " " for c in numbers[max(start - 1, 0) : start + len(text) + 1]):
            numbers[start : start + len(text)] = text
    unit = "FLOP/B"
    margin = " " * (_MARGIN - 1)
    yield [(f"{margin}+{''.join(rule)}", "")]
    yield [(f"{margin} {''.join(numbers).rstrip()}", "")]
    yield [(f"{margin} {unit:>{x.cells}}", "")]
