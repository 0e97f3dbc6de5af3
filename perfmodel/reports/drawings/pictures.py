"""Records of what a launch does as pictures, wide and narrow, with what they show in words."""

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
    drawn: tuple[Drawing, ...]
    match found:
        case WarpRequest():
            title = f"Lanes and sectors of {found.access}"
            told = f"{found.text}; {found.mean_text}."
            drawn = tuple(sectors_figure(found, width) for width in (WIDE, NARROW))
        case BlockTiles():
            title, told = "Tiles of a block", sentence(found.text)
            drawn = tuple(tiles_figure(found, width) for width in (WIDE, NARROW))
        case L2Window():
            title = "L2 set-aside and access policy window"
            told = f"{found.text} {found.ratios_text}"
            drawn = tuple(l2_window_figure(found, width) for width in (WIDE, NARROW))
        case Pipeline():
            title, told = "Steps of a block over time", found.text
            drawn = tuple(pipeline_figure(found, width) for width in (WIDE, NARROW))
    return Picture(name, f"{title}, {found.kernel}", told, *drawn)
