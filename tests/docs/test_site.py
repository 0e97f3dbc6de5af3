"""The site: it builds without a warning, its links lead somewhere, and it needs no network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import private_words
import pytest

pytest.importorskip("sphinx", reason="the site needs the extra docs")

ROOT: Final = Path(__file__).parents[2]
LOADING: Final = (("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"))


class Page(HTMLParser):
    """Ids of a page, its links, and what a browser loads with it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids.add(given.get("id") or "")
        if tag == "a" and given.get("href"):
            self.links.append(given["href"] or "")
        for name, attribute in LOADING:
            if tag == name and given.get(attribute) and given.get("rel") not in ("canonical",):
                self.loaded.append(given[attribute] or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site, built as CI and readers build it; warnings are errors."""
    folder = tmp_path_factory.mktemp("site")
    options = ("-W", "--keep-going", "-q", "-b", "html", "-d", str(folder / "doctrees"))
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, "docs", str(folder / "html")],
        cwd=ROOT,
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    return folder / "html"


def pages(site: Path) -> Iterator[tuple[Path, Page]]:
    """Yield the pages of the site."""
    for path in sorted(site.rglob("*.html")):
        yield path, Page(path)


def test_site_loads_nothing_from_the_network(site: Path) -> None:
    for path, page in pages(site):
        assert [link for link in page.loaded if urlsplit(link).scheme in ("http", "https")] == []
        for style in re.findall(r"url\(([^)]*)\)", path.read_text("utf-8")):
            assert "//" not in style


def test_links_lead_somewhere(site: Path) -> None:
    # property: of every link within the site, the page is there, and so is the place on it
    known = dict(pages(site))
    for path, page in known.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.exists(), (path.name, link)
            if parts.fragment and target.suffix == ".html":
                assert unquote(parts.fragment) in known[target].ids, (path.name, link)


def test_every_page_is_reached_from_the_first(site: Path) -> None:
    known = dict(pages(site))
    seen, ahead = set(), [site / "index.html"]
    while ahead:
        path = ahead.pop()
        if path in seen or path not in known:
            continue
        seen.add(path)
        ahead += [
            (path.parent / unquote(urlsplit(link).path)).resolve()
            for link in known[path].links
            if urlsplit(link).path and not urlsplit(link).scheme
        ]
    of_sphinx = {site / name for name in ("genindex.html", "py-modindex.html", "search.html")}
    assert set(known) - seen - of_sphinx == set()


def test_no_page_has_a_private_word(site: Path) -> None:
    # what is generated among them: output, help, formulas, docstrings of the API
    found = {}
    for path, _ in pages(site):
        _, _, article = path.read_text("utf-8").partition("<article")
        text = unescape(re.sub(r"<[^>]*>", "", article.partition("</article>")[0]))
        text = re.sub(r"[\w./-]+\.(csv|txt|toml)\b", "", text)  # names of measured files
        if words := private_words.found_in(text):
            found[path.relative_to(site).as_posix()] = words
    assert found == {}


def test_commands_print_what_their_processes_print(site: Path) -> None:
    # independent: the installed script, as readers start it; the site runs commands by itself
    text = (site / "reference" / "commands.html").read_text("utf-8")
    shown = unescape(re.sub(r"<[^>]*>", "", text))
    for words in ("--help", "predict --help", "measure --help"):
        line = [Path(sys.executable).with_name("perfmodel"), *words.split()]
        wide = os.environ | {"COLUMNS": "88"}  # as docs/conf.py says
        done = subprocess.run(line, env=wide, capture_output=True, text=True, check=True)
        assert f"$ perfmodel {words}\n{done.stdout.rstrip()}" in shown, words


def test_theory_has_every_formula_and_mechanism(site: Path) -> None:
    # independent of the pages' generator: all that the models' modules define
    from perfmodel.models.formula import Formula
    from perfmodel.models.mechanism import mechanisms

    names = set(mechanisms())
    marked = "".join(path.read_text("utf-8") for path in (site / "theory").glob("*.html"))
    text = " ".join(re.sub(r"<[^>]*>", "", marked).split())
    assert [name for name in names if f"--without {name}" not in text] == []
    formulas = {
        value.name
        for name, module in list(sys.modules.items())
        if name.startswith("perfmodel.models.")
        for value in vars(module).values()
        if isinstance(value, Formula) and value.module == name
    }
    assert len(formulas) > 100
    assert marked.count('<div class="formula">') >= len(formulas)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_pages_open_without_a_network(site: Path, browser: Any, width: int, scheme: str) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    told: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    for name in ("index", "start", "theory/dram", "how-to/draw", "reference/kernel-files"):
        page.goto((site / f"{name}.html").as_uri())
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{name}: {wide} px in {width}"
    page.close()
    assert told == []
    assert {urlsplit(url).scheme for url in asked} <= {"file", "data"}


def test_search_finds_pages_without_a_network(site: Path, browser: Any) -> None:
    page = browser.new_page()
    page.goto((site / "search.html").as_uri() + "?q=occupancy")
    # Results come one after another: this waits for that of the glossary, and fails without it.
    page.wait_for_selector('#search-results li a[href*="glossary.html"]')
    page.close()
