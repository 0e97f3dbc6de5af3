"""Options that several commands share as a group: a record whose fields are the options.

Typer reads options off a function's signature and knows no groups of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints


def with_group(record: type, name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a record in the place of its parameter `name`.

    Parameters
    ----------
    record : type
        A dataclass whose fields are options with defaults, or such records.
    name : str
        The command's parameter that takes the record.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        types = get_type_hints(command, include_extras=True)

        @wraps(command)
        def run(**given: Any) -> None:
            group = _taken(record, given)
            command(**given, **{name: group})

        parameters: list[Parameter] = []
        for own in signature(command).parameters.values():
            if own.name == name:
                parameters += _options(record)
            else:
                parameters.append(
                    own.replace(kind=Parameter.KEYWORD_ONLY, annotation=types[own.name])
                )
        run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorate


def _options(record: Any) -> list[Parameter]:
    """Return the options of a record, those of the records in it in their places."""
    found: list[Parameter] = []
    hints: dict[str, Any] = get_type_hints(record, include_extras=True)
    for f in fields(record):
        hint = hints[f.name]
        if is_dataclass(hint):
            found += _options(hint)
        else:
            kind = Parameter.KEYWORD_ONLY
            found.append(Parameter(f.name, kind, default=f.default, annotation=hint))
    return found


def _taken(record: Any, given: dict[str, Any]) -> Any:
    """Return a record of what was given, which is taken out."""
    hints: dict[str, Any] = get_type_hints(record, include_extras=True)
    return record(
        **{
            f.name: _taken(hints[f.name], given)
            if is_dataclass(hints[f.name])
            else given.pop(f.name)
            for f in fields(record)
        }
    )
