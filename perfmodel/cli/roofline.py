"""`perfmodel roofline`: where kernels lie under a GPU's roofs, as text, figure or JSON."""

from perfmodel.cli.grouped_options import option
from perfmodel.cli.kernel_list import KERNELS, configurations, find_kernels, value_lists
from perfmodel.cli.options import CACHE, DEFINES, DEVICE, FIGURE, JSON, TIMING, Cache, Timing
from perfmodel.cli.output import print_json, save_drawing, show
from perfmodel.cli.program_options import ProgramOptions
from perfmodel.cli.progress import tracked
from perfmodel.errors import PerfmodelError


def roofline(
    *,
    kernels: list[str] = KERNELS,
    define: list[str] | None = DEFINES,
    device: str = DEVICE,
    timing: Timing = TIMING,
    cache: Cache = CACHE,
    program: ProgramOptions,
    arrows: bool = option(
        "Draw an arrow from each launch to the next, as from version to version of a kernel.",
        default=False,
    ),
    output: str | None = FIGURE,
    json: bool = JSON,
) -> None:
    """Place kernels on the hierarchical roofline: L1, L2, DRAM, and the arithmetic peaks.

    A parameter given with -D goes to every kernel that has it; several values give several points.
    """
    if arrows and output is None:
        raise PerfmodelError("--arrows are of the figure: give -o FILE.svg too")
    from perfmodel import predict
    from perfmodel.hardware import load_device

    gpu = load_device(device)
    found = find_kernels(kernels, None, program, gpu)
    chosen = configurations(found, value_lists(define or (), found))
    predictions = [
        predict(each.kernel, device=gpu, timing=timing, cache=cache, **each.values)
        for each in tracked(chosen)
    ]
    if output is not None:
        from perfmodel.reports.roofline_figure import roofline_picture

        save_drawing(roofline_picture(predictions, arrows), output)
    if json:
        from perfmodel.reports.roofline import roofline_record

        print_json(roofline_record(predictions))
    elif output is None:
        from perfmodel.reports.roofline_text import roofline_report

        show(roofline_report(predictions))
