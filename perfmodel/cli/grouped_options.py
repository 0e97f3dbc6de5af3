"""How commands declare options: one by one, and in groups that several of them share.

Typer reads options off annotations of a function's parameters and knows no groups of them. Here an
option is a parameter's default, and a group a record whose fields are options::

    @dataclass(frozen=True)
    class Tiles:
        tile: str | None = option("A block's tile.", metavar="BM,BN,BK")

    def predict(*, kernel: str = KERNEL, tiles: Tiles, json: bool = JSON) -> None:
        '''Predict one launch.'''
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer


@dataclass(frozen=True, slots=True, eq=False)
class Declared:
    """An option or argument: what makes it for typer, its names, default and other settings."""

    make: Callable[..., Any]
    names: tuple[str, ...]
    default: Any
    given: Mapping[str, Any]


def option(
    help: str,
    *names: str,
    default: Any = None,
    complete: Callable[..., list[str]] | None = None,
    **given: Any,
) -> Any:
    """Return an option, called as its parameter unless names are given; required if ``...``."""
    given |= {"help": help, "autocompletion": complete, "show_default": default is not None}
    return Declared(typer.Option, names, default, given)


def argument(
    help: str,
    metavar: str,
    default: Any = None,
    complete: Callable[..., list[str]] | None = None,
) -> Any:
    """Return an argument; required if its default is ``...``."""
    given = {"help": help, "metavar": metavar, "autocompletion": complete, "show_default": False}
    return Declared(typer.Argument, (), default, given)


def option_name(parameter: str, declared: Any) -> str:
    """Return how the command line calls the option of a parameter."""
    return str(declared.names[0]) if declared.names else f"--{parameter.replace('_', '-')}"


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command as typer takes it, with all options of its groups in their places."""
    types: dict[str, Any] = get_type_hints(command, include_extras=True)
    groups = {name: hint for name, hint in types.items() if is_dataclass(hint)}
    defaults = ((p.name, p.default) for p in signature(command).parameters.values())
    parameters = list(_parameters(defaults, types))

    @wraps(command)
    def run(**given: Any) -> None:
        command(**{name: _taken(record, given) for name, record in groups.items()}, **given)

    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def _parameters(
    defaults: Iterator[tuple[str, Any]], types: Mapping[str, Any]
) -> Iterator[Parameter]:
    """Yield parameters that typer reads, those of a group in its place."""
    for name, default in defaults:
        hint = types[name]
        if is_dataclass(hint):
            own = get_type_hints(hint, include_extras=True)
            yield from _parameters(((f.name, f.default) for f in fields(hint)), own)
            continue
        value = default
        if isinstance(default, Declared):
            names = default.names or (option_name(name, default),)
            names = names if default.make is typer.Option else ()
            hint = Annotated[hint, default.make(*names, **default.given)]
            value = Parameter.empty if default.default is ... else default.default
        yield Parameter(name, Parameter.KEYWORD_ONLY, default=value, annotation=hint)


def _taken(record: Any, given: dict[str, Any]) -> Any:
    """Return a record of what was given, which is taken out."""
    hints: dict[str, Any] = get_type_hints(record, include_extras=True)
    taken = {
        f.name: _taken(hints[f.name], given) if is_dataclass(hints[f.name]) else given.pop(f.name)
        for f in fields(record)
    }
    return record(**taken)
