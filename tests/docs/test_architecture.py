"""docs/architecture: picture and imports agree, packages are described, links lead somewhere."""

from __future__ import annotations

import importlib.util
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
PAGES: Final = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    *(p for p in sorted(DOCS.rglob("*.md")) if "generated" not in p.parts),
]


@pytest.fixture(scope="module")
def drawing() -> ModuleType:
    """Return the script that draws the picture."""
    spec = importlib.util.spec_from_file_location("picture", DOCS / "architecture_picture.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_picture_is_up_to_date(drawing: ModuleType) -> None:
    assert drawing.PICTURE.read_text("utf-8") == drawing.picture(), (
        "run python docs/architecture_picture.py"
    )


def test_picture_has_every_package_once(drawing: ModuleType) -> None:
    texts = [e.text for e in ET.fromstring(drawing.picture()).iter() if e.tag.endswith("}text")]
    packages = {path.parent.name for path in (ROOT / "perfmodel").glob("*/__init__.py")}
    assert sorted(filter(None, texts)) == sorted(packages)


def test_arrows_leave_out_what_others_imply(drawing: ModuleType) -> None:
    # by hand: a imports b and c, b imports c: c is reached by way of b
    found = drawing.drawn({"a": {"b", "c"}, "b": {"c"}, "c": set()}, {"a": 0, "b": 1, "c": 2})
    assert found == {"a": {"b"}, "b": {"c"}, "c": set()}


def test_page_describes_every_package() -> None:
    page = (DOCS / "architecture.md").read_text("utf-8")
    packages = {path.parent.name for path in (ROOT / "perfmodel").glob("*/__init__.py")}
    described = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert described == packages


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_of_pages_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_decisions_have_the_same_parts() -> None:
    for path in sorted((DOCS / "decisions").glob("0*.md")):
        text = path.read_text("utf-8")
        assert re.search(r"^20\d\d-\d\d-\d\d$", text, re.MULTILINE), path.name
        parts = re.findall(r"^\*\*(\w+)\.\*\*", text, re.MULTILINE)
        assert parts == ["Context", "Decision", "Consequence"], path.name
        assert f"({path.name})" in (DOCS / "decisions" / "README.md").read_text("utf-8")
