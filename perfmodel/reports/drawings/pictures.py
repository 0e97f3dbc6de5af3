"""Records of what a launch does as pictures, wide and narrow, with what they show in words."""

from collections.abc import Callable
from functools import partial

from perfmodel.reports.drawings.canvas import NARROW, WIDE
from perfmodel.reports.drawings.l2_window import L2Window
from perfmodel.reports.drawings.l2_window_figure import l2_window_figure
from perfmodel.reports.drawings.pipeline import Pipeline
from perfmodel.reports.drawings.pipeline_figure import pipeline_figure
from perfmodel.reports.drawings.sectors import WarpRequest
from perfmodel.reports.drawings.sectors_figure import sectors_figure
from perfmodel.reports.drawings.tiles import BlockTiles
from perfmodel.reports.drawings.tiles_figure import tiles_figure
from perfmodel.reports.figure_style import Drawing
from perfmodel.reports.page.svg import Picture
from perfmodel.reports.units import sentence

Drawn = WarpRequest | BlockTiles | L2Window | Pipeline


def picture(found: Drawn, name: str) -> Picture:
    """Return the picture of a record, called by a name."""
    draw: Callable[[float], Drawing]
    match found:
        case WarpRequest():
            title, draw = f"Lanes and sectors of {found.access}", partial(sectors_figure, found)
            told = f"{found.text}; {found.mean_text}."
        case BlockTiles():
            title, draw = "Tiles of a block", partial(tiles_figure, found)
            told = sentence(found.text)
        case L2Window():
            title, draw = "L2 set-aside and access policy window", partial(l2_window_figure, found)
            told = f"{found.text} {found.ratios_text}"
        case Pipeline():
            title, draw = "Steps of a block over time", partial(pipeline_figure, found)
            told = found.text
    return Picture(name, f"{title}, {found.kernel}", told, draw(WIDE), draw(NARROW))
