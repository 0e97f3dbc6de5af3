"""How commands declare options: one by one, and in groups that several of them share.

Typer reads options off annotations of a function's parameters and knows no groups of them. Here an
option is a parameter's default, and a group a record whose fields are options::

    @record(slots=False)
    class Tiles:
        tile: str | None = option("A block's tile.", metavar="BM,BN,BK")

    def predict(*, kernel: str = KERNEL, tiles: Tiles, json: bool = JSON) -> None:
        '''Predict one launch.'''
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

from perfmodel.records import record


@record(eq=False)
class Declared:
    """An option or argument: its names, default and other settings."""

    is_option: bool
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
    return Declared(True, names, default, given)


def argument(
    help: str,
    metavar: str,
    default: Any = None,
    complete: Callable[..., list[str]] | None = None,
) -> Any:
    """Return an argument; required if its default is ``...``."""
    given = {"help": help, "metavar": metavar, "autocompletion": complete, "show_default": False}
    return Declared(False, (), default, given)


def option_name(parameter: str, declared: Any) -> str:
    """Return how the command line calls the option of a parameter."""
    return str(declared.names[0]) if declared.names else f"--{parameter.replace('_', '-')}"


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command as typer takes it, with all options of its groups in their places."""
    parameters = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)
        for name, hint, default in map(_for_typer, parameters_of(command))
    ]

    @wraps(command)
    def run(**given: Any) -> None:
        run_with(command, given)

    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def parameters_of(command: Callable[..., None]) -> Iterator[tuple[str, Any, Any]]:
    """Yield name, type and default of all parameters, those of a group in its place."""
    defaults = [(p.name, p.default) for p in signature(command).parameters.values()]
    yield from _flat(defaults, get_type_hints(command, include_extras=True))


def run_with(command: Callable[..., None], given: dict[str, Any]) -> None:
    """Call a command with values of all its parameters, those of groups by their own names."""
    types = get_type_hints(command, include_extras=True)
    groups = {name: hint for name, hint in types.items() if is_dataclass(hint)}
    command(**{name: _taken(record, given) for name, record in groups.items()}, **given)


def _flat(
    defaults: Iterable[tuple[str, Any]], types: Mapping[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    for name, default in defaults:
        hint = types[name]
        if is_dataclass(hint):
            own = get_type_hints(hint, include_extras=True)
            yield from _flat([(f.name, f.default) for f in fields(hint)], own)
        else:
            yield name, hint, default


def _for_typer(parameter: tuple[str, Any, Any]) -> tuple[str, Any, Any]:
    """Return a parameter as typer reads it: a declared option is an annotation."""
    import typer  # late, for the time that it takes

    name, hint, default = parameter
    if not isinstance(default, Declared):
        return parameter
    if default.is_option:
        names = default.names or (option_name(name, default),)
        hint = Annotated[hint, typer.Option(*names, **default.given)]
    else:
        hint = Annotated[hint, typer.Argument(**default.given)]
    return name, hint, Parameter.empty if default.default is ... else default.default


def _taken(record: Any, given: dict[str, Any]) -> Any:
    """Return a record of what was given, which is taken out."""
    hints: dict[str, Any] = get_type_hints(record, include_extras=True)
    taken = {
        f.name: _taken(hints[f.name], given) if is_dataclass(hints[f.name]) else given.pop(f.name)
        for f in fields(record)
    }
    return record(**taken)
