"""A launch as the symbolic analysis sees it: what every register and parameter starts as."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from perfmodel.cuda.addresses.algebra import Algebra
from perfmodel.cuda.addresses.instructions import Interpreter
from perfmodel.cuda.addresses.sums import Sum, constant, plus, single
from perfmodel.cuda.addresses.values import ALIGNED, BASE, Unknown, Value, base_name
from perfmodel.cuda.parse.inline import reached
from perfmodel.cuda.parse.syntax import Function, Module, Parameter
from perfmodel.errors import PerfmodelError
from perfmodel.expressions import Name
from perfmodel.expressions.nodes import FUNCTIONS
from perfmodel.kernels.intervals import Interval

Dimensions = tuple[int, int, int]

_ADDRESSES: Final = Interval(1 << 40, (1 << 40) + 1)
"""Where a buffer may lie: anywhere but at 0."""
_SHARED_ADDRESSES: Final = Interval(1 << 10, (1 << 10) + 1)
_WARP: Final = 32
_REGISTERS: Final = (
    ("threadIdx", "%tid"),
    ("blockIdx", "%ctaid"),
    ("blockDim", "%ntid"),
    ("gridDim", "%nctaid"),
)


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """What a kernel is launched with."""

    grid: Dimensions
    block: Dimensions
    shared_bytes: int = 0
    """Dynamic shared memory [B]."""
    values: Mapping[str, int | float] = field(default_factory=dict)
    """Scalar arguments, by the PTX parameter's name."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Bytes of the allocations that pointer arguments point to, as far as they are known."""
    shown: Mapping[str, str] = field(default_factory=dict)
    """Names of the parameters in the source, by the PTX parameter's name."""
    pointers: frozenset[str] = frozenset()
    """PTX parameters that are pointers."""
    structures: Mapping[str, bytes] = field(default_factory=dict)
    """Structures passed by value, by the PTX parameter's name."""
    fields: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Where these hold pointers [B]."""


@dataclass(frozen=True, slots=True)
class Base:
    """What an address may start at."""

    name: str
    """As reports call the buffer."""
    space: str
    """One of "global", "shared" and "local"."""
    size: int | None
    """Bytes, if known."""
    parameter: str | None = None
    """PTX parameter that points to it."""
    dynamic: bool = False
    """Whether it begins where the others of this kind do: dynamic shared memory."""


@dataclass(frozen=True, slots=True)
class Start:
    """What following a kernel begins with."""

    interpreter: Interpreter
    bases: dict[str, Base]
    """What addresses begin with, by name."""
    shown: dict[str, str]
    """Names of parameters as they are shown."""


def start(module: Module, function: Function, launch: KernelLaunch) -> Start:
    """Return what following a launch of a kernel begins with.

    Raises `PerfmodelError` if a scalar argument is missing.
    """
    ranges: dict[str, Interval] = {}
    specials: dict[str, Sum] = {}
    for (name, register), sizes in zip(
        _REGISTERS, (launch.block, launch.grid, launch.block, launch.grid), strict=True
    ):
        for axis, size in zip("xyz", sizes, strict=True):
            if name.endswith("Idx"):
                ranges[f"{name}.{axis}"] = Interval(0, size - 1)
                value = single(Name(f"{name}.{axis}")) if size > 1 else constant(0)
            else:
                ranges[f"{name}.{axis}"] = Interval(size, size)
                value = single(Name(f"{name}.{axis}"))
            specials[f"{register}.{axis}"] = value
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
            held = variable.size
            dynamic = held is None
            if dynamic:
                held = launch.shared_bytes or None
            name = base_name(variable.name)
            local = variable.space == "local"
            readable = "local-memory" if local else _readable(variable.name)
            bases[name] = Base(readable, variable.space, held, dynamic=dynamic)
            shared = variable.space == "shared"
            ranges[name] = _SHARED_ADDRESSES if shared else _ADDRESSES
    algebra = Algebra(ranges)
    linear = plus(
        specials["%tid.x"],
        specials["%tid.y"] * specials["%ntid.x"],
        specials["%tid.z"] * specials["%ntid.y"] * specials["%ntid.x"],
    )
    specials["%laneid"] = algebra.remainder(linear, _WARP)
    specials["%warpid"] = algebra.quotient(linear, _WARP)
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    specials["%nwarpid"] = constant(-(-threads // _WARP))
    specials["WARP_SZ"] = constant(_WARP)
    specials["%dynamic_smem_size"] = constant(launch.shared_bytes)
    follower = Interpreter(algebra, parameters, specials, launch.structures)
    return Start(follower, bases, shown)


def _parameter(
    p: Parameter,
    name: str,
    launch: KernelLaunch,
    parameters: dict[tuple[str, int], Value],
    bases: dict[str, Base],
    ranges: dict[str, Interval],
) -> None:
    value = launch.values.get(p.name)
    if p.count is not None:
        ranges[base_name(p.name)] = _ADDRESSES
        for at in launch.fields.get(p.name, ()):
            readable = re.sub(r"[^\w-]", "_", launch.shown.get(p.name, name)) + f"-at-{at}"
            base = f"{BASE}{name}_at_{at}"
            whole = field_name(p.name, at)
            ranges[base] = _ADDRESSES
            bases[base] = Base(readable, "global", launch.sizes.get(whole), whole)
            parameters[p.name, at] = single(Name(base)) * ALIGNED
        return
    if p.name in launch.pointers:
        base = f"{BASE}{name}"
        ranges[base] = _ADDRESSES
        readable = re.sub(r"[^\w-]", "_", launch.shown.get(p.name, name))
        bases[base] = Base(readable, "global", launch.sizes.get(p.name), p.name)
        parameters[p.name, 0] = single(Name(base)) * ALIGNED
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
