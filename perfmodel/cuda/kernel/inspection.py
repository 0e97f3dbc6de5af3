"""What can be said of a kernel without a launch: parameters, resources, loops, instructions."""

from typing import Final

from perfmodel.cuda.compile.program import Program, Resources
from perfmodel.cuda.launch.spec import parameter_names
from perfmodel.cuda.parse import opcodes
from perfmodel.cuda.parse.control_flow import ControlFlow, control_flow
from perfmodel.cuda.parse.inline import reached
from perfmodel.cuda.parse.pointers import pointer_parameters
from perfmodel.cuda.parse.source_places import outermost
from perfmodel.cuda.parse.syntax import Address, Function, Instruction, Parameter, SourceLine
from perfmodel.records import record

_MEMORY: Final = ("load", "store", "atomic", "texture", "copy")
_OUTSIDE: Final = ("param", "const")
"""State spaces whose accesses are no memory traffic worth a line."""


@record
class ParameterFacts:
    """A parameter, with its name in the source where that is known."""

    parameter: Parameter
    name: str
    pointer: bool


@record
class LoopFacts:
    """A loop, and where it is in the source."""

    depth: int
    parent: int | None  # index of the loop around it
    instructions: int  # PTX instructions, those of inner loops included
    accesses: int  # accesses to memory other than parameters and constants, likewise
    exits: int
    # First and last line of it, in the file of its header.
    first: SourceLine | None
    last: SourceLine | None
    ptx_line: int


@record
class AccessFacts:
    """Accesses that one source line makes alike."""

    source: SourceLine | None
    ptx_line: int  # of the first
    name: str  # such as ``ld.global.nc.v4.f32``
    count: int
    depth: int  # loops around it


@record
class KernelFacts:
    """A kernel as `inspect` shows it."""

    kernel: Function
    parameters: tuple[ParameterFacts, ...]
    resources: Resources | None
    dynamic_shared: bool  # whether it uses shared memory that the launch sizes
    instructions: int  # PTX instructions
    mix: dict[str, int]
    loops: tuple[LoopFacts, ...]
    irreducible: int  # edges of loops with several entries, which are not in `loops`
    accesses: tuple[AccessFacts, ...]
    calls: tuple[str, ...]  # functions with a body that it calls, directly or not
    warnings: tuple[str, ...]


def inspect_kernel(program: Program, kernel: Function) -> KernelFacts:
    """Return the facts of a kernel of a program.

    Raises `PerfmodelError` if a branch goes nowhere: the PTX is broken.
    """
    flow = control_flow(kernel)
    depths = [0 if loop is None else flow.loops[loop].depth for loop in flow.innermost]
    names = parameter_names(kernel, program.parameter_names(kernel))
    pointers = pointer_parameters(kernel)
    given = zip(kernel.parameters, names, strict=True)
    warnings = list(opcodes.warnings(kernel))
    if flow.irreducible:
        warnings.append(f"{kernel.name}: a loop with several entries is not taken for a loop")
    named, functions = reached(program.module, kernel)
    unsized = {v.name for v in program.module.variables if v.space == "shared" and v.size is None}
    return KernelFacts(
        kernel=kernel,
        parameters=tuple(ParameterFacts(p, n, p.name in pointers) for p, n in given),
        resources=program.resources.get(kernel.name),
        dynamic_shared=bool(unsized & named),
        instructions=len(kernel.instructions),
        mix=opcodes.mix(kernel),
        loops=tuple(_loop(kernel, flow, i) for i in range(len(flow.loops))),
        irreducible=len(flow.irreducible),
        accesses=_accesses(kernel, flow, depths),
        calls=tuple(f.name for f in functions[1:]),
        warnings=tuple(warnings),
    )


def _loop(kernel: Function, flow: ControlFlow, index: int) -> LoopFacts:
    loop = flow.loops[index]
    inside = [kernel.instructions[at] for at in flow.places(sorted(loop.blocks))]
    header = kernel.instructions[flow.blocks[loop.header].start]
    sources = [i.source for i in inside if i.source is not None]
    files = [outermost(s) for s in sources]
    file = files[0].file if files else None
    lines = [s for s in files if s.file == file]
    return LoopFacts(
        depth=loop.depth,
        parent=loop.parent,
        instructions=len(inside),
        accesses=sum(_is_access(i) for i in inside),
        exits=len(loop.exits),
        first=min(lines, key=lambda s: s.line, default=None),
        last=max(lines, key=lambda s: s.line, default=None),
        ptx_line=header.line,
    )


def _accesses(kernel: Function, flow: ControlFlow, depths: list[int]) -> tuple[AccessFacts, ...]:
    found: dict[tuple[SourceLine | None, str, int], list[int]] = {}
    for instruction, block in zip(kernel.instructions, flow.block_of, strict=True):
        if _is_access(instruction):
            source = instruction.source and outermost(instruction.source)
            place = source and SourceLine(source.file, source.line)
            key = (place, instruction.name, depths[block])
            found.setdefault(key, []).append(instruction.line)
    return tuple(
        AccessFacts(source, lines[0], name, len(lines), depth)
        for (source, name, depth), lines in found.items()
    )


def _is_access(instruction: Instruction) -> bool:
    what, _, space = opcodes.kind(instruction).partition(".")
    named = any(isinstance(o, Address) for o in instruction.operands)  # not cp.async.wait_group
    return named and what in _MEMORY and space not in _OUTSIDE
