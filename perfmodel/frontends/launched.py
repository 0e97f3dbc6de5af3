"""A stated launch as the analyses see it: which argument is a number, and which a buffer.

PTX does not tell a pointer from a 64-bit number. One that a kernel turns into a global address is
a pointer; for it a number is the size of its buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from perfmodel.errors import PerfmodelError
from perfmodel.frontends.launch import Buffer, LaunchSpec, Scalar, Structure, bind, parameter_names
from perfmodel.frontends.ptx.syntax import Address, Function, Register, Symbol
from perfmodel.frontends.symbolic_flow import read_registers
from perfmodel.frontends.symbolic_instructions import written_registers
from perfmodel.frontends.symbolic_launch import KernelLaunch

_UNKNOWN: Final = Buffer(1)
_CARRIES: Final = frozenset({"mov", "cvta", "add", "sub", "selp", "cvt"})


@dataclass(frozen=True)
class Bound:
    """A launch whose arguments are matched with a kernel's parameters.

    Attributes
    ----------
    launch : KernelLaunch
    buffers : mapping of str to Buffer
        What pointers point to, by PTX parameter.
    structures : mapping of str to Structure
        Structures passed by value, by PTX parameter.
    """

    launch: KernelLaunch
    buffers: dict[str, Buffer] = field(default_factory=dict)
    structures: dict[str, Structure] = field(default_factory=dict)


def bound(spec: LaunchSpec, function: Function, names: Sequence[str] = ()) -> Bound:
    """Return a launch with its arguments matched.

    Buffers whose size nobody states may be left out: they are as long as accesses reach.

    Parameters
    ----------
    spec : LaunchSpec
    function : Function
    names : sequence of str
        The parameters' names in the source, if they are known.

    Raises
    ------
    PerfmodelError
        If an argument is missing, or does not fit.
    """
    pointers = pointer_parameters(function)
    shown = parameter_names(function, names)
    unsized: set[str] = set()
    if not spec.positional:
        named = dict(spec.named)
        for i, (parameter, name) in enumerate(zip(function.parameters, shown, strict=True)):
            keys = {name, parameter.name, str(i), f"param_{i}"} & named.keys()
            value = named[keys.pop()] if keys else None
            if parameter.name in pointers and value is None:
                named[name] = _UNKNOWN
                unsized.add(parameter.name)
            elif parameter.name in pointers and isinstance(value, Scalar):
                key = next(k for k in (name, parameter.name, str(i), f"param_{i}") if k in named)
                named[key] = Buffer(_size(value, name))
        spec = replace(spec, named=named)
    arguments = bind(spec, function, names)
    values: dict[str, int | float] = {}
    found = Bound(
        KernelLaunch(
            grid=spec.grid,
            block=spec.block,
            shared_bytes=spec.shared_bytes,
            shown={p.name: n for p, n in zip(function.parameters, shown, strict=True)},
        )
    )
    for parameter, argument in zip(function.parameters, arguments, strict=True):
        match argument:
            case Buffer():
                if parameter.name not in unsized:
                    found.buffers[parameter.name] = argument
            case Structure():
                found.structures[parameter.name] = argument
            case Scalar(value):
                values[parameter.name] = value
    sizes = {name: buffer.bytes for name, buffer in found.buffers.items()}
    return replace(found, launch=replace(found.launch, values=values, sizes=sizes))


def _size(value: Scalar, name: str) -> int:
    if value.value != int(value.value) or value.value < 1:
        raise PerfmodelError(
            f"argument {name} is a pointer: give the bytes of its buffer, such as "
            f"--arg {name}=64MiB, not {value.value!r}"
        )
    return int(value.value)


def pointer_parameters(function: Function) -> frozenset[str]:
    """Return the parameters of a kernel that it uses as addresses."""
    wide = {p.name for p in function.parameters if p.size == 8 and p.count is None}
    carries: dict[str, set[str]] = {}
    marked = {p.name for p in function.parameters if p.pointer}
    converted: set[str] = set()
    used: set[str] = set()
    # Twice: a loop may bring a register back to where it is read.
    for _ in range(2):
        for instruction in function.instructions:
            targets = written_registers(instruction)
            origin: set[str] = set()
            for operand in instruction.operands:
                if isinstance(operand, Address):
                    base = operand.base
                    if isinstance(base, Symbol) and instruction.opcode == "ld":
                        origin |= {base.name} & wide
                    elif isinstance(base, Register):
                        used |= carries.get(base.name, set())
            if instruction.opcode in _CARRIES:
                for register in read_registers(instruction):
                    origin |= carries.get(register, set())
            if instruction.opcode == "cvta":
                converted |= origin
            for target in targets:
                if origin:
                    carries[target] = carries.get(target, set()) | origin
    # Compilers that convert addresses convert them all.
    return frozenset(marked | (converted or used))
