"""Options of what takes long: a file of rows that is gone on with, and a cluster that works."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from perfmodel.cli.grouped_options import option
from perfmodel.cli.output import say


def _checked(cluster: str | None) -> str | None:
    if cluster is not None:
        from perfmodel.chunks import check_cluster

        check_cluster(cluster)
    return cluster


CLUSTER: Final[Any] = option(
    "Let the workers of a Dask cluster predict: the address of a running scheduler, such as "
    "tcp://host:8786, or local:8 for 8 processes of this machine. Results are those of a run "
    "without it. Needs the extra dask, and the same perfmodel on all workers.",
    metavar="ADDRESS|local:N",
    callback=_checked,
)


def is_rows(path: str) -> bool:
    """Say whether a file is one of rows, by its name."""
    from perfmodel.rows_file import SUFFIXES

    return path.lower().endswith(SUFFIXES)


def command_line() -> str:
    """Return the command that this process runs, as a shell takes it."""
    return shlex.join(["perfmodel", *sys.argv[1:]])


@contextmanager
def resumable(output: str | None) -> Iterator[None]:
    """Say what becomes of the rows of a file, if any, when the block is interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        if output is not None:
            say(f"interrupted: rows so far are in {output}.parts; the same command goes on")
        raise
