"""The pictures of a report: times, roofline, and of each launch what it needs and does."""

from __future__ import annotations

from typing import Final

from perfmodel.errors import PerfmodelError
from perfmodel.reports.drawings.l2_window import has_window, l2_window
from perfmodel.reports.drawings.pictures import picture
from perfmodel.reports.drawings.sectors import warp_request
from perfmodel.reports.drawings.tiles import block_tiles, is_product
from perfmodel.reports.explain import terms_text
from perfmodel.reports.page.content import Report, ReportedLaunch
from perfmodel.reports.page.flow import flow_figure, flow_text
from perfmodel.reports.page.svg import Picture
from perfmodel.reports.page.time_figures import terms_figure, times_figure
from perfmodel.reports.prediction_text import answer, ranked_terms
from perfmodel.reports.roofline_figure import draw_roofline

DOES: Final = {
    "sectors": "A request of the access with the most sectors: its lanes, and what they touch.",
    "tiles": "What a block works on in its first step.",
    "l2": "What is set aside of L2, and what becomes of the access policy window.",
}
"""Pictures of what a launch does, with what is written above them."""


def pictures(report: Report) -> dict[str, Picture]:
    """Return the pictures of a report by name, each drawn once."""
    of_all = (_times(report), _roofline(report))
    each_has = (_terms, _traffic, _sectors, _tiles, _window)
    of_each = (f(each) for each in report.launches for f in each_has)
    return {found.name: found for found in (*of_all, *of_each) if found is not None}


def _times(report: Report) -> Picture | None:
    """Return the launches' times with their 90% intervals; None for a single launch."""
    if len(report.launches) < 2:
        return None
    told = "; ".join(f"{each.label} {answer(each.prediction)}" for each in report.launches)
    title = "Predicted times, with 90% intervals"
    return Picture("times", title, f"{told}.", times_figure(report.launches))


def _roofline(report: Report) -> Picture | None:
    """Return the launches under their roofs; None if none of them computes anything."""
    found = report.roofline
    if not found.drawn:
        return None
    wide, narrow = draw_roofline(found), draw_roofline(found, narrow=True)
    return Picture("roofline", found.title, found.text, wide, narrow)


def _terms(launch: ReportedLaunch) -> Picture:
    """Return what each resource would need alone, and the predicted time."""
    p = launch.prediction
    return Picture(
        f"terms-{launch.number}",
        f"Time of {launch.label}, and of each resource alone",
        f"Predicted {answer(p)}; alone: {terms_text(ranked_terms(p))}.",
        terms_figure(p),
    )


def _traffic(launch: ReportedLaunch) -> Picture:
    """Return the bytes that move between the levels of memory."""
    return Picture(
        f"traffic-{launch.number}",
        f"Traffic of {launch.label} at each level",
        f"{flow_text(launch.prediction)}.",
        flow_figure(launch.prediction),
    )


def _sectors(launch: ReportedLaunch) -> Picture | None:
    """Return a request of the most expensive access; None where no index says where it goes."""
    try:
        found = warp_request(launch.prediction)
    except PerfmodelError:
        return None
    return picture(found, f"sectors-{launch.number}")


def _tiles(launch: ReportedLaunch) -> Picture | None:
    """Return what a block of a matrix product works on; None of other kernels."""
    if not is_product(launch.prediction):
        return None
    try:
        found = block_tiles(launch.prediction)
    except PerfmodelError:
        return None
    return picture(found, f"tiles-{launch.number}")


def _window(launch: ReportedLaunch) -> Picture | None:
    """Return what an access policy window does; None without one."""
    if not has_window(launch.prediction):
        return None
    return picture(l2_window(launch.prediction), f"l2-{launch.number}")
