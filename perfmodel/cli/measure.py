"""`perfmodel measure`: run the microbenchmarks on a GPU of this machine."""

from pathlib import Path
from typing import Any, Final

from perfmodel.cli.grouped_options import option
from perfmodel.cli.options import complete_from
from perfmodel.cli.output import show, wrote
from perfmodel.cli.progress import progress_bar

GPU: Final[Any] = option("Number of the GPU, from 0.", "--gpu", min=0, default=0)
SWEEPS: Final[Any] = option(
    "Run these sweeps only; may be repeated.",
    "--sweep",
    complete=complete_from("sweep_names"),
)
PROFILER: Final[Any] = option(
    "Use Nsight Compute, if it is there, for kernel times and counters.",
    "--profiler/--no-profiler",
    default=True,
)


def measure(
    *,
    output: Path = option(
        "Folder that the rows go to; resumed if it has some.", "--output", "-o", default=...
    ),
    gpu: int = GPU,
    sweep: list[str] | None = SWEEPS,
    profiler: bool = PROFILER,
) -> None:
    """Run the microbenchmarks on a GPU, and write a folder of CSV files.

    It changes no clocks and no settings that outlast it. A run that was interrupted goes on where
    it stopped when it is given the same folder.
    """
    from perfmodel.measure.session import measure_gpu
    from perfmodel.reports.lines import plain

    with progress_bar("measuring") as tell:
        lines = measure_gpu(output, gpu, sweep, profiler, lambda _, done, total: tell(done, total))
    wrote(output)
    show(plain("\n".join(lines)))
