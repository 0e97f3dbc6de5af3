"""A stated launch as the analyses see it: which argument is a number, and which a buffer.

PTX does not tell a pointer from a 64-bit number. One that a kernel turns into a global address is
a pointer; for it a number is the size of its buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Final

from perfmodel.cuda.addresses.launch import KernelLaunch, field_name
from perfmodel.cuda.launch.spec import (
    Argument,
    Buffer,
    LaunchSpec,
    Scalar,
    Structure,
    bind,
    parameter_names,
)
from perfmodel.cuda.parse.pointers import (
    POINTER_BYTES,
    parameter_reads,
    pointer_fields,
    pointer_parameters,
)
from perfmodel.cuda.parse.syntax import SIZES, Function, Parameter
from perfmodel.cuda.parse.template_names import source_name
from perfmodel.errors import PerfmodelError

_UNKNOWN: Final = Buffer(1)
_SHOWN_FIELDS: Final = 12


@dataclass(frozen=True)
class Bound:
    """A launch whose arguments are matched with a kernel's parameters."""

    launch: KernelLaunch
    buffers: dict[str, Buffer] = field(default_factory=dict)
    """What pointers point to, by PTX parameter, or `field_name` of a structure's."""
    structures: dict[str, Structure] = field(default_factory=dict)
    """Structures passed by value, by PTX parameter."""


def bound(spec: LaunchSpec, function: Function, names: Sequence[str] = ()) -> Bound:
    """Return a launch with its arguments matched.

    Buffers whose size nobody states may be left out: they are as long as accesses reach.

    `names` are those of the parameters in the source, if they are known. Raises `PerfmodelError` if
    an argument is missing, or does not fit.
    """
    pointers = pointer_parameters(function)
    fields = pointer_fields(function)
    shown = parameter_names(function, names)
    unsized: frozenset[str] = frozenset()
    if not spec.positional:
        named, unsized = _completed(spec, function, shown)
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
                pointers |= {parameter.name}
                if parameter.name not in unsized:
                    found.buffers[parameter.name] = argument
            case Structure():
                found.structures[parameter.name] = argument
                found.buffers.update(
                    {field_name(parameter.name, at): b for at, b in argument.buffers.items()}
                )
                # Where a field is a pointer, the launch may say so, or its use shows it.
                held = {*argument.buffers, *fields.get(parameter.name, ())}
                fields[parameter.name] = tuple(
                    sorted(at for at in held if at + POINTER_BYTES <= parameter.size)
                )
            case Scalar(number):
                values[parameter.name] = number
    sizes = {name: buffer.bytes for name, buffer in found.buffers.items()}
    launch = replace(
        found.launch,
        values=values,
        sizes=sizes,
        pointers=pointers,
        structures={name: s.data for name, s in found.structures.items()},
        fields={name: at for name, at in fields.items() if name in found.structures},
    )
    return replace(found, launch=launch)


def _completed(
    spec: LaunchSpec, function: Function, shown: Sequence[str]
) -> tuple[dict[str, Argument], frozenset[str]]:
    """Return the arguments with those that may be left out, and the buffers of no stated size."""
    pointers, fields = pointer_parameters(function), pointer_fields(function)
    named = dict(spec.named)
    unsized = set()
    for i, (parameter, name) in enumerate(zip(function.parameters, shown, strict=True)):
        keys = {name, parameter.name, str(i), f"param_{i}"} & named.keys()
        value = named[keys.pop()] if keys else None
        if parameter.name in pointers and value is None:
            named[name] = _UNKNOWN
            unsized.add(parameter.name)
        elif parameter.name in pointers and isinstance(value, Scalar):
            key = next(k for k in (name, parameter.name, str(i), f"param_{i}") if k in named)
            named[key] = Buffer(_size(value, name))
        elif value is None and not parameter_reads(function, parameter.name):
            # Compilers leave parameters that nobody needs; tensor maps are only pointed to.
            unread = Structure(bytes(parameter.size))
            named[name] = Scalar(0) if parameter.count is None else unread
        elif parameter.count is not None and value is None:
            raise _unstated(function, parameter, name, fields.get(parameter.name, ()))
    return named, frozenset(unsized)


def _unstated(
    function: Function, parameter: Parameter, name: str, pointers: Sequence[int]
) -> PerfmodelError:
    """Return what to say of a structure that nobody states: the fields that are read of it."""
    read = parameter_reads(function, parameter.name)
    fields: list[str] = []
    at = 0
    for offset, kind in read:
        if offset > at:
            fields.append(f"pad {offset - at}")
        size = SIZES.get(kind, 4)
        value = f"{'f' if kind[:1] == 'f' else 'i'}{8 * size} 0"
        fields.append("ptr" if offset in pointers else value)
        at = offset + size
    if parameter.size > at:
        fields.append(f"pad {parameter.size - at}")
    more = " ..." if len(fields) > _SHOWN_FIELDS else ""
    return PerfmodelError(
        f"kernel {source_name(function.name)} has no argument for {name}, a structure of "
        f"{parameter.size} B: give its fields, with your values: --arg "
        f"'{name}={', '.join(fields[:_SHOWN_FIELDS])}"
        f"{more}', or in a launch file"
    )


def _size(value: Scalar, name: str) -> int:
    if not isfinite(value.value) or value.value != int(value.value) or value.value < 1:
        raise PerfmodelError(
            f"argument {name} is a pointer: give the bytes of its buffer, such as "
            f"--arg {name}=64MiB, not {value.value!r}"
        )
    return int(value.value)
