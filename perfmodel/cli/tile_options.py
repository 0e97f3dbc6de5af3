"""Options that name the tiles of a product, as sizes with commas."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, Final, get_type_hints

import typer

from perfmodel.errors import PerfmodelError, shown

_TILES: Final = {
    "tile": ("--tile", ("BM", "BN", "BK"), "A block's tile: rows and columns of C, depth."),
    "thread_tile": ("--thread-tile", ("TM", "TN"), "A thread's tile: rows and columns of C."),
    "warp_tile": ("--warp-tile", ("WM", "WN"), "A warp's tile: rows and columns of C."),
    "stages": ("--stages", ("stages",), "Steps whose tiles shared memory holds."),
}


def with_tile_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that takes ``-D`` as `define` the options of tiles, which add to it.

    Typer reads options off a function's signature.
    """
    types = get_type_hints(command, include_extras=True)

    @wraps(command)
    def run(**given: Any) -> None:
        tiles = {name: given.pop(name) for name in _TILES}
        found = [text for name, value in tiles.items() for text in _defines(name, value)]
        given["define"] = [*(given["define"] or ()), *found]
        command(**given)

    parameters: list[Parameter] = []
    for own in signature(command).parameters.values():
        hint = own.annotation if own.annotation is not Parameter.empty else types[own.name]
        hint = types.get(own.name, hint)
        parameters.append(own.replace(kind=Parameter.KEYWORD_ONLY, annotation=hint))
        if own.name == "mapping":
            parameters += [_parameter(name) for name in _TILES]
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def _parameter(name: str) -> Parameter:
    option, parts, summary = _TILES[name]
    told = typer.Option(option, metavar=",".join(parts).upper(), help=summary, show_default=False)
    return Parameter(
        name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, told]
    )


def _defines(name: str, value: str | None) -> list[str]:
    """Return the ``-D`` texts that an option stands for; fewer sizes leave the last ones open."""
    if value is None:
        return []
    option, parts, _ = _TILES[name]
    sizes = [size.strip() for size in value.split(",")]
    if len(sizes) > len(parts) or not all(size.isdigit() for size in sizes):
        wanted = ",".join(parts)
        raise PerfmodelError(
            f"{option} must be {wanted}, whole numbers, such as "
            f"{option} {','.join('128' for _ in parts)}, not {shown(value)}"
            if len(parts) > 1
            else f"{option} must be a whole number, not {shown(value)}"
        )
    return [f"{part}={size}" for part, size in zip(parts, sizes, strict=False)]
