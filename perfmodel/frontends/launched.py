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
from perfmodel.frontends.ptx.pointers import pointer_parameters
from perfmodel.frontends.ptx.syntax import Function
from perfmodel.frontends.symbolic_launch import KernelLaunch

_UNKNOWN: Final = Buffer(1)


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
            case Scalar(number):
                values[parameter.name] = number
    sizes = {name: buffer.bytes for name, buffer in found.buffers.items()}
    launch = replace(found.launch, values=values, sizes=sizes, pointers=pointers)
    return replace(found, launch=launch)


def _size(value: Scalar, name: str) -> int:
    if value.value != int(value.value) or value.value < 1:
        raise PerfmodelError(
            f"argument {name} is a pointer: give the bytes of its buffer, such as "
            f"--arg {name}=64MiB, not {value.value!r}"
        )
    return int(value.value)
