"""`perfmodel simulate`: what a launch moves at each level, counted access by access."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from perfmodel.cli.defines import parse_defines
from perfmodel.cli.grouped_options import option
from perfmodel.cli.kernel_list import find_kernel
from perfmodel.cli.l2_options import L2Options
from perfmodel.cli.options import (
    CACHE,
    DEFINE,
    DEVICE,
    JSON,
    KERNEL,
    MAPPING,
    Cache,
    TileOptions,
    figure_option,
)
from perfmodel.cli.output import print_json, save_drawing, say, show
from perfmodel.cli.program_options import ProgramOptions
from perfmodel.cli.progress import progress_bar
from perfmodel.errors import PerfmodelError

if TYPE_CHECKING:
    from perfmodel.kernels import Instance

_PATIENCE: Final = 600.0
"""Simulations that are expected to take longer say so, once their speed is known [s]."""
_MEASURED: Final = 2.0
"""What their speed is measured over [s]."""


def simulate(
    *,
    kernel: str = KERNEL,
    define: list[str] | None = DEFINE,
    mapping: str | None = MAPPING,
    tiles: TileOptions,
    device: str = DEVICE,
    cache: Cache = CACHE,
    program: ProgramOptions,
    l2: L2Options,
    seed: int = option(
        "Of what is drawn at random, such as an SM's L2 partition; equal seeds, equal counts.",
        default=0,
    ),
    sample: float = option("Share of the launch to run.", metavar="0..1", default=1.0),
    sets: int = option(
        "Simulate one of N sets of L2, which stands for the others.", metavar="N", default=1
    ),
    plot: str | None = figure_option(
        "Draw hit rates over time into a .svg, .png or .pdf file.", "--plot"
    ),
    json: bool = JSON,
) -> None:
    """Simulate a launch: requests, sectors, hits and bytes of every access and buffer.

    Addresses go through models of the coalescer, each SM's L1, both L2 partitions and DRAM. It
    takes seconds where `predict` takes milliseconds, and covers what closed forms do not.
    """
    if not 0 <= seed < 2**16:
        raise PerfmodelError(f"--seed must be 0 to 65535, not {seed}")
    if not 0 < sample <= 1:
        raise PerfmodelError(f"--sample must be over 0 and up to 1, not {sample:g}")
    if not 1 <= sets <= 64:
        raise PerfmodelError(f"--sets must be 1 to 64, not {sets}")
    from perfmodel.hardware import load_device
    from perfmodel.prediction.simulated import prepare
    from perfmodel.prediction.simulated import simulate as run

    named = find_kernel(kernel, mapping, program, load_device(device))
    defines = tiles.added_to(define, [named])
    given = parse_defines(defines, named.word_parameters, named.known)
    described = named.one(given, program.launch)
    described.check_free(run)
    values = described.values
    chosen, gpu, instance = prepare(described.kernel, None, device, values)
    with progress_bar("simulating", counted=False) as tell:
        found = run(
            chosen,
            device=gpu,
            cache=cache,
            control=l2.control(chosen, gpu, values),
            **l2.platform(),
            seed=seed,
            sample=sample,
            sets=sets,
            progress=watched(tell, instance, sample, 2 if cache == "warm" else 1),
            **values,
        )
    if plot is not None:
        from perfmodel.reports.simulation_text import hit_rate_figure

        save_drawing(hit_rate_figure(found), plot)
    if json:
        print_json(found.to_json())
    else:
        from perfmodel.reports.simulation_text import simulation_report

        show(simulation_report(found))
    if found.simulation.interrupted:
        raise KeyboardInterrupt


def watched(
    tell: Callable[[float, float], None], instance: "Instance", sample: float, runs: int
) -> Callable[[float], None]:
    """Return what passes progress on to a bar, after it has measured how fast the launch goes."""
    # The first batch counts for nothing: numba compiles its loops in it, or loads them.
    began: tuple[float, float] | None = None
    judged = False

    def progress(share: float) -> None:
        nonlocal began, judged
        now = time.perf_counter()
        if began is None:
            began = now, share
        elif judged:
            ended, within = divmod(share * runs, 1)
            tell(ended + min(1.0, within / sample), runs)
        elif now - began[0] >= _MEASURED and share > began[1]:
            judged = True
            _warn_if_long((now - began[0]) / (share - began[1]), instance, sample, runs)

    return progress


def _warn_if_long(expected: float, instance: "Instance", sample: float, runs: int) -> None:
    """Say so if a launch takes long; `expected` is the time of the whole of it [s]."""
    if expected * sample <= _PATIENCE:
        return
    from perfmodel.reports.units import count
    from perfmodel.trace.simulate import warp_requests

    took = _spoken(expected * sample)
    share = _PATIENCE / 10 / expected
    say(
        f"note: {count(warp_requests(instance) * runs)} warp requests will take about {took}; "
        f"--sample {share:.2g} takes about a minute; Ctrl-C ends it and prints what was counted"
    )


def _spoken(seconds: float) -> str:
    for unit, length in (("years", 3.156e7), ("days", 86_400.0), ("hours", 3600.0)):
        if seconds >= 1.5 * length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds / 60:.0f} minutes"
