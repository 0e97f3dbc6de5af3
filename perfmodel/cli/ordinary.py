"""Ordinary command lines, read without Typer, which takes as long to import as a prediction takes.

A line is ordinary if it names a command, options that this has, each with a value of its type, and
as many arguments as it takes. Of any other, as one that asks for help or has a mistake, nothing is
said here: Typer reads it from the start.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from types import NoneType
from typing import Any, Final, Literal, get_args, get_origin

from perfmodel.cli.grouped_options import Declared, option_name, parameters_of, run_with
from perfmodel.records import record

COMMANDS: Final = (
    *("predict", "explain", "roofline", "report", "simulate", "sweep", "advise", "ladder"),
    "draw",
    *("operators", "inspect", "devices", "kernels", "drill"),
    *("validate", "measure", "calibrate"),
)
"""Commands in the order of the help."""

Command = Callable[..., None]
Values = dict[str, Any]
_KNOWN: Final = {"help", "metavar", "autocompletion", "show_default", "callback"}
"""Settings of an option that change nothing here, but for the callback, which is called."""


class NotOrdinaryError(Exception):
    """A command line that Typer must read."""


@record
class _Taken:
    """An option or argument: the parameter, one value's type, and whether it takes several."""

    parameter: str
    kind: Any
    several: bool
    declared: Declared


def command(name: str) -> Command:
    """Return the function of a command: that of the module of its name."""
    found: Command = getattr(import_module(f"perfmodel.cli.{name}"), name)
    return found


def ordinary(words: Sequence[str]) -> Callable[[], None] | None:
    """Return what runs an ordinary command line; None if it is none."""
    if not words or words[0] not in COMMANDS:
        return None
    named = command(words[0])
    try:
        values = read(named, words[1:])
    except NotOrdinaryError:
        return None
    return lambda: run_with(named, values)


def read(named: Command, words: Sequence[str]) -> Values:
    """Return the values of a command's parameters as Typer reads them.

    Raises `NotOrdinaryError` if Typer must read the line.
    """
    takes = [_taken(*each) for each in parameters_of(named)]
    options = {name: t for t in takes if t.declared.is_option for name in _names(t)}
    given: dict[str, list[Any]] = {}
    positional: list[str] = []
    rest = list(reversed(words))
    while rest:
        word = rest.pop()
        if not word.startswith("-"):
            positional.append(word)
            continue
        name, equals, value = word.partition("=")
        if name not in options or (equals and not name.startswith("--")):
            raise NotOrdinaryError
        option = options[name]
        if option.kind is bool:
            if equals:
                raise NotOrdinaryError
            given[option.parameter] = [True]
            continue
        if not equals:
            if not rest or rest[-1].startswith("-"):
                raise NotOrdinaryError
            value = rest.pop()
        given.setdefault(option.parameter, []).append(_value(option.kind, value))
    _assign([t for t in takes if not t.declared.is_option], positional, given)
    return {t.parameter: _final(t, given.get(t.parameter, [])) for t in takes}


def _taken(parameter: str, hint: Any, default: Any) -> _Taken:
    if not isinstance(default, Declared) or not default.given.keys() <= _KNOWN:
        raise NotOrdinaryError
    kinds = [kind for kind in get_args(hint) if kind is not NoneType]
    if NoneType in get_args(hint):  # an optional one
        hint = kinds[0]
    several = get_origin(hint) is list
    return _Taken(parameter, get_args(hint)[0] if several else hint, several, default)


def _names(taken: _Taken) -> tuple[str, ...]:
    names = taken.declared.names or (option_name(taken.parameter, taken.declared),)
    if any("/" in name for name in names):  # --this/--no-this
        raise NotOrdinaryError
    return names


def _value(kind: Any, text: str) -> Any:
    """Return an option's or argument's text as its type has it."""
    if get_origin(kind) is Literal and text in get_args(kind):
        return text
    try:
        if kind in (int, float) and text.isascii():
            return kind(text)
    except ValueError:
        pass
    if kind in (str, Path) and text.isprintable():
        return kind(text)
    raise NotOrdinaryError


def _assign(arguments: Sequence[_Taken], words: Sequence[str], given: dict[str, list[Any]]) -> None:
    """Give words to the arguments in their order; one that takes several is the last."""
    left = list(words)
    for argument in arguments:
        count = len(left) if argument.several else 1
        if taken := left[:count]:
            given[argument.parameter] = [_value(argument.kind, text) for text in taken]
        left = left[count:]
    if left:
        raise NotOrdinaryError


def _final(taken: _Taken, values: list[Any]) -> Any:
    default = taken.declared.default
    if not values and default is ...:
        raise NotOrdinaryError
    value = default if not values else values if taken.several else values[-1]
    callback = taken.declared.given.get("callback")
    return value if callback is None else callback(value)
