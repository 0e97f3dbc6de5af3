"""`perfmodel validate`: how wrong predictions are, held against recorded measurements."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from perfmodel.cli.grouped_options import option
from perfmodel.cli.options import DEFAULT_DEVICE, JSON, complete_device, figure_option
from perfmodel.cli.output import print_json, save_drawing, say, show, show_meanwhile, wrote
from perfmodel.cli.progress import progress_bar
from perfmodel.cli.rows_options import CLUSTER, command_line, resumable
from perfmodel.errors import PerfmodelError
from perfmodel.text_files import check_target, write_file

if TYPE_CHECKING:
    from perfmodel.hardware import Device
    from perfmodel.measure.recorded import Recording
    from perfmodel.rows_file import RowsFile
    from perfmodel.validation.validate import Validation

MANY: Final = 1000
"""Launches from which on it takes long enough to say so."""


def _checked_rows(path: str | None) -> str | None:
    if path is not None:
        from perfmodel.rows_file import check_rows_file

        check_rows_file(path)
    return path


def validate(
    *,
    device: str | None = option(
        f"GPU: a name (see `perfmodel devices`), or a TOML device file. [default: the one "
        f"that --from names, else {DEFAULT_DEVICE}]",
        metavar="NAME|FILE",
        complete=complete_device,
    ),
    folder: str | None = option(
        "Measurement folder. [default: what is recorded of the GPU]", "--from", metavar="DIR"
    ),
    transfer: bool = option(
        "Also predict what was measured of other GPUs, from this one's measurements.", default=False
    ),
    output: str | None = option(
        "Write the whole report into a Markdown file.", "-o", "--output", metavar="FILE"
    ),
    plot: str | None = figure_option(
        "Draw predicted over measured times into a .svg, .png or .pdf file.", "--plot"
    ),
    without: list[str] | None = option(
        "Also predict with a mechanism switched off, and say what the scoreboard loses; "
        "several together.",
        metavar="NAME",
    ),
    rows: str | None = option(
        "Write each launch with its prediction into a .csv or .parquet file (extra parquet), in "
        "parts while they come: the same command goes on where it was interrupted.",
        metavar="FILE",
        callback=_checked_rows,
    ),
    cluster: str | None = CLUSTER,
    json: bool = JSON,
) -> None:
    """Compare predictions with measured times: a scoreboard by regime, with two rooflines.

    Cases that were never fitted on come first; the worst ten are named, with what is suspected.
    What is recorded of a GPU takes minutes: a table of a sample, one in so many launches, comes
    first on standard error, unless --json is given.
    """
    from perfmodel.chunks import cores, workers
    from perfmodel.validation.validate import transfers as transfers_from
    from perfmodel.validation.validate import validate as hold_against

    if output is not None:
        check_target(output, "report", (".md",))
    gpu, recordings = _found(device, folder)
    if without:
        others = (transfer, output, plot, rows)
        _show_worth(recordings, gpu, without, json, others, cluster)
        return
    kept = None if rows is None else _rows_file(rows, recordings, gpu)
    announce(recordings)
    with workers(cores(), cluster) as some:
        with resumable(rows), progress_bar("predicting") as tell:
            first = None if json else _show_sample
            result = hold_against(recordings, gpu, tell, some, None, first, kept)
        with progress_bar("transfer") as tell:
            transfers = transfers_from(gpu, tell, some) if transfer else []
    if rows is not None:
        wrote(rows)
    if plot is not None:
        from perfmodel.reports.validation_figure import validation_figure

        save_drawing(validation_figure(result), plot)
    if output is not None:
        from perfmodel.reports.validation_markdown import validation_markdown

        given = (("--from", folder), ("--device", device))
        source = " ".join(f"{name} {shlex.quote(v)}" for name, v in given if v is not None)
        write_file(Path(output), validation_markdown(result, transfers, plot, source))
        wrote(output)
    if json:
        from perfmodel.reports.validation_text import validation_record

        print_json(validation_record(result, transfers))
    elif output is None and plot is None:
        from perfmodel.reports.validation_text import validation_report

        show(validation_report(result, transfers))


def _show_worth(
    recordings: Sequence[Recording],
    gpu: Device,
    names: Sequence[str],
    json: bool,
    others: tuple[bool, str | None, str | None, str | None],
    cluster: str | None,
) -> None:
    """Print what the scoreboard loses without some mechanisms."""
    from perfmodel.chunks import cores, workers
    from perfmodel.models.mechanism import without
    from perfmodel.reports.validation_text import worth_record, worth_report
    from perfmodel.validation.worth import worth

    if any(others):
        raise PerfmodelError(
            "--without prints a table or --json: leave out --transfer, -o, --plot, --rows"
        )
    with without(*names):  # unknown names are refused before minutes of work
        pass
    announce(recordings)
    with workers(cores(), cluster) as some, progress_bar("predicting") as tell:
        found = worth(recordings, gpu, names, tell, some)
    if json:
        print_json(worth_record(found))
    else:
        show(worth_report(found))


def _rows_file(path: str, recordings: Sequence[Recording], gpu: Device) -> RowsFile:
    from perfmodel.measure.folders import name
    from perfmodel.rows_file import RowsFile, check_rows_file, origin

    facts = (gpu, dict(gpu.figures), [(name(r.folder), r.session, r.topics) for r in recordings])
    rows = RowsFile(check_rows_file(path), origin(command_line(), *facts))
    rows.resume()  # other rows are refused before anything is predicted
    return rows


def _found(device: str | None, folder: str | None) -> tuple[Device, list[Recording]]:
    """Return the GPU and the recordings that predictions are held against."""
    from perfmodel.hardware import load_device
    from perfmodel.measure.recorded import read_recording
    from perfmodel.validation.validate import find_recordings

    if folder is None:
        gpu = load_device(DEFAULT_DEVICE if device is None else device)
        with progress_bar("reading measurements", counted=False):
            return gpu, find_recordings(gpu.name)
    recordings = [read_recording(folder)]
    name = recordings[0].device if device is None else device
    if name is None:
        raise PerfmodelError(
            f"measurement folder {folder!r} does not name a device of the catalogue: "
            "give --device NAME|FILE"
        )
    return load_device(name), recordings


def _show_sample(validation: Validation, step: int) -> None:
    from perfmodel.reports.validation_text import sample_report

    show_meanwhile(sample_report(validation, step))


def announce(recordings: Sequence[Recording]) -> None:
    """Say how many launches are to be predicted, where no bar shows it and there are many."""
    if sys.stderr is None or sys.stderr.isatty():
        return
    from perfmodel.validation.cases import matched

    count = sum(1 for recording in recordings for _ in matched(recording))
    if count >= MANY:
        say(f"predicting {count} launches, some minutes")
