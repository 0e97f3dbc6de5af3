"""`perfmodel devices`: the GPUs of the catalogue, and all that is known of one."""

from perfmodel.cli.grouped_options import argument, option
from perfmodel.cli.options import JSON, complete_device
from perfmodel.cli.output import print_json, show


def devices(
    *,
    name: str | None = argument(
        "A device of the catalogue, or a TOML device file.",
        metavar="[NAME|FILE]",
        complete=complete_device,
    ),
    coefficients: bool = option(
        "List the coefficients of the mechanisms instead of the figures.", default=False
    ),
    json: bool = JSON,
) -> None:
    """List the GPUs, or show one with the source of every figure."""
    from perfmodel.errors import PerfmodelError
    from perfmodel.hardware import device_names, load_device

    if coefficients and name is None:
        raise PerfmodelError("--coefficients is of one device: name it, as in devices h100-sxm")

    found = [load_device(each) for each in ([name] if name is not None else device_names())]
    if json:
        from perfmodel.reports.records import device_record, device_summary

        if name is None:
            print_json([device_summary(each) for each in found])
        else:
            record = device_record(found[0])
            print_json(record["coefficients"] if coefficients else record)
    elif coefficients:
        from perfmodel.reports.device_text import coefficients_report

        show(coefficients_report(found[0]))
    else:
        from perfmodel.reports.device_text import device_report, devices_report

        show(devices_report(found) if name is None else device_report(found[0]))
