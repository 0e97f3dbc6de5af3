"""Records as pictures: marks that can be read, colours of the palette, files of every format."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import pytest

from perfmodel import predict
from perfmodel.kernels import find_kernel
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.prediction.ladder import ladder
from perfmodel.prediction.sweep import sweep
from perfmodel.reports import units
from perfmodel.reports.drawings.l2_window import l2_window
from perfmodel.reports.drawings.pictures import picture
from perfmodel.reports.drawings.pipeline import pipeline
from perfmodel.reports.drawings.place import Place
from perfmodel.reports.drawings.sectors import warp_request
from perfmodel.reports.drawings.tiles import block_tiles
from perfmodel.reports.ladder_figure import ladder_figure
from perfmodel.reports.page.svg import Picture, save_figure, standalone
from perfmodel.reports.roofline_figure import roofline_picture
from perfmodel.reports.sweep_figure import sweep_figure
from perfmodel.reports.timeline_figure import timeline_figure

SVG: Final = "{http://www.w3.org/2000/svg}"
MIB: Final = 1 << 20


def window() -> Any:
    control = L2Control(16 * MIB, AccessPolicyWindow("in", 32 * MIB, 0.25))
    return l2_window(predict("data-reset", in_bytes=32 * MIB, l2=control))


RECORDS: Final[dict[str, Callable[[], Any]]] = {
    "stride": lambda: warp_request(predict("strided-copy", stride=2), "in"),
    "naive": lambda: warp_request(predict("gemm", mapping="naive", N=1024)),
    "end": lambda: warp_request(predict("copy", bytes=4128), "in", Place((1, 0, 0))),
    "tiles": lambda: block_tiles(predict("gemm", mapping="warptile", N=1024)),
    "window": window,
    "steps": lambda: pipeline(predict("gemm", mapping="smem", N=1024)),
    "ahead": lambda: pipeline(predict("gemm", mapping="tensor-core", N=4096)),
}


@lru_cache(maxsize=len(RECORDS))
def drawn(name: str) -> Picture:
    return picture(RECORDS[name](), name)


def told(name: str) -> list[str]:
    """Return what the marks of a picture say, as its file has them."""
    root = ElementTree.fromstring(standalone(drawn(name)))
    return [each.attrib["aria-label"] for each in root.iter() if "aria-label" in each.attrib]


def count(name: str, pattern: str) -> int:
    return sum(bool(re.match(pattern, text)) for text in told(name))


def test_marks_of_sectors() -> None:
    # by hand: 32 lanes at a stride of 8 B, 4 of them in each of 8 sectors
    assert count("stride", r"lane \d+: bytes \d+ to \d+ of in, sector \d+ in line \d+$") == 32
    assert count("stride", r"sector \d+ in line \d+: lanes \d+ to \d+$") == 8
    assert "sector 7 in line 1: lanes 28 to 31" in told("stride")
    assert "lane 31: bytes 248 to 251 of in, sector 7 in line 1" in told("stride")
    assert count("naive", r"sector \d+ in line \d+: lanes \d+$") == 32
    assert count("end", r"lane \d+: takes no part$") == 30


def test_marks_of_tiles() -> None:
    assert "the block's tile of C: 128 x 128, rows 0 to 127, columns 0 to 127" in told("tiles")
    assert "a warp's part of C: 64 x 64, rows 0 to 63, columns 0 to 63" in told("tiles")
    # by hand: four pieces of C, and as many columns of B
    assert count("tiles", "a thread's part of C") == 4
    assert count("tiles", "what the thread needs of B: 16 x 16, rows 0 to 15") == 4
    assert count("tiles", "what the thread needs of A: 8 x 16, rows 0 to 7") == 1


def test_marks_of_the_window() -> None:
    # by hand: 6 of 16 ways; 22 MiB of 32 are not picked
    assert count("window", r"way \d+ of 16, 3.12 MiB: set aside$") == 6
    assert count("window", r"way \d+ of 16, 3.12 MiB: rest of L2$") == 10
    assert "streaming, first to leave: 22 MiB, 69% of the window" in told("window")
    assert count("window", "hitRatio") == 2 * 17
    assert count("window", "this launch: hitRatio 0.25: ") == 2


def test_marks_of_steps() -> None:
    assert count("steps", r"step \d: waits for loads and barriers, ") == 8
    assert count("steps", r"step \d: works, with the other blocks, ") == 8
    assert count("ahead", "until the first data is there, ") == 1
    assert count("ahead", "step 63: work on a step, ") == 2


@pytest.mark.parametrize("name", RECORDS)
def test_a_picture_says_what_it_shows(name: str) -> None:
    found = drawn(name)
    root = ElementTree.fromstring(standalone(found))
    assert root.findtext(f"{SVG}title") == found.title
    assert root.findtext(f"{SVG}desc") == found.description
    assert found.narrow is not None
    assert found.narrow.marks.keys() == found.wide.marks.keys()


def test_json_has_what_the_picture_shows() -> None:
    record = RECORDS["stride"]().to_json()
    assert record["schema"] == "perfmodel.draw.sectors/1"
    assert record["lanes"] == [8 * lane for lane in range(32)]
    assert (record["sectors"], record["lines"]) == (list(range(8)), [0, 1])
    for name, kind in (("tiles", "tiles"), ("window", "l2"), ("ahead", "pipeline")):
        assert RECORDS[name]().to_json()["schema"] == f"perfmodel.draw.{kind}/1"


def figures() -> dict[str, Any]:
    """Return a figure of every command that writes one."""
    control = L2Control(16 * MIB, AccessPolicyWindow("in", 32 * MIB))
    sizes: dict[str, Any] = {"params": {"in_bytes": 32 * MIB}}
    swept = sweep(find_kernel("data-reset"), "hit-ratio", [0.0, 1.0], control=control, **sizes)
    rungs = ladder("gemm", N=512)
    return {
        "ladder": ladder_figure(rungs),
        "roofline": roofline_picture([rung.prediction for rung in rungs], arrows=True).wide.figure,
        "sweep": sweep_figure([swept]),
        "timeline": timeline_figure(predict("atomic-add")),
        **{name: drawn(name) for name in RECORDS},
    }


def test_every_figure_follows_light_and_dark(tmp_path: Path) -> None:
    # property: no colour but those of the palette, which has one for light and one for dark
    for name, figure in figures().items():
        path = tmp_path / f"{name}.svg"
        save_figure(figure, path)
        root = ElementTree.fromstring(path.read_bytes())
        style = root.findtext(f"{SVG}style") or ""
        known = set(re.findall(r"--[a-z0-9]+", style))
        assert "prefers-color-scheme: dark" in style, name
        for each in root.iter():
            assert "style" not in each.attrib, (name, each.attrib)
            for colour in (each.attrib.get("fill"), each.attrib.get("stroke")):
                if colour is not None and colour != "none" and not colour.startswith("url(#"):
                    assert re.fullmatch(r"var\((--[a-z0-9]+)\)", colour), (name, colour)
                    assert colour[4:-1] in known, (name, colour)
        refers = {each.attrib["href"] for each in root.iter() if "href" in each.attrib}
        ids = {f"#{each.attrib['id']}" for each in root.iter() if "id" in each.attrib}
        assert refers <= ids, name


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_other_formats(kind: str, start: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"stride.{kind}"
    save_figure(drawn("stride"), path)
    assert path.read_bytes().startswith(start)


def test_arrows_lead_from_version_to_version() -> None:
    # by hand: three arrows between four launches, in their order; rates are those of predictions
    found = [predict("gemm", mapping=m, N=1024) for m in ("naive", "coalesced", "smem", "warptile")]
    figure = roofline_picture(found, arrows=True).wide.figure
    from matplotlib.patches import FancyArrowPatch

    arrows = [p for p in figure.axes[0].patches if isinstance(p, FancyArrowPatch)]
    assert len(arrows) == 3
    for arrow, before, after in zip(arrows, found, found[1:], strict=False):
        (x, y), (to_x, to_y) = arrow._posA_posB
        assert (y, to_y) == (before.roofline.flop_per_s, after.roofline.flop_per_s)
        assert x in before.roofline.intensity.values()
        assert to_x in after.roofline.intensity.values()
    without = roofline_picture(found).wide.figure.axes[0]
    assert not [p for p in without.patches if isinstance(p, FancyArrowPatch)]
    texts = [text.get_text() for text in figure.texts]
    times = found[1].roofline.flop_per_s / found[0].roofline.flop_per_s
    assert any(f"{units.number(times)} times the one before" in text for text in texts)


def test_a_sweep_says_what_binds() -> None:
    # property: a line for each term that is drawn, a part of the strip for each run of what binds
    found = sweep(find_kernel("gather"), "run", [1, 8, 64], params={"n": 1 << 20})
    above = sweep_figure([found]).axes[0]
    labels = {line.get_label(): line for line in above.lines}
    binding = [p.bottleneck for p in found.predictions]
    assert {"time", *binding} <= labels.keys()
    texts = [text.get_text() for text in above.texts]
    assert set(texts) <= {f"{name} binds" for name in binding}
    assert texts
    for name in set(binding):
        drawn_values = [float(y) for y in labels[name].get_ydata()]
        terms = [p.terms_s[name] for p in found.predictions]
        assert drawn_values[0] / terms[0] == pytest.approx(drawn_values[-1] / terms[-1])
