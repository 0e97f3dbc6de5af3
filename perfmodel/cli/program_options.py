"""Options for kernels given as CUDA source or PTX: which one, and how it is launched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from perfmodel.cli.grouped_options import option, option_name
from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.records import record

if TYPE_CHECKING:
    from perfmodel.cuda.compile.program import Program
    from perfmodel.cuda.launch.launch_file import StatedArgument, StatedLaunch
    from perfmodel.cuda.launch.spec import LaunchSpec
    from perfmodel.hardware import Device
    from perfmodel.kernels import Kernel


@record
class ProgramLaunches:
    """A program and its launches.

    The kernel's name is None where a launch says so or the program has only one. Where options
    state the launch, not a file, -D and --arg must not both give a number.
    """

    program: Program
    stated: tuple[StatedLaunch, ...]
    kernel_name: str | None
    by_options: bool
    assume: bool = False

    def names(self) -> list[str]:
        """Return what to call the launches, if there are several: their names, else numbers."""
        several = len(self.stated) > 1
        return [
            (launch.name or str(i)) if several else "" for i, launch in enumerate(self.stated, 1)
        ]

    def takes(self, values: Mapping[str, Any]) -> set[str]:
        """Return which of the names some launch follows from: parameters, and names in rules."""
        return {name for _, used in self._at(values) for name in used}

    def check_takes(self, values: Mapping[str, Any]) -> None:
        """Refuse names that no launch follows from."""
        from perfmodel.cuda.parse.template_names import source_name

        unused = [name for name in values if name not in self.takes(values)]
        if unused:
            first = self.program.kernel(self.kernel_name or self.stated[0].kernel)
            known = self._parameters(self.stated[0])
            raise PerfmodelError(
                f"kernel {source_name(first.name)} has no parameter {shown(unused[0])}"
                f"{nearest(unused[0], known)}: it has {', '.join(known) or 'none'}, and no rule of "
                f"its launch (--grid, --block, --shared, --arg) uses {unused[0]}"
            )

    def kernels(
        self, values: Mapping[str, Any], tell: Callable[[float, float], None] | None = None
    ) -> list[Kernel]:
        """Return the kernel of each launch; `tell` is told the progress of emulation."""
        from perfmodel.cuda.kernel.translate import translated

        return [
            translated(self.program, spec, self.kernel_name, tell, assume=self.assume)
            for spec, _ in self._at(values)
        ]

    def in_other_blocks(
        self, values: Mapping[str, Any], made: Kernel, place: int
    ) -> tuple[Kernel, ...]:
        """Return a launch in blocks of other sizes; see `perfmodel.cuda.kernel.translate`."""
        from perfmodel.cuda.kernel.translate import in_other_blocks
        from perfmodel.prediction.changes import BLOCKS

        spec, _ = list(self._at(values))[place]
        return in_other_blocks(self.program, spec, self.kernel_name, made, BLOCKS)

    def _at(self, values: Mapping[str, Any]) -> Iterator[tuple[LaunchSpec, frozenset[str]]]:
        from perfmodel.cuda.launch.launch_file import check_once

        for launch in self.stated:
            parameters = self._parameters(launch)
            if self.by_options:
                check_once(values, launch, parameters)
            yield launch.at(values, parameters)

    def _parameters(self, launch: StatedLaunch) -> tuple[str, ...]:
        from perfmodel.cuda.launch.spec import parameter_names

        function = self.program.kernel(self.kernel_name or launch.kernel)
        return parameter_names(function, self.program.parameter_names(function))


PROGRAMS: Final = (".cu", ".cuh", ".cpp", ".cc", ".cxx", ".ptx")
"""How names of files end that are programs, not kernel files."""

COMPILER_OPTION: Final[Any] = option(
    "For the compiler, such as -DTILE=16; as often as needed.", metavar="OPTION"
)

LINKED: Final[Any] = option(
    "Another source or PTX file with device functions that the kernel calls; it is "
    "compiled as nvcc -rdc=true does, and linked. As often as needed.",
    "--with",
    metavar="FILE",
)
INCLUDE: Final[Any] = option(
    "Folder that headers are looked for in; as often as needed.", "-I", metavar="DIR"
)


def compiler_options(given: Sequence[str] | None, folders: Sequence[str] | None) -> list[str]:
    """Return the options of the compiler: those given, and folders of headers."""
    return [*(given or ()), *(word for folder in folders or () for word in ("-I", folder))]


@record
class ProgramOptions:
    """What the options say."""

    kernel_name: str | None = option(
        "Kernel of the file: its name in the source or in PTX; the only one without.",
        "--kernel",
        metavar="NAME",
    )
    grid: str | None = option(
        "Blocks of the launch: numbers, or rules over the kernel's arguments, names given by "
        "-D, and blockDim, such as 'ceil_div(n, 256)'.",
        metavar="X[,Y[,Z]]",
    )
    block: str | None = option("Threads of a block, likewise.", metavar="X[,Y[,Z]]")
    shared: str | None = option(
        "Dynamic shared memory of a block, such as 16KiB or '4*blockDim.x'.", metavar="SIZE"
    )
    arg: list[str] | None = option(
        "Argument, once for each: a number, or a rule such as 'n/4'; for a pointer the size "
        "of its buffer (left out, it is as long as accesses reach), or a .npy file with its "
        "content; for a structure its fields, as in 'p=ptr 4MiB, i32 1024, f32 0.5'.",
        metavar="NAME=VALUE",
    )
    launch: str | None = option(
        "Launch file (TOML, or JSON lines) instead of --grid, --block, --shared and --arg; "
        "with a number, that launch of the file.",
        metavar="FILE[:NUMBER]",
    )
    compiler_option: list[str] | None = COMPILER_OPTION
    assume: bool | None = option(
        "Go on where contents that nobody states decide most of the time, or keep a loop from "
        "ending, and where most accesses are left out."
    )
    linked: list[str] | None = LINKED
    include: list[str] | None = INCLUDE

    def check_unused(self, text: str) -> None:
        """Refuse these options with `text`, which is no program."""
        for f in fields(self):
            if getattr(self, f.name) is not None:
                name = option_name(f.name, f.default)
                raise PerfmodelError(
                    f"{name} goes with a CUDA source or PTX file "
                    f"({', '.join(PROGRAMS)}), not with {shown(text)}: give parameters by -D"
                )

    def load(self, text: str, mapping: str | None, device: Device | None) -> ProgramLaunches:
        """Return a program with the launches that the options state."""
        from perfmodel.cli.progress import progress_bar
        from perfmodel.cuda.compile.program import load_program

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
            options = compiler_options(self.compiler_option, self.include)
            program = load_program(text, architecture, options, wanted, self.linked or ())
        return ProgramLaunches(
            program, self._stated(program), self.kernel_name, not self.launch, bool(self.assume)
        )

    def _stated(self, program: Program) -> tuple[StatedLaunch, ...]:
        from perfmodel.cuda.launch.launch_file import StatedLaunch, three
        from perfmodel.cuda.launch.rules import Stated, sides

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
        return (
            StatedLaunch(
                grid=three(sides(self.grid, "--grid")),
                block=three(sides(self.block, "--block")),
                shared=Stated(0 if self.shared is None else self.shared, "--shared"),
                arguments=_arguments(self.arg or ()),
            ),
        )

    def _from_file(self, program: Program, text: str) -> tuple[StatedLaunch, ...]:
        from perfmodel.cuda.launch.launch_file import read_stated
        from perfmodel.cuda.parse.signatures import base_name

        path, colon, number = text.rpartition(":")
        if not colon or not (number.isascii() and number.isdecimal()):
            if path.endswith((".toml", ".json", ".jsonl")):
                raise PerfmodelError(
                    f"--launch {shown(text)}: after the colon comes the number of a launch, from 1"
                )
            path, number = text, ""
        launches = read_stated(path)
        if number:
            place = int(number.lstrip("0")[:9] or "0")
            if not 1 <= place <= len(launches):
                raise PerfmodelError(
                    f"--launch {shown(text)}: the file has launches 1 to {len(launches)}"
                )
            return (launches[place - 1],)
        names = {f.name for f in program.module.kernels}
        names |= {base_name(name) for name in names}
        wanted = {self.kernel_name} if self.kernel_name else names
        mine = tuple(x for x in launches if x.kernel is None or x.kernel in wanted)
        if not mine:
            raise PerfmodelError(
                f"--launch {shown(text)} has no launch of {' or '.join(sorted(wanted)[:4])}: add "
                "one with that kernel"
            )
        return mine


def is_program(text: str) -> bool:
    """Say whether an argument names a CUDA source or PTX file."""
    return text.endswith(PROGRAMS)


def _arguments(texts: Sequence[str]) -> tuple[StatedArgument, ...]:
    from perfmodel.cuda.launch.launch_file import StatedArgument
    from perfmodel.cuda.launch.rules import Stated, is_structure
    from perfmodel.cuda.launch.spec import Buffer
    from perfmodel.cuda.parse.signatures import split

    found: dict[str, StatedArgument] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        where = f"--arg {name}"
        if not equals or not name:
            raise PerfmodelError(
                f"--arg {shown(text)} must be NAME=VALUE, such as --arg n=16777216"
            )
        if name in found:
            raise PerfmodelError(f"{where} is given twice: give it once")
        if value.endswith(".npy"):
            from perfmodel.cuda.launch.content import load

            path = Path(value)
            held = Buffer(load(path, where).nbytes, npy=path)
            found[name] = StatedArgument(name, where, buffer=held)
        elif is_structure(value):
            found[name] = StatedArgument(name, where, fields=tuple(split(value)))
        else:
            found[name] = StatedArgument(name, where, Stated(value, where))
    return tuple(found.values())
