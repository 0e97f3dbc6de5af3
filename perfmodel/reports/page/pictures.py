"""The pictures of a report: times, roofline, and of each launch its terms and its traffic."""

from __future__ import annotations

from perfmodel.reports.explain import terms_text
from perfmodel.reports.page.content import Report, ReportedLaunch
from perfmodel.reports.page.flow import flow_figure, flow_text
from perfmodel.reports.page.svg import Picture
from perfmodel.reports.page.time_figures import terms_figure, times_figure
from perfmodel.reports.prediction_text import answer, ranked_terms
from perfmodel.reports.roofline_figure import draw_roofline


def pictures(report: Report) -> dict[str, Picture]:
    """Return the pictures of a report by name, each drawn once."""
    of_all = (_times(report), _roofline(report))
    of_each = (f(each) for each in report.launches for f in (_terms, _traffic))
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
