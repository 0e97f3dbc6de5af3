"""A launch: grid, block, shared memory and arguments; and whether it fits a kernel."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import field
from math import isfinite, prod
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

from perfmodel.arrays import Array
from perfmodel.cuda.launch import content
from perfmodel.cuda.parse.syntax import Function, Parameter
from perfmodel.cuda.parse.template_names import source_name
from perfmodel.errors import PerfmodelError, nearest, shown
from perfmodel.records import record
from perfmodel.sizes import parse_size

MOST_GRID: Final = (2**31 - 1, 65535, 65535)
"""CUDA programming guide, technical specifications by compute capability: 8.0 and 9.0 alike."""
MOST_BLOCK: Final = (1024, 1024, 64)
MOST_THREADS: Final = 1024
MOST_SHARED: Final = 227 << 10
"""[B] a block may have at most on compute capability 9.0; 163 KiB on 8.0."""
MOST_BYTES: Final = 1 << 40
"""[B] of a buffer; no GPU has a TiB."""

_MOST_PADDING: Final = 1 << 16
"""[B] of one padding field."""

_WHOLE: Final = {f"{kind}{bits}": bits for kind in "bus" for bits in (8, 16, 32, 64)}


@record
class Scalar:
    """A number passed by value."""

    value: int | float


@record
class Buffer:
    """A pointer to the start of an allocation, with what it holds if that is known."""

    bytes: int
    # Of the elements, if the content is known: see `perfmodel.cuda.launch.content`.
    dtype: str | None = None
    fill: str | None = None
    below: int | None = None
    step: int = 1
    npy: Path | None = None
    assumed: bool = False  # whether the content is what stands for one that nobody states

    @property
    def known(self) -> bool:
        """Whether the launch says what it holds."""
        return self.fill is not None or self.npy is not None

    @property
    def below_all(self) -> int | None:
        """What all integers are below that it holds in a random order; None if nothing says."""
        if self.dtype is None or self.dtype[0] == "f":
            return None
        if self.fill == "permutation":
            return self.bytes // content.TYPES[self.dtype].itemsize
        return self.below if self.fill == "uniform" else None

    def content(self, name: str) -> Array | None:
        """Return what it holds, as a flat array of at most its size, or None if unknown.

        The parameter's `name` picks the random numbers. Raises `PerfmodelError` if the file is
        missing, no .npy, or larger than the buffer.
        """
        if self.npy is not None:
            found = content.load(self.npy, f"argument {name}")
            if found.nbytes > self.bytes:
                raise PerfmodelError(
                    f"argument {name}: {self.npy.name} holds {found.nbytes} B, but the buffer has "
                    f"{self.bytes}: make bytes at least as large"
                )
            return np.ravel(found)
        if self.fill is None or self.dtype is None:
            return None
        count = self.bytes // content.TYPES[self.dtype].itemsize
        return content.generate(self.fill, self.dtype, count, name, self.below, self.step)


@record
class Structure:
    """A structure passed by value: its bytes, and what the pointers in it point to."""

    data: bytes
    buffers: Mapping[int, Buffer] = field(default_factory=dict)  # by the pointer's offset [B]


Argument: TypeAlias = Scalar | Structure | Buffer


@record(slots=False)
class LaunchSpec:
    """A launch, as the user states it."""

    grid: tuple[int, int, int]  # blocks
    block: tuple[int, int, int]  # threads
    shared_bytes: int = 0  # dynamic [B]
    kernel: str | None = None
    name: str = ""
    positional: tuple[Argument, ...] = ()
    named: Mapping[str, Argument] = field(default_factory=dict)
    # Numbers that the user gave by name and the launch was worked out from.
    follows_from: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check what needs no kernel."""
        what = f"launch of {self.kernel}" if self.kernel else "launch"
        limits = (("grid", self.grid, MOST_GRID), ("block", self.block, MOST_BLOCK))
        for key, sides, most in limits:
            for axis, side, limit in zip("xyz", sides, most, strict=True):
                if not 1 <= side <= limit:
                    raise PerfmodelError(
                        f"{what}: {key} {axis} must be 1 to {limit}, not {shown(side)}"
                    )
        if prod(self.block) > MOST_THREADS:
            raise PerfmodelError(
                f"{what}: a block has at most {MOST_THREADS} threads, not {prod(self.block)}"
            )
        if not 0 <= self.shared_bytes <= MOST_SHARED:
            raise PerfmodelError(
                f"{what}: shared_bytes must be 0 to {MOST_SHARED}, not {shown(self.shared_bytes)}"
            )
        if self.positional and self.named:
            raise PerfmodelError(f"{what}: give the arguments by name or in order, not both ways")


def bind(launch: LaunchSpec, kernel: Function, names: Sequence[str] = ()) -> tuple[Argument, ...]:
    """Return the argument of each parameter of a kernel, in order, after all checks.

    `names`: the parameters' names in the source, if they are known. Arguments may always be called
    as PTX calls the parameters, or by number from 0. Raises `PerfmodelError` if an argument is
    missing, one too many, or does not fit its parameter; or the block is not what the kernel was
    compiled for.
    """
    _check_bounds(launch, kernel)
    count = len(kernel.parameters)
    known = parameter_names(kernel, names)
    if launch.positional and len(launch.positional) != count:
        raise PerfmodelError(
            f"kernel {source_name(kernel.name)} has {_some(count, 'parameter')} "
            f"({', '.join(known)}), the launch {_some(len(launch.positional), 'argument')}"
        )
    given: dict[int, Argument] = dict(enumerate(launch.positional))
    for key, value in launch.named.items():
        place = _place(key, kernel, known)
        if place is None:
            raise PerfmodelError(
                f"kernel {source_name(kernel.name)} has no parameter {shown(key)}"
                f"{nearest(key, known)}: it has {', '.join(known) or 'none'}"
            )
        given[place] = value
    missing = [known[i] for i in range(count) if i not in given]
    if missing:
        raise PerfmodelError(
            f"kernel {source_name(kernel.name)} has no argument for {', '.join(missing[:8])}: give "
            f"{'it' if len(missing) == 1 else 'each'} a value, such as --arg {missing[0]}=1, "
            "and a pointer the bytes of its buffer"
        )
    return tuple(
        _checked(given[i], parameter, f"argument {known[i]} of kernel {source_name(kernel.name)}")
        for i, parameter in enumerate(kernel.parameters)
    )


def parameter_names(kernel: Function, names: Sequence[str]) -> tuple[str, ...]:
    """Return how to call the parameters: as the source does if that is known, else as PTX does.

    A name of PTX that starts with the kernel's, ``saxpy_param_0``, is shortened to ``param_0``.
    """
    if len(names) == len(kernel.parameters):
        return tuple(names)
    return tuple(p.name.removeprefix(f"{kernel.name}_") for p in kernel.parameters)


def structure(fields: Sequence[object], where: str) -> Structure:
    """Return a structure whose fields are such as ``"i32 3"``, naturally aligned.

    ``"ptr 64MiB"`` is a pointer to a buffer of that size, ``"ptr"`` one to a buffer that is as long
    as accesses reach, ``"pad 4"`` bytes that nobody reads.
    """
    data = bytearray()
    buffers: dict[int, Buffer] = {}
    widest = 1
    for text in fields[:1025]:
        kind, _, value = str(text).strip().partition(" ")
        if kind == "pad":
            data += bytes(min(parse_size(value, where), _MOST_PADDING))
            continue
        if kind == "ptr":
            widest = 8
            data += bytes(-len(data) % 8)
            if value.strip():
                size = parse_size(value.strip(), where)
                if not 0 < size <= MOST_BYTES:
                    raise PerfmodelError(f"{where}: bytes must be 1 to {MOST_BYTES}, not {size}")
                buffers[len(data)] = Buffer(size)
            data += bytes(8)
            continue
        dtype = content.TYPES.get(kind)
        try:
            if dtype is None:
                raise ValueError(kind)
            number = float(value) if dtype.kind == "f" else int(value, 0)
            packed = np.array(number, dtype).tobytes()
        except (ValueError, OverflowError):
            raise PerfmodelError(
                f"{where}: a field must be a type and a value, such as 'i32 3' or 'ptr 64MiB', "
                f"not {shown(text)}"
            ) from None
        widest = max(widest, len(packed))
        data += bytes(-len(data) % len(packed)) + packed
    return Structure(bytes(data) + bytes(-len(data) % widest), buffers)


def _check_bounds(launch: LaunchSpec, kernel: Function) -> None:
    threads = prod(launch.block)
    for directive, what in (("reqntid", "exactly"), ("maxntid", "at most")):
        bound = kernel.directives.get(directive)
        if not bound:
            continue
        if (what == "exactly" and threads != prod(bound)) or threads > prod(bound):
            raise PerfmodelError(
                f"kernel {source_name(kernel.name)} is compiled for blocks of {what} "
                f"{prod(bound)} threads (.{directive}), the launch has {threads}"
            )


def _place(key: str, kernel: Function, known: Sequence[str]) -> int | None:
    if key in known:
        return known.index(key)
    for i, parameter in enumerate(kernel.parameters):
        if key in (parameter.name, str(i), f"param_{i}"):
            return i
    return None


def _checked(argument: Argument, parameter: Parameter, where: str) -> Argument:
    if isinstance(argument, Buffer):
        if parameter.size != 8 or parameter.count is not None:
            raise PerfmodelError(
                f"{where} is a buffer, but the parameter has {parameter.size} B, not the 8 of a "
                "pointer: give a number"
            )
        if not 0 < argument.bytes <= MOST_BYTES:
            raise PerfmodelError(
                f"{where}: bytes must be 1 to {MOST_BYTES}, not {shown(argument.bytes)}"
            )
        return argument
    if isinstance(argument, Structure):
        if len(argument.data) != parameter.size:
            raise PerfmodelError(
                f"{where}: the fields make {len(argument.data)} B, the parameter has "
                f"{parameter.size}"
            )
        return argument
    return _checked_number(argument, parameter, where)


def _checked_number(argument: Scalar, parameter: Parameter, where: str) -> Scalar:
    if parameter.count is not None:
        raise PerfmodelError(f"{where} must be a structure of {parameter.size} B: give its fields")
    if parameter.pointer:
        raise PerfmodelError(
            f"{where} is a pointer: give the size of its buffer, {{ bytes = ... }}, not a number"
        )
    value = argument.value
    bits = _WHOLE.get(parameter.type)
    # b32 and b64 say nothing of how the bits are read: a fraction is a float there.
    if bits is not None and isinstance(value, float) and parameter.type[0] != "b":
        if not value.is_integer():
            raise PerfmodelError(f"{where} must be a whole number, not {shown(value)}")
        argument = Scalar(value := int(value))
    if isinstance(value, float) and not isfinite(value):
        return argument
    if bits is not None and isinstance(value, int) and not -(1 << bits - 1) <= value < 1 << bits:
        raise PerfmodelError(f"{where} must fit {bits} bits, not {shown(value)}")
    if parameter.type == "f32" and abs(value) > struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]:
        raise PerfmodelError(f"{where} must fit a float, not {shown(value)}")
    return argument


def _some(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
