"""The page and the Markdown file as text: whole, safe for any names, and equal in what they say."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from perfmodel import predict
from perfmodel.expressions import names as names_of
from perfmodel.expressions import parse
from perfmodel.reports import markdown
from perfmodel.reports.explain import explain
from perfmodel.reports.formula_text import handy_values, pieces, plain_name, resolved
from perfmodel.reports.page.content import Report, build_report
from perfmodel.reports.page.mathml import Written, element, mathml, shown_step
from perfmodel.reports.page.pictures import pictures
from perfmodel.reports.page.svg import Picture, inline, standalone, stylesheet
from perfmodel.reports.page.write import report_html, report_markdown
from perfmodel.reports.tables import Table
from perfmodel.validation.sweeps import KERNELS

ReportOf = Callable[[str], Report]
PicturesOf = Callable[[str], dict[str, Picture]]
EVIL = (
    """<img src=x onerror="alert(1)">|`a` [b](http://c.d) </script><script>alert(2)</script> $x$"""
)
MINUS, TIMES = "\N{MINUS SIGN}", "\N{MULTIPLICATION SIGN}"
VOID = {"meta", "link", "br", "circle", "rect", "line", "path", "input", "img"}


class Page(HTMLParser):
    """A page's elements, attributes and text; complains about tags that do not match."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.mark.parametrize("what", ["gemm", "copy", "many"])
def test_page_is_well_formed_and_asks_for_nothing(
    report_of: ReportOf, pictures_of: PicturesOf, what: str
) -> None:
    text = report_html(report_of(what), pictures_of(what))
    page = Page(text)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in page.elements:
        assert tag not in ("img", "iframe", "object", "embed", "base", "form"), tag
        assert "style" not in attributes  # the policy would not let it
        assert not any(name.startswith("on") for name in attributes)
        for name in ("href", "src", "xlink:href"):
            target = attributes.get(name)
            assert target is None or target == "data:," or target[1:] in ids, target
    assert "@import" not in text
    assert "url(" not in text


def test_policy_forbids_all_but_the_pages_own_style_and_script(
    report_of: ReportOf, pictures_of: PicturesOf
) -> None:
    text = report_html(report_of("gemm"), pictures_of("gemm"))
    (policy,) = (
        attributes["content"] or ""
        for tag, attributes in Page(text).elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["base-uri"] == rules["form-action"] == "'none'"
    assert "unsafe" not in policy
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        (content,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"


@pytest.fixture
def evil(tmp_path: Path) -> Report:
    device = tmp_path / "evil.toml"
    title = EVIL.replace('"', '\\"')
    device.write_text(f'extends = "h100-sxm"\nname = "evil"\ntitle = "{title}"\n')
    prediction = predict("gemm", mapping="naive", N=256, device=device)
    made = build_report([prediction] * 2, title=EVIL, command=EVIL)
    return replace(made, launches=tuple(replace(one, label=EVIL) for one in made.launches))


def test_names_are_text_on_the_page(evil: Report) -> None:
    drawn = pictures(evil)
    page = Page(report_html(evil, drawn))
    assert {tag for tag, _ in page.elements}.isdisjoint({"img", "b"})
    assert sum(tag == "script" for tag, _ in page.elements) == 1
    shown = "".join(page.text)
    assert shown.count(EVIL) >= 6
    for shown_picture in drawn.values():
        root = ElementTree.fromstring(standalone(shown_picture))
        assert {each.tag.split("}")[1] for each in root.iter()}.isdisjoint({"img", "script"})


def test_names_are_text_in_markdown(evil: Report) -> None:
    text = report_markdown(evil, pictures(evil))
    outside = re.sub(r"^(`{3,})[^\n]*\n.*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    for harm in ("<img", "<script", "</script", "[b](", "`a`", "$x$"):
        assert not re.search(r"(?<!\\)" + re.escape(harm), outside), harm


@pytest.mark.parametrize("what", ["gemm", "copy", "many"])
def test_markdown_is_consistent(report_of: ReportOf, pictures_of: PicturesOf, what: str) -> None:
    report, pictures = report_of(what), pictures_of(what)
    text = report_markdown(report, pictures)
    drawn = re.findall(r"^!\[.*\]\((.*)\)$", text, re.MULTILINE)
    assert sorted(drawn) == sorted(f"{name}.svg" for name in pictures)
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        counts = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(counts) == 1, block
    for launch in report.launches:
        assert launch.label.split()[0] in text
        # The last line of each derivation is the time and nothing else.
        assert "  time = launch + ramp + together = " in text


@pytest.mark.parametrize("what", ["gemm", "many"])
def test_both_say_the_same_numbers(report_of: ReportOf, pictures_of: PicturesOf, what: str) -> None:
    report, pictures = report_of(what), pictures_of(what)
    shown = "".join(Page(report_html(report, pictures)).text)
    text = report_markdown(report, pictures)
    for launch in report.launches:
        for used in launch.figures:
            assert used.name in shown
            assert markdown.escaped(used.name) in text
        for step_ in launch.steps:
            assert pieces(step_)[0][-1] in shown
        if launch.advice is not None:
            for option in launch.advice.options:
                assert option.what in shown
                assert markdown.escaped(option.what) in text
        for warning in launch.prediction.warnings:
            assert warning in shown
            assert markdown.escaped(warning) in text


@pytest.mark.parametrize(
    "kernel", ["gemm", "atomic-add", "stream-persistent", "gather", KERNELS / "stencil5.toml"]
)
def test_every_formula_is_mathml_with_all_its_symbols(kernel: str | Path) -> None:
    for found in explain(predict(kernel)):
        node, _ = resolved(found.formula.node, found.values)
        lines = shown_step(found).lines
        assert len(lines) == max(0, len(pieces(found)[0]) - 2)
        if not lines:
            continue
        symbolic = ElementTree.fromstring(lines[0])
        written = [each.text for each in symbolic.iter("mi")]
        assert {plain_name(name) for name in names_of(node)} <= set(written), found.title
        if len(lines) > 1:
            numbers = ElementTree.fromstring(lines[1])
            functions = {each.text for each in numbers.iter("mi")}
            assert functions <= {"min", "max", "log"}, found.title


def _linear(part: ElementTree.Element) -> str:
    """Return MathML as an expression of Python, by a reading of its own."""
    inside = [_linear(child) for child in part]
    if part.tag == "mfrac":
        return f"(({inside[0]})/({inside[1]}))"
    if part.tag == "msup":
        return f"(({inside[0]})**({inside[1]}))"
    if part.tag == "msqrt":
        return f"(({''.join(inside)})**0.5)"
    if part.tag == "mroot":
        return f"(({inside[0]})**(1/({inside[1]})))"
    if part.tag == "msub":
        return "log2"
    if part.tag == "mo":
        return f" {_PYTHON.get(part.text or '', part.text)} "
    return (part.text or "".join(inside)).replace(MINUS, "-")


_PYTHON = {
    **{MINUS: "-", TIMES: "*", "·": "*", "mod": "%"},
    **{"⌊": "floor(", "⌋": ")", "⌈": "ceil(", "⌉": ")"},
}


@pytest.mark.parametrize(
    "kernel",
    ["gemm", "atomic-add", "shared-atomic", "stream-persistent", KERNELS / "stencil5.toml"],
)
def test_formulas_with_numbers_give_their_results(kernel: str | Path) -> None:
    """Independent: what MathML shows, read as arithmetic; numbers have four digits there."""
    known = {"log2": math.log2, "floor": math.floor, "ceil": math.ceil, "min": min, "max": max}
    calculated = 0
    for found in explain(predict(kernel)):
        shown = shown_step(found)
        if len(shown.lines) < 2:
            continue
        root = ElementTree.fromstring(shown.lines[1])
        value = eval(_linear(root), {"__builtins__": {}}, known)
        result = found.result
        if handy_values(found) != dict(found.values):
            result /= {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[shown.result.split()[-1]]
        assert value == pytest.approx(result, rel=5e-3), found.title
        calculated += 1
    assert calculated >= 5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a - (b - c)", "a - ( b - c )"),
        ("a - b - c", "a - b - c"),
        ("(a + b)*c", "( a + b ) · c"),
        ("a*(b/c)", "a · [b over c]"),
        ("(a/b)**2", "[( [a over b] )^2]"),
        ("-a*b", "( - a ) · b"),
        ("-(a + b)", "- ( a + b )"),
        ("(a**2 + b**2)**(1/2)", "[root of [a^2] + [b^2]]"),
        ("(a + b)**(1/8)", "[8th root of a + b]"),
        ("ceil_div(a, b)", "⌈ [a over b] ⌉"),
        ("a // b", "⌊ [a over b] ⌋"),
        ("a % b + c", "a mod b + c"),
        ("min(a, b + c)", "min ( a , b + c )"),
        ("log2(a)", "log2 ( a )"),
        ("1 - exponent*2e-9", "1 - exponent · ( 2 x [10^-9] )"),
        ("where(a < b, a, b)", "where ( a < b , a , b )"),
    ],
)
def test_mathml_by_hand(text: str, expected: str) -> None:
    written = mathml(parse(text), lambda name: Written(element("mi", name)))
    spoken = " ".join(_spoken(ElementTree.fromstring(written)).split())
    assert spoken.replace(MINUS, "-").replace(TIMES, "x") == expected


def _spoken(part: ElementTree.Element) -> str:
    inside = [_spoken(child) for child in part]
    kinds = {
        "mfrac": "[{0} over {1}]",
        "msup": "[{0}^{1}]",
        "msqrt": "[root of {0}]",
        "mroot": "[{1}th root of {0}]",
        "msub": "{0}{1}",
    }
    if part.tag in kinds:
        return kinds[part.tag].format(*(each.strip() for each in inside))
    return part.text or " ".join(inside)


def test_pictures_are_xml_and_follow_the_palette(pictures_of: PicturesOf) -> None:
    for shown in pictures_of("many").values():
        text = standalone(shown)
        root = ElementTree.fromstring(text)
        assert root.find("{http://www.w3.org/2000/svg}title").text == shown.title
        assert "prefers-color-scheme: dark" in text
        for each in root.iter():
            assert "style" not in each.attrib
            for paint in ("fill", "stroke"):
                colour = each.attrib.get(paint, "none")
                assert colour == "none" or colour.startswith("var(--"), (shown.name, colour)


def test_pictures_are_repeatable(report_of: ReportOf, pictures_of: PicturesOf) -> None:
    first, second = pictures_of("gemm"), pictures(report_of("gemm"))
    assert {n: inline(p) for n, p in first.items()} == {n: inline(p) for n, p in second.items()}


def test_palette_is_the_same_dark_and_printed() -> None:
    """Every colour has a value for light, dark and paper."""
    light, dark = (set(re.findall(r"(--[\w-]+): #", part))
                   for part in stylesheet("palette.css").split("@media")[:2])  # fmt: skip
    printed = set(re.findall(r"(--[\w-]+): #", stylesheet("page.css").split("@media print")[1]))
    assert light == dark == printed


def test_pieces_of_markdown() -> None:
    assert markdown.escaped("a|b\n<c> *d*") == r"a\|b \<c\> \*d\*"
    assert markdown.table(Table("", ("a", "b"), (("x|y", "1\n2"),), align="lr")).splitlines() == [
        "| a | b |",
        "|---|---:|",
        r"| x\|y | 1<br>2 |",
    ]
    assert markdown.fenced("a ``` b", "sh") == "````sh\na ``` b\n````"
