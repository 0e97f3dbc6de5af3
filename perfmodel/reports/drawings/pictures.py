"""Records of what a launch does as pictures, wide and narrow, with what they show in words."""

from __future__ import annotations

from functools import singledispatch

from perfmodel.reports.drawings.canvas import NARROW, WIDE
from perfmodel.reports.drawings.l2_window import L2Window
from perfmodel.reports.drawings.l2_window_figure import l2_window_figure
from perfmodel.reports.drawings.pipeline import Pipeline
from perfmodel.reports.drawings.pipeline_figure import pipeline_figure
from perfmodel.reports.drawings.sectors import WarpRequest
from perfmodel.reports.drawings.sectors_figure import sectors_figure
from perfmodel.reports.drawings.tiles import BlockTiles
from perfmodel.reports.drawings.tiles_figure import tiles_figure
from perfmodel.reports.page.svg import Picture

Drawn = WarpRequest | BlockTiles | L2Window | Pipeline


@singledispatch
def picture(found: Drawn, name: str) -> Picture:
    """Return the picture of a record, called by a name."""
    raise TypeError(f"no picture of a {type(found).__name__}")


@picture.register
def _(found: WarpRequest, name: str) -> Picture:
    title = f"Lanes and sectors of {found.access}, {found.kernel}"
    told = f"{found.text}; {found.mean_text}."
    return Picture(name, title, told, *(sectors_figure(found, w) for w in (WIDE, NARROW)))


@picture.register
def _(found: BlockTiles, name: str) -> Picture:
    title = f"Tiles of a block, {found.kernel}"
    told = f"{found.text[:1].upper()}{found.text[1:]}."
    return Picture(name, title, told, *(tiles_figure(found, w) for w in (WIDE, NARROW)))


@picture.register
def _(found: L2Window, name: str) -> Picture:
    title = f"L2 set-aside and access policy window, {found.kernel}"
    told = f"{found.text} {found.ratios_text}"
    return Picture(name, title, told, *(l2_window_figure(found, w) for w in (WIDE, NARROW)))


@picture.register
def _(found: Pipeline, name: str) -> Picture:
    title = f"Steps of a block over time, {found.kernel}"
    return Picture(name, title, found.text, *(pipeline_figure(found, w) for w in (WIDE, NARROW)))
