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
        for name, value in tiles.items():
            if value is not None:
                _check_takes(name, value, str(given["kernel"]), given["mapping"])
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


def _check_takes(name: str, value: str, kernel: str, mapping: str | None) -> None:
    """Refuse an option of tiles that a built-in's mapping does not have, naming those that do."""
    from perfmodel.kernels import builtin_names, find_kernel, mappings

    if kernel not in builtin_names():
        return
    option, parts, _ = _TILES[name]
    wanted = parts[: value.count(",") + 1]

    def lacks(which: str | None) -> list[str]:
        known = {p.name for p in find_kernel(kernel, which).parameters}
        return [part for part in wanted if part not in known]

    missing = lacks(mapping)
    if not missing:
        return
    others = [m for m in mappings(kernel) if not lacks(m)]
    chosen = find_kernel(kernel, mapping).mapping
    which = f"{kernel} --mapping {chosen}" if chosen else kernel
    none = "has no such tiles" if name != "stages" else "has none"
    some = f"has no {', '.join(missing)}" if len(missing) < len(wanted) else none
    remedy = f"--mapping {', '.join(others)} {'takes' if len(others) == 1 else 'take'} it"
    raise PerfmodelError(
        f"{option} {shown(value)} sets {', '.join(wanted)}, but {which} {some}; "
        + (remedy if others else "leave it out")
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
