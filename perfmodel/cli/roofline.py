"""`perfmodel roofline`: where kernels lie under a GPU's roofs, as text, figure or JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from perfmodel.cli.defines import parse_defines
from perfmodel.cli.options import (
    DEFAULT_DEVICE,
    CacheOption,
    DefineOption,
    DeviceOption,
    JsonOption,
    TimingOption,
    complete_kernel,
)
from perfmodel.cli.output import print_json, show
from perfmodel.cli.program_options import (
    NO_PROGRAM,
    ProgramOptions,
    is_program,
    with_program_options,
)
from perfmodel.errors import PerfmodelError, nearest

if TYPE_CHECKING:
    from perfmodel.hardware import Device
    from perfmodel.kernels import Kernel

EXAMPLES = (
    "perfmodel roofline gemm:naive gemm:coalesced -D N=4096",
    "perfmodel roofline gemm:naive gemm:coalesced -o roofline.svg",
    "perfmodel roofline my-kernel.toml --device a100-sxm-80 --json",
    "perfmodel roofline kernels.cu --launch launches.toml",
)


@with_program_options()
def roofline(
    kernels: Annotated[
        list[str],
        typer.Argument(
            metavar="KERNEL...",
            help="Names of built-in kernels, NAME:MAPPING for a variant, TOML kernel files, CUDA "
            "sources or PTX.",
            autocompletion=complete_kernel,
            show_default=False,
        ),
    ],
    define: DefineOption = None,
    device: DeviceOption = DEFAULT_DEVICE,
    timing: TimingOption = "profiler",
    cache: CacheOption = "cold",
    program: ProgramOptions = NO_PROGRAM,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Draw a figure into a .svg, .png or .pdf file.",
            show_default=False,
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Place kernels on the hierarchical roofline: L1, L2, DRAM, and the arithmetic peaks.

    A parameter given with -D goes to every kernel that has it.
    """
    if output is not None:
        from perfmodel.reports.figure_style import check_figure_path

        check_figure_path(output)
    from perfmodel import predict
    from perfmodel.hardware import load_device

    gpu = load_device(device)
    found = [kernel for text in kernels for kernel in _kernels(text, program, gpu)]
    words = {name for kernel in found for name in kernel.word_parameters}
    values: dict[str, Any] = parse_defines(define or (), words)
    _check_names(values, found)
    predictions = [
        predict(kernel, device=gpu, timing=timing, cache=cache, **_own(values, kernel))
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


def _kernels(text: str, program: ProgramOptions, device: Device) -> list[Kernel]:
    """Return what one argument names; the options of programs go to the programs."""
    return program.kernels(text, None, device) if is_program(text) else [_kernel(text)]


def _kernel(text: str) -> Kernel:
    """Return the kernel of ``NAME``, ``NAME:MAPPING`` or a file."""
    from perfmodel.kernels import find_kernel

    name, colon, mapping = text.rpartition(":")
    if not colon or text.endswith(".toml"):
        return find_kernel(text)
    if not name or not mapping:
        raise PerfmodelError(f"kernel {text!r} must be NAME:MAPPING, such as gemm:naive")
    return find_kernel(name, mapping)


def _own(values: dict[str, Any], kernel: Kernel) -> dict[str, Any]:
    """Return those of the parameters that a kernel has."""
    has = {parameter.name for parameter in kernel.parameters}
    return {name: value for name, value in values.items() if name in has}


def _check_names(values: dict[str, Any], kernels: list[Kernel]) -> None:

    known = sorted({parameter.name for kernel in kernels for parameter in kernel.parameters})
    for name in values:
        if name not in known:
            hint = nearest(name, known) or f"; there are {', '.join(known) or 'none'}"
            raise PerfmodelError(f"-D {name}: none of the kernels has such a parameter{hint}")
