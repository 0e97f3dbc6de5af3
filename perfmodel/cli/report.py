"""`perfmodel report`: launches as an HTML page and as Markdown, with pictures and provenance."""

from typing import Any

from perfmodel.cli.grouped_options import option
from perfmodel.cli.kernel_list import (
    KERNELS,
    configurations,
    find_kernels,
    own_combinations,
    value_lists,
)
from perfmodel.cli.l2_options import L2Options
from perfmodel.cli.options import (
    CACHE,
    DEFINES,
    DEVICE,
    JSON,
    MAPPING,
    TIMING,
    TRAFFIC,
    Cache,
    Timing,
    Traffic,
)
from perfmodel.cli.output import print_json, wrote
from perfmodel.cli.program_options import ProgramOptions
from perfmodel.cli.progress import progress_bar
from perfmodel.cli.rows_options import command_line
from perfmodel.errors import PerfmodelError


def report(
    *,
    kernels: list[str] = KERNELS,
    output: str | None = option(
        "Folder for index.html, report.md and its pictures; made if need be.",
        "-o",
        "--output",
        metavar="DIR",
    ),
    name: str | None = option(
        "Title of the report. [default: the launches and the GPU]", metavar="TEXT"
    ),
    define: list[str] | None = DEFINES,
    mapping: str | None = MAPPING,
    device: str = DEVICE,
    traffic: Traffic = TRAFFIC,
    timing: Timing = TIMING,
    cache: Cache = CACHE,
    program: ProgramOptions,
    l2: L2Options,
    json: bool = JSON,
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
    from perfmodel.reports.page.content import build_report, report_record
    from perfmodel.reports.page.write import write_report

    gpu = load_device(device)
    found = find_kernels(kernels, mapping, program, gpu)
    lists = value_lists(define or (), found)
    _check_count(sum(len(own_combinations(lists, each, len(found) == 1)) for each in found))
    launches = configurations(found, lists)
    _check_count(len(launches))
    predictions, advice = [], []
    with progress_bar("predicting and advising", counted=False) as tell:
        for done, each in enumerate(launches):
            tell(done, len(launches))
            given: dict[str, Any] = {
                **{"device": gpu, "timing": timing, "cache": cache},
                **{"l2": l2.control(each.kernel, gpu, each.values), **l2.platform()},
            }

            def part(tried: float, of: float, done: int = done) -> None:
                tell(done + tried / max(of, 1), len(launches))

            predictions.append(predict(each.kernel, traffic=traffic, **given, **each.values))
            advice.append(each.advice(part, **given))
    with progress_bar("writing the report", counted=False):
        made = build_report(predictions, title=name or "", advice=advice, command=command_line())
        written = [] if output is None else write_report(made, output)
    wrote(*written)
    if json:
        print_json(report_record(made))


def _check_count(launches: int) -> None:
    from perfmodel.reports.page.content import MOST_LAUNCHES

    if launches > MOST_LAUNCHES:
        raise PerfmodelError(
            f"{launches} launches are too many for one report, at most {MOST_LAUNCHES}: give fewer "
            "kernels or values"
        )
