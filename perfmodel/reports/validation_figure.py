"""A validation as a figure: predicted over measured time against measured time."""

from typing import TYPE_CHECKING, Final

from perfmodel.prediction.interval import REGIMES
from perfmodel.reports import units
from perfmodel.reports.figure_style import (
    AMBER,
    BLUE,
    FAINT,
    GREEN,
    GREY,
    INK,
    MARKERS,
    ROSE,
    VERMILION,
    new_figure,
)
from perfmodel.validation.validate import Validation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_DRAWN: Final = 2000
"""Points past which they are one picture in a drawing, not a shape each: megabytes otherwise."""

# Okabe and Ito's colours go round; markers tell the regimes apart without them.
_COLOURS: Final = dict(zip(REGIMES, (GREY, ROSE, BLUE, GREEN, VERMILION, AMBER, INK), strict=True))


def validation_figure(validation: Validation) -> "Figure":
    """Draw every case of a validation: those never fitted on filled, the others hollow."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    with new_figure(9.6, 5.4, layout="constrained") as figure:
        axes = figure.add_subplot()
        if len(validation.judged) > _MOST_DRAWN:
            axes.set_rasterization_zorder(4)
        axes.axhspan(1 / 1.1, 1.1, color=FAINT, linewidth=0, zorder=0)
        axes.axhline(1, color=GREY, linewidth=0.8, zorder=1)
        for name, marker in zip(REGIMES, MARKERS, strict=False):
            for use, face in (("fit", "none"), ("validation", _COLOURS[name])):
                some = [
                    j.case for j in validation.judged if (j.case.use, j.case.regime) == (use, name)
                ]
                if some:
                    axes.scatter(
                        [case.measured_s for case in some],
                        [case.predicted_s / case.measured_s for case in some],
                        s=22 if use == "validation" else 12,
                        marker=marker,
                        facecolors=face,
                        edgecolors=_COLOURS[name],
                        linewidths=0.6,
                        label=f"{name}, {use} ({len(some)})",
                        zorder=3 if use == "validation" else 2,
                    )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("measured time")
        axes.set_ylabel("predicted over measured time")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: units.seconds(value)))
        axes.yaxis.set_major_locator(FixedLocator([0.25, 0.5, 0.7, 0.9, 1, 1.1, 1.4, 2, 4]))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.minorticks_off()
        axes.set_title(
            f"Predictions of {validation.device.title}; the band is within 10%",
            loc="left",
            fontsize=12,
        )
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)
    return figure
