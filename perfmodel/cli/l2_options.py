"""Options that say what a program asks of L2, and the record that they make."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from perfmodel.cli.defines import parse_size
from perfmodel.errors import PerfmodelError
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control

SetAsideOption = Annotated[
    str | None,
    typer.Option(
        "--set-aside",
        metavar="BYTES",
        help="L2 kept for persisting accesses, such as 16MiB.",
        show_default=False,
    ),
]
WindowOption = Annotated[
    str | None,
    typer.Option(
        "--window",
        metavar="BYTES",
        help="Length of the access policy window, from the start of its buffer.",
        show_default=False,
    ),
]
WindowBufferOption = Annotated[
    str | None,
    typer.Option(
        "--window-buffer",
        metavar="NAME",
        help="Buffer that the window starts in.",
        show_default=False,
    ),
]
HitRatioOption = Annotated[
    float,
    typer.Option("--hit-ratio", metavar="0..1", help="Share of the window that gets --hit-prop."),
]
HitPropOption = Annotated[
    Literal["persisting", "normal", "streaming"],
    typer.Option("--hit-prop", help="How L2 treats the window's lines that are picked."),
]
MissPropOption = Annotated[
    Literal["streaming", "normal"],
    typer.Option("--miss-prop", help="How L2 treats the window's other lines."),
]
FetchGranularityOption = Annotated[
    int,
    typer.Option(
        "--fetch-granularity", metavar="32|64|128", help="Least that an L2 miss reads [B]."
    ),
]


def l2_control(
    set_aside: str | None,
    window: str | None,
    window_buffer: str | None,
    hit_ratio: float,
    hit_prop: Literal["persisting", "normal", "streaming"],
    miss_prop: Literal["streaming", "normal"],
    fetch_granularity: int,
) -> L2Control:
    """Return what the options say.

    Raises
    ------
    PerfmodelError
        If a size is broken, or the window has no buffer or no length.
    """
    if (window is None) != (window_buffer is None):
        raise PerfmodelError(
            "--window and --window-buffer go together: give both, such as --window 16MiB "
            "--window-buffer in"
        )
    return L2Control(
        set_aside=0 if set_aside is None else parse_size(set_aside, "--set-aside"),
        window=None
        if window is None or window_buffer is None
        else AccessPolicyWindow(
            window_buffer, parse_size(window, "--window"), hit_ratio, hit_prop, miss_prop
        ),
        fetch_granularity=fetch_granularity,
    )
