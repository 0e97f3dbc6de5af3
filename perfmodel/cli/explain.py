"""`perfmodel explain`: each formula that mattered, with the numbers put in, down to the time."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from perfmodel.cli.defines import parse_defines
from perfmodel.cli.l2_options import AS_THE_DRIVER, L2Options, with_l2_options
from perfmodel.cli.options import (
    DEFAULT_DEVICE,
    CacheOption,
    DefineOption,
    DeviceOption,
    JsonOption,
    KernelArgument,
    MappingOption,
    TimingOption,
    figure_option,
)
from perfmodel.cli.output import print_json, show
from perfmodel.cli.program_options import NO_PROGRAM, ProgramOptions, with_program_options
from perfmodel.cli.tile_options import NO_TILES, TileOptions, with_tile_options
from perfmodel.errors import PerfmodelError

EXAMPLES = (
    "perfmodel explain gemm --mapping naive -D N=4096",
    "perfmodel explain strided-copy -D stride=8 --device a100-sxm-80",
    "perfmodel explain data-reset -D in_bytes=16MiB --set-aside 8MiB --window 16MiB",
    "perfmodel explain gemm --mapping coalesced --latex > gemm.tex",
    "perfmodel explain atomic-add --timeline atomics.svg",
    "perfmodel explain saxpy.cu --grid 65536 --block 256 --arg n=1.6e7 --arg a=2",
)


@with_tile_options
@with_l2_options
@with_program_options
def explain(
    kernel: KernelArgument,
    define: DefineOption = None,
    mapping: MappingOption = None,
    tiles: TileOptions = NO_TILES,
    device: DeviceOption = DEFAULT_DEVICE,
    timing: TimingOption = "profiler",
    cache: CacheOption = "cold",
    program: ProgramOptions = NO_PROGRAM,
    l2: L2Options = AS_THE_DRIVER,
    latex: Annotated[
        bool, typer.Option("--latex", help="Print a LaTeX fragment for documents with amsmath.")
    ] = False,
    timeline: Annotated[
        str | None,
        figure_option(
            "--timeline",
            help="Draw four atomics in single file and side by side into a .svg, .png or .pdf.",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Derive a prediction: each formula that mattered, its numbers put in, down to the time."""
    if latex and json:
        raise PerfmodelError("--latex and --json exclude each other: give one of them")
    from perfmodel import predict
    from perfmodel.hardware import load_device

    gpu = load_device(device)
    found = program.kernel(kernel, mapping, gpu)
    values: dict[str, Any] = parse_defines(
        tiles.added_to(define, kernel, mapping), found.word_parameters
    )
    control = l2.control(found)
    prediction = predict(
        found,
        device=gpu,
        timing=timing,
        cache=cache,
        l2=control,
        **l2.platform(),
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
