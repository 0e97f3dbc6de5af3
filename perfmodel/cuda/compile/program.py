"""A program to analyse: PTX as given or compiled, its kernels' names, registers and shared memory.

What kernels take is from NVIDIA's assembler, or estimated from PTX.
"""

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Final

from perfmodel.cuda.compile.to_ptx import compile_ptx
from perfmodel.cuda.compile.toolchain import check_architecture, find_tool, run_tool
from perfmodel.cuda.parse.control_flow import control_flow
from perfmodel.cuda.parse.inline import reached
from perfmodel.cuda.parse.linking import linked
from perfmodel.cuda.parse.liveness import live_registers
from perfmodel.cuda.parse.reader import parse_ptx, read_ptx_text
from perfmodel.cuda.parse.signatures import base_name, names_of, parameter_names
from perfmodel.cuda.parse.syntax import Function, Module
from perfmodel.cuda.parse.template_names import is_named, source_name, starts_as
from perfmodel.cuda.sass.machine_code import MachineCode, read_cubin
from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.records import record
from perfmodel.text_files import source_lines

_BASE: Final = 7
"""Registers of machine code beyond those of live values. Fitted, with a slope of 1, to half of 620
kernels that ptxas 13.0 assembled: the corpora of measurements/source-kernels, llama.cpp, Triton,
Numba. On the other half it is off by 3 in the median (16%) and by 12 at the ninetieth percentile;
kernels of Triton come out high, by 10 in the median."""
_MOST_TEXT: Final = 4 << 20
"""Longest PTX that is assembled whole: longer takes minutes."""
_LEAST: Final = 8
_MOST: Final = 255
"""Registers a thread can have."""
_FILE: Final = 65536
"""Registers that a block shares out, in eights a thread: compute capability 8.0 and 9.0."""

_LONGEST: Final = 100_000
"""PTX instructions of a kernel beyond which an assembler takes minutes: it is not asked."""

_ENTRY: Final = re.compile(r"Compiling entry function '([^']+)'")
_USED: Final = re.compile(r"Used (\d+) registers")
_SHARED: Final = re.compile(r"(\d+) bytes smem")
_STACK: Final = re.compile(
    r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
)


@record
class Resources:
    """What a kernel takes of an SM."""

    registers: int  # a thread
    shared_bytes: int  # static, a block [B], without what the system keeps
    local_bytes: int  # stack frame, a thread [B]
    spill_store_bytes: int | None  # a thread [B]; None if unknown
    spill_load_bytes: int | None
    origin: str  # ``ptxas``, ``nvJitLink`` or ``estimated``
    code: MachineCode = ()  # what the assembler made of it; empty if it is not at hand


def resources(
    module: Module,
    text: str,
    architecture: str | None = None,
    kernels: Sequence[Function] | None = None,
) -> dict[str, Resources]:
    """Return what each kernel of a module takes: from an assembler if one takes the PTX.

    `text`: what the module was read from; `architecture`: to assemble for; the module's own target
    without it; `kernels`: only these; all without it.
    """
    target = check_architecture(architecture or module.target)
    wanted = module.kernels if kernels is None else tuple(kernels)
    long = any(len(kernel.instructions) > _LONGEST for kernel in wanted)
    for origin, assemble in () if long else (("ptxas", _by_ptxas), ("nvJitLink", _by_jit_link)):
        made = assemble(text, target, () if kernels is None else [k.name for k in wanted])
        if made is not None:
            log, cubin = made
            found = read_log(log, origin)
            if all(kernel.name in found for kernel in wanted):
                code = read_cubin(cubin)
                return {
                    kernel.name: replace(found[kernel.name], code=code.get(kernel.name, ()))
                    for kernel in wanted
                }
    return {kernel.name: estimate(module, kernel) for kernel in wanted}


def read_log(log: str, origin: str) -> dict[str, Resources]:
    """Return what an assembler's verbose log tells, by kernel.

    `log`: as ``ptxas -v`` writes it; `origin`: goes into the records.
    """
    found: dict[str, Resources] = {}
    name: str | None = None
    stack = (0, 0, 0)
    for line in log.splitlines():
        if entry := _ENTRY.search(line):
            name, stack = entry[1], (0, 0, 0)
        elif name is not None and (match := _STACK.search(line)):
            stack = (int(match[1]), int(match[2]), int(match[3]))
        elif name is not None and (used := _USED.search(line)):
            shared = _SHARED.search(line)
            size = int(shared[1]) if shared else 0
            found[name] = Resources(int(used[1]), size, *stack, origin)
            name = None
    return found


def estimate(module: Module, kernel: Function) -> Resources:
    """Return what a kernel takes by its PTX alone: live values, and its declared variables.

    `module`: for variables outside of the kernel.
    """
    live = live_registers(kernel, control_flow(kernel))
    most = _most_registers(kernel)
    registers = most if live is None else _BASE + live
    return Resources(
        registers=max(min(registers, most), _LEAST),
        shared_bytes=static_shared_bytes(module, kernel),
        local_bytes=sum(v.size or 0 for v in kernel.variables if v.space == "local"),
        spill_store_bytes=None,
        spill_load_bytes=None,
        origin="estimated",
    )


def _most_registers(kernel: Function) -> int:
    """Return the most that a thread of a kernel may have, by what its PTX asks for."""
    most = [_MOST, *kernel.directives.get("maxnreg", ())]
    abreast = max((1, *kernel.directives.get("minnctapersm", ())))
    for bound in ("maxntid", "reqntid"):
        threads = prod(kernel.directives.get(bound, ())) or 1
        most.append(_FILE // abreast // (-(-threads // 32) * 32) // 8 * 8)
    return min(most)


def static_shared_bytes(module: Module, kernel: Function) -> int:
    """Return the static shared memory of a kernel [B]: of what it and its callees name."""
    named, functions = reached(module, kernel)
    shared = [v for f in functions for v in f.variables if v.space == "shared"]
    shared += [v for v in module.variables if v.space == "shared" and v.name in named]
    end = 0
    for variable in sorted(shared, key=lambda v: -v.alignment):
        if variable.size is not None:
            end += -end % max(variable.alignment, 1) + variable.size
    return end


def _by_ptxas(text: str, architecture: str, entries: Sequence[str]) -> tuple[str, bytes] | None:
    """Return ptxas's log and cubin, or None without it or if it does not take the PTX in time."""
    ptxas = find_tool("ptxas")
    if ptxas is None or (len(text) > _MOST_TEXT and not entries):
        return None
    with tempfile.TemporaryDirectory(prefix="perfmodel-") as folder:
        source, made = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        source.write_text(text, encoding="utf-8", newline="\n")
        only = [word for name in entries for word in ("-e", name)]
        command = [ptxas, "-v", "-lineinfo", f"-arch={architecture}", *only]
        command += ["-o", str(made), str(source)]
        try:
            ended = run_tool(command, "ptxas")
            if ended.returncode != 0:
                return None
            return ended.stderr + ended.stdout, made.read_bytes()
        except (PerfmodelError, OSError):
            return None


def _by_jit_link(text: str, architecture: str, entries: Sequence[str]) -> tuple[str, bytes] | None:
    """Return nvJitLink's log and cubin, or None without it or if it does not take the PTX.

    It assembles all kernels, `entries` or not.
    """
    if len(text) > _MOST_TEXT:
        return None
    try:
        from cuda.bindings import nvjitlink

        handle = nvjitlink.create(2, [f"-arch={architecture}", "-verbose", "-lineinfo"])
    except Exception:  # no package, no library, another version
        return None
    try:
        code = text.encode()
        nvjitlink.add_data(handle, nvjitlink.InputType.PTX, code, len(code), "kernel.ptx")
        nvjitlink.complete(handle)
        log = bytearray(nvjitlink.get_info_log_size(handle))
        nvjitlink.get_info_log(handle, log)
        cubin = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, cubin)
        return log.decode(errors="replace"), bytes(cubin)
    except Exception:  # PTX that it does not take
        return None
    finally:
        nvjitlink.destroy(handle)


def by_origin(found: Mapping[str, Resources]) -> str:
    """Return in words where the figures come from."""
    origins = {r.origin for r in found.values()}
    if origins == {"estimated"}:
        return "estimated from PTX, for no assembler here takes it: registers within 3, at times 12"
    return f"from {' and '.join(sorted(origins))}"


SOURCES: Final = (".cu", ".cuh", ".cpp", ".cc", ".cxx")
DEFAULT_ARCHITECTURE: Final = "sm_90"


@record(slots=False)
class Program:
    """The kernels of a file."""

    name: str  # of the file
    module: Module
    text: str  # the PTX
    architecture: str  # what registers and shared memory are counted for
    compiler: str | None  # such as ``nvcc 13.0``; None if PTX was given
    resources: Mapping[str, Resources]  # by kernel; of those that were asked for
    # Names of parameters by kernel, as the source has them; empty for PTX.
    source_names: Mapping[str, tuple[str, ...]]

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
