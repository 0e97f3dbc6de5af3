"""A launch as the analyses see it: what every register, parameter and argument starts as.

PTX does not tell a pointer from a 64-bit number. One that a kernel turns into a global address is
a pointer; for it a number is the size of its buffer.
"""

import keyword
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from math import isfinite
from typing import Final

from perfmodel.arrays import Array
from perfmodel.cuda.addresses.algebra import Algebra
from perfmodel.cuda.addresses.clusters import cluster_registers
from perfmodel.cuda.addresses.instructions import Interpreter
from perfmodel.cuda.addresses.records import ALIGNED, BASE, Unknown, Value, base_name
from perfmodel.cuda.addresses.sums import Sum, applied, constant, plus, single
from perfmodel.cuda.launch.spec import (
    Argument,
    Buffer,
    LaunchSpec,
    Scalar,
    Structure,
    bind,
    parameter_names,
)
from perfmodel.cuda.parse.inline import reached
from perfmodel.cuda.parse.pointers import (
    POINTER_BYTES,
    parameter_reads,
    pointer_fields,
    pointer_parameters,
)
from perfmodel.cuda.parse.syntax import SIZES, Function, Module, Parameter
from perfmodel.cuda.parse.template_names import source_name
from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Name
from perfmodel.expressions.nodes import FUNCTIONS
from perfmodel.hardware.device import WARP_SIZE
from perfmodel.kernels.intervals import Interval
from perfmodel.records import record

Dimensions = tuple[int, int, int]

_ADDRESSES: Final = Interval(1 << 40, (1 << 40) + 1)
"""Where a buffer may lie: anywhere but at 0."""
_SHARED_ADDRESSES: Final = Interval(1 << 10, (1 << 10) + 1)
UNSIZED: Final = 1 << 38
"""Bytes of a buffer whose size nobody states: more than any index reaches."""
_REGISTERS: Final = (
    ("threadIdx", "%tid"),
    ("blockIdx", "%ctaid"),
    ("blockDim", "%ntid"),
    ("gridDim", "%nctaid"),
)


@record
class KernelLaunch:
    """What a kernel is launched with."""

    grid: Dimensions
    block: Dimensions
    shared_bytes: int = 0  # dynamic shared memory [B]
    # Scalar arguments, by the PTX parameter's name.
    values: Mapping[str, int | float] = field(default_factory=dict)
    # What pointers point to, as far as it is known, by the PTX parameter or `field_name`.
    buffers: Mapping[str, Buffer] = field(default_factory=dict)
    # Names of the parameters in the source, by the PTX parameter's name.
    shown: Mapping[str, str] = field(default_factory=dict)
    pointers: frozenset[str] = frozenset()  # PTX parameters that are pointers
    # Structures passed by value, by the PTX parameter's name.
    structures: Mapping[str, Structure] = field(default_factory=dict)
    # Where these hold pointers [B].
    fields: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def dimensions(self) -> dict[str, int]:
        """The dimensions of grid and block, by the names that expressions have for them."""
        bases = (("blockDim", self.block), ("gridDim", self.grid))
        return {
            f"{base}.{a}": n for base, sides in bases for a, n in zip("xyz", sides, strict=True)
        }

    def size(self, name: str) -> int | None:
        """Return the bytes of what a pointer points to, or None if nobody states them."""
        buffer = self.buffers.get(name)
        if buffer is None or (buffer.assumed and buffer.bytes == UNSIZED):
            return None
        return buffer.bytes


@record
class Base:
    """What an address may start at."""

    name: str  # as reports call the buffer
    space: str  # one of "global", "shared" and "local"
    size: int | None  # bytes, if known
    parameter: str | None = None  # PTX parameter that points to it
    # Whether it begins where the others of this kind do: dynamic shared memory.
    dynamic: bool = False


@record
class Start:
    """What following a kernel begins with."""

    interpreter: Interpreter
    bases: dict[str, Base]  # what addresses begin with, by name
    shown: dict[str, str]  # names of parameters as they are shown


def coordinates(base: str, number: Array, sides: Dimensions) -> dict[str, Array]:
    """Return the indices of blocks or threads, such as ``base.x``, of their numbers."""
    x, y, _ = sides
    return {f"{base}.x": number % x, f"{base}.y": number // x % y, f"{base}.z": number // (x * y)}


def start(module: Module, function: Function, launch: KernelLaunch) -> Start:
    """Return what following a launch of a kernel begins with.

    Raises `PerfmodelError` if a scalar argument is missing.
    """
    ranges: dict[str, Interval] = {}
    specials = _sizes(launch, ranges)
    bases: dict[str, Base] = {}
    # What other kernels of the file use is not this one's: dynamic shared arrays above all.
    used, _ = reached(module, function)
    variables = (*(v for v in module.variables if v.name in used), *function.variables)
    shown = shown_names(function, launch, [v.name for v in variables])
    parameters: dict[tuple[str, int], Value] = {}
    for p in function.parameters:
        _parameter(p, shown[p.name], launch, parameters, bases, ranges)
    for variable in variables:
        if variable.space in ("shared", "global", "local"):
            # Dynamic shared memory that nobody states is as much as accesses reach.
            dynamic = variable.size is None
            held = launch.shared_bytes or None if dynamic else variable.size
            name = base_name(variable.name)
            readable = "local-memory" if variable.space == "local" else _readable(variable.name)
            bases[name] = Base(readable, variable.space, held, dynamic=dynamic)
            ranges[name] = _SHARED_ADDRESSES if variable.space == "shared" else _ADDRESSES
    # By no ranges: these may differ where it is begun again.
    specials |= cluster_registers(
        function, specials, lambda how, a, side: applied(how, a, constant(side)), constant
    )
    algebra = Algebra(ranges)
    linear = plus(
        specials["%tid.x"],
        specials["%tid.y"] * specials["%ntid.x"],
        specials["%tid.z"] * specials["%ntid.y"] * specials["%ntid.x"],
    )
    specials["%laneid"] = algebra.remainder(linear, WARP_SIZE)
    specials["%warpid"] = algebra.quotient(linear, WARP_SIZE)
    structures = {name: structure.data for name, structure in launch.structures.items()}
    return Start(Interpreter(algebra, parameters, specials, structures), bases, shown)


def restart(before: Start, ranges: Mapping[str, Interval], launch: KernelLaunch) -> Start | None:
    """Return what following begins with where only numbers differ from an earlier launch's.

    `before` is what that began with, `ranges` those of its variables then; the numbers are the
    grid's, arguments' and sizes of buffers. None where an argument is no whole number.
    """
    new = dict(ranges)
    for axis, size in zip("xyz", launch.grid, strict=True):
        new[f"blockIdx.{axis}"] = Interval(0, size - 1)
        new[f"gridDim.{axis}"] = Interval(size, size)
    for key, value in launch.values.items():
        name = before.shown[key]
        if name in new:
            if value != int(value):
                return None
            new[name] = Interval(int(value), int(value))
    bases = {
        name: base if base.parameter is None else replace(base, size=launch.size(base.parameter))
        for name, base in before.bases.items()
    }
    known = before.interpreter
    interpreter = Interpreter(
        Algebra(new), known.known_parameters, known.specials, known.structures
    )
    return Start(interpreter, bases, before.shown)


def _sizes(launch: KernelLaunch, ranges: dict[str, Interval]) -> dict[str, Sum]:
    """Return the special registers that a launch says; add the ranges of what they stand for."""
    specials: dict[str, Sum] = {}
    for (name, register), sizes in zip(
        _REGISTERS, (launch.block, launch.grid, launch.block, launch.grid), strict=True
    ):
        index = name.endswith("Idx")
        for axis, size in zip("xyz", sizes, strict=True):
            ranges[f"{name}.{axis}"] = Interval(0, size - 1) if index else Interval(size, size)
            only = index and size == 1
            specials[f"{register}.{axis}"] = constant(0) if only else single(Name(f"{name}.{axis}"))
    specials["%nwarpid"] = constant(-(-math.prod(launch.block) // WARP_SIZE))
    specials["WARP_SZ"] = constant(WARP_SIZE)
    specials["%dynamic_smem_size"] = constant(launch.shared_bytes)
    return specials


def _parameter(
    p: Parameter,
    name: str,
    launch: KernelLaunch,
    parameters: dict[tuple[str, int], Value],
    bases: dict[str, Base],
    ranges: dict[str, Interval],
) -> None:
    """Make known what a parameter holds."""
    value = launch.values.get(p.name)
    readable = re.sub(r"[^\w-]", "_", launch.shown.get(p.name, name))
    pointers: dict[int, tuple[str, str, str]] = {}
    if p.count is not None:
        ranges[base_name(p.name)] = _ADDRESSES
        for at in launch.fields.get(p.name, ()):
            pointers[at] = (f"{name}_at_{at}", f"{readable}-at-{at}", field_name(p.name, at))
    elif p.name in launch.pointers:
        pointers[0] = (name, readable, p.name)
    elif p.type[:1] == "f":
        parameters[p.name, 0] = Unknown()
    elif value is None:
        raise PerfmodelError(
            f"argument {name!r} ({p.type}) has no value: give it, as in --arg {name}=1024"
        )
    elif value != int(value):
        raise PerfmodelError(f"argument {name!r} is a whole number ({p.type}), not {value!r}")
    else:
        ranges[name] = Interval(int(value), int(value))
        parameters[p.name, 0] = single(Name(name))
    for at, (own, called, key) in pointers.items():
        base = f"{BASE}{own}"
        ranges[base] = _ADDRESSES
        bases[base] = Base(called, "global", launch.size(key), key)
        parameters[p.name, at] = single(Name(base)) * ALIGNED


def field_name(parameter: str, at: int) -> str:
    """Return what a pointer in a structure is called: no PTX name has a plus."""
    return f"{parameter}+{at}"


def shown_names(
    function: Function, launch: KernelLaunch, variables: Iterable[str] = ()
) -> dict[str, str]:
    """Return a name for each parameter that expressions can use: that of the source, if known.

    Variables keep their own names.
    """
    found: dict[str, str] = {}
    taken = {*FUNCTIONS, "bin", *variables}
    for p in function.parameters:
        wanted = launch.shown.get(p.name, p.name)
        wanted = re.sub(r"\W", "_", wanted.replace(f"{function.name}_param_", "arg"))
        if not re.match(r"[A-Za-z_]", wanted):
            wanted = f"_{wanted}"
        while wanted in taken or keyword.iskeyword(wanted):
            wanted += "_"
        taken.add(wanted)
        found[p.name] = wanted
    return found


def _readable(symbol: str) -> str:
    """Return what a variable is called in the source, out of a mangled name."""
    mangled = re.fullmatch(r"_ZZ.*E(\d+)(\w+)", symbol)
    if mangled is not None:
        return mangled[2][: int(mangled[1])] or symbol
    return re.sub(r"[^\w-]", "_", symbol)


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
