"""The steps of a block as a figure: who copies, waits and works when."""

from typing import Any, Final

from perfmodel.records import record
from perfmodel.reports import units
from perfmodel.reports.binding_text import TERMS
from perfmodel.reports.drawings.canvas import MARGIN, Canvas, canvas
from perfmodel.reports.drawings.pipeline import Pipeline, Role, Span
from perfmodel.reports.figure_style import AMBER, BAND, BLUE, FAINT, GREEN, GREY, ROSE, Drawing

_ROW: Final = 28.0
_GAP: Final = 28.0
"""Width of what is cut out."""
_NAMES: Final = 100.0
"""Width of the rows' names."""
_STYLES: Final[dict[Role, dict[str, Any]]] = {
    "start": {"facecolor": BAND, "edgecolor": GREY, "linewidth": 0.6},
    "copy": {"facecolor": GREEN, "alpha": 0.45},
    "ready": {"facecolor": GREEN},
    "wait": {"facecolor": AMBER},
    "work": {"facecolor": BLUE},
    "end": {"facecolor": ROSE},
}
_TOLD: Final[dict[bool, dict[Role, str]]] = {
    True: {
        "start": "until the first data is there",
        "copy": "copy in flight",
        "ready": "data there",
        "work": "work on a step",
        "end": "the tile besides its steps",
    },
    False: {
        "start": "prologue",
        "wait": "waits for loads and barriers",
        "work": "works, with the other blocks",
    },
}


def pipeline_figure(found: Pipeline, width: float) -> Drawing:
    """Draw rows over time: resident blocks, or the stages of shared memory and the pipe."""
    roles = {span.role for row in found.rows for span in row.spans}
    told = {role: text for role, text in _TOLD[found.ahead].items() if role in roles}
    legend = [(_STYLES[role], text) for role, text in told.items()]
    rows = 62 + _ROW * len(found.rows)
    with canvas(width) as on:
        on.text(MARGIN, 16, f"Pipeline of {found.kernel}", size=12.0, weight="bold")
        on.text(MARGIN, 34, f"on {found.device}", color=GREY)
        times = _times(found, width, 66.0 if on.narrow else _NAMES)
        for i, row in enumerate(found.rows):
            y = 52 + i * _ROW
            name = row.name if on.narrow else TERMS.get(row.name, row.name)
            on.text(MARGIN, y + _ROW / 2 - 3, name)
            for span in row.spans:
                _draw(on, span, told[span.role], times, y)
        _time_axis(on, times, rows - 8)
        y = on.legend(rows + 26, legend)
        y = on.paragraph(y, found.text)
        on.end(on.paragraph(y, _note(found), color=GREY) + 8)
    return on.made


def _note(found: Pipeline) -> str:
    if found.ahead:
        shown = len(found.rows) - 1
        some = f" Of the stages {shown} are shown." if shown < found.stages else ""
        return (
            "One tile of an SM; work and data to scale, by the terms of the prediction. Copies "
            f"start as soon as a stage is free.{some}"
        )
    return (
        "Waits and work to scale, as the time model has them; by how much blocks are shifted "
        "against one another is schematic."
    )


@record
class _Times:
    """Where times lie in the picture, with what is cut out as a gap."""

    left: float
    scale: float  # points of a second
    last: float
    cut: tuple[float, float] | None

    def at(self, time: float) -> float:
        """Return where a time lies."""
        if self.cut is None or time < self.cut[1]:
            return self.left + time * self.scale
        return self.left + (time - self.cut[1] + self.cut[0]) * self.scale + _GAP


def _times(found: Pipeline, width: float, names: float) -> _Times:
    last = max(span.stop for row in found.rows for span in row.spans)
    left_out, gap = (found.cut[1] - found.cut[0], _GAP) if found.cut else (0.0, 0.0)
    room = width - 2 * MARGIN - names - gap
    return _Times(MARGIN + names, room / (last - left_out), last, found.cut)


def _draw(on: Canvas, span: Span, what: str, times: _Times, y: float) -> None:
    left, right = times.at(span.start), times.at(span.stop)
    step = "" if span.step is None else f"step {span.step}: "
    told = f"{step}{what}, {units.seconds(span.stop - span.start)}"
    style = {"edgecolor": "white", "linewidth": 0.6, **_STYLES[span.role]}
    on.box((left, y, right - left, _ROW - 6), told, **style)
    if span.role == "work" and span.step is not None and right - left > 6 + 7 * len(str(span.step)):
        on.text((left + right) / 2, y + _ROW / 2 - 3, str(span.step), ha="center", color="white",
                weight="bold")  # fmt: skip


def _time_axis(on: Canvas, times: _Times, y: float) -> None:
    """Draw ticks of time below the rows, up to what is cut out."""
    last = times.cut[0] if times.cut else times.last
    step = next(
        each * 10.0**power
        for power in range(-10, 2)
        for each in (1, 2, 5)
        if last / (each * 10.0**power) <= (4 if on.narrow else 8)
    )
    on.line([times.left, times.at(last)], [y, y])
    if times.cut:
        on.text(times.at(last) + _GAP / 2, y - 20, "...", ha="center", weight="bold")
        on.line([times.at(times.cut[1]), times.at(times.last)], [y, y])
    for i in range(int(last / step) + 1):
        x = times.at(i * step)
        on.line([x, x], [48, y], color=FAINT, linewidth=0.6, zorder=0)
        on.line([x, x], [y, y + 4])
        side = "right" if x > on.width - 40 else "center"
        on.text(x, y + 12, units.seconds(i * step) if i else "0", ha=side)
