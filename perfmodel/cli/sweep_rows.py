"""`perfmodel sweep -o FILE.csv`: every combination of values as a row, over processes or Dask."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from perfmodel.cli.defines import axis_over, parse_defines, too_many
from perfmodel.cli.launch_options import LaunchOptions
from perfmodel.cli.output import say, wrote
from perfmodel.cli.progress import progress_bar
from perfmodel.cli.rows_options import command_line, resumable
from perfmodel.errors import PerfmodelError
from perfmodel.records import record

if TYPE_CHECKING:
    from perfmodel.cli.program_options import ProgramLaunches
    from perfmodel.kernels import Kernel
    from perfmodel.prediction.grid import Grid

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
    from perfmodel.prediction.sweep import KNOBS, check_name

    named, gpu = chosen.named(kernel)
    axes = tuple(axis_over(text, named.word_parameters) for text in over)
    names = [axis.name for axis in axes]
    given = parse_defines(chosen.define or (), named.word_parameters)
    for name in names:
        if names.count(name) > 1:
            raise PerfmodelError(f"--over {name} is given twice: give its values as one list")
        if name in given:
            raise PerfmodelError(f"{name} is given by -D and by --over: give it once")
    firsts = {}
    if named.launches is not None:
        firsts = {axis.name: int(axis.values[0]) for axis in axes if axis.name not in KNOBS}
    params = chosen.values(named, **firsts)
    base = named.one(params, chosen.program.launch)
    if named.launches is None:
        for name in names:
            check_name(name, base.kernel)
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
