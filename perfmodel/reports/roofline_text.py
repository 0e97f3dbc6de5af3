"""The roofline in a terminal: ceilings and ridge points, the kernels' roofs, and a small plot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from perfmodel.prediction import Prediction
from perfmodel.prediction.record import Ceiling
from perfmodel.reports import units
from perfmodel.reports.roofline import (
    LEVELS,
    Placement,
    common_ceilings,
    highest_peak,
    labels,
    placement,
    ridge_points,
)
from perfmodel.reports.tables import Align, plain, table

_COLOURS: Final = {"l1": "blue", "l2": "green", "dram": "red"}
_MARKS: Final = {"l1": "1", "l2": "2", "dram": "D"}
_WIDEST: Final = 100
_ROWS: Final = 18
_MARGIN: Final = 7
Cells = dict[tuple[int, int], tuple[str, str]]
"""Character and style by row from below and column."""

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


def roofline_report(predictions: Sequence[Prediction]) -> RenderableType:
    """Return the roofline of predictions of one GPU, for any width of terminal.

    Raises
    ------
    PerfmodelError
        If there is no prediction, or they are of several GPUs.
    """
    ceilings = common_ceilings(predictions)
    names = labels(predictions)
    places = [placement(p) for p in predictions]
    drawn = [(name, place) for name, place in zip(names, places, strict=True) if place.points]
    nothing = [name for name, place in zip(names, places, strict=True) if not place.points]
    device = predictions[0].details.device
    parts: list[RenderableType] = [
        plain(f"Roofline of {device.name} ({device.title})", "bold"),
        "",
        _ceiling_table(ceilings),
        "",
    ]
    if drawn:
        parts += [_kernel_table(drawn), "", RooflinePlot(tuple(drawn), tuple(ceilings))]
    if nothing:
        listed = ", ".join(nothing)
        parts.append(plain(f"{listed}: no floating-point operations, so no place on the roofline"))
    return Group(*parts)


def _ceiling_table(ceilings: Sequence[Ceiling]) -> RenderableType:
    memory = [c for c in ceilings if c.kind == "memory"]
    ridges = ridge_points(ceilings)
    rows: list[list[str]] = [
        [LEVELS[c.name], units.bandwidth(c.value), *("" for _ in memory)] for c in memory
    ]
    for c in ceilings:
        if c.kind == "compute":
            numbers = [f"{ridges[c.name, m.name]:.2f}" for m in memory]
            rows.append([c.name, units.flop_rate(c.value), *numbers])
    align: list[Align] = ["left", "right"]
    align += ["right"] * len(memory)
    headers = ["ceiling", "peak", *(f"ridge {LEVELS[m.name]}" for m in memory)]
    return Group(
        table(headers, rows, align=align), plain("Ridge points in FLOP/B: peak over bandwidth.")
    )


def _kernel_table(drawn: Sequence[tuple[str, Placement]]) -> RenderableType:
    rows: list[list[str]] = []
    for name, place in drawn:
        roofs = [(p.level, units.number(p.intensity), p.attainable) for p in place.points]
        if place.peak is not None:
            roofs.append((place.precision, "", place.peak))
        for i, (roof, intensity, attainable) in enumerate(roofs):
            rows.append(
                [
                    "" if i else name,
                    "" if i else units.flop_rate(place.flop_per_s),
                    LEVELS.get(roof, roof),
                    intensity,
                    units.flop_rate(attainable),
                    units.percent(place.flop_per_s / attainable),
                    "nearest roof" if roof == place.nearest else "",
                ]
            )
    return table(
        ["kernel", "predicted", "roof", "FLOP/B", "attainable", "reached", ""],
        rows,
        align=["left", "right", "left", "right", "right", "right", "left"],
    )


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class RooflinePlot:
    """A plot of characters in the width of the console, double logarithmic.

    Attributes
    ----------
    drawn : tuple of (str, Placement)
        Kernels by name.
    ceilings : tuple of Ceiling
    """

    drawn: tuple[tuple[str, Placement], ...]
    ceilings: tuple[Ceiling, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw roofs, ceilings and dots, then axes and a key."""
        yield from plot_lines(self.drawn, self.ceilings, min(options.max_width, _WIDEST))


def plot_lines(
    drawn: Sequence[tuple[str, Placement]], ceilings: Sequence[Ceiling], width: int
) -> Iterator[Text]:
    """Yield the lines of a plot at most `width` columns wide (40 at least)."""
    memory = {c.name: c.value for c in ceilings if c.kind == "memory"}
    peaks = {p.precision: p.peak for _, p in drawn if p.peak is not None}
    highest = highest_peak([place for _, place in drawn], ceilings)
    intensities = [p.intensity for _, place in drawn for p in place.points]
    ridges = [p / bandwidth for p in peaks.values() or [highest] for bandwidth in memory.values()]
    rates = [place.flop_per_s for _, place in drawn]
    x = Scale(
        min(*intensities, min(ridges) / 4) / 3,
        max(*intensities, *ridges) * 4,
        max(width, 40) - _MARGIN,
    )
    y = Scale(min(*rates, *_least_rates(x, memory)) / 2, highest * 2.5, _ROWS)
    cells: Cells = {}
    for name, bandwidth in memory.items():
        for column in range(x.cells):
            rate = x.value(column) * bandwidth
            if y.low <= rate <= highest:
                cells[y.cell(rate), column] = ("/", _COLOURS[name])
    for precision, peak in peaks.items():
        row, start = y.cell(peak), x.cell(peak / max(memory.values()))
        for column in range(max(start, 0), x.cells):
            cells[row, column] = ("-", "")
        label = f"{precision} {units.flop_rate(peak)}"
        _write(cells, row + 1, x.cells - len(label), label, "")
    for name in memory:
        _label_roof(cells, y.cells, LEVELS[name], ("/", _COLOURS[name]))
    for letter, (_, place) in zip(_LETTERS, drawn, strict=False):
        for p in place.points:
            row, column = y.cell(place.flop_per_s), x.cell(p.intensity)
            _write(cells, row, min(column, x.cells - 2), letter + _MARKS[p.level], "bold")
    ticks = {y.cell(value): units.count(value) for value in y.decades()}
    yield plain("FLOP/s")
    for row in reversed(range(y.cells)):
        line = Text(f"{ticks.get(row, ''):>{_MARGIN - 2}} |")
        for column in range(x.cells):
            character, style = cells.get((row, column), (" ", ""))
            line.append(character, style or None)
        line.rstrip()
        yield line
    yield from _x_axis(x)
    key = ", ".join(f"{letter} {name}" for letter, (name, _) in zip(_LETTERS, drawn, strict=False))
    yield plain(f"{key}; 1 at L1, 2 at L2, D at DRAM")


def _least_rates(x: Scale, memory: dict[str, float]) -> list[float]:
    """Return the rates at which the lowest roof enters the plot, so that it is seen."""
    return [x.low * min(memory.values()) * 8]


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


def _x_axis(x: Scale) -> Iterator[Text]:
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
    yield plain(f"{margin}+{''.join(rule)}")
    yield plain(f"{margin} {''.join(numbers).rstrip()}")
    yield plain(f"{margin} {unit:>{x.cells}}")
