"""Options that name the tiles of a product, as sizes with commas."""

from __future__ import annotations

from typing import Final

from perfmodel.cli.grouped_options import option
from perfmodel.errors import PerfmodelError, shown
from perfmodel.records import record

_TILES: Final = {
    "tile": ("--tile", ("BM", "BN", "BK")),
    "thread_tile": ("--thread-tile", ("TM", "TN")),
    "warp_tile": ("--warp-tile", ("WM", "WN")),
    "stages": ("--stages", ("stages",)),
}


@record
class TileOptions:
    """What the options of tiles say."""

    tile: str | None = option("A block's tile: rows and columns of C, depth.", metavar="BM,BN,BK")
    thread_tile: str | None = option("A thread's tile: rows and columns of C.", metavar="TM,TN")
    warp_tile: str | None = option("A warp's tile: rows and columns of C.", metavar="WM,WN")
    stages: str | None = option("Steps whose tiles shared memory holds.", metavar="STAGES")

    def added_to(self, define: list[str] | None, kernel: str, mapping: str | None) -> list[str]:
        """Return the texts of ``-D``, and those that the options stand for."""
        found = list(define or ())
        given = {name: value for name in _TILES if (value := getattr(self, name)) is not None}
        for name, value in given.items():
            _check_takes(name, value, kernel, mapping)
        return found + [text for name, value in given.items() for text in _defines(name, value)]


def _check_takes(name: str, value: str, kernel: str, mapping: str | None) -> None:
    """Refuse an option of tiles that a built-in's mapping does not have, naming those that do."""
    from perfmodel.kernels import builtin_names, find_kernel, mappings

    if kernel not in builtin_names():
        return
    option, parts = _TILES[name]
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


def _defines(name: str, value: str) -> list[str]:
    """Return the ``-D`` texts that an option stands for; fewer sizes leave the last ones open."""
    option, parts = _TILES[name]
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
