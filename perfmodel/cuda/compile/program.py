"""A program to analyse: PTX as given or compiled, its kernels' names and resources."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from perfmodel.cuda.compile.resources import Resources, resources
from perfmodel.cuda.compile.to_ptx import compile_ptx
from perfmodel.cuda.compile.toolchain import check_architecture
from perfmodel.cuda.parse.linking import linked
from perfmodel.cuda.parse.reader import parse_ptx, read_ptx_text
from perfmodel.cuda.parse.signatures import base_name, names_of, parameter_names
from perfmodel.cuda.parse.syntax import Function, Module
from perfmodel.cuda.parse.template_names import is_named, source_name, starts_as
from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.records import record
from perfmodel.text_files import source_lines

SOURCES: Final = (".cu", ".cuh", ".cpp", ".cc", ".cxx")
DEFAULT_ARCHITECTURE: Final = "sm_90"


@record(slots=False)
class Program:
    """The kernels of a file."""

    name: str
    """Of the file."""
    module: Module
    text: str
    """The PTX."""
    architecture: str
    """What registers and shared memory are counted for."""
    compiler: str | None
    """Such as ``nvcc 13.0``; None if PTX was given."""
    resources: Mapping[str, Resources]
    """By kernel; of those that were asked for."""
    source_names: Mapping[str, tuple[str, ...]]
    """Names of parameters by kernel, as the source has them; empty for PTX."""

    def kernel(self, name: str | None = None) -> Function:
        """Return a kernel by its name in PTX or in the source; the only one without a name.

        Template kernels go by ``name<float, 256>`` too; a part of the name will do that only one
        kernel has. Raises `PerfmodelError` if there is none of that name, or several, or several
        and no name.
        """
        kernels = self.module.kernels
        if not kernels:
            raise PerfmodelError(f"{self.name} has no kernel (no .entry with a body)")
        every = [source_name(k.name) for k in kernels]
        if name is None:
            if len(kernels) > 1:
                raise PerfmodelError(f"{self.name} has {len(kernels)} kernels: {_choose(every)}")
            return kernels[0]
        found = [k for k in kernels if k.name == name]
        found = found or [k for k in kernels if is_named(k.name, name)]
        found = found or [k for k in kernels if base_name(k.name) == name]
        found = found or [k for k in kernels if starts_as(k.name, name)]
        found = found or [k for k in kernels if name and name in k.name]
        if not found:
            hint = nearest(name, every) or f"; {_choose(every)}"
            raise PerfmodelError(f"{self.name} has no kernel {shown(name)}{hint}")
        if len(found) > 1:
            names = [source_name(k.name) for k in found]
            raise PerfmodelError(
                f"{self.name} has {len(found)} kernels {shown(name)}: {_choose(names)}"
            )
        return found[0]

    def parameter_names(self, kernel: Function) -> tuple[str, ...]:
        """Return the names of a kernel's parameters as the source has them; () if unknown."""
        names = names_of(kernel.name, dict(self.source_names))
        return names if len(names) == len(kernel.parameters) else ()


def load_program(
    path: str | Path,
    architecture: str | None = None,
    options: Sequence[str] = (),
    kernel: str | None = None,
    others: Sequence[str | Path] = (),
) -> Program:
    """Return the kernels of a CUDA source, which is compiled, or of a PTX file.

    `path`: ``.cu`` or the like is compiled; anything else is read as PTX. `architecture`: such as
    ``sm_80``. Without it a source is compiled for `DEFAULT_ARCHITECTURE`, and PTX assembled for its
    own target. `options`: for the compiler. `kernel`: registers and shared memory of this one only,
    as `Program.kernel` finds it: faster. `others`: sources or PTX files with device functions and
    variables that it is linked with.

    Raises `PerfmodelError` if it cannot be read, compiled or parsed.
    """
    path = Path(path)
    if architecture is not None:
        check_architecture(architecture)
    if others:
        options = (*options, "-rdc=true")
    parts = [_loaded(Path(p), architecture, options) for p in (path, *others)]
    text = parts[0].text
    if others:
        text = linked([(part.name, part.text) for part in parts])
    compiler = parts[0].compiler
    module = parse_ptx(text, f"PTX of {path.name}" if compiler else path.name)
    names = {name: given for part in reversed(parts) for name, given in part.names.items()}
    if compiler is not None:
        module = replace(module, folder=str(path.parent.absolute()))
    target = module.target if compiler else architecture or module.target
    program = Program(path.name, module, text, target, compiler, {}, names)
    wanted = None if kernel is None else [program.kernel(kernel)]
    return replace(program, resources=resources(module, text, target, wanted))


@record
class _Part:
    """One of the files of a program."""

    name: str
    text: str
    compiler: str | None
    names: dict[str, tuple[str, ...]]


def _loaded(path: Path, architecture: str | None, options: Sequence[str]) -> _Part:
    if path.suffix not in SOURCES:
        return _Part(path.name, read_ptx_text(path), None, {})
    compiled = compile_ptx(path, architecture or DEFAULT_ARCHITECTURE, options)
    source = "\n".join(source_lines(path))
    return _Part(path.name, compiled.ptx, compiled.compiler, parameter_names(source))


def _choose(names: Sequence[str]) -> str:
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return f"choose one of {', '.join(names[:8])}{more} (--kernel NAME)"
