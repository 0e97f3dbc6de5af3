"""`perfmodel kernels`: the built-in kernels, and what one of them does."""

from typing import TYPE_CHECKING

from perfmodel.cli.grouped_options import argument, option
from perfmodel.cli.options import JSON, MAPPING, complete_kernel
from perfmodel.cli.output import print_json, show, write
from perfmodel.cli.program_options import is_program
from perfmodel.errors import PerfmodelError, shown

if TYPE_CHECKING:
    from perfmodel.kernels import Kernel


def kernels(
    *,
    # Not called name, so that the completion of --mapping finds it under the same name everywhere.
    kernel: str | None = argument(
        "A built-in kernel, or a TOML kernel file.", metavar="[NAME|FILE]", complete=complete_kernel
    ),
    mapping: str | None = MAPPING,
    source: bool = option("The CUDA source of a built-in kernel instead.", default=False),
    json: bool = JSON,
) -> None:
    """List the built-in kernels, or show all that one does."""
    from perfmodel.kernels import builtin, builtin_names, find_kernel, mappings

    if kernel is not None:
        if is_program(kernel):
            raise PerfmodelError(f"{shown(kernel)} is a program: perfmodel inspect shows those")
        found = find_kernel(kernel, mapping)
        if source:
            _print_source(kernel, found, json)
        elif json:
            from perfmodel.reports.records import kernel_record

            print_json(kernel_record(found))
        else:
            from perfmodel.reports.kernel_text import kernel_report

            show(kernel_report(found))
        return
    if mapping is not None:
        raise PerfmodelError("--mapping needs a kernel: name it before, as in kernels gemm")
    if source:
        raise PerfmodelError("--source needs a kernel: name it before, as in kernels gemm --source")
    listed = [(name, mappings(name), builtin(name)) for name in builtin_names()]
    if json:
        from perfmodel.reports.records import kernel_summary

        print_json([kernel_summary(*each) for each in listed])
    else:
        from perfmodel.reports.kernel_text import kernels_report

        show(kernels_report(listed))


def _print_source(name: str, found: "Kernel", json: bool) -> None:
    """Print the CUDA source of a built-in, as JSON with its launch by the default parameters."""
    from perfmodel.kernels import builtin_names
    from perfmodel.kernels.sources import source_of

    if name not in builtin_names():
        raise PerfmodelError(f"--source goes with built-in kernels, not with {shown(name)}")
    source = source_of(found)
    if json:
        from perfmodel.cuda.launch.builtin_launch import builtin_launch
        from perfmodel.reports.records import source_record

        print_json(source_record(found, source, *builtin_launch(found, source)))
    else:
        write(source.text())
