"""`perfmodel roofline`: where kernels lie under a GPU's roofs, as text, figure or JSON."""

from __future__ import annotations

from typing import Any

from perfmodel.cli.defines import parse_defines
from perfmodel.cli.kernel_list import (
    KernelsArgument,
    check_names,
    find_kernels,
    own_values,
    word_parameters,
)
from perfmodel.cli.options import (
    DEFAULT_DEVICE,
    CacheOption,
    DefineOption,
    DeviceOption,
    FigureOption,
    JsonOption,
    TimingOption,
)
from perfmodel.cli.output import print_json, show
from perfmodel.cli.program_options import NO_PROGRAM, ProgramOptions, with_program_options

EXAMPLES = (
    "perfmodel roofline gemm:naive gemm:coalesced -D N=4096",
    "perfmodel roofline gemm:naive gemm:coalesced -o roofline.svg",
    "perfmodel roofline my-kernel.toml --device a100-sxm-80 --json",
    "perfmodel roofline kernels.cu --launch launches.toml",
)


@with_program_options
def roofline(
    kernels: KernelsArgument,
    define: DefineOption = None,
    device: DeviceOption = DEFAULT_DEVICE,
    timing: TimingOption = "profiler",
    cache: CacheOption = "cold",
    program: ProgramOptions = NO_PROGRAM,
    output: FigureOption = None,
    json: JsonOption = False,
) -> None:
    """Place kernels on the hierarchical roofline: L1, L2, DRAM, and the arithmetic peaks.

    A parameter given with -D goes to every kernel that has it.
    """
    from perfmodel import predict
    from perfmodel.hardware import load_device

    gpu = load_device(device)
    found = find_kernels(kernels, None, program, gpu)
    values: dict[str, Any] = parse_defines(define or (), word_parameters(found))
    check_names(values, found)
    predictions = [
        predict(kernel, device=gpu, timing=timing, cache=cache, **own_values(values, kernel))
        for kernel in found
    ]
    if output is not None:
        from perfmodel.reports.figure_style import save_figure
        from perfmodel.reports.roofline_figure import roofline_figure

        save_figure(roofline_figure(predictions), output)
    if json:
        from perfmodel.reports.roofline import roofline_record

        print_json(roofline_record(predictions))
    elif output is None:
        from perfmodel.reports.roofline_text import roofline_report

        show(roofline_report(predictions))
