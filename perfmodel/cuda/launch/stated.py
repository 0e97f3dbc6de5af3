"""A launch as the user states it: numbers and rules, from which it follows at any size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from perfmodel.cuda.launch.rules import Numbers, Stated, field
from perfmodel.cuda.launch.spec import Argument, Buffer, LaunchSpec, Scalar, structure
from perfmodel.errors import PerfmodelError, shown
from perfmodel.records import record

NOTHING: Final[Mapping[str, int]] = MappingProxyType({})
ONE: Final = Stated(1, "")
"""A side of a grid or a block that is not stated."""


@record
class StatedArgument:
    """An argument: a number, a buffer with its size, or a structure's fields."""

    key: str
    """Name, or number from 0, of the parameter."""
    where: str
    """Start of messages."""
    number: Stated | None = None
    """The scalar, or a buffer's bytes; None for a structure, or where a file has the size."""
    buffer: Buffer | None = None
    """What the buffer holds; its size is `number`, if there is one."""
    fields: tuple[str, ...] = ()
    """Of a structure, as `perfmodel.cuda.launch.spec.structure` takes them."""
    below: Stated | None = None
    step: Stated | None = None
    """Of the buffer's content, where they follow from other numbers."""

    def name(self, parameters: Sequence[str]) -> str:
        """Return what rules call it: the parameter's name, also where it goes by its number."""
        number = self.key.removeprefix("param_")
        known = number.isdecimal() and len(number) < 6 and int(number) < len(parameters)
        return parameters[int(number)] if known else self.key

    def argument(self, name: str, numbers: Numbers) -> Argument:
        """Return it with its rules worked out.

        Raises `PerfmodelError` if a rule gives no number, or not one that it must be.
        """
        if self.buffer is not None:
            size = numbers.whole(self.number, name) if self.number else self.buffer.bytes
            below, step = (_positive(x, numbers) if x else None for x in (self.below, self.step))
            return replace(
                self.buffer,
                bytes=size,
                below=below or self.buffer.below,
                step=step or self.buffer.step,
            )
        if self.number is not None:
            return Scalar(numbers.named(name))
        return structure([field(text, self.where, numbers) for text in self.fields], self.where)


@record
class StatedLaunch:
    """A launch whose numbers may follow from others."""

    grid: tuple[Stated, Stated, Stated]
    block: tuple[Stated, Stated, Stated]
    shared: Stated
    """Dynamic shared memory [B]."""
    arguments: tuple[StatedArgument, ...] = ()
    in_order: bool = False
    """Whether the arguments are all, in the order of the parameters."""
    kernel: str | None = None
    name: str = ""

    def at(
        self, given: Mapping[str, int] = NOTHING, parameters: Sequence[str] = ()
    ) -> tuple[LaunchSpec, frozenset[str]]:
        """Return the launch for numbers that the user gives, and which of these it follows from.

        `given`: by name; a number counts in the place of the argument of that name; `parameters`:
        names of the kernel's parameters, if they are known. Raises `PerfmodelError` if a rule uses
        a name without a value or gives no number, or the launch is none.
        """
        names = [argument.name(parameters) for argument in self.arguments]
        stated = dict(self._dimensions())
        for name, argument in zip(names, self.arguments, strict=True):
            if argument.number is not None:
                stated[name] = argument.number
        numbers = Numbers(stated, given)
        found = [a.argument(n, numbers) for n, a in zip(names, self.arguments, strict=True)]
        more = [n for n in given if n in parameters and n not in names and not self.in_order]
        keys = [argument.key for argument in self.arguments]
        named: dict[str, Argument] = dict(zip(keys, found, strict=True))
        named |= {name: Scalar(given[name]) for name in more}
        spec = LaunchSpec(
            grid=_extent("gridDim", self.grid, numbers),
            block=_extent("blockDim", self.block, numbers),
            shared_bytes=numbers.whole(self.shared),
            kernel=self.kernel,
            name=self.name,
            positional=tuple(found) if self.in_order else (),
            named={} if self.in_order else named,
        )
        used = frozenset(given) & {*numbers.used, *names, *more}
        return replace(spec, follows_from={n: given[n] for n in given if n in used}), used

    def _dimensions(self) -> Iterator[tuple[str, Stated]]:
        for base, sides in (("gridDim", self.grid), ("blockDim", self.block)):
            for axis, side in zip("xyz", sides, strict=True):
                yield f"{base}.{axis}", side


def _positive(rule: Stated, numbers: Numbers) -> int:
    value = numbers.whole(rule)
    if value < 1:
        raise PerfmodelError(f"{rule.where} must be 1 or more, but {shown(rule.text)} is {value}")
    return value


def three(sides: Sequence[Stated]) -> tuple[Stated, Stated, Stated]:
    """Return one to three sides of a grid or a block as three."""
    x, y, z = [*sides, ONE, ONE][:3]
    return x, y, z


def _extent(base: str, sides: Sequence[Stated], numbers: Numbers) -> tuple[int, int, int]:
    x, y, z = (
        numbers.whole(side, f"{base}.{axis}") for axis, side in zip("xyz", sides, strict=True)
    )
    return x, y, z


def check_once(given: Mapping[str, int], launch: StatedLaunch, parameters: Sequence[str]) -> None:
    """Refuse a number that is given by ``-D`` and stated by ``--arg`` as well."""
    for argument in launch.arguments:
        name = argument.name(parameters)
        if name in given:
            raise PerfmodelError(f"{name} is given by -D and by --arg: give it once")
