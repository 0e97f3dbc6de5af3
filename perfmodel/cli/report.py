"""`perfmodel report`: launches as an HTML page and as Markdown, with pictures and provenance."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

import typer

from perfmodel.cli.defines import combinations, parse_value_lists
from perfmodel.cli.kernel_list import (
    KernelsArgument,
    check_names,
    find_kernels,
    own_values,
    word_parameters,
)
from perfmodel.cli.l2_options import AS_THE_DRIVER, L2Options, with_l2_options
from perfmodel.cli.options import (
    DEFAULT_DEVICE,
    CacheOption,
    DefinesOption,
    DeviceOption,
    JsonOption,
    MappingOption,
    TimingOption,
    TrafficOption,
)
from perfmodel.cli.output import print_json
from perfmodel.cli.program_options import NO_PROGRAM, ProgramOptions, with_program_options
from perfmodel.errors import PerfmodelError

EXAMPLES = (
    "perfmodel report gemm:naive gemm:coalesced -o my-report",
    "perfmodel report copy -D bytes=1MiB,64MiB,1GiB --device a100-sxm-80 -o copies",
    "perfmodel report stream-persistent --set-aside 8MiB --window 16MiB -o window --name Window",
    "perfmodel report my-kernel.toml --json",
    "perfmodel report saxpy.cu --grid 65536 --block 256 --arg n=1.6e7 --arg a=2 -o saxpy",
)


@with_l2_options
@with_program_options
def report(
    ctx: typer.Context,
    kernels: KernelsArgument,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Folder for index.html, report.md and its pictures; made if need be.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="TEXT",
            help="Title of the report. [default: the launches and the GPU]",
            show_default=False,
        ),
    ] = None,
    define: DefinesOption = None,
    mapping: MappingOption = None,
    device: DeviceOption = DEFAULT_DEVICE,
    traffic: TrafficOption = "closed-form",
    timing: TimingOption = "profiler",
    cache: CacheOption = "cold",
    program: ProgramOptions = NO_PROGRAM,
    l2: L2Options = AS_THE_DRIVER,
    json: JsonOption = False,
) -> None:
    """Write launches as an HTML page that needs no network, and as Markdown.

    Both show the hierarchical roofline, what each resource would need alone, what moves at each
    level, advice, every formula with its numbers, and where each figure is from. A parameter
    given with -D goes to every kernel that has it; several values make several launches. Advice
    counts traffic in closed form.
    """
    if output is None and not json:
        raise PerfmodelError("nowhere to write the report: give -o DIR, or --json")
    if output is not None:
        from perfmodel.reports.page.write import check_folder

        check_folder(output)
    from perfmodel import predict
    from perfmodel.hardware import load_device
    from perfmodel.prediction.advise import advise
    from perfmodel.reports.page.content import MOST_LAUNCHES, build_report, report_record

    gpu = load_device(device)
    found = find_kernels(kernels, mapping, program, gpu)
    lists = parse_value_lists(define or (), word_parameters(found))
    check_names(lists, found)
    launches = [
        (kernel, chosen) for kernel in found for chosen in combinations(own_values(lists, kernel))
    ]
    if len(launches) > MOST_LAUNCHES:
        raise PerfmodelError(
            f"{len(launches)} launches are too many for one report, at most {MOST_LAUNCHES}: give "
            "fewer kernels or values"
        )
    predictions, advice = [], []
    for kernel, chosen in launches:
        values: dict[str, Any] = {**chosen}
        given: dict[str, Any] = {
            **{"device": gpu, "timing": timing, "cache": cache, "l2": l2.control(kernel)},
            **l2.platform(),
        }
        predictions.append(predict(kernel, traffic=traffic, **given, **values))
        advice.append(advise(kernel, **given, **values))
    made = build_report(predictions, title=name or "", advice=advice, command=_command_line(ctx))
    if output is not None:
        from perfmodel.reports.page.write import write_report

        write_report(made, output)
    if json:
        print_json(report_record(made))


def _command_line(ctx: typer.Context) -> str:
    """Return the command line that was given, options in the command's order."""
    words = ["perfmodel", "report"]
    for parameter in ctx.command.params:
        value = ctx.params[parameter.name or ""]
        if parameter.param_type_name == "argument":
            words += value
        elif value != parameter.default and value is not None and value not in ((), []):
            option = parameter.opts[0]
            if value is True:
                words.append(option)
            else:
                each = value if isinstance(value, (list, tuple)) else [value]
                words += [word for one in each for word in (option, str(one))]
    return shlex.join(words)
