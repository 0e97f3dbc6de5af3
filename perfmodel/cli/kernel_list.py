"""Several kernels on one command line: ``NAME``, ``NAME:MAPPING``, files, programs; and ``-D``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from perfmodel.cli.options import complete_kernel
from perfmodel.cli.program_options import NO_PROGRAM, ProgramOptions, is_program
from perfmodel.errors import PerfmodelError, nearest, shown

if TYPE_CHECKING:
    from perfmodel.hardware import Device
    from perfmodel.kernels import Kernel

KernelsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="KERNEL...",
        help="Names of built-in kernels, NAME:MAPPING for a variant, TOML kernel files, CUDA "
        "sources or PTX.",
        autocompletion=complete_kernel,
        show_default=False,
    ),
]

Value = TypeVar("Value")


def find_kernels(
    texts: Sequence[str],
    mapping: str | None = None,
    program: ProgramOptions = NO_PROGRAM,
    device: Device | None = None,
) -> list[Kernel]:
    """Return the kernels that texts name; `mapping` is of those that name none.

    `program` says how those that are programs are launched, and `device` what they run on.

    Raises
    ------
    PerfmodelError
        If one is not found, or all name a mapping and another one is given besides.
    """
    if not any(is_program(text) for text in texts):
        program.check_unused(texts[0])
    parts = [(text, None) if is_program(text) else _parts(text) for text in texts]
    if mapping is not None and all(own for _, own in parts):
        raise PerfmodelError(
            f"--mapping {shown(mapping)} is for kernels without one, but each names its own: "
            "leave it out"
        )
    from perfmodel.kernels import find_kernel

    found: list[Kernel] = []
    for name, own in parts:
        if is_program(name):
            found += program.kernels(name, mapping, device)
        else:
            found.append(find_kernel(name, own or mapping))
    return found


def word_parameters(kernels: Iterable[Kernel]) -> set[str]:
    """Return the parameters whose values are words, of any of the kernels."""
    return {name for kernel in kernels for name in kernel.word_parameters}


def own_values(values: Mapping[str, Value], kernel: Kernel) -> dict[str, Value]:
    """Return those of the parameters that a kernel has."""
    has = {parameter.name for parameter in kernel.parameters}
    return {name: value for name, value in values.items() if name in has}


def check_names(values: Iterable[str], kernels: Sequence[Kernel]) -> None:
    """Refuse parameters that none of the kernels has.

    Raises
    ------
    PerfmodelError
    """
    known = sorted({parameter.name for kernel in kernels for parameter in kernel.parameters})
    for name in values:
        if name not in known:
            hint = nearest(name, known) or f"; there are {', '.join(known) or 'none'}"
            raise PerfmodelError(f"-D {name}: none of the kernels has such a parameter{hint}")


def _parts(text: str) -> tuple[str, str | None]:
    """Return name and mapping of ``NAME:MAPPING``; a file has none."""
    name, colon, mapping = text.rpartition(":")
    if not colon or text.endswith(".toml"):
        return text, None
    if not name or not mapping:
        raise PerfmodelError(f"kernel {text!r} must be NAME:MAPPING, such as gemm:naive")
    return name, mapping
