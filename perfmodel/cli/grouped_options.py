"""Options that several commands share as a group: a record whose fields are the options.

Typer reads options off a function's signature and knows no groups of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints


def with_group(record: type, name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a record in the place of its parameter `name`.

    Parameters
    ----------
    record : type
        A dataclass whose fields are options with defaults.
    name : str
        The command's parameter that takes the record.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        taken = fields(record)
        hints = get_type_hints(record, include_extras=True)
        types = get_type_hints(command, include_extras=True)

        @wraps(command)
        def run(**given: Any) -> None:
            group = record(**{f.name: given.pop(f.name) for f in taken})
            command(**given, **{name: group})

        parameters: list[Parameter] = []
        for own in signature(command).parameters.values():
            if own.name == name:
                parameters += [
                    Parameter(
                        f.name, Parameter.KEYWORD_ONLY, default=f.default, annotation=hints[f.name]
                    )
                    for f in taken
                ]
            else:
                parameters.append(
                    own.replace(kind=Parameter.KEYWORD_ONLY, annotation=types[own.name])
                )
        run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorate
