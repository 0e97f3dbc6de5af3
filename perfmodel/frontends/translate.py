"""From a CUDA source or PTX file and a launch to a `Kernel` that predictions take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Final

from perfmodel.errors import PerfmodelError
from perfmodel.frontends.building.fragments import with_fragments
from perfmodel.frontends.building.kernel_from_ptx import kernel_from_ptx
from perfmodel.frontends.building.spills import with_spills
from perfmodel.frontends.emulation.emulate import Progress
from perfmodel.frontends.launching.launch import LaunchSpec
from perfmodel.frontends.launching.launched import bound
from perfmodel.frontends.program import Program, load_program
from perfmodel.frontends.ptx.inline import inlined
from perfmodel.frontends.ptx.syntax import Function
from perfmodel.frontends.signatures import base_name
from perfmodel.kernels.doubt import Doubt
from perfmodel.kernels.kernel import Kernel

_TEXTURES_LEFT_OUT: Final = Doubt(longer=4.0)
"""How much longer it may take for memory that is left out: assumed."""
_TEXTURES: Final = frozenset({"tex", "tld4", "suld", "sust", "sured"})


def translate(
    path: str | Path,
    launch: LaunchSpec,
    *,
    kernel: str | None = None,
    architecture: str | None = None,
    options: Sequence[str] = (),
    progress: Progress | None = None,
) -> Kernel:
    """Return the kernel that a launch of a source or PTX file runs.

    Parameters
    ----------
    path : str or Path
        ``.cu`` or the like, which is compiled, or PTX.
    launch : LaunchSpec
        Grid, block, arguments; its kernel's name counts if `kernel` is not given.
    kernel : str, optional
        Its name in the source or in PTX; the only one without.
    architecture : str, optional
        Such as ``sm_80``, to compile for.
    options : sequence of str
        For the compiler.
    progress : callable, optional
        Told how many of how many emulated threads are done.

    Raises
    ------
    PerfmodelError
        If the file cannot be read, an argument is missing or wrong, or the kernel cannot be
        followed.

    Examples
    --------
    >>> from perfmodel.frontends.launching.launch import LaunchSpec, Scalar
    >>> spec = LaunchSpec((4096, 1, 1), (256, 1, 1), named={"n": Scalar(1 << 20)})
    >>> translate("saxpy.cu", spec)  # doctest: +SKIP
    """
    program = load_program(path, architecture, options, kernel or launch.kernel)
    return translated(program, launch, kernel, progress)


def translated(
    program: Program,
    launch: LaunchSpec,
    kernel: str | None = None,
    progress: Progress | None = None,
) -> Kernel:
    """Return the kernel that a launch of a loaded program runs; see `translate`."""
    whole = inlined(program.module, program.kernel(kernel or launch.kernel))
    function = with_fragments(whole.function)
    found = bound(launch, function, program.parameter_names(function))
    resources = program.resources[function.name]
    try:
        made = kernel_from_ptx(
            program.module, function, found, resources.registers, progress, resources.code
        )
    except RecursionError:
        raise PerfmodelError(
            f"kernel {function.name!r} makes expressions nested too deeply to follow"
        ) from None
    made = with_spills(made, resources)
    if "malloc" in whole.left:
        # One heap serves all threads, one after the other.
        threads = float(prod(launch.grid) * prod(launch.block))
        made = replace(made, doubt=made.doubt.beside(Doubt(in_turn=threads)))
    left_out = _left_out(function)
    if left_out:
        made = replace(made, doubt=made.doubt.beside(_TEXTURES_LEFT_OUT))
    notes = (*made.notes, *whole.notes, *left_out)
    if resources.origin == "estimated":
        notes = (*notes, "registers are estimated from PTX: no assembler here takes it")
    name = base_name(function.name)
    return replace(made, name=name, summary=f"from {program.name}", notes=notes)


def _left_out(function: Function) -> tuple[str, ...]:
    """Return what to say of memory that no access stands for: textures, fragments of matrices."""
    opcodes = {
        i.opcode + (".load/store" if i.opcode == "wmma" else "")
        for i in function.instructions
        if i.opcode in _TEXTURES or (i.opcode == "wmma" and not {"mma"} & {*i.modifiers})
    }
    if not opcodes:
        return ()
    return (f"memory that {', '.join(sorted(opcodes))} goes to is left out: the time is too short",)
