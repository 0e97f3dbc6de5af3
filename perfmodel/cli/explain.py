"""`perfmodel explain`: each formula that mattered, with the numbers put in, down to the time."""

from perfmodel.cli.grouped_options import option
from perfmodel.cli.launch_options import LaunchOptions
from perfmodel.cli.options import JSON, KERNEL, figure_option
from perfmodel.cli.output import print_json, save_drawing, show, write
from perfmodel.errors import PerfmodelError


def explain(
    *,
    kernel: str = KERNEL,
    chosen: LaunchOptions,
    latex: bool = option("Print a LaTeX fragment for documents with amsmath.", default=False),
    full: bool = option("Show also the formulas that move the time by under 1%.", default=False),
    timeline: str | None = figure_option(
        "Draw four atomics to one address and to several into a .svg, .png or .pdf.", "--timeline"
    ),
    json: bool = JSON,
) -> None:
    """Derive a prediction: each formula that mattered, its numbers put in, down to the time."""
    if latex and json:
        raise PerfmodelError("--latex and --json exclude each other: give one of them")
    from perfmodel import predict

    found, platform = chosen.of(kernel)
    prediction = predict(found.kernel, **platform, **found.values)
    if timeline is not None:
        from perfmodel.reports.timeline_figure import timeline_figure

        save_drawing(timeline_figure(prediction), timeline)
    if json:
        from perfmodel.reports.explain import explain, explanation_record

        print_json(explanation_record(prediction, explain(prediction, full=full)))
    elif latex:
        from perfmodel.reports.explain import explain
        from perfmodel.reports.explain_latex import explanation_latex

        write(explanation_latex(prediction, explain(prediction, full=full)))
    elif timeline is None:
        from perfmodel.reports.explain_text import ExplanationReport

        show(ExplanationReport(prediction, full))
