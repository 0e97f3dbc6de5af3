"""Options for kernels given as CUDA source or PTX: which one, and how it is launched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from perfmodel.cli.grouped_options import with_group
from perfmodel.errors import PerfmodelError, shown
from perfmodel.sizes import parse_size

if TYPE_CHECKING:
    from perfmodel.frontends.launching.launch import Argument, LaunchSpec
    from perfmodel.frontends.program import Program
    from perfmodel.hardware import Device
    from perfmodel.kernels import Kernel

PROGRAMS: Final = (".cu", ".cuh", ".cpp", ".cc", ".cxx", ".ptx")
"""How names of files end that are programs, not kernel files."""

KernelNameOption = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        metavar="NAME",
        help="Kernel of the file: its name in the source or in PTX; the only one without.",
        show_default=False,
    ),
]
GridOption = Annotated[
    str | None,
    typer.Option(
        "--grid",
        metavar="X[,Y[,Z]]",
        help="Blocks of the launch.",
        show_default=False,
    ),
]
BlockOption = Annotated[
    str | None,
    typer.Option(
        "--block",
        metavar="X[,Y[,Z]]",
        help="Threads of a block.",
        show_default=False,
    ),
]
SharedOption = Annotated[
    str | None,
    typer.Option(
        "--shared",
        metavar="SIZE",
        help="Dynamic shared memory of a block.",
        show_default=False,
    ),
]
ArgumentOption = Annotated[
    list[str] | None,
    typer.Option(
        "--arg",
        metavar="NAME=VALUE",
        help="Argument, once for each: a number; for a pointer the size of its buffer (left out, "
        "it is as long as accesses reach), or a .npy file with its content; for a structure its "
        "fields, as in 'p=ptr 4MiB, i32 1024, f32 0.5'.",
        show_default=False,
    ),
]
LaunchOption = Annotated[
    str | None,
    typer.Option(
        "--launch",
        metavar="FILE[:NUMBER]",
        help="Launch file (TOML, or JSON lines) instead of --grid, --block, --shared and --arg; "
        "with a number, that launch of the file.",
        show_default=False,
    ),
]
CompilerOption = Annotated[
    list[str] | None,
    typer.Option(
        "--compiler-option",
        metavar="OPTION",
        help="For the compiler, such as -DTILE=16; as often as needed.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True)
class ProgramOptions:
    """What the options say; a command takes them through `with_program_options`."""

    kernel_name: KernelNameOption = None
    grid: GridOption = None
    block: BlockOption = None
    shared: SharedOption = None
    arg: ArgumentOption = None
    launch: LaunchOption = None
    compiler_option: CompilerOption = None

    def kernels(self, text: str, mapping: str | None, device: Device | None = None) -> list[Kernel]:
        """Return the kernel that a command is about, or one for each launch of a file.

        Parameters
        ----------
        text : str
            A built-in's name, a kernel file, or a program.
        mapping : str or None
            Of a built-in.
        device : Device, optional
            What a source is compiled for.

        Raises
        ------
        PerfmodelError
            If there is no such kernel, an option is wrong or does not go with it.
        """
        if not is_program(text):
            from perfmodel.kernels import find_kernel

            self.check_unused(text)
            return [find_kernel(text, mapping)]
        return self._translated(*self._launched(text, mapping, device))

    def check_unused(self, text: str) -> None:
        """Refuse the options beside `text`, which is no program.

        Raises
        ------
        PerfmodelError
        """
        for f in fields(self):
            if getattr(self, f.name) is not None:
                option = "--kernel" if f.name == "kernel_name" else f"--{f.name}"
                raise PerfmodelError(
                    f"{option.replace('_', '-')} goes with a CUDA source or PTX file "
                    f"({', '.join(PROGRAMS)}), not with {shown(text)}: give parameters by -D"
                )

    def kernel(self, text: str, mapping: str | None, device: Device | None = None) -> Kernel:
        """Return the one kernel that a command is about; see `kernels`."""
        return self._only(self.kernels(text, mapping, device))

    def kernel_in_blocks(
        self, text: str, mapping: str | None, device: Device | None = None
    ) -> tuple[Kernel, tuple[Kernel, ...]]:
        """Return the same, and if it is a program's, its launch in blocks of other sizes."""
        if not is_program(text):
            return self.kernel(text, mapping, device), ()
        from perfmodel.frontends.other_blocks import in_other_blocks
        from perfmodel.prediction.changes import BLOCKS

        program, launches = self._launched(text, mapping, device)
        made = self._only(self._translated(program, launches))
        return made, in_other_blocks(program, launches[0], self.kernel_name, made, BLOCKS)

    def _only(self, found: Sequence[Kernel]) -> Kernel:
        if len(found) > 1:
            raise PerfmodelError(
                f"the launch file has {len(found)} launches, but here one is needed: choose one, "
                f"as in --launch {self.launch}:1"
            )
        return found[0]

    def _launched(
        self, text: str, mapping: str | None, device: Device | None
    ) -> tuple[Program, list[LaunchSpec]]:
        """Return a program and its launches."""
        from perfmodel.cli.progress import progress_bar
        from perfmodel.frontends.program import load_program

        if mapping is not None:
            raise PerfmodelError(
                f"--mapping goes with built-in kernels, not with {shown(text)}: leave it out"
            )
        architecture = None
        if device is not None and not text.endswith(".ptx"):
            architecture = f"sm_{device.compute_capability.replace('.', '')}"
        # One kernel only is assembled, unless a launch file may be about several.
        wanted = self.kernel_name if self.launch is None else None
        with progress_bar("compiling", counted=False):
            program = load_program(text, architecture, self.compiler_option or (), wanted)
        return program, self._launches(program)

    def _translated(self, program: Program, launches: Sequence[LaunchSpec]) -> list[Kernel]:
        from perfmodel.cli.progress import progress_bar
        from perfmodel.frontends.translate import translated

        with progress_bar("emulating") as tell:
            return [translated(program, launch, self.kernel_name, tell) for launch in launches]

    def _launches(self, program: Program) -> list[LaunchSpec]:
        from perfmodel.frontends.launching.launch import LaunchSpec

        if self.launch is not None:
            for name in ("grid", "block", "shared", "arg"):
                if getattr(self, name) is not None:
                    raise PerfmodelError(f"--{name} and --launch exclude each other: give one")
            return self._from_file(program, self.launch)
        program.kernel(self.kernel_name)
        if self.grid is None or self.block is None:
            missing = "--grid" if self.grid is None else "--block"
            raise PerfmodelError(
                f"a kernel of {program.name} needs {missing}: give it, as in {missing} 256, or a "
                "launch file by --launch"
            )
        return [
            LaunchSpec(
                grid=_extent(self.grid, "--grid"),
                block=_extent(self.block, "--block"),
                shared_bytes=0 if self.shared is None else parse_size(self.shared, "--shared"),
                named=_arguments(self.arg or ()),
            )
        ]

    def _from_file(self, program: Program, text: str) -> list[LaunchSpec]:
        from perfmodel.frontends.launching.launch_file import read_launches
        from perfmodel.frontends.signatures import base_name

        path, colon, number = text.rpartition(":")
        if not colon or not number.isdecimal():
            path, number = text, ""
        launches = list(read_launches(path))
        if number:
            if not 1 <= int(number[:9]) <= len(launches):
                raise PerfmodelError(
                    f"--launch {shown(text)}: the file has launches 1 to {len(launches)}"
                )
            return [launches[int(number) - 1]]
        names = {f.name for f in program.module.kernels}
        names |= {base_name(name) for name in names}
        wanted = {self.kernel_name} if self.kernel_name else names
        mine = [x for x in launches if x.kernel is None or x.kernel in wanted]
        if not mine:
            raise PerfmodelError(
                f"--launch {shown(text)} has no launch of {' or '.join(sorted(wanted)[:4])}: add "
                "one with that kernel"
            )
        return mine


NO_PROGRAM: Final = ProgramOptions()
"""No option given."""


with_program_options: Final = with_group(ProgramOptions, "program")
"""Gives a command the options of `ProgramOptions` in place of its parameter `program`."""


def is_program(text: str) -> bool:
    """Say whether an argument names a CUDA source or PTX file."""
    return text.endswith(PROGRAMS)


def _extent(text: str, option: str) -> tuple[int, int, int]:
    parts = text.replace("x", ",").split(",")
    if not 1 <= len(parts) <= 3:
        raise PerfmodelError(f"{option} must be 1 to 3 numbers, such as 64,64, not {shown(text)}")
    sides = [parse_size(part.strip(), option) for part in parts] + [1, 1]
    return sides[0], sides[1], sides[2]


def _arguments(texts: list[str] | tuple[str, ...]) -> dict[str, Argument]:
    from perfmodel.frontends.launching.launch import Buffer, Scalar, structure

    found: dict[str, Argument] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise PerfmodelError(
                f"--arg {shown(text)} must be NAME=VALUE, such as --arg n=16777216"
            )
        if name in found:
            raise PerfmodelError(f"--arg {name} is given twice: give it once")
        if value.endswith(".npy"):
            from perfmodel.frontends.launching.content import load

            path = Path(value)
            found[name] = Buffer(load(path, f"--arg {name}").nbytes, npy=path)
        elif "," in value or " " in value or value in ("ptr", "pad"):
            found[name] = structure([f.strip() for f in value.split(",")], f"--arg {name}")
        else:
            found[name] = Scalar(_number(value, f"--arg {name}"))
    return found


def _number(text: str, option: str) -> int | float:
    negative = text.startswith("-")
    try:
        whole = parse_size(text.removeprefix("-"), option)
    except PerfmodelError:
        try:
            return float(text)
        except ValueError:
            raise PerfmodelError(
                f"{option} must be a number such as 4096, 1e6, 2.5 or 16MiB, or a .npy file, "
                f"not {shown(text)}"
            ) from None
    return -whole if negative else whole
