"""What a report page holds: launches of one GPU with advice and figures used, and other tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from perfmodel.errors import PerfmodelError
from perfmodel.hardware import Device
from perfmodel.prediction.advise import Advice, advise
from perfmodel.prediction.derive import derive_as_far
from perfmodel.prediction.figures_used import UsedFigure, figures_used
from perfmodel.prediction.record import Prediction
from perfmodel.records import record
from perfmodel.reports.explain import explain, explanation_record
from perfmodel.reports.records import device_record
from perfmodel.reports.roofline import Roofline, common_ceilings, labels, roofline, roofline_record
from perfmodel.reports.roofline_figure import MOST
from perfmodel.reports.step import Step
from perfmodel.reports.tables import Table

SCHEMA: Final = "perfmodel.report/1"
MOST_LAUNCHES: Final = MOST
"""Launches of one page; more would be no page that anybody reads."""
_LONG: Final = 80
"""Characters of a list of launches that is too long for a title."""


@record
class ReportedLaunch:
    """A launch of a report, with what is said about it.

    Numbers are from 1; the label tells it from the others. Figures are those of the device that
    the time comes from, and steps say how it follows.
    """

    number: int
    label: str
    prediction: Prediction
    advice: Advice | None
    figures: tuple[UsedFigure, ...]
    steps: tuple[Step, ...]


@record
class Report:
    """What a report page holds; tables follow the summary, and the command line made it."""

    title: str
    launches: tuple[ReportedLaunch, ...]
    roofline: Roofline
    tables: tuple[Table, ...] = ()
    command: str = ""

    @property
    def device(self) -> Device:
        """The GPU that all launches are of."""
        return self.launches[0].prediction.details.device

    @property
    def predictions(self) -> list[Prediction]:
        """The launches' predictions, in their order."""
        return [launch.prediction for launch in self.launches]

    @property
    def names(self) -> list[str]:
        """The launches' labels, in their order."""
        return [launch.label for launch in self.launches]


def build_report(
    predictions: Sequence[Prediction],
    *,
    title: str = "",
    names: Sequence[str] = (),
    advice: Sequence[Advice | None] | None = None,
    tables: Sequence[Table] = (),
    command: str = "",
) -> Report:
    """Return the report of predictions: 1 to `MOST_LAUNCHES`, of one GPU.

    By default its title is the kernels and the GPU, a launch is called by kernel, mapping and what
    tells namesakes apart, and `advise` is asked for advice, which an empty sequence leaves out.

    Raises
    ------
    PerfmodelError
        If there is no prediction, too many, or they are of several GPUs, or if names, advice or
        a table's cells do not fit what they belong to.
    """
    common_ceilings(predictions)
    if len(predictions) > MOST_LAUNCHES:
        raise PerfmodelError(
            f"a report shows at most {MOST_LAUNCHES} launches, not {len(predictions)}: give fewer "
            "kernels or values, or several reports"
        )
    names = list(names) or labels(predictions)
    if advice is None:
        advice = [advise_on(prediction) for prediction in predictions]
    found = list(advice) or [None] * len(predictions)
    for what, given in (("names", names), ("advice", found)):
        if len(given) != len(predictions):
            raise PerfmodelError(
                f"a report of {len(predictions)} predictions got {len(given)} {what}: give one for "
                "each, or none"
            )
    for table in tables:
        if any(len(row) != len(table.columns) for row in table.rows):
            raise PerfmodelError(
                f"table {table.title!r} of a report has rows that do not fit its "
                f"{len(table.columns)} columns: give a cell for each"
            )
    return Report(
        title=title or _title(names, predictions),
        roofline=roofline(predictions, names),
        launches=tuple(
            _launch(number, name, prediction, one)
            for number, (name, prediction, one) in enumerate(
                zip(names, predictions, found, strict=True), 1
            )
        ),
        tables=tuple(tables),
        command=command,
    )


def _launch(
    number: int, label: str, prediction: Prediction, advice: Advice | None
) -> ReportedLaunch:
    way = derive_as_far(prediction)
    figures, steps = figures_used(prediction, way), explain(prediction, way=way)
    return ReportedLaunch(number, label, prediction, advice, figures, steps)


def _title(names: Sequence[str], predictions: Sequence[Prediction]) -> str:
    listed = ", ".join(names)
    if len(listed) > _LONG:
        listed = (
            f"{len(names)} launches of {', '.join(dict.fromkeys(p.kernel for p in predictions))}"
        )
    if len(listed) > _LONG:
        listed = f"{len(names)} launches"
    return f"{listed} on {predictions[0].device}"


def advise_on(prediction: Prediction) -> Advice:
    """Return advice on a launch that is predicted already, of a GPU that nobody else uses."""
    details = prediction.details
    params: dict[str, Any] = dict(prediction.params)
    return advise(
        details.instance.kernel,
        device=details.device,
        timing=prediction.timing,
        cache=prediction.cache,
        l2=details.setting.control,
        **params,
    )


def report_record(report: Report) -> dict[str, Any]:
    """Return the report as the JSON object ``perfmodel.report/1``."""
    return {
        "schema": SCHEMA,
        "title": report.title,
        "device": device_record(report.device),
        "roofline": roofline_record(report.predictions),
        "launches": [
            {
                "label": launch.label,
                "explanation": explanation_record(launch.prediction, launch.steps),
                "advice": launch.advice.to_json() if launch.advice else None,
                "figures_used": [used.to_json() for used in launch.figures],
            }
            for launch in report.launches
        ],
        "tables": [
            {
                "title": table.title,
                "columns": list(table.columns),
                "rows": [list(row) for row in table.rows],
                "note": table.note,
            }
            for table in report.tables
        ],
    }
