"""Output and documentation speak the field's language: docs/glossary.md, and no private words.

The commands are run as a user runs them; what they print is searched for the words in
private_words.txt. Names of formulas in models/ still have some: their number may only shrink.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, get_args

import private_words
import pytest
from typer.testing import CliRunner

from perfmodel.cli.app import COMMANDS, app
from perfmodel.hardware.figure import Kind
from perfmodel.kernels import builtin_names
from perfmodel.kernels.kernel import PIPES
from perfmodel.models.launch.occupancy import LIMITERS
from perfmodel.models.time.stage import Timing
from perfmodel.reports.binding_text import TERMS

ROOT: Final = Path(__file__).parents[2]
GLOSSARY: Final = (ROOT / "docs" / "glossary.md").read_text("utf-8")


def _of_formulas(line: str) -> bool:
    return line.startswith("explain ") and "--help" not in line


LAUNCHES: Final = (
    "gemm --mapping naive",
    "gemm --mapping coalesced",
    "gemm --mapping tensor-core --cache warm -D M=1 -D N=4096 -D K=4096",
    "gemm --mapping tensor-core -D M=1000 -D N=1001 -D K=1001",
    "copy -D bytes=64MiB",
    "copy -D bytes=4KiB --timing events",
    "gather",
    "strided-copy -D stride=32",
    "atomic-add -D n=1e6 -D addresses=16 -D returns=true",
    "shared-atomic",
    "lock-loop",
    "softmax",
    "stream-persistent --set-aside 16MiB --window 16MiB --window-buffer persistent",
)
COMMAND_LINES: Final = (
    *(f"predict {launch}" for launch in LAUNCHES),
    *(f"explain {launch}" for launch in LAUNCHES),
    "predict copy -D bytes=1MiB,64MiB --device h200-sxm,a100-sxm-80",
    "predict gemm --mapping coalesced --json",
    "predict read -D vector=4 --littles-law",
    "roofline gemm:naive gemm:coalesced copy",
    *(f"advise {launch}" for launch in LAUNCHES[:5]),
    "advise atomic-add -D n=1e6",
    "advise stream-persistent -D persistent_bytes=16MiB",
    "ladder -D N=1024",
    "sweep strided-copy --over stride=1,2,4",
    "draw sectors gemm --json",
    "draw tiles gemm --mapping warptile -D N=1024 --json",
    "draw l2 data-reset --set-aside 16MiB --window 16MiB --json",
    "draw pipeline gemm --mapping tensor-core --json",
    "operators",
    "devices",
    "kernels",
    *(f"kernels {name}" for name in builtin_names()),
    "--help",
    *(f"{command} --help" for command in COMMANDS),
)
PAGES: Final = (
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md"),
    *(
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if "generated" not in path.parts  # while the site is built
    ),
)


def printed(line: str) -> str:
    """Return what a command line prints, on standard error too."""
    result = CliRunner().invoke(app, line.split(), env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return result.output


def words_in_texts(folders: Iterable[str]) -> list[str]:
    """Return the private words in the texts of packages' modules, with their places."""
    paths = sorted(p for name in folders for p in (ROOT / "perfmodel" / name).rglob("*.py"))
    return [
        f"{path.relative_to(ROOT)}:{line}: {where}"
        for path in paths
        for line, text in private_words.texts_of(path)
        if " " in text.strip()
        for where in private_words.found_in(text).values()
    ]


@pytest.mark.parametrize("line", [line for line in COMMAND_LINES if not _of_formulas(line)])
def test_output_has_no_private_words(line: str) -> None:
    assert private_words.found_in(printed(line)) == {}


@pytest.mark.parametrize("page", PAGES)
def test_pages_have_no_private_words(page: str) -> None:
    assert private_words.found_in((ROOT / page).read_text("utf-8")) == {}


def test_texts_of_packages_have_no_private_words() -> None:
    # warnings and errors among them, which few command lines show
    folders = {path.name for path in (ROOT / "perfmodel").iterdir() if path.is_dir()}
    assert words_in_texts(folders) == []


def test_drills_have_no_private_words() -> None:
    # questions and steps as they are written; docs/drills.md shows them all
    library = sorted((ROOT / "perfmodel/drills/library").glob("*.toml"))
    found = {path.name: private_words.found_in(path.read_text("utf-8")) for path in library}
    assert {name: words for name, words in found.items() if words} == {}


def test_explanations_have_no_private_words() -> None:
    lines = [line for line in COMMAND_LINES if _of_formulas(line)]
    found = {line: private_words.found_in(printed(line)) for line in lines}
    assert {line: words for line, words in found.items() if words} == {}


def test_list_finds_what_an_earlier_output_said() -> None:
    # README of b2813fd6
    found = private_words.found_in(
        "as long as an empty kernel; 13.7 GB read, 70% of it\n without a DRAM read; 64 warps an SM"
    )
    assert len(found) == 3


def explained(name: str) -> bool:
    """Say whether the glossary has a row that a name stands in, as code or as a plain term."""
    rows = [line.split("|")[1] for line in GLOSSARY.splitlines() if line.startswith("| ")]
    return any(f"`{name}`" in row or name in re.split(", ", row.strip()) for row in rows)


def test_glossary_has_every_term_of_a_time() -> None:
    names = {*TERMS, *json.loads(printed("predict gemm --mapping tensor-core --json"))["terms_s"]}
    assert [name for name in sorted(names) if not explained(name)] == []


def test_glossary_has_every_name_of_traffic() -> None:
    names = json.loads(printed("predict copy --json"))["traffic"]
    assert [name for name in names if not explained(name)] == []


def test_glossary_has_limiters_pipes_and_kinds() -> None:
    pipes = set(PIPES) - {"other", "shuffle", "masked", "uniform"}  # said in words only
    words = {*LIMITERS, *get_args(Timing), *pipes}
    assert [word for word in sorted(words) if word not in GLOSSARY] == []
    assert [kind for kind in get_args(Kind) if not explained(kind)] == []
