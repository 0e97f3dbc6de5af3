"""`perfmodel sweep`: time and DRAM bytes over a knob or a parameter, as table or figure."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfmodel.cli.defines import parse_defines, values_over
from perfmodel.cli.grouped_options import option
from perfmodel.cli.kernel_list import NamedKernel
from perfmodel.cli.launch_options import LaunchOptions
from perfmodel.cli.options import JSON, KERNEL
from perfmodel.cli.output import print_json, save_drawing, show
from perfmodel.cli.progress import progress_bar
from perfmodel.cli.rows_options import CLUSTER, is_rows
from perfmodel.errors import PerfmodelError

if TYPE_CHECKING:
    from perfmodel.kernels import Kernel
    from perfmodel.prediction.sweep import Sweep


def _checked(path: str | None) -> str | None:
    """Refuse a file that cannot be written before anything is computed."""
    if path is not None:
        from perfmodel.reports.figure_style import FORMATS
        from perfmodel.rows_file import SUFFIXES
        from perfmodel.text_files import check_target

        check_target(path, "output", (*FORMATS, *SUFFIXES))
    return path


def sweep(
    *,
    kernel: str = KERNEL,
    over: list[str] = option(
        "What to vary: hit-ratio, set-aside, window, fetch-granularity, compression or a "
        "parameter; a list a,b,c or a range start:stop:step or start:stop:*factor. Several "
        "have a panel each, or in a file of rows a row for each combination.",
        metavar="NAME=VALUES",
        default=...,
    ),
    chosen: LaunchOptions,
    output: str | None = option(
        "Draw it into a .svg, .png or .pdf file; or write a .csv or .parquet file (extra parquet) "
        "with a row for each combination, any number of them.",
        "-o",
        "--output",
        metavar="FILE",
        callback=_checked,
    ),
    cluster: str | None = CLUSTER,
    json: bool = JSON,
) -> None:
    """Vary one thing and see time and DRAM bytes: a knob of L2, or a size of the kernel.

    Rows of a .csv or .parquet file come in parts, into FILE.parts, which are joined at the end.
    When it was interrupted, or a worker died for good, the same command goes on where it stopped;
    FILE.json says which command that was.
    """
    if output is not None and is_rows(output):
        if json:
            raise PerfmodelError("--json prints what a table has: leave it out with a file of rows")
        from perfmodel.cli.sweep_rows import write_rows

        write_rows(kernel, over, chosen, output, cluster)
        return
    if cluster is not None:
        raise PerfmodelError("--cluster is for files of rows: give -o rows.csv or -o rows.parquet")
    sweeps = _sweeps(kernel, over, chosen)
    if output is not None:
        from perfmodel.reports.sweep_figure import sweep_picture

        save_drawing(sweep_picture(sweeps), output)
    if json:
        print_json([each.to_json() for each in sweeps])
    elif output is None:
        from perfmodel.reports.sweep_text import sweeps_report

        show(sweeps_report(sweeps))


def _sweeps(kernel: str, over: Sequence[str], chosen: LaunchOptions) -> "list[Sweep]":
    """Return a sweep over each of the options' values."""
    from perfmodel.prediction.sweep import sweep as sweep_over

    named, gpu = chosen.named(kernel)
    ranges = [values_over(text, named.word_parameters) for text in over]
    names = [name for name, _ in ranges]
    if again := next((name for name in names if names.count(name) > 1), None):
        raise PerfmodelError(f"--over {again} is given twice: give its values as one list")
    given = parse_defines(chosen.define or (), named.word_parameters)
    if len(ranges) == 1 and names[0] in given:
        raise PerfmodelError(f"{names[0]} is given by -D and by --over: give it once")
    # -D says where sweeps over other things keep a parameter, or its sweep's first value does.
    firsts = {name: int(values[0]) for name, values in ranges if _of_launch(named, name)}
    params = chosen.values(named, **firsts)
    base = named.one(params, chosen.program.launch)
    platform = chosen.platform(base.kernel, gpu, base.values)
    control = platform.pop("l2")
    sweeps = []
    for name, values in ranges:

        def at(value: int, name: str = name) -> "Kernel":
            # Only the sweep's own bar shows.
            return named.configured({**params, name: value}, lambda *_: None)[0].kernel

        with progress_bar(f"predicting over {name}") as tell:
            sweeps.append(
                sweep_over(
                    *(at if name in firsts else base.kernel, name, values),
                    control=control,
                    params=base.values,
                    progress=tell,
                    **platform,
                )
            )
    return sweeps


def _of_launch(named: NamedKernel, name: str) -> bool:
    """Say whether a name is one that a program's launch follows from, not a knob of L2."""
    from perfmodel.prediction.sweep import KNOBS

    return named.launches is not None and name not in KNOBS
