"""A stated launch as the analyses see it: which argument is a number, and which a buffer.

PTX does not tell a pointer from a 64-bit number. One that a kernel turns into a global address is
a pointer; for it a number is the size of its buffer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
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


def bound(spec: LaunchSpec, function: Function, names: Sequence[str] = ()) -> KernelLaunch:
    """Return a launch with its arguments matched.

    Buffers whose size nobody states may be left out: they are as long as accesses reach.

    `names` are those of the parameters in the source, if they are known. Raises `PerfmodelError` if
    an argument is missing, or does not fit.
    """
    pointers, fields = pointer_parameters(function), pointer_fields(function)
    shown = parameter_names(function, names)
    unsized: frozenset[str] = frozenset()
    if not spec.positional:
        named, unsized = _completed(spec, function, shown, pointers, fields)
        spec = replace(spec, named=named)
    values: dict[str, int | float] = {}
    buffers: dict[str, Buffer] = {}
    structures: dict[str, Structure] = {}
    for parameter, argument in zip(function.parameters, bind(spec, function, names), strict=True):
        name = parameter.name
        match argument:
            case Buffer():
                pointers |= {name}
                if name not in unsized:
                    buffers[name] = argument
            case Structure():
                structures[name] = argument
                buffers |= {field_name(name, at): b for at, b in argument.buffers.items()}
                # Where a field is a pointer, the launch may say so, or its use shows it.
                held = sorted({*argument.buffers, *fields.get(name, ())})
                fields[name] = tuple(at for at in held if at + POINTER_BYTES <= parameter.size)
            case Scalar(number):
                values[name] = number
    return KernelLaunch(
        *(spec.grid, spec.block, spec.shared_bytes, values, buffers),
        shown={p.name: n for p, n in zip(function.parameters, shown, strict=True)},
        pointers=pointers,
        structures=structures,
        fields={name: at for name, at in fields.items() if name in structures},
    )


def _completed(
    spec: LaunchSpec,
    function: Function,
    shown: Sequence[str],
    pointers: frozenset[str],
    fields: Mapping[str, tuple[int, ...]],
) -> tuple[dict[str, Argument], frozenset[str]]:
    """Return the arguments with those that may be left out, and the buffers of no stated size."""
    named = dict(spec.named)
    unsized = set()
    for i, (parameter, name) in enumerate(zip(function.parameters, shown, strict=True)):
        key = next((k for k in (name, parameter.name, str(i), f"param_{i}") if k in named), name)
        value = named.get(key)
        if parameter.name in pointers and value is None:
            named[name] = _UNKNOWN
            unsized.add(parameter.name)
        elif parameter.name in pointers and isinstance(value, Scalar):
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
