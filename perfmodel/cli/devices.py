"""`perfmodel devices`: the GPUs of the catalogue, and all that is known of one."""

from __future__ import annotations

from typing import Annotated

import typer

from perfmodel.cli.options import JsonOption, complete_device
from perfmodel.cli.output import print_json, show

EXAMPLES = (
    "perfmodel devices",
    "perfmodel devices h100-sxm",
    "perfmodel devices h100-sxm --coefficients",
    "perfmodel devices my-gpu.toml --json",
)


def devices(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME|FILE]",
            help="A device of the catalogue, or a TOML device file.",
            autocompletion=complete_device,
            show_default=False,
        ),
    ] = None,
    coefficients: Annotated[
        bool,
        typer.Option(
            "--coefficients", help="List the coefficients of the mechanisms instead of the figures."
        ),
    ] = False,
    json: JsonOption = False,
) -> None:
    """List the GPUs, or show one with the source of every figure."""
    from perfmodel.errors import PerfmodelError
    from perfmodel.hardware import device_names, load_device

    if coefficients and name is None:
        raise PerfmodelError("--coefficients is of one device: name it, as in devices h100-sxm")

    found = [load_device(each) for each in ([name] if name is not None else device_names())]
    if json:
        from perfmodel.reports.records import device_record, device_summary

        print_json(
            [device_summary(each) for each in found] if name is None else device_record(found[0])
        )
    elif coefficients:
        from perfmodel.reports.device_text import coefficients_report

        show(coefficients_report(found[0]))
    else:
        from perfmodel.reports.device_text import device_report, devices_report

        show(devices_report(found) if name is None else device_report(found[0]))
