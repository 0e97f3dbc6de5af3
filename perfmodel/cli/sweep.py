"""`perfmodel sweep`: time and DRAM bytes over a knob or a parameter, as table or figure.

In a file of rows every combination of values is one, over processes or Dask.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from perfmodel.cli.defines import axis_over, parse_defines, too_many, values_over
from perfmodel.cli.grouped_options import option
from perfmodel.cli.kernel_list import NamedKernel
from perfmodel.cli.launch_options import LaunchOptions
from perfmodel.cli.options import JSON, KERNEL
from perfmodel.cli.output import print_json, save_drawing, say, show, wrote
from perfmodel.cli.progress import progress_bar
from perfmodel.cli.rows_options import CLUSTER, command_line, is_rows, resumable
from perfmodel.errors import PerfmodelError
from perfmodel.records import record

if TYPE_CHECKING:
    from perfmodel.cli.program_options import ProgramLaunches
    from perfmodel.kernels import Kernel
    from perfmodel.prediction.grid import Grid
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
    ranges = [values_over(text, named.kernel) for text in over]
    _check_once(named, [name for name, _ in ranges], chosen, len(ranges) == 1)
    # -D says where sweeps over other things keep a parameter, or its sweep's first value does.
    firsts = _of_launch(named, ranges)
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


def _check_once(
    named: NamedKernel, names: Sequence[str], chosen: LaunchOptions, alone: bool
) -> None:
    """Refuse what --over gives twice, and what -D gives as well where that says nothing else."""
    if again := next((name for name in names if names.count(name) > 1), None):
        raise PerfmodelError(f"--over {again} is given twice: give its values as one list")
    given = parse_defines(chosen.define or (), named.word_parameters, named.known) if alone else ()
    if both := next((name for name in names if name in given), None):
        raise PerfmodelError(f"{both} is given by -D and by --over: give it once")


def _of_launch(named: NamedKernel, ranges: Iterable[tuple[str, Any]]) -> dict[str, int]:
    """Return the first values of names that a program's launch follows from, not knobs of L2."""
    from perfmodel.prediction.sweep import KNOBS

    if named.launches is None:
        return {}
    return {name: int(values[0]) for name, values in ranges if name not in KNOBS}


MOST: Final = 10**9
"""Rows of a file."""


def write_rows(
    kernel: str, over: Sequence[str], chosen: LaunchOptions, output: str, cluster: str | None
) -> None:
    """Write a row for every combination of the values of ``--over``, the last one fastest."""
    from perfmodel.chunks import cores, workers
    from perfmodel.prediction.grid import predicted_rows
    from perfmodel.rows_file import RowsFile, check_rows_file, fill, origin

    path = check_rows_file(output)
    grid = _grid(kernel, over, chosen)
    rows = RowsFile(path, origin(command_line(), *_facts(grid)))
    if (done := rows.resume()) < 0:
        say(f"{output} has all rows of this command already")
        return
    step = grid.step
    parts = range(done, -(-grid.size // step))
    with (
        resumable(output),
        progress_bar("predicting") as tell,
        workers(min(cores(), len(parts)), cluster) as some,
    ):
        fill(
            rows,
            parts,
            lambda number: grid.values(number * step, (number + 1) * step),
            partial(predicted_rows, grid.launches, among=grid.among),
            some,
            lambda done: tell(min(done * step, grid.size), grid.size),
        )
    wrote(output)


def _facts(grid: "Grid") -> Iterator[Any]:
    """Yield what the rows of a grid follow from; see `perfmodel.rows_file.origin`."""
    # NumPy's repr leaves out most of a long array, and a device's its figures' sources.
    yield [(axis.name, axis.values.tolist()) for axis in grid.axes]
    yield grid.launches
    yield dict(grid.launches.platform["device"].figures)


def _grid(kernel: str, over: Sequence[str], chosen: LaunchOptions) -> "Grid":
    from perfmodel.prediction.grid import Grid, Launches

    named, gpu = chosen.named(kernel)
    axes = tuple(axis_over(text, named.kernel) for text in over)
    names = [axis.name for axis in axes]
    _check_once(named, names, chosen, alone=True)
    params = chosen.values(named, **_of_launch(named, ((a.name, a.values) for a in axes)))
    base = named.one(params, chosen.program.launch)
    platform = chosen.platform(base.kernel, gpu, base.values)
    made = base.kernel if named.launches is None else _AtValues(named.launches, params)
    grid = Grid(Launches(made, base.values, platform.pop("l2"), platform), axes)
    if grid.size > MOST:
        raise too_many("the --over options", grid.size, MOST)
    return grid


@record
class _AtValues:
    """A program's kernel at some values of what its launch follows from."""

    launches: "ProgramLaunches"
    others: Mapping[str, Any]

    def __call__(self, values: Mapping[str, int]) -> "Kernel":
        return self.launches.kernels({**self.others, **values})[0]
