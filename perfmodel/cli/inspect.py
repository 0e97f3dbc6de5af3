"""`perfmodel inspect`: the kernels of a CUDA source or PTX file, and what one consists of."""

from perfmodel.cli.grouped_options import argument, option
from perfmodel.cli.options import JSON
from perfmodel.cli.output import print_json, show
from perfmodel.cli.program_options import COMPILER_OPTION, INCLUDE, LINKED, compiler_options
from perfmodel.cli.progress import progress_bar


def inspect(
    *,
    file: str = argument(
        "A CUDA source (.cu), which is compiled, or PTX.", metavar="FILE", default=...
    ),
    kernel: str | None = option(
        "Show one kernel: its name in the source or in PTX.", metavar="NAME"
    ),
    arch: str | None = option(
        "Architecture: by default sm_90 for sources, its own target for PTX.", metavar="sm_XX"
    ),
    compiler_option: list[str] | None = COMPILER_OPTION,
    linked: list[str] | None = LINKED,
    include: list[str] | None = INCLUDE,
    json: bool = JSON,
) -> None:
    """Show a file's kernels: parameters, registers, shared memory, loops and instructions.

    Sources are compiled by nvcc, or by NVRTC of perfmodel[gpu] where there is no nvcc. Registers
    and shared memory come from ptxas or nvJitLink; without these they are estimated from PTX, which
    the output says. No GPU is needed.
    """
    from perfmodel.cuda.compile.program import load_program
    from perfmodel.cuda.kernel.inspection import inspect_kernel

    with progress_bar("compiling", counted=False):
        options = compiler_options(compiler_option, include)
        program = load_program(file, arch, options, kernel, linked or ())
    single = kernel is not None or len(program.module.kernels) == 1
    chosen = [program.kernel(kernel)] if single else program.module.kernels or [program.kernel()]
    facts = [inspect_kernel(program, each) for each in chosen]
    if json:
        from perfmodel.reports.inspect_text import program_record

        print_json(program_record(program, facts))
    else:
        from perfmodel.reports.inspect_text import kernel_report, kernels_report

        show(kernel_report(program, facts[0]) if single else kernels_report(program, facts))
