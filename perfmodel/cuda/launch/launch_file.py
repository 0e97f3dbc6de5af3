"""Launches of a kernel from a file: TOML, or JSON with one launch a line.

docs/reference/launch-files.md has the format. A number may be a rule over the launch's other
numbers, its dimensions, and names that the user gives besides (`perfmodel.cuda.launch.rules`): so
one entry is a launch of any size.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from perfmodel.cuda.launch import content
from perfmodel.cuda.launch.rules import Numbers, Stated, field, sides
from perfmodel.cuda.launch.spec import Argument, Buffer, LaunchSpec, Scalar, structure
from perfmodel.errors import PerfmodelError, shown
from perfmodel.records import record
from perfmodel.tables import check_keys, choice, is_list, whole
from perfmodel.text_files import parse_toml, read_text

LAUNCH_KEYS: Final = ("kernel", "grid", "block", "shared_bytes", "name", "arguments")
BUFFER_KEYS: Final = ("bytes", "type", "fill", "below", "step", "npy")
_MOST_LAUNCHES: Final = 10_000
_MOST_ARGUMENTS: Final = 1024


def read_launches(path: str | Path) -> tuple[LaunchSpec, ...]:
    """Return the launches of a file whose rules need nothing besides it.

    Raises `PerfmodelError` as `read_stated`, or if a rule needs a number that the file does not
    state.
    """
    return tuple(launch.at()[0] for launch in read_stated(path))


def read_stated(path: str | Path) -> "tuple[StatedLaunch, ...]":
    """Return the launches of a file as it states them.

    `path`: ``.toml``, or ``.jsonl``/``.json`` with one launch a line. Paths of ``.npy`` files are
    relative to its folder. Raises `PerfmodelError` if it cannot be read, or something in it is not
    as it should be.
    """
    path = Path(path)
    where = f"launch file {path.name}"
    text = read_text(path, where, "launch")
    if path.suffix in (".jsonl", ".json"):
        tables = _json_lines(text, where)
    else:
        tables = _toml_tables(parse_toml(text, where), where)
    if not tables:
        raise PerfmodelError(f"{where} has no launch: add [[launch]] with kernel, grid and block")
    if len(tables) > _MOST_LAUNCHES:
        raise PerfmodelError(f"{where} has {len(tables)} launches, at most {_MOST_LAUNCHES}")
    return tuple(
        stated_launch(table, f"{where}, launch {i}", path.parent)
        for i, table in enumerate(tables, 1)
    )


def launch_from_table(table: object, where: str, folder: Path = Path()) -> LaunchSpec:
    """Return a launch from its table.

    `where` starts messages; paths of content are relative to `folder`. Raises `PerfmodelError` if
    something is missing, unknown or out of range.
    """
    return stated_launch(table, where, folder).at()[0]


def stated_launch(table: object, where: str, folder: Path = Path()) -> "StatedLaunch":
    """Return a launch from its table, as the table states it; arguments as `launch_from_table`."""
    checked = check_keys(table, LAUNCH_KEYS, ("grid", "block"), where)
    kernel = checked.get("kernel")
    if kernel is not None and not (isinstance(kernel, str) and kernel):
        raise PerfmodelError(f"{where}: kernel must be a name, not {shown(kernel)}")
    name = checked.get("name", "")
    if not isinstance(name, str):
        raise PerfmodelError(f"{where}: name must be text, not {shown(name)}")
    return StatedLaunch(
        grid=_extent(checked["grid"], f"{where}: grid"),
        block=_extent(checked["block"], f"{where}: block"),
        shared=_size(checked.get("shared_bytes", 0), f"{where}: shared_bytes"),
        arguments=_arguments(checked.get("arguments", {}), where, folder),
        in_order=is_list(checked.get("arguments")) and bool(checked["arguments"]),
        kernel=kernel,
        name=name,
    )


def _arguments(given: object, where: str, folder: Path) -> "tuple[StatedArgument, ...]":
    if is_list(given):
        items = [(str(i), value, f"{where}, argument {i + 1}") for i, value in enumerate(given)]
    elif isinstance(given, Mapping):
        items = [(k, value, f"{where}, argument {shown(k)}") for k, value in given.items()]
    else:
        raise PerfmodelError(f"{where}: arguments must be a table or a list, not {shown(given)}")
    if len(items) > _MOST_ARGUMENTS:
        raise PerfmodelError(f"{where}: at most {_MOST_ARGUMENTS} arguments")
    return tuple(_argument(*item, folder) for item in items)


def _json_lines(text: str, where: str) -> list[Any]:
    tables = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            tables.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            reason = str(error)[:80] or "nested too deeply"
            raise PerfmodelError(
                f"{where}, line {number} is not JSON: {reason}; write one launch a line"
            ) from None
    return tables


def _toml_tables(table: Mapping[str, Any], where: str) -> list[Any]:
    if "launch" not in table:
        return [table] if table else []
    check_keys(table, ("launch",), ("launch",), where)
    launches = table["launch"]
    return list(launches) if is_list(launches) else [launches]


def _extent(value: object, where: str) -> tuple[Stated, Stated, Stated]:
    if isinstance(value, str):
        return three(sides(value, where))
    listed = list(value) if is_list(value) else [value]
    if not 1 <= len(listed) <= 3:
        raise PerfmodelError(f"{where} must be 1 to 3 numbers, not {shown(value)}")
    # What a GPU allows is checked in one place, with the launch.
    return three([_size(side, where, least=1) for side in listed])


def _size(value: object, where: str, least: int = 0) -> Stated:
    return Stated(value if isinstance(value, str) else whole(value, where, least=least), where)


def _argument(key: str, value: object, where: str, folder: Path) -> "StatedArgument":
    if isinstance(value, bool):
        return StatedArgument(key, where, Stated(int(value), where))
    if isinstance(value, int | float | str):
        return StatedArgument(key, where, Stated(value, where))
    if isinstance(value, Mapping) and "fields" in value:
        check_keys(value, ("fields",), ("fields",), where)
        if not is_list(value["fields"]):
            raise PerfmodelError(f"{where}: fields must be a list such as ['i32 3', 'f32 0.5']")
        return StatedArgument(key, where, fields=tuple(map(str, value["fields"])))
    if isinstance(value, Mapping):
        size = _size(check_keys(value, BUFFER_KEYS, ("bytes",), where)["bytes"], f"{where}: bytes")
        rules = {
            key: Stated(value[key], f"{where}: {key}")
            for key in ("below", "step")
            if isinstance(value.get(key), str)
        }
        held = _buffer({k: v for k, v in value.items() if k not in rules}, where, folder)
        below, step = rules.get("below"), rules.get("step")
        return StatedArgument(key, where, size, held, below=below, step=step)
    raise PerfmodelError(
        f"{where} must be a number, a table with bytes, or one with fields, not {shown(value)}"
    )


def _buffer(table: Mapping[str, Any], where: str, folder: Path) -> Buffer:
    """Return what a buffer holds, its size left open."""
    kind, fill, npy = (table.get(key) for key in ("type", "fill", "npy"))
    if kind is not None:
        choice(kind, tuple(content.TYPES), f"{where}: type")
    if fill is not None:
        choice(fill, tuple(content.FILLS), f"{where}: fill")
        if kind is None:
            raise PerfmodelError(f"{where}: fill needs the elements' type, such as type = 'f32'")
        if npy is not None:
            raise PerfmodelError(f"{where} has both fill and npy: give one of them")
    if npy is not None and not isinstance(npy, str):
        raise PerfmodelError(f"{where}: npy must be a path, not {shown(npy)}")
    below = table.get("below")
    return Buffer(
        bytes=1,
        dtype=kind,
        fill=fill,
        below=None if below is None else whole(below, f"{where}: below", 1),
        step=whole(table.get("step", 1), f"{where}: step", 1),
        npy=None if npy is None else folder / npy,
    )


NOTHING: Final[Mapping[str, int]] = MappingProxyType({})
ONE: Final = Stated(1, "")
"""A side of a grid or a block that is not stated."""


@record
class StatedArgument:
    """An argument: a number, a buffer with its size, or a structure's fields."""

    key: str  # name, or number from 0, of the parameter
    where: str  # start of messages
    # The scalar, or a buffer's bytes; None for a structure, or where a file has the size.
    number: Stated | None = None
    buffer: Buffer | None = None  # what the buffer holds; its size is `number`, if there is one
    # Of a structure, as `perfmodel.cuda.launch.spec.structure` takes them.
    fields: tuple[str, ...] = ()
    # Of the buffer's content, where they follow from other numbers.
    below: Stated | None = None
    step: Stated | None = None

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
    shared: Stated  # dynamic shared memory [B]
    arguments: tuple[StatedArgument, ...] = ()
    in_order: bool = False  # whether the arguments are all, in the order of the parameters
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
        stated = {
            f"{base}.{axis}": side
            for base, sides_of in (("gridDim", self.grid), ("blockDim", self.block))
            for axis, side in zip("xyz", sides_of, strict=True)
        }
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
            grid=_sides_of("gridDim", self.grid, numbers),
            block=_sides_of("blockDim", self.block, numbers),
            shared_bytes=numbers.whole(self.shared),
            kernel=self.kernel,
            name=self.name,
            positional=tuple(found) if self.in_order else (),
            named={} if self.in_order else named,
        )
        used = frozenset(given) & {*numbers.used, *names, *more}
        return replace(spec, follows_from={n: given[n] for n in given if n in used}), used


def _positive(rule: Stated, numbers: Numbers) -> int:
    value = numbers.whole(rule)
    if value < 1:
        raise PerfmodelError(f"{rule.where} must be 1 or more, but {shown(rule.text)} is {value}")
    return value


def three(sides: Sequence[Stated]) -> tuple[Stated, Stated, Stated]:
    """Return one to three sides of a grid or a block as three."""
    x, y, z = [*sides, ONE, ONE][:3]
    return x, y, z


def _sides_of(base: str, sides: Sequence[Stated], numbers: Numbers) -> tuple[int, int, int]:
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
