"""`perfmodel explain`: each formula that mattered, with the numbers put in, down to the time."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from perfmodel.cli.defines import parse_defines
from perfmodel.cli.l2_options import (
    CompressionOption,
    ConcurrentOption,
    FetchGranularityOption,
    HitPropOption,
    HitRatioOption,
    MissPropOption,
    SetAsideOption,
    WindowBufferOption,
    WindowOption,
    concurrent_windows,
    l2_control,
)
from perfmodel.cli.options import (
    DEFAULT_DEVICE,
    CacheOption,
    DefineOption,
    DeviceOption,
    JsonOption,
    KernelArgument,
    MappingOption,
    TimingOption,
)
from perfmodel.cli.output import print_json, show
from perfmodel.errors import PerfmodelError

EXAMPLES = (
    "perfmodel explain gemm --mapping naive -D N=4096",
    "perfmodel explain strided-copy -D stride=8 --device a100-sxm-80",
    "perfmodel explain data-reset -D in_bytes=16MiB --set-aside 8MiB --window 16MiB",
    "perfmodel explain gemm --mapping coalesced --latex > gemm.tex",
    "perfmodel explain atomic-add --timeline atomics.svg",
)


def explain(
    kernel: KernelArgument,
    define: DefineOption = None,
    mapping: MappingOption = None,
    device: DeviceOption = DEFAULT_DEVICE,
    timing: TimingOption = "profiler",
    cache: CacheOption = "cold",
    set_aside: SetAsideOption = None,
    window: WindowOption = None,
    window_buffer: WindowBufferOption = None,
    hit_ratio: HitRatioOption = 1.0,
    hit_prop: HitPropOption = "persisting",
    miss_prop: MissPropOption = "streaming",
    fetch_granularity: FetchGranularityOption = 64,
    compression: CompressionOption = 1.0,
    concurrent: ConcurrentOption = None,
    latex: Annotated[
        bool, typer.Option("--latex", help="Print a LaTeX fragment for documents with amsmath.")
    ] = False,
    timeline: Annotated[
        str | None,
        typer.Option(
            "--timeline",
            metavar="FILE",
            help="Draw four atomics in single file and side by side into a .svg, .png or .pdf.",
            show_default=False,
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Derive a prediction: each formula that mattered, its numbers put in, down to the time."""
    if latex and json:
        raise PerfmodelError("--latex and --json exclude each other: give one of them")
    if timeline is not None:
        from perfmodel.reports.figure_style import check_figure_path

        check_figure_path(timeline)
    from perfmodel import predict
    from perfmodel.kernels import find_kernel

    found = find_kernel(kernel, mapping)
    values: dict[str, Any] = parse_defines(define or (), found.word_parameters)
    control = l2_control(
        found,
        set_aside=set_aside,
        window=window,
        window_buffer=window_buffer,
        hit_ratio=hit_ratio,
        hit_prop=hit_prop,
        miss_prop=miss_prop,
        fetch_granularity=fetch_granularity,
        compression=compression,
    )
    prediction = predict(
        found,
        device=device,
        timing=timing,
        cache=cache,
        l2=control,
        concurrent=concurrent_windows(concurrent),
        **values,
    )
    if timeline is not None:
        from perfmodel.reports.figure_style import save_figure
        from perfmodel.reports.timeline_figure import timeline_figure

        save_figure(timeline_figure(prediction), timeline)
    if json:
        from perfmodel.reports.explain import explanation_record

        print_json(explanation_record(prediction))
    elif latex:
        from perfmodel.reports.explain_latex import explanation_latex

        sys.stdout.write(explanation_latex(prediction))
    elif timeline is None:
        from perfmodel.reports.explain_text import ExplanationReport

        show(ExplanationReport(prediction))
