"""`perfmodel explain`: each formula that mattered, with the numbers put in, down to the time."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from perfmodel.cli.launch_options import DEFAULT_LAUNCH, LaunchOptions, with_launch_options
from perfmodel.cli.options import (
    JsonOption,
    KernelArgument,
    figure_option,
)
from perfmodel.cli.output import print_json, save_drawing, show
from perfmodel.errors import PerfmodelError

EXAMPLES = (
    "perfmodel explain gemm --mapping naive -D N=4096",
    "perfmodel explain strided-copy -D stride=8 --device a100-sxm-80",
    "perfmodel explain data-reset -D in_bytes=16MiB --set-aside 8MiB --window 16MiB",
    "perfmodel explain gemm --mapping coalesced --latex > gemm.tex",
    "perfmodel explain atomic-add --timeline atomics.svg",
    "perfmodel explain saxpy.cu --grid 'ceil_div(n, 256)' --block 256 --arg n=1.6e7 --arg a=2",
)


@with_launch_options
def explain(
    kernel: KernelArgument,
    chosen: LaunchOptions = DEFAULT_LAUNCH,
    latex: Annotated[
        bool, typer.Option("--latex", help="Print a LaTeX fragment for documents with amsmath.")
    ] = False,
    full: Annotated[
        bool,
        typer.Option("--full", help="Show also the formulas that move the time by under 1%."),
    ] = False,
    timeline: Annotated[
        str | None,
        figure_option(
            "--timeline",
            help="Draw four atomics to one address and to several into a .svg, .png or .pdf.",
        ),
    ] = None,
    json: JsonOption = False,
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

        sys.stdout.write(explanation_latex(prediction, explain(prediction, full=full)))
    elif timeline is None:
        from perfmodel.reports.explain_text import ExplanationReport

        show(ExplanationReport(prediction, full))
