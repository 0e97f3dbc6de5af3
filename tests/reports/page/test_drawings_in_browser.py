"""Pictures of what a launch does in a real browser: read at 360 and 1280 pixels, light and dark."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from test_browser import CONTRAST, TEXTS

from perfmodel import predict
from perfmodel.kernels.l2_control import AccessPolicyWindow, L2Control
from perfmodel.reports.drawings.l2_window import l2_window
from perfmodel.reports.drawings.pictures import picture
from perfmodel.reports.drawings.pipeline import pipeline
from perfmodel.reports.drawings.sectors import warp_request
from perfmodel.reports.drawings.tiles import block_tiles
from perfmodel.reports.page.svg import Picture, inline, save_figure, stylesheet

Open = Callable[..., Any]

MIB: Final = 1 << 20
PAGE: Final = "<!DOCTYPE html><meta name=viewport content='width=device-width'><style>{}</style>{}"


def _window() -> Any:
    control = L2Control(16 * MIB, AccessPolicyWindow("in", 32 * MIB, 0.25))
    return l2_window(predict("data-reset", in_bytes=32 * MIB, l2=control))


@pytest.fixture(scope="module")
def drawn() -> dict[str, Picture]:
    """Return pictures of every kind, among them the fullest of each."""
    records = {
        "naive": warp_request(predict("gemm", mapping="naive")),
        "gather": warp_request(predict("gather", n=1 << 20)),
        "vectors": warp_request(predict("copy")),
        "warptile": block_tiles(predict("gemm", mapping="warptile")),
        "single": block_tiles(predict("gemm", mapping="naive")),
        "window": _window(),
        "steps": pipeline(predict("gemm", mapping="smem")),
        "ahead": pipeline(predict("gemm", mapping="tensor-core")),
        "stages": pipeline(predict("gemm", mapping="tensor-core", M=64, N=4096, K=4096)),
    }
    return {name: picture(record, name) for name, record in records.items()}


@pytest.fixture(scope="module")
def page(drawn: dict[str, Picture], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a page that has all of them, with the style of report pages."""
    path = tmp_path_factory.mktemp("drawings") / "index.html"
    style = stylesheet("palette.css") + stylesheet("page.css")
    shown = "".join(f"<figure>{inline(each)}</figure>" for each in drawn.values())
    path.write_text(PAGE.format(style, f"<main>{shown}</main>"), "utf-8")
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_pictures_can_be_read(opened: Open, page: Path, width: int, scheme: str) -> None:
    found = opened(page, width, scheme)
    assert found.messages == []
    assert found.page.evaluate("document.documentElement.scrollWidth") <= width
    shown = [svg for svg in found.page.locator("svg.picture").all() if svg.is_visible()]
    assert len(shown) == 9
    for svg in shown:
        name, place = svg.get_attribute("id"), svg.evaluate(TEXTS)
        frame, texts = place["frame"], place["texts"]
        assert frame["x"] >= 0, name
        assert frame["right"] <= width, name
        for text in texts:
            where = f"{name}: {text['text']}"
            assert text["size"] >= 9, where
            assert text["x"] >= frame["x"] - 1, where
            assert text["right"] <= frame["right"] + 1, where
            assert text["bottom"] <= frame["bottom"] + 1, where
        for a, b in itertools.combinations(texts, 2):
            across = min(a["right"], b["right"]) - max(a["x"], b["x"])
            down = min(a["bottom"], b["bottom"]) - max(a["y"], b["y"])
            assert across <= 1 or down <= 5, f"{name}: {a['text']!r} over {b['text']!r}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_of_texts_and_parts(opened: Open, page: Path, scheme: str) -> None:
    # WCAG 2.2 AA: 4.5 for text, 3 for parts of a picture; amber and rose touch others that differ
    shown = opened(page, 1280, scheme).page
    for fill in ("var(--ink)", "var(--dim)"):
        text = shown.locator(f"svg.wide text[fill='{fill}']").first
        assert text.evaluate(CONTRAST) >= 4.5, fill
    for fill in ("var(--l1)", "var(--l2)", "var(--dram)"):
        part = shown.locator(f"svg.wide path[fill='{fill}']").first
        assert part.evaluate(CONTRAST) >= 3, fill


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_files_show_themselves_whole(
    opened: Open, drawn: dict[str, Picture], tmp_path: Path, width: int, scheme: str
) -> None:
    # property: as an image, a file takes the width that it is given; a page may scale it
    for name in ("naive", "warptile", "window", "ahead"):
        save_figure(drawn[name], tmp_path / f"{name}.svg")
    images = "".join(f"<img src='{n.name}' style='max-width:100%'>" for n in tmp_path.iterdir())
    (tmp_path / "index.html").write_text(PAGE.format("body{margin:0}", images), "utf-8")
    found = opened(tmp_path / "index.html", width, scheme)
    assert found.messages == []
    for image in found.page.locator("img").all():
        box = image.bounding_box()
        assert box["width"] == pytest.approx(min(width, 800), abs=1)
        assert box["height"] > 100


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_file_alone_has_its_own_paper(
    opened: Open, drawn: dict[str, Picture], tmp_path: Path, scheme: str
) -> None:
    path = tmp_path / "naive.svg"
    save_figure(drawn["naive"], path)
    shown = opened(path, 1280, scheme).page
    paper = shown.evaluate("getComputedStyle(document.querySelector('rect')).fill")
    red = int(paper.split("(")[1].split(",")[0])
    assert red > 230 if scheme == "light" else red < 40
    assert shown.locator(".mark[aria-label^='lane 31: bytes 507904 to 507907 of A']").count() == 1
