"""What a report page holds: launches of one GPU with advice and figures used."""

from collections.abc import Sequence
from typing import Any, Final

from perfmodel.errors import PerfmodelError
from perfmodel.hardware import Device
from perfmodel.prediction.advise import Advice
from perfmodel.prediction.figures_used import UsedFigure, derive_as_far, figures_used
from perfmodel.prediction.record import Prediction
from perfmodel.records import record
from perfmodel.reports.explain import explain, explanation_record
from perfmodel.reports.records import device_record
from perfmodel.reports.roofline import Roofline, common_ceilings, labels, roofline, roofline_record
from perfmodel.reports.roofline_figure import MOST
from perfmodel.reports.step import Step

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
    """What a report page holds, and the command line that made it."""

    title: str
    launches: tuple[ReportedLaunch, ...]
    roofline: Roofline
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
    advice: Sequence[Advice] = (),
    command: str = "",
) -> Report:
    """Return the report of predictions: 1 to `MOST_LAUNCHES`, of one GPU.

    By default its title is the kernels and the GPU; a launch is called by kernel, mapping and what
    tells namesakes apart. `advice` is one for each launch, or none.

    Raises `PerfmodelError` if there is no prediction, too many, or they are of several GPUs.
    """
    common_ceilings(predictions)
    if len(predictions) > MOST_LAUNCHES:
        raise PerfmodelError(
            f"a report shows at most {MOST_LAUNCHES} launches, not {len(predictions)}: give fewer "
            "kernels or values, or several reports"
        )
    names = labels(predictions)
    found: Sequence[Advice | None] = advice or [None] * len(predictions)
    each = zip(names, predictions, found, strict=True)
    return Report(
        title=title or _title(names, predictions),
        roofline=roofline(predictions),
        launches=tuple(_launch(number, *one) for number, one in enumerate(each, 1)),
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


def report_record(report: Report) -> dict[str, Any]:
    """Return the report as the JSON object ``perfmodel.report/1``."""
    return {
        "schema": "perfmodel.report/1",
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
    }
