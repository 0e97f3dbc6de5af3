"""`perfmodel ladder`: every mapping of a product, what each reaches and the next one removes."""

from typing import Any

from perfmodel.cli.defines import parse_defines
from perfmodel.cli.grouped_options import option
from perfmodel.cli.options import CACHE, DEFINE, DEVICE, FIGURE, JSON, TIMING, Cache, Timing
from perfmodel.cli.output import print_json, save_drawing, show
from perfmodel.errors import PerfmodelError


def ladder(
    *,
    define: list[str] | None = DEFINE,
    device: str = DEVICE,
    timing: Timing = TIMING,
    cache: Cache = CACHE,
    roofline: bool = option(
        "With -o: draw the rungs on the roofline, with arrows from each to the next, not as bars.",
        default=False,
    ),
    output: str | None = FIGURE,
    json: bool = JSON,
) -> None:
    """Climb the ladder of matrix products: from one thread per element to tensor cores.

    Each rung is a mapping of `gemm` (see `perfmodel kernels gemm`) with its default tiles. -D takes
    M, N and K, and parameters of rungs; a rung takes those that it has. FP32 rungs are
    compared with cuBLAS's FP32 product: its time is measured or, at other sizes of a GPU where it
    was, predicted.
    """
    from perfmodel.prediction.ladder import ladder as climb

    if roofline and output is None:
        raise PerfmodelError("--roofline is of the figure: give -o FILE.svg too")
    params: dict[str, Any] = parse_defines(define or (), ("dtype",), ())
    rungs = climb("gemm", device=device, timing=timing, cache=cache, **params)
    if output is not None and roofline:
        from perfmodel.reports.roofline_figure import roofline_picture

        save_drawing(roofline_picture([rung.prediction for rung in rungs], arrows=True), output)
    elif output is not None:
        from perfmodel.reports.ladder_figure import ladder_picture

        save_drawing(ladder_picture(rungs), output)
    if json:
        print_json([rung.to_json() for rung in rungs])
    elif output is None:
        from perfmodel.reports.ladder_text import ladder_report

        show(ladder_report(rungs))
