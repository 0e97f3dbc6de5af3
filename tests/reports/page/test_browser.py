"""Report pages in a real browser: nothing fails, nothing is fetched, everything can be read."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Open = Callable[..., Any]

WIDTHS = (360, 820, 1600)
EXAMPLES = sorted(Path(__file__).parents[3].glob("reports/*/index.html"))

# Texts of a picture that is shown: what they say, their box in the window, and that of the picture.
TEXTS = """svg => {
  const frame = svg.getBoundingClientRect();
  const scale = frame.width / svg.viewBox.baseVal.width;
  const texts = [...svg.querySelectorAll('text')].map(text => {
    const box = text.getBoundingClientRect();
    return {text: text.textContent, x: box.x, y: box.y, right: box.right, bottom: box.bottom,
            size: parseFloat(getComputedStyle(text).fontSize) * scale,
            turned: (text.getAttribute('transform') || '').includes('rotate')};
  });
  return {frame: {x: frame.x, y: frame.y, right: frame.right, bottom: frame.bottom}, texts};
}"""

# Contrast of an element's text with the page's background (WCAG 2.2, relative luminance).
CONTRAST = """element => {
  const light = colour => {
    const parts = colour.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const style = getComputedStyle(element);
  const ink = light(element.closest('svg') ? style.fill : style.color);
  const paper = light(getComputedStyle(document.body).backgroundColor);
  return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
}"""


def shown_pictures(page: Any) -> list[Any]:
    return [svg for svg in page.locator("svg.picture").all() if svg.is_visible()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("what", ["gemm", "many"])
def test_nothing_fails_and_nothing_is_fetched(
    opened: Open, what: str, width: int, scheme: str
) -> None:
    found = opened(what, width, scheme)
    found.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    found.page.wait_for_timeout(100)
    assert found.messages == []
    assert [url for url in found.requests if not url.startswith("data:")] == [found.page.url]
    assert found.page.url.startswith("file:")
    # The page must not be wider than the window, derivations and all.
    wide = found.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width, f"{wide} px in {width}"


@pytest.mark.parametrize("width", WIDTHS)
def test_every_picture_is_there_in_one_layout(opened: Open, width: int) -> None:
    page = opened("many", width).page
    layout = "narrow" if width <= 640 else "wide"
    shown = [svg.get_attribute("id") for svg in shown_pictures(page)]
    launches = len(page.locator("section[id^=launch-]").all())
    expected = ["times", f"roofline-{layout}"]
    expected += [f"{kind}-{i + 1}" for kind in ("terms", "traffic") for i in range(launches)]
    # Sectors of all but the empty kernel, tiles of the products, and the one window.
    expected += [f"sectors-{i + 1}-{layout}" for i in range(launches - 1)]
    expected += [*(f"tiles-{i}-{layout}" for i in (1, 2, 3, 4)), f"l2-8-{layout}"]
    assert sorted(shown) == sorted(expected)
    for svg in shown_pictures(page):
        box = svg.bounding_box()
        assert box["width"] >= 300
        assert box["height"] >= 40
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width


@pytest.mark.parametrize("what", ["gemm", "many"])
@pytest.mark.parametrize("width", WIDTHS)
def test_texts_of_pictures_can_be_read(opened: Open, what: str, width: int) -> None:
    for svg in shown_pictures(opened(what, width).page):
        name, found = svg.get_attribute("id"), svg.evaluate(TEXTS)
        frame = found["frame"]
        for text in found["texts"]:
            where = f"{name}: {text['text']}"
            assert text["size"] >= 9, where
            assert text["x"] >= frame["x"] - 1, where
            assert text["right"] <= frame["right"] + 1, where
            assert text["y"] >= frame["y"] - 1, where
            assert text["bottom"] <= frame["bottom"] + 1, where
        level = [text for text in found["texts"] if not text["turned"]]
        for a, b in itertools.combinations(level, 2):
            across = min(a["right"], b["right"]) - max(a["x"], b["x"])
            down = min(a["bottom"], b["bottom"]) - max(a["y"], b["y"])
            # Boxes have room above and below the letters, which lines of text may share.
            assert across <= 1 or down <= 5, f"{name}: {a['text']!r} over {b['text']!r}"


@pytest.mark.parametrize("width", [360, 1600])
def test_hover_tells_what_a_mark_is(opened: Open, width: int) -> None:
    page = opened("gemm", width).page
    tip = page.locator("#tip")
    assert not tip.is_visible()
    layout = "narrow" if width <= 640 else "wide"
    mark = page.locator(f"#roofline-{layout} .mark[aria-label^='2 gemm:coalesced at L1']")
    mark.scroll_into_view_if_needed()
    mark.hover()
    # By hand: 2 N^3 operations over (1 + 4) N^3/32 sectors of 32 B, and a few for the stores: 0.4
    # FLOP/B; 33.5 TB/s of L1 then allow 13.4 TFLOP/s.
    told = tip.inner_text()
    for part in ("2 gemm:coalesced at L1", "0.400 FLOP/B", "13.4 TFLOP/s", "nearest roof"):
        assert part in told
    box = tip.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    # The launch that is pointed at stands out.
    others = page.locator(f"#roofline-{layout} .launch[data-launch='1']").first
    others.evaluate("one => Promise.all(one.getAnimations().map(a => a.finished))")
    assert float(others.evaluate("one => getComputedStyle(one).opacity")) < 0.5
    page.mouse.move(2, 2)
    assert not tip.is_visible()


def test_hover_in_every_kind_of_picture(opened: Open) -> None:
    page = opened("gemm").page
    for name, mark, part in (
        ("times", "2 gemm:coalesced", "l1 binds"),
        ("terms-2", "dram: ", "DRAM bandwidth"),
        # 2^31 requests with a sector each and as many with four, of 32 B.
        ("traffic-2", "SM and L1", "SM and L1: 344 GB read"),
        ("traffic-2", "L2 and DRAM", "read"),
        ("roofline-wide", "DRAM roof", "3.35 TB/s"),
        ("roofline-wide", "FP32", "66.9 TFLOP/s"),
    ):
        found = page.locator(f"#{name} .mark[aria-label^='{mark}']").first
        found.scroll_into_view_if_needed()
        # Groups of thin parts: the pointer goes where the first of them is.
        found.locator("path, use, text").first.hover(force=True)
        assert part in page.locator("#tip").inner_text(), name


def test_marks_are_reached_by_keyboard(opened: Open) -> None:
    page = opened("gemm").page
    tip = page.locator("#tip")
    # A stop of Tab a picture, from one to the next; in it, arrow keys.
    page.locator(".scroll").first.focus()
    page.keyboard.press("Tab")
    assert tip.inner_text().startswith("1 gemm:naive: ")
    page.keyboard.press("ArrowDown")
    assert tip.inner_text().startswith("2 gemm:coalesced: ")
    page.keyboard.press("ArrowDown")  # the last one
    assert tip.inner_text().startswith("2 gemm:coalesced: ")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == tip.inner_text()
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('svg').id") == "roofline-wide"
    assert tip.is_visible()
    page.keyboard.press("Shift+Tab")
    assert tip.inner_text().startswith("2 gemm:coalesced: ")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_reader_and_contrast(opened: Open, scheme: str) -> None:
    page = opened("gemm", scheme=scheme).page
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    red = int(paper.split("(")[1].split(",")[0])
    assert red > 230 if scheme == "light" else red < 40
    # WCAG 2.2 AA: 4.5 for text, 3 for what a picture is made of.
    dim = "svg.wide text[fill='var(--dim)']"
    for selector in ("p", "td", ".note", "a", "figcaption", "svg.wide text", dim):
        assert page.locator(selector).first.evaluate(CONTRAST) >= 4.5, selector
    for level in ("L1", "L2", "DRAM"):
        mark = page.locator(f"#roofline-wide .mark[aria-label*=' at {level}'] use").first
        assert mark.evaluate(CONTRAST) >= 3, level


def test_without_scripts_the_page_still_says_everything(opened: Open) -> None:
    page = opened("gemm", java_script_enabled=False).page
    assert page.locator("#roofline-wide .mark title").first.text_content() != ""
    assert page.locator("#tip").is_hidden()
    assert page.locator(".tools").is_hidden()


def test_print_is_light_wide_and_whole(opened: Open) -> None:
    page = opened("gemm", 820, "dark").page
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("nav").is_hidden()
    assert page.locator("#roofline-wide").is_visible()
    assert page.pdf(format="A4").startswith(b"%PDF")


@pytest.mark.parametrize("what", ["gemm", "many"])
def test_nothing_is_cut_off_on_paper(opened: Open, what: str) -> None:
    # A4 less margins of 14 mm, at 96 pixels an inch; what has not room beside would be cut off.
    page = opened(what, 688).page
    page.emulate_media(media="print")
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 688


def test_derivations_open_at_once(opened: Open) -> None:
    page = opened("gemm").page
    inside = page.locator("details.derivation math").first
    assert not inside.is_visible()
    page.get_by_role("button", name="Open every derivation").click()
    assert page.locator("details.derivation[open]").count() == 2
    # MathML is laid out, not shown as text in a row: fractions are taller than a line.
    fraction = page.locator("details.derivation mfrac").first
    assert fraction.is_visible()
    assert fraction.bounding_box()["height"] > 24
    page.get_by_role("button", name="Close every derivation").click()
    assert page.locator("details.derivation[open]").count() == 0


def test_motion_only_if_wanted(opened: Open) -> None:
    page = opened("gemm", reduced_motion="reduce").page
    moves = page.evaluate("getComputedStyle(document.querySelector('.launch')).transitionDuration")
    assert moves == "0s"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_committed_examples(opened: Open, path: Path) -> None:
    found = opened(path, 360)
    assert found.messages == []
    assert [url for url in found.requests if not url.startswith("data:")] == [path.as_uri()]
    assert found.page.evaluate("document.documentElement.scrollWidth") <= 360
    assert len(shown_pictures(found.page)) >= 2


def test_pictures_of_the_markdown_file_stand_alone(
    opened: Open, folder_of: Callable[[str], Path]
) -> None:
    for path in sorted(folder_of("many").glob("*.svg")):
        found = opened(path, 900, "dark")
        assert found.messages == [], path.name
        assert found.requests == [path.as_uri()], path.name
        box = found.page.evaluate("(box => [box.width, box.height])"
                                  "(document.documentElement.getBoundingClientRect())")  # fmt: skip
        assert box[0] > 300, path.name
