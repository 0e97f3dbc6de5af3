"""`perfmodel validate`: how wrong predictions are, held against recorded measurements."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from perfmodel.cli.options import DEFAULT_DEVICE, JsonOption, complete_device, figure_option
from perfmodel.cli.output import print_json, show
from perfmodel.cli.progress import progress_bar
from perfmodel.errors import PerfmodelError
from perfmodel.text_files import check_target, write_file

if TYPE_CHECKING:
    from perfmodel.measure.recorded import Recording
    from perfmodel.validation.validate import Transfer, Validation

MANY: Final = 1000
"""Launches from which on it takes long enough to say so."""

EXAMPLES = (
    "perfmodel validate",
    "perfmodel validate --device a100-sxm-80 --json",
    "perfmodel validate --from my-measurements --device my-gpu.toml",
    "perfmodel validate --transfer -o report.md --plot report.svg",
)


def validate(
    device: Annotated[
        str | None,
        typer.Option(
            "--device",
            metavar="NAME|FILE",
            help=f"GPU: a name (see `perfmodel devices`), or a TOML device file. [default: the one "
            f"that --from names, else {DEFAULT_DEVICE}]",
            autocompletion=complete_device,
            show_default=False,
        ),
    ] = None,
    folder: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="DIR",
            help="Measurement folder. [default: what is recorded of the GPU]",
            show_default=False,
        ),
    ] = None,
    transfer: Annotated[
        bool,
        typer.Option(
            "--transfer",
            help="Also predict what was measured of other GPUs, from this one's measurements.",
        ),
    ] = False,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write the whole report into a Markdown file.",
            show_default=False,
        ),
    ] = None,
    plot: Annotated[
        str | None,
        figure_option(
            "--plot", help="Draw predicted over measured times into a .svg, .png or .pdf file."
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Hold predictions against measured times: a scoreboard by regime, beside two rooflines.

    Cases that were never fitted on come first; the worst ten are named, with what is suspected.
    """
    if output is not None:
        check_target(output, "report", (".md",))
    result, transfers = _validated(device, folder, transfer)
    if plot is not None:
        from perfmodel.reports.figure_style import save_figure
        from perfmodel.reports.validation_figure import validation_figure

        save_figure(validation_figure(result), plot)
    if output is not None:
        from perfmodel.reports.validation_markdown import validation_markdown

        given = (("--from", folder), ("--device", device))
        source = " ".join(f"{name} {shlex.quote(v)}" for name, v in given if v is not None)
        write_file(Path(output), validation_markdown(result, transfers, plot, source))
    if json:
        from perfmodel.reports.validation_record import validation_record

        print_json(validation_record(result, transfers))
    elif output is None and plot is None:
        from perfmodel.reports.validation_text import validation_report

        show(validation_report(result, transfers))


def _validated(
    device: str | None, folder: str | None, transfer: bool
) -> tuple[Validation, list[Transfer]]:
    from perfmodel.hardware import load_device
    from perfmodel.measure.recorded import read_recording
    from perfmodel.validation.validate import find_recordings, transfers
    from perfmodel.validation.validate import validate as hold_against

    if folder is not None:
        recordings = [read_recording(folder)]
        name = recordings[0].device if device is None else device
        if name is None:
            raise PerfmodelError(
                f"measurement folder {folder!r} does not name a device of the catalogue: "
                "give --device NAME|FILE"
            )
        gpu = load_device(name)
    else:
        gpu = load_device(DEFAULT_DEVICE if device is None else device)
        recordings = find_recordings(gpu.name)
    announce(recordings)
    with progress_bar("predicting") as tell:
        result = hold_against(recordings, gpu, tell, workers=os.cpu_count() or 1)
    with progress_bar("transfer") as tell:
        return result, transfers(gpu, tell, os.cpu_count() or 1) if transfer else []


def announce(recordings: Sequence[Recording]) -> None:
    """Say how many launches are to be predicted, where no bar shows it and there are many."""
    if sys.stderr is None or sys.stderr.isatty():
        return
    from perfmodel.validation.cases import matched

    count = sum(1 for recording in recordings for _ in matched(recording))
    if count >= MANY:
        print(f"predicting {count} launches, some minutes", file=sys.stderr, flush=True)
