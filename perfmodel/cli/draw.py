"""`perfmodel draw`: a launch as a picture: sectors, tiles, the L2 window, the pipeline."""

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final, Literal

from perfmodel.cli.grouped_options import argument, option
from perfmodel.cli.launch_options import LaunchOptions
from perfmodel.cli.options import FIGURE, JSON, KERNEL
from perfmodel.cli.output import print_json, save_drawing
from perfmodel.cli.progress import progress_bar
from perfmodel.errors import PerfmodelError, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfmodel.prediction import Prediction
    from perfmodel.reports.drawings.pictures import Drawn
    from perfmodel.reports.drawings.place import Place

Kind = Literal["sectors", "tiles", "l2", "pipeline"]
_KIND: Final[Any] = argument(
    "sectors: the lanes of a warp's request, and the sectors and lines that they touch; tiles: "
    "what a block of a matrix product takes of A, B and C; l2: what is set aside, and what of the "
    "access policy window stays; pipeline: copies, waits and work of a block's steps over time.",
    metavar="KIND",
    default=...,
)


def draw(
    *,
    kind: Kind = _KIND,
    kernel: str = KERNEL,
    chosen: LaunchOptions,
    access: str | None = option(
        "With sectors: which access, by its buffer or its name in the kernel file. [default: the "
        "one with the most sectors]",
        metavar="NAME",
    ),
    at: list[str] | None = option(
        "With sectors and tiles: which request or step, once for each name: blockIdx.x, "
        "blockIdx.y, blockIdx.z, warp (of the block), or a loop's variable. [default: the first]",
        metavar="NAME=N",
    ),
    over_time: bool = option(
        "With l2: simulate the launch too, with the window and without, and draw L2's hit rate "
        "over time; takes seconds.",
        default=False,
    ),
    output: str | None = FIGURE,
    json: bool = JSON,
) -> None:
    """Draw what a launch does, as a picture that follows a reader's light or dark.

    Numbers in it are those of the prediction and of the kernel's index expressions; --json prints
    them.
    """
    if output is None and not json:
        raise PerfmodelError("nowhere to draw it: give -o FILE.svg, or --json")
    place = _place(at or ())
    if kind in ("l2", "pipeline") and (at or access):
        raise PerfmodelError(f"--access and --at are for sectors and tiles, not for {kind}")
    if over_time and kind != "l2":
        raise PerfmodelError(f"--over-time is for l2, not for {kind}: leave it out")
    if kind == "tiles" and access:
        raise PerfmodelError("--access is for sectors: tiles are of A, B and C together")
    from perfmodel import predict

    found, platform = chosen.of(kernel)
    prediction = predict(found.kernel, **platform, **found.values)
    drawn = _drawn(kind, prediction, access, place, over_time)
    if output is not None:
        from perfmodel.reports.drawings.pictures import picture

        save_drawing(picture(drawn, kind), output)
    if json:
        print_json(drawn.to_json())


def _drawn(
    kind: Kind, prediction: "Prediction", access: str | None, place: "Place", over_time: bool
) -> "Drawn":
    """Return the record of a picture."""
    if kind == "sectors":
        from perfmodel.reports.drawings.sectors import warp_request

        return warp_request(prediction, access, place)
    if kind == "tiles":
        from perfmodel.reports.drawings.tiles import block_tiles

        return block_tiles(prediction, place)
    if kind == "l2":
        from perfmodel.reports.drawings.l2_window import l2_window

        with progress_bar("simulating", counted=False) if over_time else nullcontext():
            return l2_window(prediction, over_time)
    from perfmodel.reports.drawings.pipeline import pipeline

    return pipeline(prediction)


def _place(texts: "Sequence[str]") -> "Place":
    """Return the part of a launch that NAME=N, several times, means."""
    from perfmodel.reports.drawings.place import Place

    found: dict[str, int] = {}
    for text in texts:
        name, _, value = (part.strip() for part in text.partition("="))
        if not name or not value.isascii() or not value.isdecimal() or len(value) > 18:
            raise PerfmodelError(f"--at {shown(text)} must be NAME=N, such as k=5 or blockIdx.x=3")
        if name in found:
            raise PerfmodelError(f"--at {name} is given twice: give it once")
        found[name] = int(value)
    x, y, z = (found.pop(f"blockIdx.{axis}", 0) for axis in "xyz")
    return Place((x, y, z), found.pop("warp", None), found)
