"""Hit rates of a simulated launch over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.prediction.simulated import SimulatedLaunch
from perfmodel.reports.figure_style import BLUE, FAINT, VERMILION, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def hit_rate_figure(launch: SimulatedLaunch) -> Figure:
    """Return a figure of the L1 and L2 hit rates in equal parts of the launch."""
    with new_figure(7, 3.4, layout="constrained") as figure:
        axes = figure.add_subplot()
        for level, name, colour in (("l1", "L1", VERMILION), ("l2", "L2", BLUE)):
            asked = launch.simulation.series[f"{level}_sectors"]
            hits = launch.simulation.series[f"{level}_hits"]
            points = [
                (100 * (i + 0.5) / len(asked), 100 * h / a)
                for i, (a, h) in enumerate(zip(asked, hits, strict=True))
                if a
            ]
            if points:
                axes.plot(*zip(*points, strict=True), color=colour, label=name, marker=".")
        axes.set_xlabel("share of the accesses made [%]")
        axes.set_ylabel("sectors that hit [%]")
        axes.set_xlim(0, 100)
        axes.set_ylim(-2, 102)
        axes.grid(True, color=FAINT, linewidth=0.6)
        axes.legend(frameon=False)
        kernel = " ".join(filter(None, (launch.kernel, launch.mapping)))
        axes.set_title(f"Hit rates of {kernel} on {launch.device.name}, simulated", loc="left")
    return figure
